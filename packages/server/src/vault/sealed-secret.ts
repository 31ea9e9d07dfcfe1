import { newKeyBytes } from "./new-key-bytes.ts";
import { hkdfSync, type KeyObject } from "node:crypto";
import type { Random } from "../kernel/random.ts";
import { decryptGcm, encryptGcm, keyLength, nonceLength, tagLength } from "./aes.ts";
import { KeyringError, type KeyProvider, provenWrap } from "./key-provider.ts";
import type { RecoveryWraps } from "./recovery/recovery-wraps.ts";

/**
 * Storage of one sealed secret. `saveFirst` stores its argument durably and atomically unless a
 * secret is stored already, and resolves with the stored one.
 */
export interface SecretFile {
  load(): Promise<Uint8Array | undefined>;
  saveFirst(sealed: Uint8Array): Promise<Uint8Array>;
  /** Replaces the stored secret durably and atomically. */
  replace(sealed: Uint8Array): Promise<void>;
}

export interface SealedSecretOptions {
  readonly provider: KeyProvider;
  readonly file: SecretFile;
  readonly random: Random;
  /**
   * Environment and use, such as `sandbox/notifications`: a secret that was sealed under another
   * label does not open.
   */
  readonly label: string;
  /** Adds what the stored secret lacks, if there is a recovery key. */
  readonly recovery?: RecoveryWraps | undefined;
}

/** A secret of the installation, of any length, sealed under the root key and stored in a file. */
export interface SealedSecret {
  /**
   * undefined when there is none. The caller wipes it. Rejects with KeyringError when it does not
   * open.
   */
  load(): Promise<Uint8Array | undefined>;
  /**
   * Wipes `content` and resolves with the stored secret: `content`, or what another process stored
   * first.
   */
  save(content: Uint8Array): Promise<Uint8Array>;
}

export function createSealedSecret(options: SealedSecretOptions): SealedSecret {
  const { file } = options;
  return {
    async load() {
      const sealed = await file.load();
      if (sealed === undefined) return undefined;
      const content = await open(options, sealed);
      await addRecoveryWrap(options, sealed);
      return content;
    },
    async save(content) {
      return open(options, await file.saveFirst(await seal(options, content)));
    },
  };
}

/** Stores the wrap for the recovery key, if the stored secret lacks it. */
async function addRecoveryWrap(
  { provider, file, label, recovery }: SealedSecretOptions,
  sealed: Uint8Array,
): Promise<void> {
  if (recovery === undefined) return;
  const whole = await withWrappedKey(sealed, label, async (wrapped) => {
    const dek = await provider.unwrap(wrapped, label);
    const missing = recovery.missing(wrapped, dek, label);
    dek.fill(0);
    return missing;
  });
  if (whole !== undefined) await file.replace(whole);
}

/**
 * A sealed secret with another form of its wrapped data key; undefined if `change` gives none.
 * Rejects with KeyringError when it is not a sealed secret.
 */
export async function withWrappedKey(
  sealed: Uint8Array,
  label: string,
  change: (wrapped: Uint8Array) => Promise<Uint8Array | undefined>,
): Promise<Uint8Array | undefined> {
  const parts = partsOf(sealed);
  if (parts === undefined) throw doesNotOpen(label);
  const changed = await change(parts.wrapped);
  return changed === undefined ? undefined : joined(changed, parts.rest);
}

/** Seals secrets that are stored with other data, each under its own label. */
export interface Sealing {
  /** Wipes `content`. */
  seal(content: Uint8Array, label: string): Promise<Uint8Array>;
  /** The caller wipes it. Rejects with KeyringError when it does not open. */
  open(sealed: Uint8Array, label: string): Promise<Uint8Array>;
}

interface SealingOptions {
  /** From it a key is derived for each secret. */
  readonly key: KeyObject;
  readonly random: Random;
  /** Undefined in an installation that never had secrets of earlier versions. */
  readonly earlier: EarlierSecrets | undefined;
}

/** Secrets that earlier versions sealed under the root key. */
interface EarlierSecrets {
  /** Opens them. */
  readonly provider: KeyProvider;
  /** Whether a node of an earlier version may read the secrets, so that its format is written. */
  readonly isWritten: () => boolean;
}

/**
 * Seals under a key below the root: neither a new secret nor one that opens waits for the holder of
 * the root key. Secrets of earlier versions have the format of a file and open with the root key.
 */
export function createSealing({ key, random, earlier }: SealingOptions): Sealing {
  return {
    seal: async (content, label) =>
      earlier?.isWritten() === true
        ? await seal({ provider: earlier.provider, random, label }, content)
        : sealBelowRoot(key, random, label, content),
    open: async (sealed, label) =>
      earlier !== undefined && magic.equals(sealed.subarray(0, magic.length))
        ? await open({ provider: earlier.provider, label }, sealed)
        : openBelowRoot(key, label, sealed),
  };
}

