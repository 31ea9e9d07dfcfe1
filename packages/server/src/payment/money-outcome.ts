import type { PaymentState } from "./payment-machine.ts";
import type { Payment } from "./payment.ts";

/** Outcomes for the money of a captured payment, in addition to its state. */
export const moneyOutcomes = ["refunded", "partly_refunded", "charged_back", "disputed"] as const;
export type MoneyOutcome = (typeof moneyOutcomes)[number];

const hasOutcome: Readonly<Record<MoneyOutcome, (payment: Payment) => boolean>> = {
  refunded: ({ captured, refunded }) => refunded > 0n && refunded === captured,
  partly_refunded: ({ captured, refunded }) => refunded > 0n && refunded < captured,
  charged_back: ({ chargeback }) => chargeback?.state === "opened",
  disputed: ({ chargeback }) => chargeback !== undefined,
};

/** A filter of payments. */
interface Among {
  readonly states?: readonly PaymentState[];
  readonly outcomes?: readonly MoneyOutcome[];
}

/**
 * Whether the payment is in one of the states or has one of the outcomes; true if neither is given.
 */
export function isAmong(
  { states, outcomes }: Among,
  state: string,
  payment: () => Payment,
): boolean {
  if (states === undefined && outcomes === undefined) return true;
  if (states?.some((each) => each === state) === true) return true;
  return outcomes !== undefined && outcomes.some((outcome) => hasOutcome[outcome](payment()));
}
