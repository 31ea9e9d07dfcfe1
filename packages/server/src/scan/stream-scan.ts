import { containersIn, type Container, Inflation } from "./inflation.ts";
import { context, type Hit, type Search } from "./search.ts";

/**
 * Bytes are searched in windows of at least this size: about a thousandth of them is searched
 * twice.
 */
const windowBytes = 1 << 20;

/**
 * Nesting depth of containers, and the number of containers read at once. Further ones are reported
 * as unread.
 */
const maxDepth = 4;
const maxConcurrent = 64;

export interface ScanReport {
  /** `offset` counts from the start of the file; inside a container it is the container's. */
  readonly found: (hit: Hit) => void;
  /** Compressed data was not read, or not completely. */
  readonly unread: (offset: number) => void;
}

/** A container that is being read, and the search of its content. */
interface OpenContainer {
  readonly offset: number;
  readonly inflation: Inflation;
  readonly scan: StreamScan;
}

/**
 * Searches a stream in chunks, with memory that does not grow with its length. A number is found
 * once, wherever the chunks are cut. Compressed data is searched both as it is and decompressed.
 */
export class StreamScan {
  readonly #search: Search;
  readonly #report: ScanReport;
  readonly #depth: number;
  #chunks: Uint8Array[] = [];
  #bufferedBytes = 0;
  /** The end of the searched bytes: the context of the next ones. */
  #kept: Uint8Array = new Uint8Array(0);
  /** Number of bytes of `#kept` whose hits were reported already. */
  #reported = 0;
  /** Position of `#kept` in the stream. */
  #origin = 0;
  #containers: OpenContainer[] = [];

  constructor(search: Search, report: ScanReport, depth = 0) {
    this.#search = search;
    this.#report = report;
    this.#depth = depth;
  }

  async write(chunk: Uint8Array): Promise<void> {
    for (const { inflation } of this.#containers) await inflation.write(chunk);
    this.#chunks.push(Uint8Array.from(chunk));
    this.#bufferedBytes += chunk.length;
    if (this.#bufferedBytes >= windowBytes) await this.#searchBuffered(false);
  }

  async end(): Promise<void> {
    await this.#searchBuffered(true);
    for (const each of this.#containers) await this.#finish(each);
    this.#containers = [];
  }

  async #searchBuffered(isLast: boolean): Promise<void> {
    const bytes = Buffer.concat([this.#kept, ...this.#chunks]);
    this.#chunks = [];
    this.#bufferedBytes = 0;
    // Hits in the last bytes are searched again together with the bytes that follow.
    const until = isLast ? bytes.length : Math.max(this.#reported, bytes.length - context);
    for (const hit of this.#search.search(bytes)) {
      if (hit.offset >= this.#reported && hit.offset < until)
        this.#report.found({ ...hit, offset: this.#origin + hit.offset });
    }
    for (const container of containersIn(bytes, this.#origin === 0)) {
      if (container.offset >= this.#reported && container.offset < until)
        await this.#open(container, bytes);
    }
    const from = Math.max(0, until - context);
    this.#kept = bytes.subarray(from);
    this.#reported = until - from;
    this.#origin += from;
  }

  async #open({ kind, offset, dataOffset }: Container, bytes: Uint8Array): Promise<void> {
    const at = this.#origin + offset;
    for (const each of this.#containers.filter(({ inflation }) => inflation.isOver))
      await this.#finish(each);
    this.#containers = this.#containers.filter(({ inflation }) => !inflation.isOver);
    if (this.#depth >= maxDepth || this.#containers.length >= maxConcurrent)
      return this.#report.unread(at);
    const scan = new StreamScan(
      this.#search,
      {
        found: ({ encoding, maskedPan }) =>
          this.#report.found({ offset: at, encoding: `${encoding} in ${kind}`, maskedPan }),
        unread: () => this.#report.unread(at),
      },
      this.#depth + 1,
    );
    const inflation = new Inflation(kind, (chunk) => scan.write(chunk));
    await inflation.write(bytes.subarray(dataOffset));
    this.#containers.push({ offset: at, inflation, scan });
  }

  async #finish({ offset, inflation, scan }: OpenContainer): Promise<void> {
    const read = await inflation.end();
    await scan.end();
    if (read === "cut") this.#report.unread(offset);
  }
}
