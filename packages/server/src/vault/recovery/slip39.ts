import { createHmac, pbkdf2Sync, timingSafeEqual } from "node:crypto";
import { assert } from "../../kernel/assert.ts";
import type { Random } from "../../kernel/random.ts";
import { interpolated, type Point } from "./shamir.ts";
import slip39Words from "./slip39-words.json" with { type: "json" };

/**
 * Shares of a secret as words, by SLIP-39 (https://github.com/satoshilabs/slips/blob/master/slip-0039.md).
 *
 * A word is its position in the SLIP's list of 1,024 words, ten bits.
 *
 * `makeShares` makes one group, extendable, without passphrase, with iteration exponent 0: the
 * simplest form, which other implementations open. `joinShares` opens every form.
 */

const wordBits = 10;
const idBits = 15;
/** Identifier, extendable flag, iteration exponent, and five fields of four bits. */
const headWords = 4;
const checksumWords = 3;
const shortestSecret = 16;
const digestLength = 4;
const digestAt = 254;
const secretAt = 255;
const rounds = 4;
const baseIterations = 10_000;
/** The SLIP's most. */
export const mostShares = 16;

/** A share, read from its words and checked by its checksum. */
export interface Share {
  /** What all shares of one secret have in common, as text. */
  readonly set: string;
  readonly identifier: number;
  readonly isExtendable: boolean;
  readonly iterationExponent: number;
  /** Number of the group, from 0, and how many groups of how many open the secret. */
  readonly group: number;
  readonly groupThreshold: number;
  readonly groupCount: number;
  /** Number of the share in its group, from 0, and how many of them open it. */
  readonly member: number;
  readonly memberThreshold: number;
  readonly value: Uint8Array;
}

/** Words that are not a share, or shares that do not open. The message has no word of a share. */
export class ShareError extends Error {
  override readonly name = "ShareError";
}

interface SplitOptions {
  /** 32 bytes: 33 words. The caller wipes it. */
  readonly secret: Uint8Array;
  /** Number of shares that open the secret; fewer reveal nothing of it. */
  readonly threshold: number;
  readonly count: number;
  readonly random: Random;
}

/** The shares of a secret, each as words with blanks between them. */
export function makeShares({ secret, threshold, count, random }: SplitOptions): string[] {
  assert(secret.length >= shortestSecret && secret.length % 2 === 0, "a secret has 128 bits");
  assert(threshold >= 2 && threshold <= count && count <= mostShares, "a threshold fits");
  const drawn = random.bytes(2);
  const identifier = (((drawn[0] ?? 0) << 8) | (drawn[1] ?? 0)) & ((1 << idBits) - 1);
  const head = {
    identifier,
    isExtendable: true,
    iterationExponent: 0,
    group: 0,
    groupThreshold: 1,
    groupCount: 1,
    memberThreshold: threshold,
  };
  const encrypted = feistel(secret, new Uint8Array(0), head, "encrypt");
  const points = splitPoints(encrypted, threshold, random);
  const shares = Array.from({ length: count }, (_, member) =>
    wordsOf({ ...head, member, value: interpolated(points, member) }),
  );
  for (const { y } of points) y.fill(0);
  return shares;
}

/** `threshold` points of a random polynomial: shares, and those of the secret and its digest. */
function splitPoints(encrypted: Uint8Array, threshold: number, random: Random): Point[] {
  const { length } = encrypted;
  const chosen = Array.from({ length: threshold - 2 }, (_, x) => ({ x, y: random.bytes(length) }));
  const salt = random.bytes(length - digestLength);
  const digest = Buffer.concat([digestOf(encrypted, salt), salt]);
  return [...chosen, { x: digestAt, y: digest }, { x: secretAt, y: encrypted }];
}

/**
 * Reads the words of one share, in any case and with any blanks. Throws ShareError that numbers a
 * word which is not in the list or, if only one is wrong, does not fit the checksum.
 */
