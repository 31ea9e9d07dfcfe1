import type { MerchantId, PaymentId } from "../../kernel/ids.ts";
import type { Payment } from "../../payment/payment.ts";
import type { PaymentPart, Rare } from "../change-message.ts";
import { paymentFromRow, type PaymentRow } from "../rows.ts";

/** What a payment's first version writes and no later one changes. */
interface FixedColumns {
  readonly code: string;
  readonly createdAt: number;
  readonly orderJson: string;
}

/** One change of a payment that this process submits. */
export interface WrittenPayment {
  readonly merchant: string;
  readonly part: PaymentPart;
  /** Undefined when they are not known here; then the file is read. */
  readonly fixed: FixedColumns | undefined;
  /** Set when the change is durable. Until then the file is read. */
  isCommitted: boolean;
}

/** Payments of one generation. There are two, so that no more than twice as many are kept. */
const mostOfGeneration = 128;

/**
 * The latest payments that this process wrote, so that a read soon after needs no statement. Kept is the text of the row, as it is in the file, not a graph of
 * objects: those would be moved by the garbage collector.
 *
 * Right because the store of this process is the only writer of its file, and every change of a payment passes `submitted` before it is sent to the
 * writer, in the order in which it is written. An entry is the last change that was submitted, and it is read only when that change is durable. So an
 * entry of an earlier version is gone before a later one can be in the file, and a change that failed, or of which nobody can say whether it was
 * written, leaves an entry that is never read.
 */
export class WrittenPayments {
  #young = new Map<string, WrittenPayment>();
  #old = new Map<string, WrittenPayment>();

  /** Called before the change is sent to the writer. What is kept of the payment is not read any more. */
  submitted(merchant: string, part: PaymentPart): WrittenPayment {
    const [id, replaces] = part;
    const written = {
      merchant,
      part,
      fixed: replaces === undefined ? fixedOf(part) : this.#fixedOf(merchant, id, replaces),
      isCommitted: false,
    };
    if (this.#young.size >= mostOfGeneration) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, written);
    return written;
  }

  /** The payment, if its last change was submitted by this process a short time ago and is durable. */
  find(merchant: MerchantId, id: PaymentId): Payment | undefined {
    const written = this.#young.get(id) ?? this.#old.get(id);
    if (written === undefined || !written.isCommitted || written.fixed === undefined || written.merchant !== merchant) return undefined;
    return paymentFromRow(rowOf(merchant, id, written.part, written.fixed));
  }

  /** Only those of a change that is durable: a first version that was refused has columns that are not in the file. */
  #fixedOf(merchant: string, id: string, version: number): FixedColumns | undefined {
    const written = this.#young.get(id) ?? this.#old.get(id);
    return written?.isCommitted === true && written.merchant === merchant && written.part[2] === version ? written.fixed : undefined;
  }
}

function fixedOf(part: PaymentPart): FixedColumns | undefined {
  const [code, createdAt, orderJson] = [part[19], part[20], part[21]];
  return code === undefined || createdAt === undefined || orderJson === undefined ? undefined : { code, createdAt, orderJson };
}

/** What the writer's statements give a payment that has nothing rare. */
const nothingRare: Rare = ["0", null, null, null, null, null];

/** The row that the change has written. */
function rowOf(merchant: MerchantId, id: PaymentId, part: PaymentPart, { code, createdAt, orderJson }: FixedColumns): PaymentRow {
  const [refunded, refunds, chargeback, review, , rerouted] = part[18]?.[0] ?? nothingRare;
  return {
    merchant,
    id,
    code,
    created_at: createdAt as PaymentRow["created_at"],
    version: part[2],
    state: part[3] as PaymentRow["state"],
    status_at: part[4] as PaymentRow["status_at"],
    captured_at: part[5] as PaymentRow["captured_at"],
    capture_by: part[6] as PaymentRow["capture_by"],
    authorized: part[7],
    captured: part[8],
    refunded,
    refunds,
    chargeback,
    review: review as PaymentRow["review"],
    rerouted,
    attempts: part[9],
    attempt: part[10],
    verdict: part[12],
    needs_review: part[13],
    order_json: orderJson,
  };
}
