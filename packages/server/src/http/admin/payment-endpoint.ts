import { acting, wordIn } from "../../wire/permission.ts";
import { cancel } from "../../operations/cancel.ts";
import { capture } from "../../operations/capture.ts";
import { creditChargeback, openChargeback } from "../../operations/chargeback.ts";
import type { PaymentSelector } from "../../operations/direct-input.ts";
import { acceptReview, rejectReview } from "../../operations/review.ts";
import type { Account } from "../../merchant/account.ts";
import {
  type ChargebackClaim,
  type ChargebackReason,
  chargebackReasons,
} from "../../payment/chargeback.ts";
import type { Payment } from "../../payment/payment.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answering, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { fieldOf } from "../../wire/requests/fields.ts";
import { paymentAnswer } from "../../wire/answers/payment-answer.ts";
import { readSelector } from "../../wire/requests/payment-request.ts";
import { refusal } from "../../wire/errors/refusal.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { type ErrorMappings, mapTo, readErrors } from "../../wire/answers/errors.ts";
import { cancelErrors } from "../../wire/endpoints/cancel.ts";
import { captureErrors } from "../../wire/endpoints/capture.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { paymentAnswerSchema } from "../../wire/answers/payment-schema.ts";
import { exampleOrder, paymentFields } from "../../wire/endpoints/shared-docs.ts";

type Act = (
  runner: OperationRunner,
  account: Account,
  selector: PaymentSelector,
  claim: ChargebackClaim,
) => Promise<Payment>;

/** The possible actions on a payment: each is an existing operation, with all its refusals. */
const actions = {
  /** A reviewer accepts: a payment that was to be captured at once is captured. */
  accept_review: (runner, account, selector) => runner.run(acceptReview, account, selector),
  /** A reviewer rejects: the hold is voided, and the payment is CA, "High risk transaction". */
  reject_review: (runner, account, selector) => runner.run(rejectReview, account, selector),
  /** The issuer charges back what is left of a captured payment. */
  chargeback: (runner, account, selector, claim) =>
    runner.run(openChargeback, account, { selector, claim }),
  /** The merchant has won the chargeback. */
  chargeback_credit: (runner, account, selector) => runner.run(creditChargeback, account, selector),
  /** The payment simulator's "confirm": an authorized payment is captured. */
  confirm: (runner, account, selector) =>
    runner.run(capture, account, { selector, amount: undefined }),
  /** The payment simulator's "cancel": an uncaptured payment is voided. */
  cancel: (runner, account, selector) => runner.run(cancel, account, selector),
} as const satisfies Record<string, Act>;

type ActionName = keyof typeof actions;
export const actionNames = Object.keys(actions) as ActionName[];

const longestDescription = 500;

const errors: ErrorMappings = {
  ...captureErrors,
  ...cancelErrors,
  ...readErrors,
  payment_not_in_review: mapTo("COFRE-37"),
  payment_not_disputable: mapTo("COFRE-38"),
  chargeback_refused: mapTo("COFRE-176"),
};

const doc: EndpointDoc = {
  id: "actOnPayment",
  tag: "Sandbox",
  summary: "Simulate an event of a payment",
  description:
    "A review decision, a chargeback and its reversal, or the payment simulator's confirm and cancel.",
  fields: [
    ...paymentFields,
    {
      name: "action",
      type: "text",
      required: { code: "COFRE-36" },
      values: actionNames,
      note: "The event.",
    },
    {
      name: "description",
      type: "text",
      longest: { characters: longestDescription },
      note: "The description of a chargeback.",
    },
    {
      name: "reason",
      type: "text",
      values: chargebackReasons,
      note: "The category of a chargeback. `fraud` is refused where 3-D Secure moved the liability to the issuer.",
    },
  ],
  answer: paymentAnswerSchema,
  errors,
  runs: [acceptReview, rejectReview, openChargeback, creditChargeback, capture, cancel],
  codes: ["COFRE-36", "COFRE-177", "BP-QRY-1"],
  example: { ...exampleOrder, action: "confirm" },
  needs: "held",
};

/**
 * `/__cofre/payment`, in the sandbox only: causes an event on a payment, named by `hash` or
 * `merchant_payment_code`, that otherwise an issuer or a reviewer causes. `action` is one of the
 * list above; `description` is the text of a chargeback, `reason` its category.
 */
export function paymentEndpoint(runner: OperationRunner): Endpoint {
  return {
    path: "/__cofre/payment",
    doc,
    permission: acting("operator", "payment_changed", wordIn("action", actionNames)),
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const requested = fieldOf(params, "action")?.toLowerCase();
      const name = actionNames.find((each) => each === requested);
      if (name === undefined) return refusalAnswer("COFRE-36", { list: actionNames.join(", ") });
      const act: Act = actions[name];
      return answering(errors, async () => {
        const reason = reasonOf(fieldOf(params, "reason"));
        const description = maskedText(fieldOf(params, "description") ?? "", longestDescription);
        return paymentAnswer(
          await act(runner, account, readSelector(params, "BP-QRY-1"), { description, reason }),
          account,
        );
      });
    },
  };
}

function reasonOf(text: string | undefined): ChargebackReason | undefined {
  if (text === undefined) return undefined;
  const requested = text.toLowerCase();
  const reason = chargebackReasons.find((each) => each === requested);
  if (reason === undefined) throw refusal("COFRE-177", { list: chargebackReasons.join(", ") });
  return reason;
}
