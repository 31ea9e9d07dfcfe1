import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Instant } from "../../kernel/instant.ts";
import { type EndpointId, newDelivery, type NotificationKind } from "../../notification/events.ts";
import {
  deliveriesIndex,
  deliveryColumns,
  type DeliveriesPart,
  type DeliveryDeletionPart,
  type ParkingPart,
} from "../change-message.ts";

/** Writes a change's notifications and deliveries. Owns the prepared statements for them. */
export class DeliveryWriter {
  readonly #lastNumber: StatementSync;
  readonly #insertNotification: StatementSync;
  readonly #versionOf: StatementSync;
  readonly #paymentNo: StatementSync;
  readonly #insert: StatementSync;
  readonly #update: StatementSync;
  readonly #park: StatementSync;
  readonly #delete: StatementSync;

  constructor(database: DatabaseSync) {
    this.#lastNumber = database.prepare(
      "SELECT max(number) AS number FROM outbox WHERE merchant = unhex(?)",
    );
    this.#insertNotification = database.prepare(
      "INSERT INTO outbox (merchant, number, payment, version, kind) VALUES (unhex(?), ?, ?, ?, ?)",
    );
    this.#versionOf = database.prepare(
      "SELECT version FROM delivery WHERE lane = ? AND number = ?",
    );
    this.#paymentNo = database.prepare(
      "SELECT no FROM payment WHERE merchant = unhex(?) AND id = unhex(?)",
    );
    this.#insert = database.prepare(
      `INSERT INTO delivery (lane, number, payment, kind, version, state, asked_at, due_at, attempts, outcome, in_order, message)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#update = database.prepare(
      `UPDATE delivery SET version = ?, state = ?, asked_at = ?, due_at = ?, attempts = ?, outcome = ?, in_order = ?, message = ?
       WHERE lane = ? AND number = ?`,
    );
    this.#delete = database.prepare(
      "DELETE FROM delivery WHERE lane = ? AND number = ? AND state <> 'waiting' AND due_at < ?",
    );
    this.#park = database.prepare(
      `UPDATE due_queue SET parked_until = ?2, due_at = max(first_at, ?2)
       WHERE queue = ?1 AND (SELECT version FROM account WHERE id = unhex(?3)) = ?4`,
    );
  }

  /** Numbers the notifications of a payment's version and creates their deliveries. */
  notify(
    merchant: string,
    at: number,
    payment: number | bigint,
    subject: NotificationSubject,
    deliveries: DeliveriesPart,
  ): void {
    const endpoints = deliveries[deliveriesIndex.endpoints];
    const gathering = deliveries[deliveriesIndex.gathering];
    for (const kind of subject.kinds) {
      const number = Number(this.#lastNumber.get(merchant)?.["number"] ?? 0) + 1;
      this.#insertNotification.run(merchant, number, payment, subject.version, kind);
      for (const endpoint of endpoints) {
        const fresh = newDelivery(
          {
            merchantId: merchant as MerchantId,
            endpoint: endpoint as EndpointId,
            number,
            paymentId: subject.paymentId as PaymentId,
            kind: kind as NotificationKind,
          },
          at as Instant,
          gathering.includes(endpoint),
        );
        this.#insert.run(
          laneOf(merchant, endpoint),
          number,
          payment,
          kind,
          ...deliveryColumns(fresh),
        );
      }
    }
  }

  /** Whether every delivery that the change moves still has the version that was read. */
  isCurrent(merchant: string, deliveries: DeliveriesPart): boolean {
    return deliveries[deliveriesIndex.moved].every(([endpoint, number, replaces]) => {
      const stored = this.#versionOf.get(laneOf(merchant, endpoint), number);
      return stored === undefined ? replaces === undefined : Number(stored["version"]) === replaces;
    });
  }

  move(merchant: string, deliveries: DeliveriesPart): void {
    const moved = deliveries[deliveriesIndex.moved];
    for (const [endpoint, number, replaces, paymentId, kind, columns] of moved) {
      const lane = laneOf(merchant, endpoint);
      if (replaces !== undefined) {
        this.#update.run(...columns, lane, number);
        continue;
      }
      const payment = this.#paymentNo.get(merchant, paymentId);
      assert(payment !== undefined, "a delivery is of a notification that was committed");
      this.#insert.run(lane, number, Number(payment["no"]), kind, ...columns);
    }
  }

  deleteEnded(merchant: string, [deliveries, endedBefore]: DeliveryDeletionPart): void {
    for (const [endpoint, number] of deliveries)
      this.#delete.run(laneOf(merchant, endpoint), number, endedBefore);
  }

  park(merchant: string, [queue, until, accountVersion]: ParkingPart): void {
    this.#park.run(laneOf(merchant, queue), until, merchant, accountVersion);
  }
}

/** The subject of a change's notifications. */
export interface NotificationSubject {
  readonly paymentId: string;
  readonly version: number;
  readonly kinds: readonly string[];
}

/** Merchant and endpoint as one text with the same sort order. */
export function laneOf(merchant: string, endpoint: string): string {
  return `${merchant} ${endpoint}`;
}
