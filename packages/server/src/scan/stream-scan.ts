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
const deepest = 4;
const mostAtOnce = 64;

export interface ScanReport {
  /** `offset` counts from the start of the file; inside a container it is the container's. */
  readonly found: (hit: Hit) => void;
  /** Compressed data was not read, or not completely. */
  readonly unread: (offset: number) => void;
}

/** A container that is being read, and the search of its content. */
interface Inside {
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
  #pieces: Uint8Array[] = [];
  #waiting = 0;
  /** The end of the searched bytes: the context of the next ones. */
  #kept: Uint8Array = new Uint8Array(0);
  /** Number of bytes of `#kept` whose hits were reported already. */
  #reported = 0;
  /** Position of `#kept` in the stream. */
  #origin = 0;
  #inside: Inside[] = [];

  constructor(search: Search, report: ScanReport, depth = 0) {
    this.#search = search;
    this.#report = report;
    this.#depth = depth;
  }

  async write(piece: Uint8Array): Promise<void> {
    for (const { inflation } of this.#inside) await inflation.write(piece);
    this.#pieces.push(Uint8Array.from(piece));
    this.#waiting += piece.length;
    if (this.#waiting >= windowBytes) await this.#searchWaiting(false);
  }

  async end(): Promise<void> {
    await this.#searchWaiting(true);
    for (const each of this.#inside) await this.#finish(each);
    this.#inside = [];
  }

  async #searchWaiting(isLast: boolean): Promise<void> {
    const bytes = Buffer.concat([this.#kept, ...this.#pieces]);
    this.#pieces = [];
    this.#waiting = 0;
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
    for (const each of this.#inside.filter(({ inflation }) => inflation.isOver))
      await this.#finish(each);
    this.#inside = this.#inside.filter(({ inflation }) => !inflation.isOver);
    if (this.#depth >= deepest || this.#inside.length >= mostAtOnce) return this.#report.unread(at);
    const scan = new StreamScan(
      this.#search,
      {
        found: ({ encoding, maskedPan }) =>
          this.#report.found({ offset: at, encoding: `${encoding} in ${kind}`, maskedPan }),
        unread: () => this.#report.unread(at),
      },
      this.#depth + 1,
    );
    const inflation = new Inflation(kind, (piece) => scan.write(piece));
    await inflation.write(bytes.subarray(dataOffset));
    this.#inside.push({ offset: at, inflation, scan });
  }

  async #finish({ offset, inflation, scan }: Inside): Promise<void> {
    const read = await inflation.end();
    await scan.end();
    if (read === "cut") this.#report.unread(offset);
  }
}
