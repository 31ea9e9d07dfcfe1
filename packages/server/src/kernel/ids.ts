import type { Random } from "./random.ts";

declare const brand: unique symbol;
export type Branded<Name extends string> = string & { readonly [brand]: Name };

/** One merchant account: 8 lower-case hex characters. Prefix of every key in the store. */
export type MerchantId = Branded<"MerchantId">;

/** SHA-256 of a token, 64 lower-case hex characters: the only stored form of a token. */
export type TokenDigest = Branded<"TokenDigest">;

/** SHA-256 of an integration key, 64 lower-case hex characters. */
export type KeyDigest = Branded<"KeyDigest">;

/** Whether a text has the form of an account's id. */
export function isMerchantId(text: string): text is MerchantId {
  return /^[0-9a-f]{8}$/.test(text);
}

export function newMerchantId(random: Random): MerchantId {
  return hexOf(random.bytes(4)) as MerchantId;
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
