import { hexOf } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import type { WireAnswer } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";
import { answerWithOtherStatus } from "../answers/refusal-answer.ts";
import type { EndpointDeps } from "./deps.ts";

/**
 * 401, as the browser library expects it (interface 1.3); `message` is for clients that read
 * nothing else.
 */
const unauthorized = answerWithOtherStatus("BP-SA-2");
const acknowledged: WireAnswer = { status: 200, body: "{}" };

/**
 * Called by a shop's page after it has created a token (interface 2.7), to get a name for the
 * device and the scripts of fraud filters to load. There are no such scripts here, so the page ends
 * its sequence with the name alone, which comes back as `device_id`.
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
    // A page may report an error even if its key does not work.
    { ...row, path: "/fingerprint/error", handle: async () => acknowledged },
  ];
}