const magicBelowRoot = Buffer.from("cofre sealed 2\n", "latin1");
const saltLength = 32;

/** Magic line, salt, nonce, tag, ciphertext. */
function sealBelowRoot(
  key: KeyObject,
  random: Random,
  label: string,
  content: Uint8Array,
): Uint8Array {
  const salt = random.bytes(saltLength);
  const nonce = random.bytes(nonceLength);
  const own = keyOfSecret(key, salt, label);
  try {
    const { ciphertext, tag } = encryptGcm(own, nonce, Buffer.from(label), content);
    return Buffer.concat([magicBelowRoot, salt, nonce, tag, ciphertext]);
  } finally {
    own.fill(0);
    content.fill(0);
  }
}

function openBelowRoot(key: KeyObject, label: string, sealed: Uint8Array): Uint8Array {
  const saltAt = magicBelowRoot.length;
  const nonceAt = saltAt + saltLength;
  const tagAt = nonceAt + nonceLength;
  const textAt = tagAt + tagLength;
  if (!magicBelowRoot.equals(sealed.subarray(0, saltAt)) || sealed.length < textAt)
    throw doesNotOpen(label);
  const own = keyOfSecret(key, sealed.subarray(saltAt, nonceAt), label);
  try {
    const encrypted = { ciphertext: sealed.subarray(textAt), tag: sealed.subarray(tagAt, textAt) };
    const content = decryptGcm(own, sealed.subarray(nonceAt, tagAt), Buffer.from(label), encrypted);
    if (content === undefined) throw doesNotOpen(label);
    return content;
  } finally {
    own.fill(0);
  }
}

/** One key per secret, so that a random nonce never repeats under a key. */
function keyOfSecret(key: KeyObject, salt: Uint8Array, label: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", key, salt, `cofre sealed 2\0${label}`, keyLength));
}

function doesNotOpen(label: string): KeyringError {
  return new KeyringError(
    `the secret ${label} does not open: it was altered, moved, or sealed for another use`,
  );
}

const magic = Buffer.from("cofre sealed 1\n", "latin1");

/** Magic line, length of the wrapped data key in two bytes, that key, nonce, tag, ciphertext. */
async function seal(
  { provider, random, label }: Omit<SealedSecretOptions, "file">,
  content: Uint8Array,
): Promise<Uint8Array> {
  const dek = newKeyBytes(random);
  try {
    const wrapped = await provenWrap(provider, dek, label);
    const nonce = random.bytes(nonceLength);
    const { ciphertext, tag } = encryptGcm(dek, nonce, Buffer.from(label), content);
    return joined(wrapped, Buffer.concat([nonce, tag, ciphertext]));
  } finally {
    dek.fill(0);
    content.fill(0);
  }
}

async function open(
  { provider, label }: Pick<SealedSecretOptions, "provider" | "label">,
  sealed: Uint8Array,
): Promise<Uint8Array> {
  const parts = partsOf(sealed);
  if (parts === undefined) throw doesNotOpen(label);
  const nonce = parts.rest.subarray(0, nonceLength);
  const tag = parts.rest.subarray(nonceLength, nonceLength + tagLength);
  const ciphertext = parts.rest.subarray(nonceLength + tagLength);
  const dek = await provider.unwrap(parts.wrapped, label);
  try {
    const content = decryptGcm(dek, nonce, Buffer.from(label), { ciphertext, tag });
    if (content === undefined) throw doesNotOpen(label);
    return content;
  } finally {
    dek.fill(0);
  }
}

interface SealedParts {
  readonly wrapped: Uint8Array;
  /** Nonce, tag, ciphertext. */
  readonly rest: Uint8Array;
}

function partsOf(sealed: Uint8Array): SealedParts | undefined {
  const wrappedAt = magic.length + 2;
  const restAt = wrappedAt + (sealed[magic.length] ?? 0) * 256 + (sealed[magic.length + 1] ?? 0);
  if (!magic.equals(sealed.subarray(0, magic.length))) return undefined;
  if (sealed.length < restAt + nonceLength + tagLength) return undefined;
  return { wrapped: sealed.subarray(wrappedAt, restAt), rest: sealed.subarray(restAt) };
}

function joined(wrapped: Uint8Array, rest: Uint8Array): Uint8Array {
  const length = Uint8Array.of(wrapped.length >> 8, wrapped.length & 0xff);
  return Buffer.concat([magic, length, wrapped, rest]);
}

/** Has the lifetime of the process: for in-memory installations. */
export function createMemorySecretFile(): SecretFile {
  let kept: Uint8Array | undefined;
  return {
    load: async () => kept,
    saveFirst: async (sealed) => (kept ??= sealed),
    replace: async (sealed) => void (kept = sealed),
  };
}
