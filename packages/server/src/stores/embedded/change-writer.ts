import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";
import {
  type AccountPart,
  type CardPart,
  changeIndex,
  type ChangeMessage,
  type DeliveriesPart,
  type Outcome,
  paymentIndex,
  type PaymentPart,
  type RequestDeletionPart,
  type RequestPart,
  type RefundName,
} from "../change-message.ts";
import { DeliveryWriter } from "./delivery-writer.ts";

/**
 * Writes one change within the open transaction. Owns the prepared statements of the writer's
 * connection.
 */
export class ChangeWriter {
  readonly #database: DatabaseSync;
  /** For payments without rare columns: constants save a third of the bound values. */
  readonly #ordinary: PaymentStatements;
  readonly #rare: PaymentStatements;
  readonly #updateOrder: StatementSync;
  readonly #paymentNo: StatementSync;
  readonly #paymentCodeTaken: StatementSync;
  readonly #insertHistory: StatementSync;
  readonly #deliveries: DeliveryWriter;
  readonly #insertRefund: StatementSync;
  readonly #paymentOfRefund: StatementSync;
  readonly #insertCard: StatementSync;
  readonly #updateCard: StatementSync;
  readonly #useCard: StatementSync;
  readonly #eraseCard: StatementSync;
  readonly #insertRequest: StatementSync;
  readonly #answerRequest: StatementSync;
  readonly #deleteRequest: StatementSync;
  readonly #insertAccount: StatementSync;
  readonly #updateAccount: StatementSync;
  readonly #insertAccountKey: StatementSync;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#ordinary = paymentStatements(database, ["0", "NULL", "NULL", "NULL", "NULL", "NULL"]);
    this.#updateOrder = database.prepare("UPDATE payment SET order_json = ? WHERE no = ?");
    this.#rare = paymentStatements(database, ["?", "?", "?", "?", "?", "?"]);
    this.#paymentNo = database.prepare(
      "SELECT no FROM payment WHERE merchant = unhex(?) AND id = unhex(?)",
    );
    this.#paymentCodeTaken = database.prepare(
      "SELECT 1 FROM payment WHERE merchant = unhex(?) AND code = ?",
    );
    this.#insertHistory = database.prepare(
      "INSERT INTO history (payment, version, at, facts, detail, entries) VALUES (?, ?, ?, ?, ?, ?)",
    );
    this.#deliveries = new DeliveryWriter(database);
    this.#insertRefund = database.prepare(
      "INSERT INTO refund (id, merchant, code, payment) VALUES (?, unhex(?), ?, ?) ON CONFLICT DO NOTHING",
    );
    this.#paymentOfRefund = database.prepare("SELECT payment FROM refund WHERE id = ?");
    this.#insertCard = database.prepare(
      `INSERT INTO card (merchant, token_digest, version, created_at, last_used_at, brand, masked_pan, fingerprint, ref, mac)
       VALUES (unhex(?), unhex(?), ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#updateCard = database.prepare(
      `UPDATE OR IGNORE card SET version = ?, last_used_at = max(last_used_at, ?), brand = ?, masked_pan = ?, fingerprint = ?, ref = ?, mac = ?,
         token_digest = unhex(?) WHERE merchant = unhex(?) AND token_digest = unhex(?) AND version = ?`,
    );
    this.#useCard = database.prepare(
      "UPDATE card SET last_used_at = ?3 WHERE merchant = unhex(?1) AND token_digest = unhex(?2) AND last_used_at < ?3",
    );
    this.#eraseCard = database.prepare(
      "DELETE FROM card WHERE merchant = unhex(?) AND token_digest = unhex(?) AND last_used_at < ?",
    );
    this.#insertRequest = database.prepare(
      `INSERT INTO named_request (merchant, key, digest, claimed_at, status, body)
       VALUES (unhex(?), ?, unhex(?), ?, ?, ?) ON CONFLICT DO NOTHING`,
    );
    this.#answerRequest = database.prepare(
      "UPDATE named_request SET status = ?, body = ? WHERE merchant = unhex(?) AND key = ? AND digest = unhex(?) AND status IS NULL",
    );
    this.#deleteRequest = database.prepare(
      "DELETE FROM named_request WHERE merchant = unhex(?) AND key = ? AND claimed_at < ? AND status IS NOT NULL",
    );
    this.#insertAccount = database.prepare(
      "INSERT INTO account (id, version, name, settings) VALUES (unhex(?), ?, ?, ?) ON CONFLICT DO NOTHING",
    );
    this.#updateAccount = database.prepare(
      "UPDATE account SET version = ?, name = ?, settings = ? WHERE id = unhex(?) AND version = ?",
    );
    this.#insertAccountKey = database.prepare(
      `INSERT INTO account_key (digest, account, grants, mac) VALUES (unhex(?), unhex(?), ?, ?) ON CONFLICT (digest) DO UPDATE SET mac = excluded.mac
       WHERE mac IS NULL AND excluded.mac IS NOT NULL AND account = excluded.account AND grants = excluded.grants`,
    );
  }

  /**
   * Unless it returns `committed`, the change has left no trace. Throws SQLite's errors; then the
   * caller rolls back.
   */
  write(message: ChangeMessage): Outcome {
    const payment = message[changeIndex.payment];
    const card = message[changeIndex.card];
    const account = message[changeIndex.account];
    // A lone payment or card hits its conflict in the first statement, before anything of it is
    // written.
    const mayConflictLate =
      account !== undefined ||
      (payment !== undefined && (card !== undefined || payment[paymentIndex.rare] !== undefined));
    if (!mayConflictLate) return this.#writeParts(message);
    this.#database.exec("SAVEPOINT change");
    const outcome = this.#writeParts(message);
    if (outcome !== "committed") this.#database.exec("ROLLBACK TO change");
    this.#database.exec("RELEASE change");
    return outcome;
  }

  #writeParts(message: ChangeMessage): Outcome {
    const [
      merchant,
      at,
      payment,
      card,
      cardUse,
      account,
      request,
      cardErasure,
      deliveries,
      parking,
      requestDeletion,
      deliveryDeletion,
    ] = message;
    if (deliveries !== undefined && !this.#deliveries.isCurrent(merchant, deliveries))
      return "stale";
    let outcome: Outcome = "committed";
    if (payment !== undefined)
      outcome = this.#writePayment(merchant, at, payment, deliveries ?? noDeliveries);
    if (outcome === "committed" && card !== undefined) outcome = this.#writeCard(merchant, card);
    if (outcome === "committed" && account !== undefined)
      outcome = this.#writeAccount(merchant, account);
    if (outcome === "committed" && request !== undefined)
      outcome = this.#writeRequest(merchant, request);
    if (outcome === "committed" && cardErasure !== undefined)
      this.#eraseCard.run(merchant, ...cardErasure);
    if (outcome === "committed" && cardUse !== undefined) this.#useCard.run(merchant, ...cardUse);
    if (outcome === "committed" && deliveries !== undefined)
      this.#deliveries.move(merchant, deliveries);
    if (outcome === "committed" && parking !== undefined) this.#deliveries.park(merchant, parking);
    if (outcome === "committed" && requestDeletion !== undefined)
      this.#deleteRequests(merchant, requestDeletion);
    if (outcome === "committed" && deliveryDeletion !== undefined)
      this.#deliveries.deleteEnded(merchant, deliveryDeletion);
    return outcome;
  }

  #writePayment(
    merchant: string,
    at: number,
    part: PaymentPart,
    deliveries: DeliveriesPart,
  ): Outcome {
    const id = part[paymentIndex.id];
    const version = part[paymentIndex.version];
    const no = this.#writeRow(merchant, part);
    if (typeof no === "string") return no;
    this.#insertHistory.run(
      no,
      version,
      at,
      part[paymentIndex.facts],
      part[paymentIndex.detail],
      part[paymentIndex.entries],
    );
    const notifications = part[paymentIndex.notifications];
    if (notifications !== "") {
      this.#deliveries.notify(
        merchant,
        at,
        no,
        { paymentId: id, version, kinds: notifications.split(" ") },
        deliveries,
      );
    }
    for (const refund of part[paymentIndex.rare]?.[1] ?? []) {
      const outcome = this.#nameRefund(merchant, no, refund);
      if (outcome !== "committed") return outcome;
    }
    return "committed";
  }

  /** Returns the number of the payment's row, or why it was not written. */
  #writeRow(merchant: string, part: PaymentPart): number | bigint | Outcome {
    const id = part[paymentIndex.id];
    const replaces = part[paymentIndex.replaces];
    const rare = part[paymentIndex.rare];
    const columns = rare?.[0] ?? [];
    const { insert, update } = rare === undefined ? this.#ordinary : this.#rare;
    // The columns that every version of a payment sets, in the order of both statements.
    const moving = [
      part[paymentIndex.version],
      part[paymentIndex.state],
      part[paymentIndex.statusAt],
      part[paymentIndex.capturedAt],
      part[paymentIndex.captureBy],
      part[paymentIndex.authorized],
      part[paymentIndex.captured],
      part[paymentIndex.attempts],
      part[paymentIndex.attempt],
      part[paymentIndex.dueAt],
      part[paymentIndex.verdict],
      part[paymentIndex.needsReview],
    ] as const;
    if (replaces === undefined) {
      const code = part[paymentIndex.code];
      const createdAt = part[paymentIndex.createdAt];
      const orderJson = part[paymentIndex.orderJson];
      assert(
        code !== undefined && createdAt !== undefined && orderJson !== undefined,
        "a payment that is new brings its fixed columns",
      );
      const inserted = insert.run(...columns, merchant, id, code, createdAt, orderJson, ...moving);
      if (Number(inserted.changes) > 0) return inserted.lastInsertRowid;
      return this.#paymentCodeTaken.get(merchant, code) === undefined
        ? "payment_id"
        : "payment_code";
    }
    // A look-up first, because the temporary table that SQLite builds for RETURNING costs more than
    // this statement.
    const stored = this.#paymentNo.get(merchant, id);
    if (stored === undefined) return "stale";
    const no = Number(stored["no"]);
    const updated = update.run(...columns, ...moving, no, replaces);
    if (Number(updated.changes) === 0) return "stale";
    const orderJson = part[paymentIndex.orderJson];
    if (orderJson !== undefined) this.#updateOrder.run(orderJson, no);
    return no;
  }

  /**
   * A refund that the payment had before keeps its id and code; a new one takes its own, unless
   * another refund has them.
   */
  #nameRefund(merchant: string, payment: number | bigint, [id, code]: RefundName): Outcome {
    if (Number(this.#insertRefund.run(id, merchant, code, payment).changes) === 1)
      return "committed";
    const owner = this.#paymentOfRefund.get(id);
    if (owner === undefined) return "refund_code";
    return Number(owner["payment"]) === Number(payment) ? "committed" : "refund_id";
  }

  #writeCard(merchant: string, part: CardPart): Outcome {
    const [
      tokenDigest,
      version,
      replaces,
      createdAt,
      lastUsedAt,
      brand,
      maskedPan,
      fingerprint,
      ref,
      mac,
      from,
    ] = part;
    const changing = [lastUsedAt, brand, maskedPan, fingerprint, ref, mac] as const;
    if (replaces === undefined) {
      const inserted = this.#insertCard.run(merchant, tokenDigest, version, createdAt, ...changing);
      return Number(inserted.changes) === 0 ? "token" : "committed";
    }
    const updated = this.#updateCard.run(
      version,
      ...changing,
      tokenDigest,
      merchant,
      from,
      replaces,
    );
    return Number(updated.changes) === 0 ? "stale" : "committed";
  }

  #writeRequest(
    merchant: string,
    [claims, key, digest, claimedAt, status, body]: RequestPart,
  ): Outcome {
    if (claims) {
      const claimed = this.#insertRequest.run(merchant, key, digest, claimedAt, status, body);
      return Number(claimed.changes) === 0 ? "request_key" : "committed";
    }
    const answered = this.#answerRequest.run(status, body, merchant, key, digest);
    return Number(answered.changes) === 0 ? "stale" : "committed";
  }

  #deleteRequests(merchant: string, [keys, claimedBefore]: RequestDeletionPart): void {
    for (const key of keys) this.#deleteRequest.run(merchant, key, claimedBefore);
  }

  #writeAccount(merchant: string, [version, replaces, name, settings, keys]: AccountPart): Outcome {
    if (replaces === undefined) {
      if (Number(this.#insertAccount.run(merchant, version, name, settings).changes) === 0)
        return "account";
    } else if (
      Number(this.#updateAccount.run(version, name, settings, merchant, replaces).changes) === 0
    ) {
      return "stale";
    }
    const added = keys.every(
      ([digest, grants, mac]) =>
        Number(this.#insertAccountKey.run(digest, merchant, grants, mac).changes) === 1,
    );
    return added ? "committed" : "account_key";
  }
}

const noDeliveries: DeliveriesPart = [[], [], []];

interface PaymentStatements {
  readonly insert: StatementSync;
  readonly update: StatementSync;
}

/** `rare`: the SQL expression for each of the rare columns (change-message.ts), in order. */
function paymentStatements(
  database: DatabaseSync,
  rare: readonly [string, string, string, string, string, string],
): PaymentStatements {
  const [refunded, refunds, chargeback, review, mandate, rerouted] = rare;
  return {
    insert: database.prepare(
      `INSERT INTO payment (refunded, refunds, chargeback, review, mandate, rerouted, merchant, id, code, created_at, order_json, version,
         state, status_at, captured_at, capture_by, authorized, captured, attempts, attempt, due_at, verdict, needs_review)
       VALUES (${rare.join(", ")}, unhex(?), unhex(?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
    ),
    update: database.prepare(
      `UPDATE payment SET refunded = ${refunded}, refunds = ${refunds}, chargeback = ${chargeback}, review = ${review},
         mandate = ${mandate}, rerouted = ${rerouted}, version = ?, state = ?, status_at = ?, captured_at = ?, capture_by = ?,
         authorized = ?, captured = ?, attempts = ?, attempt = ?, due_at = ?, verdict = ?, needs_review = ?
       WHERE no = ? AND version = ?`,
    ),
  };
}
