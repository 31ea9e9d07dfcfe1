import { createCipheriv, createHash, type Cipheriv } from "node:crypto";
import type { Random } from "./random.ts";

const chunkBytes = 1_024;
const blocksPerChunk = chunkBytes / 16;
const zeros = new Uint8Array(chunkBytes);

/**
 * Repeatable random bytes for sandbox worlds and the simulation: the same seed gives the same bytes
 * on every machine and version. The stream is AES-256 in counter mode over zeros, from counter 0,
 * with the key SHA-256(`cofre seeded random 1` NUL seed), and is read in the order of the calls.
 * The seed reveals every byte, so no secret may be drawn from it where real data is stored: only
 * worlds of the sandbox import this file (architecture.test.ts has the list of allowed importers),
 * and the configuration accepts only the sandbox environment.
 */
export class SeededRandom implements Random {
  readonly #stream: Cipheriv;
  #chunk: Uint8Array = new Uint8Array(0);
  #used = 0;
  #position = 0;

  /** `position`: number of bytes that another instance has drawn, to continue from there. */
  constructor(seed: string, position = 0) {
    const key = createHash("sha256").update("cofre seeded random 1\0").update(seed).digest();
    const counter = new Uint8Array(16);
    new DataView(counter.buffer).setBigUint64(
      8,
      BigInt(Math.floor(position / chunkBytes) * blocksPerChunk),
    );
    this.#stream = createCipheriv("aes-256-ctr", key, counter);
    this.#position = position;
    if (position % chunkBytes === 0) return;
    this.#chunk = this.#stream.update(zeros);
    this.#used = position % chunkBytes;
  }

  /** Number of bytes drawn. */
  get position(): number {
    return this.#position;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (this.#used === this.#chunk.length) {
        this.#chunk = this.#stream.update(zeros);
        this.#used = 0;
      }
      const part = this.#chunk.subarray(this.#used, this.#used + length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#used += part.length;
    }
    this.#position += length;
    return bytes;
  }
}
