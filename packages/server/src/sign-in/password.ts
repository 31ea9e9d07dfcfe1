import { argon2, timingSafeEqual } from "node:crypto";
import { ConcurrencyLimit } from "../kernel/concurrency-limit.ts";
import type { Random } from "../kernel/random.ts";
import { UserError } from "./users.ts";

/**
 * Password hashing: argon2id with the first of the equivalent settings in OWASP's Password Storage
 * Cheat Sheet (19 MiB, two passes, one lane). A hash contains its parameters, so the numbers here
 * may grow: an older hash is accepted once more, and then replaced.
 */
const today = { memory: 19 * 1_024, passes: 2, parallelism: 1 } as const;
const saltLength = 16;
const tagLength = 32;

/** In code points, after normalization (PCI DSS 8.3.6 requires 12). */
const shortest = 12;
const longest = 128;
/**
 * Longer input is not normalized: each of 128 code points may be encoded in several UTF-16 units.
 */
const longestGiven = 1_024;

/** Each takes 19 MiB and some tens of milliseconds of a thread from the shared pool. */
const maxConcurrent = 2;
const maxWaiting = 16;

export interface Passwords {
  /**
   * The hash to store, in the PHC string format: `$argon2id$v=19$m=19456,t=2,p=1$salt$tag`. Rejects
   * with UserError `busy`.
   */
  hash(password: string): Promise<string>;
  /**
   * Whether `password` matches the hash. Without a hash the result is false, after the same work.
   * Rejects with UserError `busy`.
   */
  matches(password: string, hash: string | undefined): Promise<boolean>;
  /** Whether the hash has weaker parameters than the present ones. */
  isOld(hash: string): boolean;
}

/** The password in NFC; undefined when it is too short, too long, or not valid Unicode. */
export function normalizedPassword(given: string): string | undefined {
  if (given.length > longestGiven || !given.isWellFormed()) return undefined;
  const password = given.normalize("NFC");
  const { length } = Array.from(password);
  return length < shortest || length > longest ? undefined : password;
}

/** Whether the password contains the name, in any case. */
export function holdsName(password: string, name: string): boolean {
  return password.toLowerCase().includes(name.toLowerCase());
}

/** Hashes two passwords at a time and queues up to sixteen. */
export function createPasswords({ random }: { readonly random: Random }): Passwords {
  const limit = new ConcurrencyLimit(maxConcurrent, maxWaiting);
  return {
    hash: (password) =>
      limit.run(async () => {
        const salt = random.bytes(saltLength);
        return phcOf({
          ...today,
          salt,
          tag: await derive(password, { ...today, salt }, tagLength),
        });
      }, refuse),
    matches: (password, hash) =>
      limit.run(async () => {
        const kept = hash === undefined ? dummyHash : partsOf(hash);
        const tag = await derive(password, kept, kept.tag.length);
        return timingSafeEqual(tag, kept.tag) && hash !== undefined;
      }, refuse),
    isOld(hash) {
      const { memory, passes, parallelism } = partsOf(hash);
      return memory < today.memory || passes < today.passes || parallelism < today.parallelism;
    },
  };
}

interface Parameters {
  /** In KiB. */
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Uint8Array;
}

interface Parts extends Parameters {
  readonly tag: Uint8Array;
}

/** The dummy hash that unknown users' passwords are compared with. */
const dummyHash: Parts = {
  ...today,
  salt: new Uint8Array(saltLength),
  tag: new Uint8Array(tagLength),
};

function derive(
  password: string,
  { memory, passes, parallelism, salt }: Parameters,
  length: number,
): Promise<Uint8Array> {
  const message = Buffer.from(password, "utf8");
  return new Promise((resolve, reject) => {
    argon2(
      "argon2id",
      { message, nonce: salt, memory, passes, parallelism, tagLength: length },
      (error, tag) => {
        message.fill(0);
        if (error === null) resolve(tag);
        else reject(error);
      },
    );
  });
}

function phcOf({ memory, passes, parallelism, salt, tag }: Parts): string {
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${base64Of(salt)}$${base64Of(tag)}`;
}

const phc =
  /^\$argon2id\$v=19\$m=(\d{1,8}),t=(\d{1,4}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/;

/** Stored hashes were created here: any other text is not a hash and matches no password. */
function partsOf(hash: string): Parts {
  const [, memory, passes, parallelism, salt = "", tag = ""] = phc.exec(hash) ?? [];
  if (memory === undefined) return dummyHash;
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, "base64"),
    tag: Buffer.from(tag, "base64"),
  };
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64").replaceAll("=", "");
}

function refuse(): never {
  throw new UserError("busy");
}
