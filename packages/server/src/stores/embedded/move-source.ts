import type { DatabaseSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";
import {
  type MoveMark,
  TransferError,
  type TransferKind,
  type TransferRow,
  type TransferSource,
} from "../transfer.ts";
import { hasDatabase, makeFilesPrivate } from "./data-folder.ts";
import {
  lockFile,
  movedApplicationId,
  openForWriting,
  ourApplicationId,
  Refused,
} from "./open-database.ts";
import { StoreOpenError } from "./open-error.ts";

/** Rows per piece: a copy holds one piece of each side in memory. */
const pieceRows = 1_000;

/**
 * Opens the file to be moved, or one that was moved. Takes the lock that a server holds: rejects
 * with StoreOpenError while a server has the file, and with TransferError if there is no file.
 */
export async function openMoveSource(file: string): Promise<TransferSource> {
  if (!hasDatabase(file)) throw new TransferError("no_file");
  makeFilesPrivate(file);
  let lock: DatabaseSync | undefined;
  try {
    lock = lockFile(file);
    return new MoveSource(
      openForWriting({
        file,
        durable: true,
        maxFileBytes: undefined,
        alsoMoved: true,
        expectTables: true,
      }),
      lock,
    );
  } catch (error) {
    lock?.close();
    throw error instanceof Refused ? new StoreOpenError(error.code, file) : error;
  }
}

/** Owns the lock and the connection. */
class MoveSource implements TransferSource {
  readonly #database: DatabaseSync;
  readonly #lock: DatabaseSync;
  #mark: MoveMark;

  constructor(database: DatabaseSync, lock: DatabaseSync) {
    this.#database = database;
    this.#lock = lock;
    this.#mark = readable(() => readMark(database));
  }

  get mark(): MoveMark {
    return this.#mark;
  }

  async setMark(mark: MoveMark): Promise<void> {
    readable(() => {
      const named =
        mark.state === "free"
          ? "DROP TABLE IF EXISTS move"
          : `CREATE TABLE IF NOT EXISTS move (no INTEGER PRIMARY KEY CHECK (no = 1), state TEXT NOT NULL, move TEXT NOT NULL) STRICT;
             INSERT INTO move VALUES (1, '${mark.state}', '${mark.move}')
               ON CONFLICT (no) DO UPDATE SET state = excluded.state, move = excluded.move`;
      const id = mark.state === "free" ? ourApplicationId : movedApplicationId;
      this.#database.exec(`BEGIN IMMEDIATE; ${named}; PRAGMA application_id = ${id}; COMMIT`);
    });
    this.#mark = mark;
  }

  async count(kind: TransferKind): Promise<number> {
    return readable(() =>
      Number(this.#database.prepare(`SELECT count(*) AS n FROM ${kind}`).get()?.["n"]),
    );
  }

  async *pieces(kind: TransferKind): AsyncGenerator<readonly TransferRow[]> {
    let piece: TransferRow[] = [];
    const rows = readable(() => this.#database.prepare(rowsOf[kind]).iterate());
    for (
      let next = readable(() => rows.next());
      next.done !== true;
      next = readable(() => rows.next())
    ) {
      piece.push(next.value as TransferRow);
      if (piece.length < pieceRows) continue;
      yield piece;
      piece = [];
    }
    if (piece.length > 0) yield piece;
  }

  async close(): Promise<void> {
    this.#database.close();
    this.#lock.close();
  }
}

/**
 * The columns of transfer.ts, in the order of its keys. CROSS JOIN keeps SQLite from reordering a
 * join and sorting everything.
 */
export const rowsOf: Readonly<Record<TransferKind, string>> = {
  account: "SELECT lower(hex(id)) AS merchant, version, name, settings FROM account ORDER BY id",
  account_key:
    "SELECT lower(hex(digest)) AS digest, lower(hex(account)) AS merchant, grants, nullif(lower(hex(mac)), '') AS mac FROM account_key ORDER BY account_key.digest",
  payment: `SELECT lower(hex(merchant)) AS merchant, lower(hex(id)) AS id, no, code, created_at, version, state, status_at, captured_at, capture_by,
    CAST(authorized AS TEXT) AS authorized, CAST(captured AS TEXT) AS captured, CAST(refunded AS TEXT) AS refunded, refunds, chargeback, review,
    attempts, attempt, due_at, verdict, mandate, rerouted, needs_review, order_json FROM payment ORDER BY payment.merchant, payment.id`,
  refund: `SELECT refund.id, lower(hex(refund.merchant)) AS merchant, refund.code, lower(hex(payment.id)) AS payment
    FROM refund CROSS JOIN payment ON payment.no = refund.payment ORDER BY refund.id`,
  history: `SELECT lower(hex(payment.merchant)) AS merchant, lower(hex(payment.id)) AS payment, history.version, at, facts, detail, entries
    FROM payment CROSS JOIN history ON history.payment = payment.no ORDER BY payment.merchant, payment.id, history.version`,
  outbox: `SELECT lower(hex(outbox.merchant)) AS merchant, number, sequence, lower(hex(payment.id)) AS payment, outbox.version, kind, history.at
    FROM outbox CROSS JOIN payment ON payment.no = outbox.payment
    CROSS JOIN history ON history.payment = outbox.payment AND history.version = outbox.version ORDER BY outbox.merchant, number`,
  delivery: `SELECT substr(lane, 1, 8) AS merchant, substr(lane, 10) AS endpoint, number, lower(hex(payment.id)) AS payment, kind, delivery.version,
    delivery.state, asked_at, delivery.due_at, delivery.attempts, outcome, in_order, message
    FROM delivery CROSS JOIN payment ON payment.no = delivery.payment ORDER BY lane, number`,
  card: `SELECT lower(hex(merchant)) AS merchant, lower(hex(token_digest)) AS token_digest, no, version, created_at, last_used_at, brand, masked_pan,
    lower(hex(fingerprint)) AS fingerprint, lower(hex(ref)) AS ref, nullif(lower(hex(mac)), '') AS mac FROM card ORDER BY card.merchant, card.token_digest`,
  named_request: `SELECT lower(hex(merchant)) AS merchant, key, lower(hex(digest)) AS digest, claimed_at, status, body
    FROM named_request ORDER BY named_request.merchant, named_request.key`,
  person: `SELECT lower(hex(id)) AS id, version, name, name_key, role, state, created_at, last_signed_in_at, passwords,
    nullif(lower(hex(totp)), '') AS totp, totp_step, failures, locked_until, nullif(lower(hex(invitation)), '') AS invitation, invitation_ends_at,
    nullif(lower(hex(mac)), '') AS mac FROM person ORDER BY person.id`,
  key_record: `SELECT lower(hex(merchant)) AS merchant, purpose, version, state, sequence, epoch, lower(hex(check_value)) AS check_value, wraps,
    created_at, changed_at, lower(hex(mac)) AS mac FROM key_record ORDER BY key_record.merchant, purpose, version`,
  key_order: "SELECT no, at, body, lower(hex(mac)) AS mac FROM key_order ORDER BY no",
  audit_entry:
    "SELECT no, lower(hex(digest)) AS digest, body, nullif(lower(hex(mac)), '') AS mac FROM audit_entry ORDER BY no",
  identity: "SELECT one, keys, epoch, beat, is_copy FROM identity ORDER BY one",
  audit_head: "SELECT one, no, lower(hex(digest)) AS digest FROM audit_head ORDER BY one",
};

function readMark(database: DatabaseSync): MoveMark {
  if (database.prepare("PRAGMA application_id").get()?.["application_id"] !== movedApplicationId)
    return { state: "free" };
  const { state, move } = database.prepare("SELECT state, move FROM move").get() ?? {};
  assert(
    (state === "moving" || state === "moved") && typeof move === "string",
    "a file that is marked says what it was moved by",
  );
  return { state, move };
}

/** SQLite's error texts are dropped, because they may quote rows. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch {
    throw new TransferError("unreadable");
  }
}