export function readShare(text: string): Share {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const indices = words.map((word) => slip39Words.indexOf(word));
  const unknown = indices.flatMap((index, at) => (index < 0 ? [at + 1] : []));
  if (unknown.length > 0) {
    const named = unknown.slice(0, 5).join(", ");
    throw new ShareError(
      unknown.length === 1
        ? `word ${named} is not in the list of words`
        : `words ${named} are not in the list of words`,
    );
  }
  const valueWords = indices.length - headWords - checksumWords;
  const valueLength = 2 * Math.floor((valueWords * wordBits) / 16);
  const unusedBits = valueWords * wordBits - 8 * valueLength;
  if (valueLength < shortestSecret || unusedBits > 8)
    throw new ShareError(`it has ${indices.length} words; a share of 256 bits has 33`);
  if (!fits(indices)) throw mistyped(indices);
  return shareOf(indices, valueLength);
}

function mistyped(indices: readonly number[]): ShareError {
  const wrong = mistypedWord(indices);
  return new ShareError(
    wrong === undefined
      ? "its checksum does not fit: two or more words are wrong, missing or in another order"
      : `its checksum does not fit: word ${wrong} is wrong`,
  );
}

function shareOf(indices: readonly number[], valueLength: number): Share {
  let head = 0n;
  for (const index of indices.slice(0, headWords)) head = (head << 10n) | BigInt(index);
  const field = (above: number, bits: number): number =>
    Number((head >> BigInt(above)) & ((1n << BigInt(bits)) - 1n));
  const share = {
    identifier: field(25, idBits),
    isExtendable: field(24, 1) === 1,
    iterationExponent: field(20, 4),
    group: field(16, 4),
    groupThreshold: field(12, 4) + 1,
    groupCount: field(8, 4) + 1,
    member: field(4, 4),
    memberThreshold: field(0, 4) + 1,
  };
  if (share.groupThreshold > share.groupCount)
    throw new ShareError("it needs more groups than there are");
  let value = 0n;
  for (const index of indices.slice(headWords, -checksumWords))
    value = (value << 10n) | BigInt(index);
  if (value >> BigInt(8 * valueLength) !== 0n)
    throw new ShareError("its unused bits are not zero: it is not a share");
  const { identifier, isExtendable, iterationExponent, groupThreshold, groupCount } = share;
  return {
    ...share,
    set: [
      identifier,
      isExtendable,
      iterationExponent,
      groupThreshold,
      groupCount,
      valueLength,
    ].join(),
    value: Buffer.from(value.toString(16).padStart(2 * valueLength, "0"), "hex"),
  };
}

/**
 * The secret of these shares; the caller wipes it. Throws ShareError when they do not belong
 * together, are too few, or are not genuine.
 */
export function joinShares(shares: readonly Share[], passphrase = new Uint8Array(0)): Uint8Array {
  const [first] = shares;
  if (first === undefined) throw new ShareError("no share was given");
  if (shares.some(({ set }) => set !== first.set))
    throw new ShareError("the shares are of different sets");
  const groups = Map.groupBy(shares, ({ group }) => group);
  if (groups.size !== first.groupThreshold)
    throw new ShareError(`shares of ${first.groupThreshold} groups are needed`);
  const points = Array.from(groups, ([group, members]) => ({ x: group, y: joinGroup(members) }));
  const encrypted = joinPoints(points, first.groupThreshold);
  const secret = feistel(encrypted, passphrase, first, "decrypt");
  for (const bytes of [encrypted, ...points.map(({ y }) => y)]) bytes.fill(0);
  return secret;
}

function joinGroup(members: readonly Share[]): Uint8Array {
  const [threshold = 1] = members.map(({ memberThreshold }) => memberThreshold);
  if (members.some(({ memberThreshold }) => memberThreshold !== threshold))
    throw new ShareError("the shares of a group need different numbers of shares");
  const points = members.map(({ member, value }) => ({ x: member, y: value }));
  if (new Set(points.map(({ x }) => x)).size !== points.length)
    throw new ShareError("a share was given twice");
  if (points.length !== threshold)
    throw new ShareError(`${threshold} shares are needed, but ${points.length} were given`);
  return joinPoints(points, threshold);
}

function joinPoints(points: readonly Point[], threshold: number): Uint8Array {
  const secret = interpolated(points, threshold === 1 ? (points[0]?.x ?? 0) : secretAt);
  if (threshold === 1) return secret;
  const digest = interpolated(points, digestAt);
  const isGenuine = timingSafeEqual(
    digest.subarray(0, digestLength),
    digestOf(secret, digest.subarray(digestLength)),
  );
  if (isGenuine) return secret;
  secret.fill(0);
  throw new ShareError("the shares do not fit each other: one of them is not genuine");
}

