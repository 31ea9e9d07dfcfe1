import { inspect } from "node:util";
import { assert } from "../kernel/assert.ts";

const zero = 0x30;

/**
 * Digits that must never become a string: owned bytes, wiped by their owner. Every conversion
 * prints `[secret]`.
 */
class SecretDigits {
  readonly #digits: Uint8Array;
  #wiped = false;

  protected constructor(digits: Uint8Array) {
    this.#digits = digits;
  }

  get length(): number {
    return this.#digits.length;
  }

  /**
   * The live buffer of ASCII digits, not a copy: do not keep it. Callers are the vault's own
   * functions and connectors; searching for `reveal(` is the security review.
   */
  reveal(): Uint8Array {
    assert(!this.#wiped, "card digits are not used after they were wiped");
    return this.#digits;
  }

  wipe(): void {
    this.#digits.fill(0);
    this.#wiped = true;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}

/** A card number of 14 to 19 digits that passes the Luhn check (interface 2.1). */
export class Pan extends SecretDigits {
  /**
   * Takes ownership of `digits` (ASCII). Undefined when they are not a card number; they are wiped
   * then.
   */
  static from(digits: Uint8Array): Pan | undefined {
    if (Pan.hasLength(digits.length) && passesLuhn(digits)) return new Pan(digits);
    digits.fill(0);
    return undefined;
  }

  /** Whether a card number can have this number of digits. */
  static hasLength(digits: number): boolean {
    return digits >= 14 && digits <= 19;
  }
}

/**
 * A security code of 3 or 4 digits. It can only be passed to a connector; no type that is stored
 * can hold it.
 */
export class Cvv extends SecretDigits {
  /**
   * Takes ownership of `digits` (ASCII). Undefined when they are not a security code; they are
   * wiped then.
   */
  static from(digits: Uint8Array): Cvv | undefined {
    if ((digits.length === 3 || digits.length === 4) && digits.every(isDigit))
      return new Cvv(digits);
    digits.fill(0);
    return undefined;
  }
}

/**
 * The cryptogram of a network token or of 3-D Secure, as sensitive as a security code: base64 or
 * base64url text in bytes (RFC 4648, sections 4 and 5), with or without padding. It is sent to the
 * acquirer unchanged.
 */
export class Cryptogram extends SecretDigits {
  /**
   * Takes ownership of `text`. Undefined when it is empty, longer than 64 bytes or has other
   * characters; it is wiped then.
   */
  static from(text: Uint8Array): Cryptogram | undefined {
    if (text.length > 0 && text.length <= 64 && text.every(isOfBase64)) return new Cryptogram(text);
    text.fill(0);
    return undefined;
  }
}

function isDigit(byte: number): boolean {
  return byte >= zero && byte <= zero + 9;
}

const signsOfBase64: ReadonlySet<number> = new Set(Buffer.from("+/-_=", "latin1"));

function isOfBase64(byte: number): boolean {
  return (
    isDigit(byte) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x61 && byte <= 0x7a) ||
    signsOfBase64.has(byte)
  );
}

/** The check digit of ISO/IEC 7812-1, over ASCII digits; false when a byte is not a digit. */
export function passesLuhn(digits: Uint8Array): boolean {
  let sum = 0;
  for (let index = digits.length - 1, doubled = false; index >= 0; index -= 1, doubled = !doubled) {
    const digit = (digits[index] ?? 0) - zero;
    if (digit < 0 || digit > 9) return false;
    const value = doubled ? digit * 2 : digit;
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}
