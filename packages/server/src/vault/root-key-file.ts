import { newKeyBytes } from "./new-key-bytes.ts";
import { createHmac } from "node:crypto";
import { constants, promises } from "node:fs";
import { join } from "node:path";
import { hexOf } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { keyLength } from "./aes.ts";
import { KeyringError, type KeyProvider, KeysChangedElsewhere } from "./key-provider.ts";
import {
  isEnvironmentId,
  keyPurposes,
  type WrappedKey,
  type WrappedKeys,
  type WrappedKeyStore,
} from "./keyring.ts";
import { createMemoryKeyProvider } from "./memory-key-provider.ts";
import type { SecretFile } from "./sealed-secret.ts";

/**
 * Owns two files of one directory. `root.key`, unless a service holds the root key, holds the root key in the clear: the magic line, the
 * length of the environment id, the id, 32 bytes of key, and as check value an HMAC under the key
 * of everything before it. It never changes. `keys.<n>.json` holds the wrapped keys. A change
 * creates a file with the next number, which fails if it exists: two processes that change the same
 * keys never lose each other's key version and the cards sealed under it. The previous file is
 * kept, earlier ones are deleted. Back up both, separately from the cards.
 */
interface KeyFilesOptions {
  readonly directory: string;
  readonly environment: string;
  /**
   * Whether a missing root key is created: at the first start of a sandbox, never in production.
   */
  readonly create: boolean;
  readonly random: Random;
  /** The root key, if a service holds it: then there is no `root.key`. */
  readonly root?: KeyProvider | undefined;
  /** See createMemoryKeyProvider. */
  readonly isSeparate?: () => boolean;
}

interface KeyFiles extends StoredKeyFiles {
  readonly provider: KeyProvider;
}

/** What is stored below the root key. */
interface StoredKeyFiles {
  readonly store: WrappedKeyStore;
  /**
   * `<name>.sealed`, for another secret that is sealed under the root key. Back it up like the
   * keys.
   */
  readonly secretFile: (name: string) => SecretFile;
}

const { link, mkdir, open, readdir, rename, rm } = promises;

const magic = Buffer.from("cofre root key 1\n", "latin1");
const checkLength = 32;
const ownerOnly = 0o600;
/** About 3,000 key versions; a larger file is not ours. */
const largestKeysFile = 1_048_576;
const largestRootFile = 1_024;
const largestSecretFile = 65_536;
/** Windows has neither owner permission bits nor directories that can be flushed. */
const isPosix = process.platform !== "win32";

/**
 * Opens the keys of a directory. Rejects with KeyringError, which has the file and the remedy,
 * never the file's content.
 */
export async function openKeyFiles({
  directory,
  environment,
  create,
  random,
  root,
  isSeparate,
}: KeyFilesOptions): Promise<KeyFiles> {
  if (root !== undefined && create) await mkdir(directory, { recursive: true, mode: 0o700 });
  const fileRoot = async (): Promise<KeyProvider> => {
    const bytes = await openRoot({ directory, environment, create, random });
    const provider = createMemoryKeyProvider(random, bytes, isSeparate);
    return { ...provider, facts: async () => ({ ...(await provider.facts()), kind: "file" }) };
  };
  return {
    provider: root ?? (await fileRoot()),
    ...storedKeyFiles(directory, random),
  };
}

/** The files below the root key, without opening it. */
export function storedKeyFiles(directory: string, random: Random): StoredKeyFiles {
  return {
    store: keysFiles(directory, random),
    secretFile: (name) => secretFile(join(directory, `${name}.sealed`), directory, random),
  };
}

/**
 * Creates `root.key` in place of one that was lost, unless there is one. The keys that the lost one
 * wrapped have to be wrapped again.
 */
export async function createRootKey(
  directory: string,
  environment: string,
  random: Random,
): Promise<void> {
  const path = join(directory, "root.key");
  if ((await readPrivate(path, largestRootFile)) === undefined)
    await makeRoot(path, directory, environment, random);
}