function digestOf(secret: Uint8Array, salt: Uint8Array): Buffer {
  return createHmac("sha256", salt).update(secret).digest().subarray(0, digestLength);
}

type Encryption = Pick<Share, "identifier" | "isExtendable" | "iterationExponent">;

/** The SLIP's four rounds, which bind the passphrase; it takes the length of its input. */
function feistel(
  input: Uint8Array,
  passphrase: Uint8Array,
  { identifier, isExtendable, iterationExponent }: Encryption,
  direction: "encrypt" | "decrypt",
): Uint8Array {
  const half = input.length / 2;
  const prefix = isExtendable
    ? Buffer.alloc(0)
    : Buffer.concat([Buffer.from("shamir"), Buffer.of(identifier >> 8, identifier & 0xff)]);
  const iterations = (baseIterations << iterationExponent) / rounds;
  let [left, right] = [input.subarray(0, half), input.subarray(half)];
  for (let step = 0; step < rounds; step += 1) {
    const round = direction === "encrypt" ? step : rounds - 1 - step;
    const key = Buffer.concat([Buffer.of(round), passphrase]);
    const salt = Buffer.concat([prefix, right]);
    const mask = pbkdf2Sync(key, salt, iterations, half, "sha256");
    const mixed = left.map((byte, at) => byte ^ (mask[at] ?? 0));
    [left, right] = [right, mixed];
  }
  return Buffer.concat([right, left]);
}

function wordsOf(share: Omit<Share, "set">): string {
  let head = BigInt(share.identifier);
  const add = (field: number, bits: number): void => {
    head = (head << BigInt(bits)) | BigInt(field);
  };
  add(share.isExtendable ? 1 : 0, 1);
  add(share.iterationExponent, 4);
  add(share.group, 4);
  add(share.groupThreshold - 1, 4);
  add(share.groupCount - 1, 4);
  add(share.member, 4);
  add(share.memberThreshold - 1, 4);
  const valueWords = Math.ceil((8 * share.value.length) / wordBits);
  const data = [
    ...digitsOf(head, headWords),
    ...digitsOf(BigInt(`0x${Buffer.from(share.value).toString("hex")}`), valueWords),
  ];
  const indices = [...data, ...checksumOf(data, share.isExtendable)];
  return indices.map((index) => slip39Words[index] ?? "").join(" ");
}

function digitsOf(number: bigint, count: number): number[] {
  return Array.from({ length: count }, (_, at) =>
    Number((number >> BigInt(wordBits * (count - 1 - at))) & 1_023n),
  );
}

// --- RS1024, the SLIP's checksum -----------------------------------------------------------------

const generator = [
  0xe0e040, 0x1c1c080, 0x3838100, 0x7070200, 0xe0e0009, 0x1c0c2412, 0x38086c24, 0x3090fc48,
  0x21b1f890, 0x3f3f120,
];

function remainderOf(values: Iterable<number>): number {
  let remainder = 1;
  for (const value of values) {
    const top = remainder >>> 20;
    remainder = ((remainder & 0xfffff) << wordBits) ^ value;
    for (const [bit, term] of generator.entries()) if (((top >>> bit) & 1) === 1) remainder ^= term;
  }
  return remainder;
}

function customization(isExtendable: boolean): readonly number[] {
  return [...Buffer.from(isExtendable ? "shamir_extendable" : "shamir", "latin1")];
}

function checksumOf(data: readonly number[], isExtendable: boolean): number[] {
  const remainder = remainderOf([...customization(isExtendable), ...data, 0, 0, 0]) ^ 1;
  return [20, 10, 0].map((shift) => (remainder >>> shift) & 1_023);
}

function fits(indices: readonly number[]): boolean {
  const isExtendable = ((indices[1] ?? 0) & 0b10000) !== 0;
  return remainderOf([...customization(isExtendable), ...indices]) === 1;
}

/**
 * Number of the only wrong word, from 1; undefined when more are wrong. Two shares differ in four
 * words or more, so at most one change of one word makes the checksum fit.
 */
function mistypedWord(indices: readonly number[]): number | undefined {
  for (const at of indices.keys()) {
    for (let index = 0; index < slip39Words.length; index += 1)
      if (fits(indices.with(at, index))) return at + 1;
  }
  return undefined;
}
