import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import type { PaymentState } from "../../server/src/payment/payment-machine.ts";
import type { Refund } from "../../server/src/payment/refund.ts";

/**
 * A payment as a client sees it: read from an answer of the interface, with code that is
 * independent of the product's renderer.
 */
export interface PaymentView {
  readonly merchantId: MerchantId;
  readonly id: string;
  readonly code: string;
  readonly status: "OP" | "PE" | "CO" | "CA";
  readonly preApproved: boolean;
  readonly captureAvailable: boolean;
  /** Minor units in the order's currency, and in the local one. */
  readonly amount: bigint;
  readonly total: bigint;
  readonly tax: bigint;
  readonly rate: string;
  readonly country: string;
  readonly currency: string;
  readonly refunds: readonly RefundView[];
  readonly chargeback: "none" | "opened" | "credited";
  /** The scheme's name of an initial payment. */
  readonly mandate: string | undefined;
}

export interface RefundView {
  readonly id: number;
  readonly code: string | undefined;
  readonly status: "RE" | "PE" | "CO" | "CA";
  readonly amount: bigint;
}

export interface AnswerView {
  readonly payment: PaymentView;
  /** The refund of the request. */
  readonly refund: RefundView | undefined;
  readonly token: string | undefined;
}

const statusOf: Readonly<Record<PaymentState, PaymentView["status"]>> = {
  received: "PE",
  opened: "OP",
  authenticating: "PE",
  authorizing: "PE",
  authorized: "PE",
  in_review: "PE",
  capturing: "PE",
  voiding: "PE",
  reversing: "PE",
  captured: "CO",
  declined: "CA",
  voided: "CA",
  expired: "CA",
};

/** The same for a payment that an operation resolved with. */
export function paymentViewOf(payment: Payment): PaymentView {
  const { merchantId, id, order, state, refunds, chargeback, verdict } = payment;
  const status = statusOf[state];
  return {
    merchantId,
    id,
    code: order.code,
    status,
    preApproved: status === "PE" && payment.authorized > 0n,
    captureAvailable: state === "authorized",
    amount: state === "captured" ? payment.captured : order.amount.minor,
    total: order.pricing.total.minor,
    tax: order.pricing.tax.minor,
    rate: order.pricing.rate,
    country: order.country,
    currency: order.amount.currency,
    refunds: refunds.map(refundViewOf),
    chargeback: chargeback?.state ?? "none",
    mandate: order.storedCredential?.use === "initial" ? verdict?.networkTransactionId : undefined,
  };
}

export function refundViewOf({ id, code, state, amount }: Refund): RefundView {
  const status = {
    requested: "RE",
    pending: "PE",
    sending: "PE",
    confirmed: "CO",
    cancelled: "CA",
  } as const;
  return { id, code, status: status[state], amount };
}

/** Reads a successful answer; throws for any other. */
export function readAnswer(merchantId: MerchantId, reported: unknown): AnswerView {
  const payment = node(node(reported)["payment"]);
  // The requested refund is beside the payment's refunds.
  const beside = payment["refund"] ?? node(reported)["refund"];
  const chargeback = payment["chargeback"] === undefined ? undefined : node(payment["chargeback"]);
  const cof = payment["cof_info"] === undefined ? undefined : node(payment["cof_info"]);
  return {
    payment: {
      merchantId,
      id: text(payment["hash"]),
      code: text(payment["merchant_payment_code"]),
      status: oneOf(["PE", "CO", "CA"] as const, payment["status"]),
      preApproved: payment["pre_approved"] === true,
      captureAvailable: payment["capture_available"] === true,
      amount: cents(payment["amount_ext"]),
      total: cents(payment["amount_br"]),
      tax: cents(payment["amount_iof"]),
      rate: text(payment["currency_rate"]),
      country: text(payment["country"]),
      currency: text(payment["currency_ext"]),
      refunds: list(payment["refunds"]).map(readRefund),
      chargeback:
        chargeback === undefined
          ? "none"
          : chargeback["chargeback_credit"] === true
            ? "credited"
            : "opened",
      mandate: cof === undefined ? undefined : text(cof["mandate_id"]),
    },
    refund: beside === undefined ? undefined : readRefund(beside),
    token: payment["token"] === undefined ? undefined : text(payment["token"]),
  };
}

function readRefund(reported: unknown): RefundView {
  const refund = node(reported);
  const code = refund["merchant_refund_code"];
  return {
    id: Number(text(refund["id"])),
    code: code === null ? undefined : text(code),
    status: oneOf(["RE", "PE", "CO", "CA"] as const, refund["status"]),
    amount: cents(refund["amount_ext"]),
  };
}

type Node = Readonly<Record<string, unknown>>;

function node(value: unknown): Node {
  if (typeof value !== "object" || value === null) throw new Error("an answer has its objects");
  return value as Node;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  if (typeof value !== "string" || value === "") throw new Error("an answer has its texts");
  return value;
}

/** All currencies of the simulation have two decimals. */
function cents(value: unknown): bigint {
  const amount = text(value);
  if (!/^\d+\.\d{2}$/.test(amount)) throw new Error("an amount has two decimals");
  return BigInt(amount.replace(".", ""));
}

function oneOf<Name extends string>(names: readonly Name[], value: unknown): Name {
  const name = names.find((each) => each === value);
  if (name === undefined) throw new Error("an answer has words that are known");
  return name;
}