/** The root key in `root.key`, owned by the caller. */
async function openRoot({
  directory,
  environment,
  create,
  random,
}: KeyFilesOptions): Promise<Uint8Array> {
  const rootPath = join(directory, "root.key");
  let content = await readPrivate(rootPath, largestRootFile);
  if (content === undefined && (await generationsIn(directory)).length > 0) {
    // The root key is created before its keys: another process that starts for the first time may
    // have created both since.
    content = await readPrivate(rootPath, largestRootFile);
    if (content === undefined) {
      throw new KeyringError(
        `${rootPath} is missing, but there are keys that were wrapped by it: restore the root key from its backup, or set COFRE_ROOT_KEY if a service holds it`,
      );
    }
  }
  if (content === undefined) {
    if (!create)
      throw new KeyringError(
        `${rootPath} is missing, but there is data that needs it: restore the root key from its backup, or set COFRE_ROOT_KEY if a service holds it`,
      );
    await mkdir(directory, { recursive: true, mode: 0o700 });
    await makeRoot(rootPath, directory, environment, random);
    content = await readPrivate(rootPath, largestRootFile);
  }
  if (content === undefined) throw new KeyringError(`${rootPath} has vanished after it was made`);
  return readRoot(content, rootPath, environment);
}

/**
 * Whether a directory has keys, or files with their names. False if it cannot be read; opening them
 * reports the reason.
 */
export async function hasKeyFiles(directory: string): Promise<boolean> {
  try {
    return (await readdir(directory)).some(
      (name) => name === "root.key" || /^keys\.\d+\.json$|\.sealed$/.test(name),
    );
  } catch {
    return false;
  }
}

/**
 * Whether a directory has wrapped keys, as an installation has that an earlier version began. False
 * if it cannot be read.
 */
export async function hasWrappedKeys(directory: string): Promise<boolean> {
  try {
    return (await generationsIn(directory)).length > 0;
  } catch {
    return false;
  }
}

/** The root key, owned by the caller; `content` is wiped. */
function readRoot(content: Buffer, path: string, environment: string): Uint8Array {
  try {
    const keyAt = magic.length + 1 + (content[magic.length] ?? 0);
    if (!content.subarray(0, magic.length).equals(magic))
      throw new KeyringError(`${path} is not a root key file that this version can read`);
    if (content.length !== keyAt + keyLength + checkLength) {
      throw new KeyringError(
        `${path} is truncated or has something added: restore it from its backup`,
      );
    }
    const key = content.subarray(keyAt, keyAt + keyLength);
    if (!checkValue(content.subarray(0, keyAt), key).equals(content.subarray(keyAt + keyLength))) {
      throw new KeyringError(
        `${path} has been altered or is damaged (its check value does not fit): restore it from its backup`,
      );
    }
    const of = content.toString("latin1", magic.length + 1, keyAt);
    if (of !== environment)
      throw new KeyringError(`${path} belongs to the environment ${of}, this is ${environment}`);
    return Uint8Array.from(key);
  } finally {
    content.fill(0);
  }
}

function checkValue(header: Uint8Array, key: Uint8Array): Buffer {
  return createHmac("sha256", key).update("cofre root key check value").update(header).digest();
}

/**
 * Creates the file atomically. If another process was faster, its file stays: a root key is never
 * overwritten.
 */
async function makeRoot(
  path: string,
  directory: string,
  environment: string,
  random: Random,
): Promise<void> {
  if (!isEnvironmentId(environment))
    throw new KeyringError("an environment is named by lower-case letters, digits and dashes");
  const key = newKeyBytes(random);
  const header = Buffer.concat([
    magic,
    Buffer.of(environment.length),
    Buffer.from(environment, "latin1"),
  ]);
  const content = Buffer.alloc(header.length + keyLength + checkLength);
  content.set(header);
  content.set(key, header.length);
  content.set(checkValue(header, key), header.length + keyLength);
  const temporary = temporaryPath(path, random);
  try {
    await writeDurably(temporary, content);
    await link(temporary, path);
    await syncDirectory(directory);
  } catch (error) {
    if (!hasCode(error, "EEXIST"))
      throw new KeyringError(`${path} could not be made (${codeOf(error)})`);
  } finally {
    key.fill(0);
    content.fill(0);
    await rm(temporary, { force: true });
  }
}

