import { hexOf } from "../../kernel/ids.ts";
import type { Account } from "../../merchant/account.ts";
import type { WireResponse } from "../answers/answer.ts";
import type { Endpoint } from "../endpoint.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";
import { answerWithOtherStatus, errorSchema } from "../answers/refusal-answer.ts";
import type { EndpointDeps } from "./deps.ts";
import type { Field } from "../field.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import { json, NamedSchema } from "../schema.ts";

/**
 * 401, as the browser library expects it (interface 1.3); `message` is for clients that read
 * nothing else.
 */
const unauthorized = answerWithOtherStatus("BP-SA-2");
const acknowledged: WireResponse = { status: 200, body: "{}" };

const pageKey: Field = {
  name: "publicIntegrationKey",
  type: "text",
  required: { code: "BP-SA-2", status: 401 },
  note: "The account's public key.",
  source: "2.7",
};

const examplePage = { publicIntegrationKey: "$PUBLIC_KEY" };

const nameAnswer = new NamedSchema(
  "FingerprintAnswer",
  json.object({ ebanx_session_id: json.text, providers: { ...json.list({}), maxItems: 0 } }),
);

const nothing = new NamedSchema("Nothing", json.object({}));

const nameDoc: EndpointDoc = {
  id: "fingerprint",
  tag: "Browsers",
  summary: "Get a device id",
  description:
    "Send ebanx_session_id as device_id of the payment. The list of providers is empty: there are no scripts to load.",
  fields: [
    pageKey,
    { name: "country", type: "text", note: "Ignored.", source: "2.7" },
    { name: "origin", type: "text", note: "Ignored.", source: "2.7" },
  ],
  answer: nameAnswer,
  otherAnswers: { "401": errorSchema },
  codes: ["BP-SA-2"],
  example: examplePage,
};

const providerDoc: EndpointDoc = {
  id: "fingerprintProvider",
  tag: "Browsers",
  summary: "Report a provider's result",
  description: "Accepted and ignored.",
  fields: [pageKey, { name: "ebanx_session_id", type: "text", note: "Ignored.", source: "2.7" }],
  answer: nothing,
  otherAnswers: { "401": errorSchema },
  codes: ["BP-SA-2"],
  example: examplePage,
};

const errorDoc: EndpointDoc = {
  id: "fingerprintError",
  tag: "Browsers",
  summary: "Report a page's error",
  description: "Accepted and ignored.",
  fields: [
    { name: "publicIntegrationKey", type: "text", note: "Ignored.", source: "2.7" },
    { name: "errorMessage", type: "text", note: "Ignored.", source: "2.7" },
  ],
  answer: nothing,
  example: { ...examplePage, errorMessage: "no camera" },
};

/**
 * Called by a shop's page after it has created a token (interface 2.7), to get a name for the
 * device and the scripts of fraud filters to load. There are no such scripts here, so the page ends
 * its sequence with the name alone, which comes back as `device_id`.
 */
export function fingerprintEndpoints({ holderOf, randomOf }: EndpointDeps): readonly Endpoint[] {
  const withKey =
    (answer: (account: Account) => WireResponse) =>
    async ({ params }: { readonly params: TreeObject }): Promise<WireResponse> => {
      const key = textOf(params, "publicIntegrationKey");
      const holder = key === undefined ? undefined : await holderOf(key);
      return holder?.grants === "public" ? answer(holder.account) : unauthorized;
    };
  const session = (account: Account): WireResponse => ({
    status: 200,
    body: `{"ebanx_session_id":"${hexOf(randomOf(account).bytes(16))}","providers":[]}`,
  });
  const row = { key: "none", family: "parameters", cors: true } as const;
  return [
    { ...row, path: "/fingerprint", doc: nameDoc, handle: withKey(session) },
    {
      ...row,
      path: "/fingerprint/provider",
      doc: providerDoc,
      handle: withKey(() => acknowledged),
    },
    // A page may report an error even if its key does not work.
    { ...row, path: "/fingerprint/error", doc: errorDoc, handle: async () => acknowledged },
  ];
}
