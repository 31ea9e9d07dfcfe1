import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import { ServiceError } from "../payment/service-error.ts";
import { chargebackCreditEntries, chargebackEntries } from "../ledger/postings.ts";
import {
  type ChargebackFact,
  type ChargebackClaim,
  type ChargebackState,
  chargebackMachine,
} from "../payment/chargeback.ts";
import type { Payment } from "../payment/payment.ts";
import { returned } from "./refund-decisions.ts";
import { change, changed, notBefore, type PaymentChange, record } from "./steps.ts";

/**
 * The issuer takes back the captured amount, less the refunds that were already requested. The
 * scheme refuses a claim of fraud if the issuer is expected to bear it.
 */
export function decideChargeback(
  payment: Payment,
  { description, reason }: ChargebackClaim,
  now: Instant,
): PaymentChange {
  if (payment.state !== "captured" || payment.chargeback !== undefined) {
    throw new ServiceError("payment_not_disputable", { state: payment.state });
  }
  const amount = payment.captured - payment.refunded;
  if (amount === 0n) throw new ServiceError("payment_not_disputable", { state: payment.state });
  if (reason === "fraud" && payment.order.expectedLiability === "issuer")
    throw new ServiceError("chargeback_refused");
  moved(payment, "chargeback_opened", "opened");
  const next = changed(payment, {
    chargeback: {
      state: "opened",
      amount,
      description,
      ...(reason === undefined ? {} : { reason }),
      openedAt: notBefore(now, payment.capturedAt),
      creditedAt: undefined,
    },
  });
  const entries = chargebackEntries(payment, returned(payment), amount);
  return change(
    now,
    next,
    payment.version,
    [record("chargeback_opened", undefined, "operator", reason === undefined ? {} : { reason })],
    entries,
    "chargeback",
  );
}

/** The merchant has won the dispute. */
export function decideChargebackCredit(payment: Payment, now: Instant): PaymentChange {
  const { chargeback } = payment;
  if (chargeback?.state !== "opened")
    throw new ServiceError("payment_not_disputable", { state: payment.state });
  moved(payment, "chargeback_credited", "credited");
  const next = changed(payment, {
    chargeback: {
      ...chargeback,
      state: "credited",
      creditedAt: notBefore(now, chargeback.openedAt),
    },
  });
  const entries = chargebackCreditEntries(
    payment,
    returned(payment) - chargeback.amount,
    chargeback.amount,
  );
  return change(
    now,
    next,
    payment.version,
    [record("chargeback_credited", undefined, "operator")],
    entries,
    "chargeback_credit",
  );
}

function moved(payment: Payment, fact: ChargebackFact, to: ChargebackState): void {
  assert(
    chargebackMachine.next(payment.chargeback?.state ?? "none", fact) === to,
    "a chargeback only moves along a row of the machine",
  );
}
