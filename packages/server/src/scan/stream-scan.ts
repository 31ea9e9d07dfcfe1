import { containersIn, type Container, Inflation } from "./inflation.ts";
import { context, type Hit, type Search } from "./search.ts";

/** Bytes are searched together, so many at least: what is seen twice is a thousandth of it then. */
const windowBytes = 1 << 20;

/**
 * Containers in containers, and how many are read at a time. Further ones are reported as not read.
 */
const deepest = 4;
const mostAtOnce = 64;

export interface ScanReport {
  /**
   * `offset` counts from the start of the file, and is that of the container for what is inside of
   * one.
   */
  readonly found: (hit: Hit) => void;
  /** Something compressed was not read, or not to its end. */
  readonly unread: (offset: number) => void;
}

/** A container that is being read, and the search of what is in it. */
interface Inside {
  readonly offset: number;
  readonly inflation: Inflation;
  readonly scan: StreamScan;
}

/**
 * Searches what is written to it, piece by piece, in memory that does not grow with it. A number is
 * found wherever the pieces are cut, and once. What is compressed is searched as what it is, and as
 * what it holds.
 */
export class StreamScan {
  readonly #search: Search;
  readonly #report: ScanReport;
  readonly #depth: number;
  #pieces: Uint8Array[] = [];
  #waiting = 0;
  /** The end of what was searched: the context of what comes. */
  #kept: Uint8Array = new Uint8Array(0);
  /** How much of `#kept` was before what is reported next. */
  #reported = 0;
  /** Where `#kept` begins in the stream. */
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
    // What begins in the last bytes is looked at again with what comes behind it.
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
