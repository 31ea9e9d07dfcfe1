import { KeyringError } from "../key-provider.ts";
import { checkValueOf } from "./key-wrap.ts";

/**
 * The keys that epoch keys are wrapped by. It is stored as a key record of the purpose `roots`,
 * encrypted and with a MAC, and each change is a new version of it.
 */
export interface RootSet {
  /** Counts up from 1 with every change. */
  readonly version: number;
  /** Key ids of the root keys, in the order in which they were added; at least one. */
  readonly roots: readonly string[];
  /** Fingerprint of the recovery key: `sha256:` and 64 hexadecimal digits; undefined without one. */
  readonly recovery: string | undefined;
}

const format = "cofre roots 1";

/** The bytes that are stored: lines with the format, the root keys, and the recovery key. */
export function encodeRootSet({ roots, recovery }: RootSet): Uint8Array {
  const lines = [
    format,
    ...roots.map((root) => `root ${root}`),
    ...(recovery === undefined ? [] : [`recovery ${recovery}`]),
  ];
  return Buffer.from(`${lines.join("\n")}\n`);
}

/** Throws KeyringError when they are not the bytes of encodeRootSet. */
export function parseRootSet(bytes: Uint8Array, version: number): RootSet {
  const [first, ...lines] = Buffer.from(bytes).toString().split("\n").slice(0, -1);
  const roots: string[] = [];
  let recovery: string | undefined;
  for (const line of lines) {
    const [, kind, value = ""] = /^(root|recovery) (.+)$/.exec(line) ?? [];
    if (kind === "root") roots.push(value);
    else if (kind === "recovery") recovery = value;
  }
  const set = { version, roots, recovery };
  if (first !== format || roots.length === 0 || !Buffer.from(bytes).equals(encodeRootSet(set)))
    throw new KeyringError("the set of root keys has a format that this version does not read");
  return set;
}

/**
 * What the configuration pins: 64 hexadecimal digits, the check value of the set's key record. It
 * is an HMAC-SHA-256 under the whole content, over the installation id and the version, so each
 * change of the set has another fingerprint, which can be computed before it is made.
 */
export function rootSetFingerprint(installation: string, set: RootSet): string {
  const named = {
    installation,
    purpose: "roots",
    merchant: undefined,
    version: set.version,
  } as const;
  return checkValueOf(encodeRootSet(set), named).toString("hex");
}

/** The fingerprints of the configuration allow this set. Without any, every set is allowed. */
export function refuseUnpinned(
  installation: string,
  set: RootSet,
  pinned: readonly string[],
): void {
  const fingerprint = rootSetFingerprint(installation, set);
  if (pinned.length === 0 || pinned.includes(fingerprint)) return;
  const recovery = set.recovery === undefined ? "" : ` and the recovery key ${set.recovery}`;
  throw new KeyringError(
    `set ${set.version} of root keys (${set.roots.join(", ")}${recovery}) has the fingerprint ${fingerprint}, which is not in COFRE_ROOT_KEYS_FINGERPRINT: add it there if this is the set that you want`,
  );
}
