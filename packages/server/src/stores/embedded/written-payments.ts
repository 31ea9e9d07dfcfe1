import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Payment } from "../../payment/payment.ts";
import { paymentIndex, type PaymentPart, type Rare, rareIndex } from "../change-message.ts";
import { paymentFromRow, type PaymentRow } from "../rows.ts";

/** One change of a payment that this process submitted. */
export interface WrittenPayment {
  readonly merchant: string;
  readonly part: PaymentPart;
  /**
   * The payment's first version, which has the columns that never change. Undefined if it is not
   * cached; then the file is read.
   */
  readonly first: PaymentPart | undefined;
  /** Set when the change is durable. Until then the file is read. */
  isCommitted: boolean;
}

/**
 * Each payment has one slot, by the last two hex digits of its id, which are random. Maps that
 * evict the oldest entry cost a charge 2.8 µs, this costs 0.2.
 */
const entryCount = 256;

/**
 * Cache of the latest payments that this process wrote, at most 256, so that a read soon after a
 * write needs no statement. An entry holds the text of the row, as the file does, not a graph of
 * objects that the garbage collector would have to move.
 *
 * The cache is consistent because this process's store is the only writer of its file, and every
 * change of a payment passes `submitted` before it is sent to the writer, in the order of writing.
 * An entry is the last submitted change of its payment, and is read only once that change is
 * durable. So an entry of an earlier version is gone before a later version can be in the file, and
 * a change that failed, or whose outcome is unknown, leaves an entry that is never read.
 */
export class WrittenPayments {
  readonly #latest = Array.from<WrittenPayment | undefined>({ length: entryCount }).fill(undefined);

  /**
   * Called before the change is sent to the writer. The payment's previous entry is no longer read.
   */
  submitted(merchant: string, part: PaymentPart): WrittenPayment {
    const index = indexOf(part[paymentIndex.id]);
    const first =
      part[paymentIndex.replaces] === undefined
        ? part
        : firstOf(this.#latest[index], merchant, part);
    const written: WrittenPayment = { merchant, part, first, isCommitted: false };
    this.#latest[index] = written;
    return written;
  }

  /** The payment, if its last change was submitted by this process recently and is durable. */
  find(merchant: MerchantId, id: PaymentId): Payment | undefined {
    const written = this.#latest[indexOf(id)];
    if (
      written === undefined ||
      !written.isCommitted ||
      written.part[paymentIndex.id] !== id ||
      written.merchant !== merchant
    )
      return undefined;
    return written.first === undefined
      ? undefined
      : paymentFromRow(rowOf(merchant, id, written.part, written.first));
  }
}

function indexOf(id: string): number {
  return 16 * digitAt(id, id.length - 2) + digitAt(id, id.length - 1);
}

/** A hex digit is 0 to 9 or a to f. */
function digitAt(id: string, at: number): number {
  const code = id.charCodeAt(at);
  return (code & 15) + (code > 57 ? 9 : 0);
}

/**
 * Taken only from a durable change: a refused first version has columns that are not in the file.
 */
function firstOf(
  written: WrittenPayment | undefined,
  merchant: string,
  part: PaymentPart,
): PaymentPart | undefined {
  if (written === undefined || !written.isCommitted || written.merchant !== merchant)
    return undefined;
  return written.part[paymentIndex.id] === part[paymentIndex.id] &&
    written.part[paymentIndex.version] === part[paymentIndex.replaces]
    ? written.first
    : undefined;
}

/** The rare columns that the writer's statements give an ordinary payment. */
const nothingRare: Rare = ["0", null, null, null, null, null];

/** The row that the change wrote. */
function rowOf(
  merchant: MerchantId,
  id: PaymentId,
  part: PaymentPart,
  first: PaymentPart,
): PaymentRow {
  const code = first[paymentIndex.code];
  const createdAt = first[paymentIndex.createdAt];
  const orderJson = part[paymentIndex.orderJson] ?? first[paymentIndex.orderJson];
  assert(
    code !== undefined && createdAt !== undefined && orderJson !== undefined,
    "a payment that is new brings its fixed columns",
  );
  const rare = part[paymentIndex.rare]?.[0] ?? nothingRare;
  return {
    merchant,
    id,
    code,
    created_at: createdAt as PaymentRow["created_at"],
    version: part[paymentIndex.version],
    state: part[paymentIndex.state] as PaymentRow["state"],
    status_at: part[paymentIndex.statusAt] as PaymentRow["status_at"],
    captured_at: part[paymentIndex.capturedAt] as PaymentRow["captured_at"],
    capture_by: part[paymentIndex.captureBy] as PaymentRow["capture_by"],
    authorized: part[paymentIndex.authorized],
    captured: part[paymentIndex.captured],
    refunded: rare[rareIndex.refunded],
    refunds: rare[rareIndex.refunds],
    chargeback: rare[rareIndex.chargeback],
    review: rare[rareIndex.review] as PaymentRow["review"],
    rerouted: rare[rareIndex.rerouted],
    attempts: part[paymentIndex.attempts],
    attempt: part[paymentIndex.attempt],
    verdict: part[paymentIndex.verdict],
    needs_review: part[paymentIndex.needsReview],
    order_json: orderJson,
  };
}
