import { atEndOfTurn } from "../../kernel/end-of-turn.ts";
import type { MerchantId } from "../../kernel/ids.ts";

interface Waiter<Row> {
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** By the requested key, in hex. */
type Waiting<Row> = Map<string, Waiter<Row>[]>;

/**
 * Point reads of one kind by a binary key. The reads of one merchant in one turn of the event loop
 * are sent together at its end, as one statement, because a statement for each costs the server and
 * the driver several times as much as its row. No read waits for a timer or for another's answer,
 * and each is sent after it was requested, so that it sees every change acknowledged before. If the
 * statement fails, all its reads fail with the same error. The number of waiting reads is bounded
 * by the HTTP server's limit of requests in flight.
 */
export class BatchedReads<Row extends object> {
  readonly #rows: (merchant: MerchantId, keys: string) => Promise<readonly Row[]>;
  readonly #keyOf: (row: Row) => string;
  readonly #waiting = new Map<MerchantId, Waiting<Row>>();

  /**
   * `rows` reads the rows of all keys, given as the text of a `bytea[]`; `keyOf` returns the key of
   * a row in hex.
   */
  constructor(
    rows: (merchant: MerchantId, keys: string) => Promise<readonly Row[]>,
    keyOf: (row: Row) => string,
  ) {
    this.#rows = rows;
    this.#keyOf = keyOf;
  }

  read(merchant: MerchantId, key: string): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      let waiting = this.#waiting.get(merchant);
      if (waiting === undefined) {
        waiting = new Map();
        this.#waiting.set(merchant, waiting);
        atEndOfTurn(() => void this.#send(merchant));
      }
      const others = waiting.get(key);
      if (others === undefined) waiting.set(key, [{ resolve, reject }]);
      else others.push({ resolve, reject });
    });
  }

  async #send(merchant: MerchantId): Promise<void> {
    const waiting: Waiting<Row> = this.#waiting.get(merchant) ?? new Map();
    this.#waiting.delete(merchant);
    try {
      const rows = await this.#rows(
        merchant,
        `{${[...waiting.keys()].map((key) => `\\\\x${key}`).join(",")}}`,
      );
      const byKey = new Map(rows.map((row) => [this.#keyOf(row), row]));
      for (const [key, waiters] of waiting)
        for (const { resolve } of waiters) resolve(byKey.get(key));
    } catch (error) {
      for (const waiters of waiting.values()) for (const { reject } of waiters) reject(error);
    }
  }
}
