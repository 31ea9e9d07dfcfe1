import { assert } from "../kernel/assert.ts";
import type { CardOwner } from "./vault.ts";

/** What a sealed card is bound to: the installation, and the row. */
export interface CardBinding {
  /** Format 1: the environment's name. Format 2: the installation id. */
  readonly installation: string;
  readonly owner: CardOwner;
}

const highestVersion = 0xffff_ffff;
// Filled and read within one synchronous call.
const aadScratch = Buffer.alloc(1_024);

/**
 * The additional authenticated data. Each field is preceded by its length, so that two places never
 * give the same bytes.
 */
export function aadOf(
  { installation, owner }: CardBinding,
  format: number,
  keyVersion: number,
): Uint8Array {
  const { merchantId, recordVersion } = owner;
  assert(
    Number.isInteger(recordVersion) && recordVersion >= 0 && recordVersion <= highestVersion,
    "a record version is a whole number of 32 bits",
  );
  const [kind, row] =
    "payment" in owner
      ? (["payment card", owner.payment] as const)
      : (["card", owner.tokenDigest] as const);
  let at = writeText(kind, 0);
  at = writeText(installation, at);
  at = writeText(merchantId, at);
  at = writeText(row, at);
  at = writeNumber(recordVersion, at);
  at = writeNumber(format, at);
  at = writeNumber(keyVersion, at);
  return aadScratch.subarray(0, at);
}

function writeText(text: string, at: number): number {
  assert(text.length <= 64, "what a card is bound to has at most 64 characters");
  const written = aadScratch.write(text, at + 2, "utf8");
  aadScratch.writeUInt16BE(written, at);
  return at + 2 + written;
}

function writeNumber(value: number, at: number): number {
  aadScratch.writeUInt16BE(4, at);
  return aadScratch.writeUInt32BE(value, at + 2);
}
