import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { PaymentState } from "../../payment/payment-machine.ts";
import { searchTextsInOrder } from "../order-row.ts";
import { aboveAllIds, type Condition, type Narrowed, type Piece } from "../payment-list.ts";
import { listedRow, type PaymentRow } from "../rows.ts";
import { TextBlock, type TextCondition } from "../text-block.ts";
import { TextCache } from "../text-cache.ts";

/** Payments whose texts are read in one statement: about 3 ms of PostgreSQL and 3 of this process. */
const textsInPiece = 1_000;
/** Whole payments that are read in one statement. */
const rowsInPiece = 25;

/** A payment in one of these may get another card from its page; later its texts stay. */
const changing: ReadonlySet<string> = new Set<PaymentState>(["received", "opened", "authorizing"]);

/** What is searched, as PostgreSQL returns it. */
export interface TextsRow {
  readonly id: PaymentId;
  readonly code: string;
  readonly state: string;
  readonly order: string;
}

/** The statements, each about one merchant's payments with ids from `from` to below `before`. */
export interface TextReads {
  /** Newest first. */
  texts(
    merchant: MerchantId,
    before: string,
    from: string,
    limit: number,
  ): Promise<readonly TextsRow[]>;
  count(merchant: MerchantId, before: string, from: string): Promise<number>;
  payments(merchant: MerchantId, ids: readonly PaymentId[]): Promise<readonly PaymentRow[]>;
}

interface Run {
  readonly blocks: readonly TextBlock[];
  /** The last block has the oldest payment of all. */
  readonly isLast: boolean;
}

/** Whether all conditions are about texts alone, so that SearchedTexts can tell who meets them. */
export function areAboutTexts(
  conditions: readonly Condition[],
): conditions is readonly TextCondition[] {
  return (
    conditions.length > 0 &&
    conditions.every((each) => each.kind === "text" && each.orState === undefined)
  );
}

/**
 * Searches by words in texts that were read before, as the embedded store does: PostgreSQL takes
 * 6 µs for each payment, because it compares no accents. Other nodes write too, so it counts the
 * payments of the range first, 0.2 µs each: payments are never deleted, so an equal number means the
 * same payments, and others are read again. Payments whose texts could change when they were read
 * are read with each search.
 */
export class SearchedTexts {
  readonly #reads: TextReads;
  #cache = new TextCache();

  constructor(reads: TextReads) {
    this.#reads = reads;
  }

  /** The piece below `before`, of at most `left` payments. */
  async piece(
    merchant: MerchantId,
    conditions: readonly TextCondition[],
    { ids }: Narrowed,
    before: string,
    left: number,
  ): Promise<Piece> {
    const { blocks, isLast } = await this.#below(merchant, before, left);
    const found: { readonly id: PaymentId; readonly examined: number }[] = [];
    let examined = 0;
    let last: PaymentId | undefined;
    let isEnd = isLast;
    for (const block of blocks) {
      const start = block.placeBelow(before);
      const below = block.placeBelow(ids.from);
      const end = Math.min(start + left - examined, below);
      if (end <= start) {
        isEnd = true;
        break;
      }
      const [first = [], ...others] = conditions.map((each) => block.placesMeeting(each));
      const sets = others.map((places) => new Set(places));
      for (const place of first)
        if (place >= start && place < end && sets.every((places) => places.has(place)))
          found.push({ id: block.idAt(place), examined: examined + place - start + 1 });
      examined += end - start;
      last = block.idAt(end - 1);
      isEnd = (isLast && end === block.length) || (end === below && below < block.length);
      if (end < block.length) break;
    }
    const read = found.slice(0, rowsInPiece);
    const cut = found.length > read.length ? read.at(-1) : undefined;
    const rows =
      read.length === 0
        ? []
        : await this.#reads.payments(
            merchant,
            read.map(({ id }) => id),
          );
    return {
      rows: rows.map(listedRow).toSorted((one, other) => (one.id < other.id ? 1 : -1)),
      examined: cut?.examined ?? examined,
      last: cut?.id ?? last,
      isEnd: cut === undefined && isEnd,
    };
  }

  /** Reads texts for later searches, as far as there is room. See ReadTexts in read-ahead.ts. */
  async readAhead(merchant: MerchantId, before = aboveAllIds): Promise<string | undefined> {
    if (!this.#cache.hasRoom) return undefined;
    const { blocks, isLast } = await this.#below(merchant, before, textsInPiece);
    const block = blocks.at(-1);
    return isLast || block === undefined || block.length === 0
      ? undefined
      : block.idAt(block.length - 1);
  }

  /** The address may now refer to another server, which may lack payments of the previous one. */
  renew(): void {
    this.#cache = new TextCache();
  }

  /** Consecutive blocks, the first of which has the newest payments below `before`. */
  async #below(merchant: MerchantId, before: string, left: number): Promise<Run> {
    const cache = this.#cache;
    const blocks: TextBlock[] = [];
    let count = 0;
    let next = before;
    for (;;) {
      const block = count < left ? cache.find(merchant, next) : undefined;
      if (block === undefined) break;
      blocks.push(block);
      count += block.length - block.placeBelow(next);
      next = block.idAt(block.length - 1);
    }
    if (blocks.length > 0) {
      if ((await this.#reads.count(merchant, before, next)) === count)
        return { blocks, isLast: false };
      for (const block of blocks) cache.written(merchant, block.idAt(0));
    }
    const from = cache.gapBelow(merchant, before);
    const rows = await this.#reads.texts(merchant, before, from, textsInPiece);
    if (rows.length === 0 && from !== "") return this.#below(merchant, from, left);
    const block = new TextBlock(
      rows.map(({ id, code, state, order }) => ({
        id,
        code,
        texts: searchTextsInOrder(order),
        mayChange: changing.has(state),
      })),
    );
    // Another search may have read the same texts meanwhile.
    if (cache.find(merchant, before) === undefined && cache.gapBelow(merchant, before) === from)
      cache.add(merchant, before, block, rows.length < textsInPiece);
    return { blocks: [block], isLast: rows.length < textsInPiece && from === "" };
  }
}
