import { viewing } from "../../wire/permission.ts";
import { formatTimestamp } from "../../kernel/calendar.ts";
import { scaleOf } from "../../kernel/currency.ts";
import { formatAmount } from "../../kernel/money.ts";
import { explainPayment, type ExplainedPayment } from "../../operations/explain-payment.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { answering, type OperationRunner } from "../../wire/endpoints/deps.ts";
import { explainedPrices, pricesSchema } from "./explained-price.ts";
import { readSelector } from "../../wire/requests/payment-request.ts";
import { readErrors } from "../../wire/answers/errors.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { query } from "../../operations/query.ts";
import { exampleOrder, paymentFields } from "../../wire/endpoints/shared-docs.ts";

const answerSchema = new NamedSchema(
  "ExplainAnswer",
  json.object({
    hash: json.text,
    state: json.text,
    facts: json.list(json.anyObject),
    postings: json.list(json.anyObject),
    money: json.list(json.anyObject),
    price: pricesSchema,
    expected_liability: {
      ...json.oneOf(["issuer", "merchant"]),
      description: "The party that is expected to bear fraud, by brand and 3-D Secure.",
    },
    problems: json.list(json.text),
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "explain",
  tag: "Sandbox",
  summary: "Explain a payment",
  description:
    "Every fact, every posting, the position of its money, and how its amounts were calculated.",
  fields: paymentFields,
  answer: answerSchema,
  errors: readErrors,
  runs: [query],
  codes: ["BP-QRY-1"],
  example: exampleOrder,
  needs: "held",
};

/**
 * `/__cofre/explain`: every fact and posting of a payment, where its money is, and how its amounts
 * were calculated, by `hash` or `merchant_payment_code`.
 */
export function explainEndpoint(runner: OperationRunner): Endpoint {
  return {
    path: "/__cofre/explain",
    doc,
    permission: viewing,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering(readErrors, async () =>
        explanationBody(
          await runner.run(explainPayment, account, readSelector(params, "BP-QRY-1")),
        ),
      ),
  };
}

function explanationBody({ payment, history, explanation }: ExplainedPayment): string {
  return JSON.stringify({
    hash: payment.id,
    state: payment.state,
    facts: history.flatMap(({ version, at, facts }) =>
      facts.map(({ fact, attempt, by, detail }) => ({
        version,
        at: formatTimestamp(at),
        fact,
        attempt,
        by,
        // Taken from the order: history does not store it again for each payment.
        ...(fact === "authorization_sent" ? { connector: payment.order.connector } : {}),
        ...detail,
      })),
    ),
    postings: explanation.lines.map((line) => ({ ...line, at: formatTimestamp(line.at) })),
    money: explanation.positions.map(({ currency, ...position }) => ({
      currency,
      ...Object.fromEntries(
        Object.entries(position).map(([name, minor]) => [
          name,
          formatAmount(minor, scaleOf(currency)),
        ]),
      ),
    })),
    price: explainedPrices(payment, explanation),
    expected_liability: payment.order.expectedLiability,
    problems: explanation.problems,
    status: "SUCCESS",
  });
}
