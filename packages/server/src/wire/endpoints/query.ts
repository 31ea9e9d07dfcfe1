import { wirePaths } from "../../interface/paths.ts";
import { viewing } from "../permission.ts";
import { query } from "../../operations/query.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readSelector } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";
import { readErrors } from "../answers/errors.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { paymentAnswerSchema } from "../answers/payment-schema.ts";
import { exampleOrder, paymentFields } from "./shared-docs.ts";

const doc: EndpointDoc = {
  id: "query",
  tag: "Payments",
  summary: "Get a payment",
  description: "Use it when an answer was lost.",
  fields: paymentFields,
  answer: paymentAnswerSchema,
  errors: readErrors,
  runs: [query],
  codes: ["BP-QRY-1"],
  example: exampleOrder,
  needs: "held",
};

/** /ws/query: shows a payment (interface 5.5). */
export function queryEndpoint({ runner }: EndpointDeps): Endpoint {
  return {
    path: wirePaths.query,
    doc,
    permission: viewing,
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering(readErrors, async () =>
        paymentAnswer(await runner.run(query, account, readSelector(params, "BP-QRY-1")), account),
      ),
  };
}
