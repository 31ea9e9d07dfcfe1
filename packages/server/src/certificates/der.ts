import { civilFromInstant } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";

/** The few types of DER (X.690) that certificates need: tag, length, content. */
export function tagged(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Uint8Array.of(tag), lengthOf(content.length), content]);
}

/** Below 128 one byte, otherwise the number of length bytes and the length in them. */
function lengthOf(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Uint8Array.of(0x80 | bytes.length, ...bytes);
}

export function sequence(...contents: readonly Uint8Array[]): Uint8Array {
  return tagged(0x30, ...contents);
}

export function set(...contents: readonly Uint8Array[]): Uint8Array {
  return tagged(0x31, ...contents);
}

/** A context-specific tag around a whole value. */
export function explicit(number: number, ...contents: readonly Uint8Array[]): Uint8Array {
  return tagged(0xa0 | number, ...contents);
}

export function boolean(value: boolean): Uint8Array {
  return tagged(0x01, Uint8Array.of(value ? 0xff : 0));
}

/**
 * A non-negative number, most significant byte first: without leading zeros, except one where it
 * would otherwise read as negative.
 */
export function integer(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  return tagged(0x02, (digits[0] ?? 0) >= 0x80 ? Uint8Array.of(0, ...digits) : digits);
}

export function bitString(bytes: Uint8Array, unusedBits: number): Uint8Array {
  return tagged(0x03, Uint8Array.of(unusedBits), bytes);
}

export function octetString(bytes: Uint8Array): Uint8Array {
  return tagged(0x04, bytes);
}

export function utf8String(text: string): Uint8Array {
  return tagged(0x0c, Buffer.from(text, "utf8"));
}

/**
 * The first two numbers share a byte; each further one is encoded in groups of seven bits, all but
 * the last with the high bit set.
 */
export function oid(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...others] = dotted.split(".").map(Number);
  const bytes = others.flatMap((number) => {
    const groups = [number % 128];
    for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left % 128) | 0x80);
    return groups;
  });
  return tagged(0x06, Uint8Array.of(first * 40 + second, ...bytes));
}

/** UTCTime through 2049, GeneralizedTime from 2050 on (RFC 5280 4.1.2.5). */
export function time(at: Instant): Uint8Array {
  const { year, month, day, hour, minute, second } = civilFromInstant(at);
  const digits = [month, day, hour, minute, second]
    .map((part) => String(part).padStart(2, "0"))
    .join("");
  return year < 2050
    ? tagged(0x17, Buffer.from(`${String(year % 100).padStart(2, "0")}${digits}Z`, "latin1"))
    : tagged(0x18, Buffer.from(`${year}${digits}Z`, "latin1"));
}
