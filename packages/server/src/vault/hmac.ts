import { hash, type KeyObject } from "node:crypto";
import { assert } from "../kernel/assert.ts";

const blockLength = 64;
const digestLength = 32;

/**
 * HMAC-SHA-256 (RFC 2104) of short messages under one key, as two one-shot hashes. `createHmac`
 * creates an object for each message, which takes twice as long and which the garbage collector has
 * to finalize. Owns the key in its two padded forms, outside V8's heap, where no collection copies
 * them.
 *
 * The message is written into `message` and hashed within one synchronous call.
 */
export class HmacSha256 {
  /** The input buffer for the message. */
  readonly message: Buffer;
  readonly #inner: Buffer;
  readonly #outer: Buffer;

  /** `longest`: maximum length of a message, in bytes. */
  constructor(key: KeyObject, longest: number) {
    const bytes = key.export();
    assert(bytes.length <= blockLength, "a key of HMAC-SHA-256 is no longer than a block");
    this.#inner = Buffer.from(new ArrayBuffer(blockLength + longest));
    this.#outer = Buffer.from(new ArrayBuffer(blockLength + digestLength));
    for (let at = 0; at < blockLength; at += 1) {
      const byte = bytes[at] ?? 0;
      this.#inner[at] = byte ^ 0x36;
      this.#outer[at] = byte ^ 0x5c;
    }
    bytes.fill(0);
    this.message = this.#inner.subarray(blockLength);
  }

  /**
   * The HMAC of the first `length` bytes of `message`. "latin1": one character per byte, which is
   * faster than a buffer.
   */
  digest(length: number, encoding: "hex" | "latin1"): string {
    assert(length <= this.message.length, "a message fits where it is written");
    this.#outer.write(
      hash("sha256", this.#inner.subarray(0, blockLength + length), "latin1"),
      blockLength,
      "latin1",
    );
    return hash("sha256", this.#outer, encoding);
  }
}