function keysFiles(directory: string, random: Random): WrappedKeyStore {
  /** Number of the file that was last loaded or saved; 0 before there is one. */
  let generation = 0;
  const pathOf = (number: number): string => join(directory, `keys.${number}.json`);
  return {
    async load(): Promise<WrappedKeys | undefined> {
      generation = Math.max(0, ...(await generationsIn(directory)));
      if (generation === 0) return undefined;
      const path = pathOf(generation);
      const content = await readPrivate(path, largestKeysFile);
      // Another process has saved twice since the names were read, and has deleted this file.
      if (content === undefined && Math.max(0, ...(await generationsIn(directory))) > generation)
        throw changedElsewhere(directory);
      const keys = content === undefined ? undefined : parseKeys(content.toString("utf8"));
      if (keys === undefined)
        throw new KeyringError(
          `${path} is damaged or of another version: restore it from its backup`,
        );
      return keys;
    },

    async save(keys: WrappedKeys): Promise<void> {
      const next = generation + 1;
      const path = pathOf(next);
      const temporary = temporaryPath(path, random);
      try {
        await writeDurably(temporary, Buffer.from(printKeys(keys)));
        await link(temporary, path);
        await syncDirectory(directory);
        const generations = await generationsIn(directory);
        if (generations.some((other) => other > next)) {
          // Another process has saved later numbers; it created this number too, and has deleted it
          // since.
          await rm(path);
          throw changedElsewhere(directory);
        }
        await Promise.all(
          generations
            .filter((other) => other < generation)
            .map(async (other) => rm(pathOf(other), { force: true })),
        );
        generation = next;
      } catch (error) {
        if (error instanceof KeyringError) throw error;
        throw hasCode(error, "EEXIST")
          ? changedElsewhere(directory)
          : new KeyringError(`${path} could not be written (${codeOf(error)})`);
      } finally {
        await rm(temporary, { force: true });
      }
    },
  };
}

function secretFile(path: string, directory: string, random: Random): SecretFile {
  return {
    load: () => readPrivate(path, largestSecretFile),

    async saveFirst(sealed) {
      const temporary = temporaryPath(path, random);
      try {
        await writeDurably(temporary, sealed);
        await link(temporary, path);
        await syncDirectory(directory);
        return sealed;
      } catch (error) {
        if (!hasCode(error, "EEXIST"))
          throw new KeyringError(`${path} could not be written (${codeOf(error)})`);
      } finally {
        await rm(temporary, { force: true });
      }
      const kept = await readPrivate(path, largestSecretFile);
      if (kept === undefined) throw new KeyringError(`${path} has vanished after it was made`);
      return kept;
    },

    async replace(sealed) {
      const temporary = temporaryPath(path, random);
      try {
        await writeDurably(temporary, sealed);
        await rename(temporary, path);
        await syncDirectory(directory);
      } catch (error) {
        throw new KeyringError(`${path} could not be written (${codeOf(error)})`);
      } finally {
        await rm(temporary, { force: true });
      }
    },
  };
}

function changedElsewhere(directory: string): KeysChangedElsewhere {
  return new KeysChangedElsewhere(`the keys in ${directory} were changed by another process`);
}

/** The numbers of the files of wrapped keys; none when the directory does not exist. */
async function generationsIn(directory: string): Promise<number[]> {
  try {
    const numbers = (await readdir(directory)).map(
      (name) => /^keys\.([1-9]\d{0,14})\.json$/.exec(name)?.[1],
    );
    return numbers.filter((number) => number !== undefined).map(Number);
  } catch (error) {
    if (hasCode(error, "ENOENT")) return [];
    throw new KeyringError(`${directory} cannot be read (${codeOf(error)})`);
  }
}

