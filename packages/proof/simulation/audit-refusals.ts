import type { Payment } from "../../server/src/payment/payment.ts";

/** A refused request, and the conditions while it was in flight. */
export interface Refused {
  /** Minor units; undefined for everything. */
  readonly amount: bigint | undefined;
  readonly refundId: number | undefined;
  /** The latest time that any server's clock showed. */
  readonly now: number;
  readonly partialCapture: boolean;
  readonly strictRefundCancel: boolean;
  readonly refundWindowDays: number;
  /** Whether an acquirer refused this action on this payment. */
  readonly acquirerRefused: boolean;
}

type IsRight = (payment: Payment, refused: Refused) => boolean;

const isOver: IsRight = ({ state, captureBy }, { now }) =>
  state === "declined" ||
  state === "voided" ||
  state === "expired" ||
  (captureBy !== undefined && captureBy <= now);
const never: IsRight = () => false;

/**
 * The conditions under which each refusal about a payment is right, written by hand from the
 * interface and the documentation. A refusal is right if its condition held at any moment between
 * sending the request and the answer; one that comes earlier than its rule allows, or without its
 * condition, costs a sale, a capture or a refund.
 */
export const rightRefusals: Readonly<Record<string, IsRight>> = {
  "BP-CAP-2": never,
  "BP-CAP-3": isOver,
  "BP-CAP-4": ({ state }) => state === "captured",
  "BP-CAP-5": ({ state }) =>
    state === "received" ||
    state === "authorizing" ||
    state === "in_review" ||
    state === "reversing",
  "BP-CAP-6": ({ authorized }, { amount }) => amount !== undefined && amount > authorized,
  "BP-CAP-7": (_, { acquirerRefused }) => acquirerRefused,
  "BP-CAP-11": ({ authorized }, { amount, partialCapture }) =>
    !partialCapture && amount !== undefined && amount < authorized,
  "BP-CAN-2": never,
  "BP-CAN-3": ({ state }) => state !== "authorized" && state !== "in_review",
  "BP-CAN-4": (_, { acquirerRefused }) => acquirerRefused,
  "BP-REF-CAN-2": never,
  "BP-REF-5": ({ captured, refunded }, { amount }) =>
    amount !== undefined && amount > captured - refunded,
  "BP-REF-7": ({ state }) => state !== "captured",
  "BP-REF-9": ({ refunds }, { refundId }) => !refunds.some(({ id }) => id === refundId),
  "BP-REF-10": ({ refunds }, { refundId, strictRefundCancel }) => {
    const state = refunds.find(({ id }) => id === refundId)?.state;
    return state !== "requested" && (state !== "pending" || strictRefundCancel);
  },
  "BP-REF-12": ({ captured, refunded }) => captured === refunded,
  "COFRE-24": ({ capturedAt = 0 }, { now, refundWindowDays }) =>
    refundWindowDays > 0 && now > capturedAt + refundWindowDays * 86_400_000,
  "COFRE-25": ({ chargeback }) => chargeback?.state === "opened",
  "COFRE-43": ({ refunds }) => refunds.length >= 100,
  "BP-QRY-2": never,
  payment_not_found: never,
  payment_not_in_review: (payment, refused) =>
    payment.state !== "in_review" || isOver(payment, refused),
};

/** Refusals that guarantee that this request has done nothing, and will not. */
const nothingDone =
  /^(?:BP-DR-(?!(?:0|90|119)$)\d+|BP-CAP-\d+|BP-CAN-\d+|BP-REF-\d+|BP-REF-CAN-2|COFRE-(?:12|13|21|24|25|26|28|43|44|163))$/;

export function saysNothingDone(code: string): boolean {
  return nothingDone.test(code);
}

/** The refusal is temporary: the same request may be sent again. */
export function isOfTheMoment(code: string): boolean {
  return ["COFRE-12", "COFRE-13", "COFRE-20", "COFRE-21", "COFRE-45"].includes(code);
}

/** The result of the request is not known yet. */
export function isOpen(code: string): boolean {
  return code === "COFRE-22" || code === "COFRE-14" || code === "BP-DR-119";
}
