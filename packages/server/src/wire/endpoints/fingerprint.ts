import { hexOf } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import type { WireAnswer } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";
import { answerWithOtherStatus } from "../answers/refusal-answer.ts";
import type { EndpointDeps } from "./deps.ts";

/** 401, as browsers' library knows it (interface 1.3); `message` for whoever reads only that. */
const unauthorized = answerWithOtherStatus("BP-SA-2");
const acknowledged: WireAnswer = { status: 200, body: "{}" };

/**
 * What a shop's page asks after it has made a token (interface 2.7): a name for the device, and
 * scripts of fraud filters to load. There are none here, so the page ends its sequence with the
 * name alone, which comes back as `device_id`.
 */
export function fingerprintEndpoints({ holderOf, randomOf }: EndpointDeps): readonly Endpoint[] {
  const withKey =
    (answer: (account: Account) => WireAnswer) =>
    async ({ params }: { readonly params: TreeObject }): Promise<WireAnswer> => {
      const key = textOf(params, "publicIntegrationKey");
      const holder = key === undefined ? undefined : await holderOf(key);
      return holder?.grants === "public" ? answer(holder.account) : unauthorized;
    };
  const session = (account: Account): WireAnswer => ({
    status: 200,
    body: `{"ebanx_session_id":"${hexOf(randomOf(account).bytes(16))}","providers":[]}`,
  });
  const row = { key: "none", family: "parameters", cors: true } as const;
  return [
    { ...row, path: "/fingerprint", handle: withKey(session) },
    { ...row, path: "/fingerprint/provider", handle: withKey(() => acknowledged) },
    // A page that could not even make a key work may say so.
    { ...row, path: "/fingerprint/error", handle: async () => acknowledged },
  ];
}
