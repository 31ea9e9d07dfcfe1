import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import { searchTextsInOrder } from "../order-row.ts";
import {
  aboveAllIds,
  type Condition,
  type Listed,
  type Narrowed,
  type Piece,
  wholePiece,
} from "../payment-list.ts";
import { TextBlock, type TextCondition } from "../text-block.ts";
import { TextCache } from "../text-cache.ts";
import { listedRow, paymentColumns, type PaymentRow } from "../rows.ts";

/** Whole payments that are read and searched in one piece: about 0.3 ms. */
const rowsInPiece = 25;
/** Payments whose conditions are tested in one piece: about 0.4 ms. */
const testedInPiece = 1_000;
/** Payments whose texts are searched in one piece: about 0.8 ms, or 0.05 if they are cached. */
const textsInPiece = 500;
/** Prepared statements that are kept: one for each sequence of conditions. */
const maxStatements = 50;

/**
 * Reads the pieces of lists. SQLite tests the conditions of a filter about columns, and words are
 * looked for in the texts alone, so that the rows of most payments that fail it are never read: 0.4
 * to 1.7 µs for each instead of 14, and less than 0.1 where the texts are cached.
 */
export class ListedPayments {
  readonly #database: DatabaseSync;
  readonly #idAt: StatementSync;
  readonly #lowest: StatementSync;
  readonly #count: StatementSync;
  readonly #texts: StatementSync;
  readonly #inState: StatementSync;
  readonly #cache = new TextCache();
  /** By their SQL; all are dropped when there are too many. */
  readonly #rows = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#idAt = database.prepare(
      `SELECT lower(hex(id)) AS id FROM payment WHERE ${within} ORDER BY payment.id DESC LIMIT 1 OFFSET ?`,
    );
    this.#lowest = database.prepare(
      `SELECT lower(hex(id)) AS id FROM payment WHERE ${within} ORDER BY payment.id LIMIT 1`,
    );
    this.#count = database.prepare(`SELECT count(*) AS count FROM payment WHERE ${within}`);
    this.#texts = database.prepare(
      `SELECT lower(hex(id)), code, order_json FROM payment WHERE ${within} ORDER BY payment.id DESC LIMIT ?`,
    );
    this.#texts.setReturnArrays(true);
    this.#inState = database.prepare(
      `SELECT lower(hex(id)) FROM payment WHERE ${within} AND state = ?`,
    );
    this.#inState.setReturnArrays(true);
  }

  /** The piece below `before`, of at most `left` payments. Throws what SQLite throws. */
  piece(merchant: MerchantId, narrowed: Narrowed, before: string, left: number): Piece {
    const { ids, conditions } = narrowed;
    if (conditions.length === 0) {
      const limit = Math.min(left, rowsInPiece);
      const rows = this.#statement(paymentColumns, within).all(merchant, before, ids.from, limit);
      return wholePiece(rows.map(listedObject), limit, ids);
    }
    if (conditions.some(({ kind }) => kind === "text"))
      return this.#pieceOfTexts(merchant, narrowed, before, left);
    const tested = Math.min(left, testedInPiece);
    const end = idOf(this.#idAt.get(merchant, before, ids.from, tested - 1));
    const [sql, values] = testsOf(conditions);
    const rows = this.#statement(paymentColumns, `${within}${sql}`)
      .all(merchant, before, end ?? ids.from, ...values, rowsInPiece)
      .map(listedObject);
    const last = rows.at(-1)?.id;
    // There may be more behind the last one.
    if (last !== undefined && rows.length === rowsInPiece && last !== end) {
      const between = this.#count.get(merchant, before, last) as { readonly count: number };
      return { rows, examined: between.count, last, isEnd: false };
    }
    if (end !== undefined) return { rows, examined: tested, last: end, isEnd: false };
    const lowest = idOf(this.#lowest.get(merchant, before, ids.from));
    return { rows, examined: tested, last: lowest, isEnd: true };
  }

  /** A piece for a filter with words that are looked for in texts. */
  #pieceOfTexts(
    merchant: MerchantId,
    { ids, conditions }: Narrowed,
    before: string,
    left: number,
  ): Piece {
    const { block, isLast } = this.#textsBelow(merchant, before);
    const start = block.placeBelow(before);
    const below = block.placeBelow(ids.from);
    const end = Math.min(start + left, below);
    if (end <= start) return { rows: [], examined: 0, last: undefined, isEnd: true };
    const lowest = block.idAt(end - 1);
    const found = conditions
      .filter(isAboutText)
      .map((condition) => this.#placesOf(merchant, condition, block, before, lowest));
    const [sql, values] = testsOf(conditions.filter((each) => !isAboutText(each)));
    const candidates = [...(found[0] ?? [])]
      .filter((place) => start <= place && place < end && found.every((all) => all.has(place)))
      .toSorted((left, right) => left - right);
    // The other conditions may leave only a few of them.
    const read = sql === "" ? candidates.slice(0, rowsInPiece) : candidates;
    const listed = JSON.stringify(read.map((place) => block.idAt(place)));
    const rows =
      read.length === 0
        ? []
        : this.#statement(paymentColumns, `merchant = unhex(?) AND ${isListed}${sql}`)
            .all(merchant, listed, ...values, rowsInPiece)
            .map(listedObject);
    const last = rows.length === rowsInPiece ? rows.at(-1)?.id : undefined;
    // There may be more behind the last one.
    if (last !== undefined && last !== lowest)
      return { rows, examined: block.placeBelow(last) - start, last, isEnd: false };
    const isEnd = end === below && (isLast || below < block.length);
    return { rows, examined: end - start, last: lowest, isEnd };
  }

  /** A block that has the newest payments below `before`. `isLast`: it has the oldest of all. */
  #textsBelow(
    merchant: MerchantId,
    before: string,
  ): { readonly block: TextBlock; readonly isLast: boolean } {
    const cached = this.#cache.find(merchant, before);
    if (cached !== undefined) return { block: cached, isLast: false };
    const from = this.#cache.gapBelow(merchant, before);
    const rows = this.#texts.all(merchant, before, from, textsInPiece) as unknown as TextColumns[];
    const next = rows.length === 0 ? this.#cache.find(merchant, from) : undefined;
    if (next !== undefined) return { block: next, isLast: false };
    const block = new TextBlock(
      rows.map(([id, code, json]) => ({ id, code, texts: searchTextsInOrder(json) })),
    );
    this.#cache.add(merchant, before, block, rows.length < textsInPiece);
    return { block, isLast: rows.length < textsInPiece && from === "" };
  }

  /**
   * Reads the texts of the newest payments below `before` into the cache, as far as there is room
   * without dropping those of other accounts. Returns where the next ones begin, undefined at the
   * end. Throws what SQLite throws.
   */
  readAhead(merchant: MerchantId, before = aboveAllIds): string | undefined {
    if (!this.#cache.hasRoom) return undefined;
    const { block, isLast } = this.#textsBelow(merchant, before);
    return isLast || block.length === 0 ? undefined : block.idAt(block.length - 1);
  }

  /** Called when a new payment, or another order of a payment, may be in the file. */
  written(merchant: MerchantId, id: string): void {
    this.#cache.written(merchant, id);
  }

  /** The places in the block that meet the condition; those in a state only from `before` to `end`. */
  #placesOf(
    merchant: MerchantId,
    condition: TextCondition,
    block: TextBlock,
    before: string,
    end: string,
  ): Set<number> {
    const { orState } = condition;
    const inState =
      orState === undefined
        ? []
        : (this.#inState.all(merchant, before, end, orState) as unknown as [PaymentId][]);
    return new Set([
      ...block.placesMeeting(condition),
      ...inState.map(([id]) => block.placeBelow(id) - 1),
    ]);
  }

  #statement(columns: string, conditions: string): StatementSync {
    const sql = `SELECT ${columns} FROM payment WHERE ${conditions} ORDER BY payment.id DESC LIMIT ?`;
    const known = this.#rows.get(sql);
    if (known !== undefined) return known;
    if (this.#rows.size >= maxStatements) this.#rows.clear();
    const statement = this.#database.prepare(sql);
    this.#rows.set(sql, statement);
    return statement;
  }
}

type TextColumns = readonly [id: PaymentId, code: string, order: string];

function isAboutText(condition: Condition): condition is TextCondition {
  return condition.kind === "text";
}

function listedObject(row: unknown): Listed {
  return listedRow(row as PaymentRow);
}

/** The ids, as JSON. */
const isListed = "id IN (SELECT unhex(value) FROM json_each(?))";
const within = "merchant = unhex(?) AND id < unhex(?) AND id >= unhex(?)";

/** `%` and `_` of the text match themselves only. */
const like = "LIKE ? ESCAPE '\\'";
const likeText = (text: string): string => `%${text.replaceAll(/[%_\\]/g, "\\$&")}%`;

/** A condition that SQLite tests by columns. */
type ColumnCondition = Exclude<Condition, TextCondition>;

type Test = readonly [sql: string, values: readonly SQLInputValue[]];

const tests: {
  readonly [Kind in ColumnCondition["kind"]]: (
    condition: ColumnCondition & { readonly kind: Kind },
  ) => Test;
} = {
  state({ states, orRefunded, orDisputed }) {
    const sql = [
      "state IN (SELECT value FROM json_each(?))",
      ...(orRefunded ? ["refunded > 0"] : []),
      ...(orDisputed ? ["chargeback IS NOT NULL"] : []),
    ];
    return [`(${sql.join(" OR ")})`, [JSON.stringify(states)]];
  },
  member: ({ text }) => ["instr(order_json, ?) > 0", [JSON.stringify(text)]],
  reason: ({ text }) => [`(state = 'declined' AND verdict ${like})`, [likeText(text)]],
};

/** Of all conditions, as a part of a `WHERE`. */
function testsOf(conditions: readonly Condition[]): Test {
  const tested = conditions.flatMap((condition) =>
    isAboutText(condition) ? [] : [testOf(condition)],
  );
  return [tested.map(([test]) => ` AND ${test}`).join(""), tested.flatMap(([, values]) => values)];
}

function testOf<Kind extends ColumnCondition["kind"]>(
  condition: ColumnCondition & { readonly kind: Kind },
): Test {
  return tests[condition.kind](condition);
}

function idOf(row: unknown): string | undefined {
  return (row as { readonly id: string } | undefined)?.id;
}
