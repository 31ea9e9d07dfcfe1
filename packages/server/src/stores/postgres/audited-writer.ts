import { BrokenInvariant } from "../../kernel/assert.ts";
import { StoreError } from "../store.ts";
import { type Connection, readOnly, StatementError, type Value } from "./connection.ts";

/** Maximum number of waiting changes; more are refused as `overloaded`. */
const maxWaiting = 256;

/**
 * Writes what the audit log records: users, sessions and key records. Owns the session that writes
 * them, opened on first use and again after it breaks.
 */
export class AuditedWriter {
  /** Opens a session that writes, with the checks of a start. */
  readonly #connect: () => Promise<Connection>;
  readonly #isClosed: () => boolean;
  #writer: Promise<Connection> | undefined;
  #waiting = 0;

  constructor(connect: () => Promise<Connection>, isClosed: () => boolean) {
    this.#connect = connect;
    this.#isClosed = isClosed;
  }

  /** Rejects with StoreError and BrokenInvariant. */
  async write<Row extends object>(
    name: string,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    if (this.#isClosed()) throw new StoreError("closed");
    if (this.#waiting >= maxWaiting) throw new StoreError("overloaded");
    this.#waiting += 1;
    try {
      return await this.#send<Row>(await this.#connected(), name, text, values);
    } finally {
      this.#waiting -= 1;
    }
  }

  /**
   * The address may now refer to another server. Pending changes there may still be answered or
   * not.
   */
  renew(): void {
    const writer = this.#writer;
    this.#writer = undefined;
    void writer?.then((connection) => connection.close()).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#writer?.then((connection) => connection.close()).catch(() => undefined);
  }

  async #send<Row extends object>(
    connection: Connection,
    name: string,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    const { warnings } = connection;
    try {
      const rows = await connection.rows<Row>(name, text, values);
      // A server that stops waiting for its synchronous standby sends a warning and reports
      // success.
      if (connection.warnings > warnings) throw new StoreError("commit_unknown");
      return rows;
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      const { refusal } = error;
      if (refusal === undefined || refusal === readOnly) await this.#drop(connection);
      if (refusal === undefined) throw new StoreError("commit_unknown");
      // Invalid values (22) and violated constraints (23) are the change's own fault.
      if (/^2[23]/.test(refusal))
        throw new BrokenInvariant("a user change keeps the constraints of the database");
      throw new StoreError("unavailable");
    }
  }

  async #connected(): Promise<Connection> {
    for (;;) {
      const writer = (this.#writer ??= this.#connect());
      const connection = await writer.catch(() => undefined);
      if (connection?.isOpen === true) return connection;
      if (this.#writer === writer) this.#writer = undefined;
      // Concurrent callers wait for the same new session, and fail with it.
      if (connection === undefined) throw new StoreError("unavailable");
    }
  }

  async #drop(connection: Connection): Promise<void> {
    if ((await this.#writer?.catch(() => undefined)) === connection) this.#writer = undefined;
    await connection.close();
  }
}
