import { constants, createInflateRaw, createZstdDecompress } from "node:zlib";

/** Compressed data that begins within other bytes. */
export interface Container {
  readonly kind: "gzip" | "zip" | "zlib" | "zstd";
  /** Position of its signature. */
  readonly offset: number;
  /** Position of the compressed data. */
  readonly dataOffset: number;
}

const starts: readonly number[] = [0x1f, 0x50, 0x28, 0x78];

/**
 * Finds the beginnings of compressed data in `bytes`. `atStart`: the first byte is the first of a
 * file.
 */
export function* containersIn(bytes: Uint8Array, atStart: boolean): Generator<Container> {
  for (const first of starts) {
    for (
      let offset = bytes.indexOf(first);
      offset >= 0;
      offset = bytes.indexOf(first, offset + 1)
    ) {
      const found = containerAt(bytes, offset, atStart);
      if (found !== undefined) yield found;
    }
  }
}

function containerAt(bytes: Uint8Array, offset: number, atStart: boolean): Container | undefined {
  const is = (...expected: readonly number[]): boolean =>
    expected.every((byte, index) => bytes[offset + index] === byte);
  if (is(0x1f, 0x8b, 0x08)) {
    const dataOffset = afterGzipHeader(bytes, offset);
    return dataOffset < bytes.length ? { kind: "gzip", offset, dataOffset } : undefined;
  }
  if (is(0x28, 0xb5, 0x2f, 0xfd)) return { kind: "zstd", offset, dataOffset: offset };
  // Deflated, not encrypted. Stored entries need no decompression.
  if (
    is(0x50, 0x4b, 0x03, 0x04) &&
    ((bytes[offset + 6] ?? 1) & 1) === 0 &&
    bytes[offset + 8] === 8
  ) {
    const short = (at: number): number =>
      (bytes[offset + at] ?? 0) + (bytes[offset + at + 1] ?? 0) * 256;
    const dataOffset = offset + 30 + short(26) + short(28);
    return dataOffset < bytes.length ? { kind: "zip", offset, dataOffset } : undefined;
  }
  // Two bytes occur in any noise: they count only at the start of a file and in PDF streams.
  const isZlib =
    bytes[offset] === 0x78 && [0x01, 0x5e, 0x9c, 0xda].includes(bytes[offset + 1] ?? 0);
  if (isZlib && ((atStart && offset === 0) || isAfterStream(bytes, offset)))
    return { kind: "zlib", offset, dataOffset: offset + 2 };
  return undefined;
}

/**
 * RFC 1952: ten bytes, then an extra field, a name, a comment and a checksum, depending on the
 * flags. Infinity: not a gzip header.
 */
function afterGzipHeader(bytes: Uint8Array, offset: number): number {
  const flags = bytes[offset + 3] ?? 0xff;
  if ((flags & 0xe0) !== 0) return Infinity;
  let at = offset + 10;
  if ((flags & 4) !== 0) at += 2 + (bytes[at] ?? 0) + (bytes[at + 1] ?? 0) * 256;
  for (const flag of [8, 16]) {
    if ((flags & flag) === 0) continue;
    const end = bytes.indexOf(0, at);
    if (end < 0) return Infinity;
    at = end + 1;
  }
  return (flags & 2) === 0 ? at : at + 2;
}

function isAfterStream(bytes: Uint8Array, offset: number): boolean {
  return /stream\r?\n$/.test(
    Buffer.from(bytes.subarray(Math.max(0, offset - 8), offset)).toString("latin1"),
  );
}

/**
 * Decompressed without header and checksum: otherwise bytes after a container within a larger file
 * would be an error of the container, and discard data that was read already. A truncated container
 * is read as far as possible.
 */
const deflated = () => createInflateRaw({ finishFlush: constants.Z_SYNC_FLUSH });
const streamFactories = {
  gzip: deflated,
  zip: deflated,
  zlib: deflated,
  zstd: () => createZstdDecompress(),
};

/** Most bytes read from one container: a few kilobytes can expand to any number of zeros. */
export const maxInflatedBytes = 4 * 1_024 * 1_024 * 1_024;

/** Decompresses one container from the bytes written to it, and passes its content on in chunks. */
export class Inflation {
  readonly #stream: ReturnType<(typeof streamFactories)[Container["kind"]]>;
  readonly #read: Promise<"whole" | "cut">;
  #isOver = false;

  /** `onChunk` receives each chunk; the next one waits for its promise. */
  constructor(
    kind: Container["kind"],
    onChunk: (chunk: Uint8Array) => Promise<void>,
    maxBytes = maxInflatedBytes,
  ) {
    this.#stream = streamFactories[kind]();
    // Bytes after a container may cause an error after reading has ended: Node 24 emits it as an
    // event.
    this.#stream.on("error", () => undefined);
    this.#read = this.#readAll(onChunk, maxBytes);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Resolves when the bytes have been read, or no more are wanted. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#isOver) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#stream.write(bytes, () => resolve());
    await Promise.race([promise, this.#read]);
  }

  /** Resolves when all readable content was passed on. `cut`: the limit was exceeded. */
  async end(): Promise<"whole" | "cut"> {
    if (!this.#isOver) this.#stream.end();
    return this.#read;
  }

  async #readAll(
    onChunk: (chunk: Uint8Array) => Promise<void>,
    maxBytes: number,
  ): Promise<"whole" | "cut"> {
    let total = 0;
    try {
      for await (const chunk of this.#stream as AsyncIterable<Uint8Array>) {
        total += chunk.length;
        if (total > maxBytes) return "cut";
        await onChunk(chunk);
      }
    } catch {
      // Noise that looked like a container, or a truncated container: the readable part has been
      // passed on.
    } finally {
      this.#isOver = true;
    }
    return "whole";
  }
}
