import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";
import type { AccountPart, CardPart, ChangeMessage, Outcome, PaymentPart } from "./change-message.ts";

/** Writes one change within the transaction that is open. Owns the prepared statements of the writer's connection. */
export class ChangeWriter {
  readonly #database: DatabaseSync;
  readonly #insertPayment: StatementSync;
  readonly #updatePayment: StatementSync;
  readonly #paymentCodeTaken: StatementSync;
  readonly #insertHistory: StatementSync;
  readonly #insertOutbox: StatementSync;
  readonly #insertCard: StatementSync;
  readonly #updateCard: StatementSync;
  readonly #useCard: StatementSync;
  readonly #insertAccount: StatementSync;
  readonly #updateAccount: StatementSync;
  readonly #insertAccountKey: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#insertPayment = database.prepare(
      `INSERT INTO payment (merchant, id, code, created_at, order_json, version, state, status_at, captured_at, authorized, captured,
         attempts, attempt, recheck_at, verdict, needs_review)
       VALUES (unhex(?), unhex(?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#updatePayment = database.prepare(
      `UPDATE payment SET version = ?, state = ?, status_at = ?, captured_at = ?, authorized = ?, captured = ?, attempts = ?, attempt = ?,
         recheck_at = ?, verdict = ?, needs_review = ?
       WHERE merchant = unhex(?) AND id = unhex(?) AND version = ? RETURNING no`,
    );
    this.#paymentCodeTaken = database.prepare("SELECT 1 FROM payment WHERE merchant = unhex(?) AND code = ?");
    this.#insertHistory = database.prepare("INSERT INTO history (payment, version, at, facts, detail, entries) VALUES (?, ?, ?, ?, ?, ?)");
    this.#insertOutbox = database.prepare("INSERT INTO outbox (payment, version, kind) VALUES (?, ?, ?)");
    this.#insertCard = database.prepare(
      `INSERT INTO card (merchant, token_digest, version, created_at, last_used_at, brand, masked_pan, fingerprint, ref)
       VALUES (unhex(?), unhex(?), ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#updateCard = database.prepare(
      `UPDATE card SET version = ?, last_used_at = max(last_used_at, ?), brand = ?, masked_pan = ?, fingerprint = ?, ref = ?
       WHERE merchant = unhex(?) AND token_digest = unhex(?) AND version = ?`,
    );
    this.#useCard = database.prepare(
      "UPDATE card SET last_used_at = ?3 WHERE merchant = unhex(?1) AND token_digest = unhex(?2) AND last_used_at < ?3",
    );
    this.#insertAccount = database.prepare(
      "INSERT INTO account (id, version, name, settings) VALUES (unhex(?), ?, ?, ?) ON CONFLICT DO NOTHING",
    );
    this.#updateAccount = database.prepare("UPDATE account SET version = ?, name = ?, settings = ? WHERE id = unhex(?) AND version = ?");
    this.#insertAccountKey = database.prepare(
      "INSERT INTO account_key (digest, account, grants) VALUES (unhex(?), unhex(?), ?) ON CONFLICT DO NOTHING",
    );
  }

  /** Unless it answers `committed`, the change has left no trace. Throws what SQLite throws; then the caller rolls back. */
  write(message: ChangeMessage): Outcome {
    const [, , payment, card, , account] = message;
    // A lone payment or card finds its conflict with the first statement, before anything of it is written.
    const mayConflictLate = account !== undefined || (payment !== undefined && card !== undefined);
    if (!mayConflictLate) return this.#writeParts(message);
    this.#database.exec("SAVEPOINT change");
    const outcome = this.#writeParts(message);
    if (outcome !== "committed") this.#database.exec("ROLLBACK TO change");
    this.#database.exec("RELEASE change");
    return outcome;
  }

  #writeParts([merchant, at, payment, card, cardUse, account]: ChangeMessage): Outcome {
    let outcome: Outcome = "committed";
    if (payment !== undefined) outcome = this.#writePayment(merchant, at, payment);
    if (outcome === "committed" && card !== undefined) outcome = this.#writeCard(merchant, card);
    if (outcome === "committed" && account !== undefined) outcome = this.#writeAccount(merchant, account);
    if (outcome === "committed" && cardUse !== undefined) this.#useCard.run(merchant, ...cardUse);
    return outcome;
  }

  #writePayment(merchant: string, at: number, part: PaymentPart): Outcome {
    const [id, replaces, version, state, statusAt, capturedAt, authorized, captured, attempts, attempt, recheckAt, verdict, needsReview] =
      part;
    const [, , , , , , , , , , , , , facts, detail, entries, notifications, code, createdAt, orderJson] = part;
    let no: number | bigint;
    if (replaces === undefined) {
      assert(code !== undefined && createdAt !== undefined && orderJson !== undefined, "a payment that is new brings its fixed columns");
      const inserted = this.#insertPayment.run(
        merchant,
        id,
        code,
        createdAt,
        orderJson,
        version,
        state,
        statusAt,
        capturedAt,
        authorized,
        captured,
        attempts,
        attempt,
        recheckAt,
        verdict,
        needsReview,
      );
      if (Number(inserted.changes) === 0) {
        return this.#paymentCodeTaken.get(merchant, code) === undefined ? "payment_id" : "payment_code";
      }
      no = inserted.lastInsertRowid;
    } else {
      const updated = this.#updatePayment.get(
        version,
        state,
        statusAt,
        capturedAt,
        authorized,
        captured,
        attempts,
        attempt,
        recheckAt,
        verdict,
        needsReview,
        merchant,
        id,
        replaces,
      );
      if (updated === undefined) return "stale";
      no = Number(updated["no"]);
    }
    this.#insertHistory.run(no, version, at, facts, detail, entries);
    if (notifications !== "") for (const kind of notifications.split(" ")) this.#insertOutbox.run(no, version, kind);
    return "committed";
  }

  #writeCard(merchant: string, part: CardPart): Outcome {
    const [tokenDigest, version, replaces, createdAt, ...changing] = part;
    if (replaces === undefined) {
      const inserted = this.#insertCard.run(merchant, tokenDigest, version, createdAt, ...changing);
      return Number(inserted.changes) === 0 ? "token" : "committed";
    }
    const updated = this.#updateCard.run(version, ...changing, merchant, tokenDigest, replaces);
    return Number(updated.changes) === 0 ? "stale" : "committed";
  }

  #writeAccount(merchant: string, [version, replaces, name, settings, keys]: AccountPart): Outcome {
    if (replaces === undefined) {
      if (Number(this.#insertAccount.run(merchant, version, name, settings).changes) === 0) return "account";
    } else if (Number(this.#updateAccount.run(version, name, settings, merchant, replaces).changes) === 0) {
      return "stale";
    }
    const added = keys.every(([digest, grants]) => Number(this.#insertAccountKey.run(digest, merchant, grants).changes) === 1);
    return added ? "committed" : "account_key";
  }
}
