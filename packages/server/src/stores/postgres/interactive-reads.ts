import type { MerchantId } from "../../kernel/ids.ts";
import { systemElapsed } from "../../kernel/system-elapsed.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { StoreError } from "../store.ts";
import {
  type Connection,
  type Role,
  StatementError,
  statementTimeout,
  type Value,
} from "./connection.ts";
import { ListScheduler } from "./list-scheduler.ts";
import { sql, type StatementName } from "./sql.ts";

/** The second one is for reads that would wait for a slow one. */
const sessions = 2;

interface Place {
  connection: Promise<Connection> | undefined;
}

/**
 * Reads for users: lists, figures, history, deliveries. Owns two sessions, each of which runs one
 * statement at a time with a limit of two seconds (connection.ts). Payments and jobs read on other
 * sessions, so none of their reads waits for a list. list-scheduler.ts decides how many run, and when.
 */
export class InteractiveReads {
  readonly #connect: () => Promise<Connection>;
  readonly #sessions: readonly Place[] = Array.from({ length: sessions }, () => ({
    connection: undefined,
  }));
  readonly #places = new ListScheduler(this.#sessions, systemScheduler, systemElapsed);
  #isClosed = false;

  /** `connect` opens a session for users, in any role. */
  constructor(connect: () => Promise<Connection>) {
    this.#connect = connect;
  }

  /**
   * Rows of one merchant, under row-level security. Rejects with StoreError: `timed_out` if the
   * server aborted the statement.
   */
  read<Row extends object>(
    role: Role,
    merchant: MerchantId,
    name: StatementName,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    return this.#places.run(async (place) => {
      try {
        const connection = await this.#connected(place);
        await connection.become(role);
        return await connection.rowsOf<Row>(merchant, name, sql[name], values);
      } catch (error) {
        if (!(error instanceof StatementError)) throw error;
        throw new StoreError(error.refusal === statementTimeout ? "timed_out" : "unavailable");
      }
    });
  }

  /** The address may now refer to another server. */
  renew(): void {
    for (const place of this.#sessions) void this.#drop(place);
  }

  /** Running reads are answered; waiting ones are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#places.close();
    await Promise.all(this.#sessions.map((place) => this.#drop(place)));
  }

  async #drop(place: Place): Promise<void> {
    const { connection } = place;
    place.connection = undefined;
    await connection?.then((opened) => opened.close()).catch(() => undefined);
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
