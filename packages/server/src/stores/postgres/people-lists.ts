import type { MerchantId } from "../../kernel/ids.ts";
import { StoreError } from "../store.ts";
import { type Connection, type Role, StatementError, statementTimeout, type Value } from "./connection.ts";
import { sql, type StatementName } from "./sql.ts";

/** As many lists run at a time: the server's cores and disks are the payments'. */
const mostAtOnce = 2;
/** More lists are refused as `overloaded`. A page of notifications is some two hundred statements. */
const mostWaiting = 1_024;

interface Place {
  connection: Promise<Connection> | undefined;
}

/**
 * What people read: lists, figures, history, deliveries. Owns two sessions, each of which runs one statement at a time and ends it after two seconds
 * (connection.ts). Payments and jobs read on other sessions, so none of their reads waits for a list.
 */
export class PeopleLists {
  readonly #connect: () => Promise<Connection>;
  readonly #places: readonly Place[] = Array.from({ length: mostAtOnce }, () => ({ connection: undefined }));
  /** The first place is last, so that a second session is made only when it is needed. */
  readonly #free: Place[] = this.#places.toReversed();
  readonly #waiting: { readonly resolve: (place: Place) => void; readonly reject: (error: StoreError) => void }[] = [];
  #isClosed = false;

  /** `connect` makes a session for people, in any role. */
  constructor(connect: () => Promise<Connection>) {
    this.#connect = connect;
  }

  /** Rows of one merchant, under row-level security. Rejects with StoreError: `timed_out` when the server has ended the statement. */
  async read<Row extends object>(role: Role, merchant: MerchantId, name: StatementName, values: readonly Value[]): Promise<readonly Row[]> {
    const place = await this.#place();
    try {
      const connection = await this.#connected(place);
      await connection.become(role);
      return await connection.rowsOf<Row>(merchant, name, sql[name], values);
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      throw new StoreError(error.refusal === statementTimeout ? "timed_out" : "unavailable");
    } finally {
      this.#leave(place);
    }
  }

  /** The address may lead to another server by now. */
  renew(): void {
    for (const place of this.#places) void this.#drop(place);
  }

  /** What runs is answered; what waits is refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(new StoreError("closed"));
    await Promise.all(this.#places.map((place) => this.#drop(place)));
  }

  async #drop(place: Place): Promise<void> {
    const { connection } = place;
    place.connection = undefined;
    await connection?.then((opened) => opened.close()).catch(() => undefined);
  }

  #place(): Promise<Place> {
    if (this.#isClosed) return Promise.reject(new StoreError("closed"));
    const free = this.#free.pop();
    if (free !== undefined) return Promise.resolve(free);
    if (this.#waiting.length >= mostWaiting) return Promise.reject(new StoreError("overloaded"));
    return new Promise((resolve, reject) => void this.#waiting.push({ resolve, reject }));
  }

  #leave(place: Place): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(place);
    else next.resolve(place);
  }

  async #connected(place: Place): Promise<Connection> {
    const kept = await place.connection?.catch(() => undefined);
    if (kept?.isOpen === true) return kept;
    if (this.#isClosed) throw new StoreError("closed");
    const made = this.#connect();
    place.connection = made;
    return made;
  }
}
