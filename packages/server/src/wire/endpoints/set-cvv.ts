import { acting } from "../permission.ts";
import type { Account } from "../../merchant/account.ts";
import { setCvv } from "../../operations/set-cvv.ts";
import type { WireAnswer } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";
import { readSetCvv } from "../requests/set-cvv-request.ts";
import type { TreeObject } from "../decode/tree.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/**
 * /ws/token/setCVV: keeps a security code for the next payment with a token (interface 2.4).
 * Browsers call it with the public key.
 */
export function setCvvEndpoint(deps: EndpointDeps): Endpoint {
  return {
    path: "/ws/token/setCVV",
    permission: acting("operator", "security_code_left"),
    recorded: true,
    key: "public",
    family: "json",
    cors: true,
    handle: ({ params, account }) => answerSetCvv(deps, account, params),
  };
}

export function answerSetCvv(
  { runner }: EndpointDeps,
  account: Account,
  params: TreeObject,
): Promise<WireAnswer> {
  return answering("set_cvv", async () => {
    const input = readSetCvv(params);
    try {
      const { maskedPan } = await runner.run(setCvv, account, input);
      return `{"status":"SUCCESS","token":${JSON.stringify(input.token)},"masked_card_number":"${maskedPan}"}`;
    } finally {
      input.cvv.wipe();
    }
  });
}

/**
 * One client posts to this address, which the original does not have: the client's own test expects
 * an error (interface 2.4).
 */
export const misspeltSetCvvEndpoint: Endpoint = {
  path: "/ws/setCvv",
  key: "none",
  family: "json",
  cors: true,
  handle: async () => refusalAnswer("COFRE-9", { hint: ": use /ws/token/setCVV" }),
};