/** Of a root key in a file, or of one in a service. */
const rootKeyIdForm =
  /^(?:[0-9a-f]{16}|(?:transit|aws-kms):[\w.:/-]{1,200}|pkcs11:[\w.!~*'()%-]{1,768}\/[0-9a-f]{2,512})$/;

const keysFormat = "cofre wrapped keys 1";

function printKeys({ environment, rootKeyId, keys }: WrappedKeys): string {
  const rows = keys.map((key) => ({ ...key, wrapped: hexOf(key.wrapped) }));
  return `${JSON.stringify({ format: keysFormat, environment, rootKeyId, keys: rows }, undefined, 2)}\n`;
}

/**
 * Undefined when the text does not have printKeys' format. Whether the keys are genuine is verified
 * when they are unwrapped.
 */
function parseKeys(text: string): WrappedKeys | undefined {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    // The parser's own error quotes its input.
    return undefined;
  }
  if (!isRecord(file) || file["format"] !== keysFormat) return undefined;
  const { environment, rootKeyId, keys: rows } = file;
  if (typeof environment !== "string" || typeof rootKeyId !== "string" || !Array.isArray(rows))
    return undefined;
  if (!isEnvironmentId(environment) || !rootKeyIdForm.test(rootKeyId)) return undefined;
  const keys = rows.map((row: unknown) => parseKey(row));
  return keys.every((key) => key !== undefined) ? { environment, rootKeyId, keys } : undefined;
}

function parseKey(row: unknown): WrappedKey | undefined {
  if (!isRecord(row)) return undefined;
  const { id, createdAt, wrapsReserved, wrapped } = row;
  const purpose = keyPurposes.find((known) => known === row["purpose"]);
  if (
    purpose === undefined ||
    typeof wrapped !== "string" ||
    !/^([0-9a-f]{2}){1,4096}$/.test(wrapped)
  )
    return undefined;
  if (!isCount(id) || id < 1 || id > 0xffff_ffff || !isCount(createdAt) || !isCount(wrapsReserved))
    return undefined;
  return {
    purpose,
    id,
    createdAt: instant(createdAt),
    wrapsReserved,
    wrapped: Buffer.from(wrapped, "hex"),
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/**
 * The whole file; undefined when there is none. Refuses anything but a plain file of this user that
 * no other user can access.
 */
async function readPrivate(path: string, limit: number): Promise<Buffer | undefined> {
  let file: promises.FileHandle;
  try {
    file = await open(
      path,
      constants.O_RDONLY | (isPosix ? constants.O_NOFOLLOW | constants.O_NONBLOCK : 0),
    );
  } catch (error) {
    if (hasCode(error, "ENOENT")) return undefined;
    throw new KeyringError(
      hasCode(error, "EACCES")
        ? `${path} cannot be read by this user: start Cofre as the owner of the file, or make this user the owner`
        : `${path} cannot be opened as a plain file (${codeOf(error)})`,
    );
  }
  try {
    const facts = await file.stat();
    if (!facts.isFile()) throw new KeyringError(`${path} is not a plain file`);
    const mode = facts.mode & 0o777;
    if (isPosix && (mode & 0o077) !== 0) {
      throw new KeyringError(
        `${path} is open to others (mode ${mode.toString(8).padStart(4, "0")}): make it 0600 with chmod, and renew the keys if others had access`,
      );
    }
    if (facts.size > limit) throw new KeyringError(`${path} is too large to be a file of keys`);
    const content = Buffer.alloc(facts.size);
    const { bytesRead } = await file.read(content, 0, content.length, 0);
    if (bytesRead !== content.length) throw new KeyringError(`${path} changed while it was read`);
    return content;
  } finally {
    await file.close();
  }
}

async function writeDurably(path: string, content: Uint8Array): Promise<void> {
  const file = await open(path, "wx", ownerOnly);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Otherwise a power failure may lose the new name of a file whose content is safe. */
async function syncDirectory(directory: string): Promise<void> {
  if (!isPosix) return;
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function temporaryPath(path: string, random: Random): string {
  return `${path}.${hexOf(random.bytes(6))}.new`;
}

function hasCode(error: unknown, code: string): boolean {
  return codeOf(error) === code;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string"
    ? error.code
    : "unknown";
}
