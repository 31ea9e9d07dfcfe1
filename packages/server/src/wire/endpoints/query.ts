import { viewing } from "../permission.ts";
import { query } from "../../operations/query.ts";
import type { Endpoint } from "../endpoint.ts";
import { paymentAnswer } from "../answers/payment-answer.ts";
import { readSelector } from "../requests/payment-request.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** /ws/query: shows a payment (interface 5.5). */
export function queryEndpoint({ runner }: EndpointDeps): Endpoint {
  return {
    path: "/ws/query",
    permission: viewing,
    recorded: true,
    key: "secret",
    family: "parameters",
    cors: false,
    handle: ({ params, account }) =>
      answering("query", async () =>
        paymentAnswer(await runner.run(query, account, readSelector(params, "query")), account),
      ),
  };
}
