import { acting } from "../permission.ts";
import { tokenize } from "../../operations/tokenize.ts";
import type { Endpoint } from "../endpoint.ts";
import { answeredType, readToken } from "../requests/token-request.ts";
import { isSetCvv } from "../requests/set-cvv-request.ts";
import { answerSetCvv } from "./set-cvv.ts";
import { answering, type EndpointDeps } from "./deps.ts";

/** POST /ws/token: stores a card (interface 2.1). Browsers call it with the public key. */
export function tokenEndpoint(deps: EndpointDeps): Endpoint {
  const { runner, clockOf } = deps;
  return {
    path: "/ws/token",
    permission: acting("operator", "card_stored"),
    recorded: true,
    key: "public",
    family: "json",
    cors: true,
    handle: async ({ params, account, grants }) => {
      if (isSetCvv(params)) return answerSetCvv(deps, account, params);
      return answering("token", async () => {
        const input = readToken(params, account, clockOf(account).now(), grants);
        try {
          const { token, card } = await runner.run(tokenize, account, input);
          const type = answeredType(params, card.brand);
          return `{"status":"SUCCESS","payment_type_code":"${type}","token":${JSON.stringify(token)},"masked_card_number":"${card.maskedPan}"}`;
        } finally {
          input.card.pan.wipe();
        }
      });
    },
  };
}
