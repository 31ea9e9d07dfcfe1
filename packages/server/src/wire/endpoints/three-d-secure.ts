import type { Authentication, Authenticator } from "../../authentication/authenticator.ts";
import type { SimulatedAuthenticator } from "../../authentication/simulated-authenticator.ts";
import { second } from "../../kernel/instant.ts";
import type { WireResponse } from "../answers/answer.ts";
import { refusalAnswer } from "../answers/refusal-answer.ts";
import type { TreeObject } from "../decode/tree.ts";
import type { Endpoint, KeyedEndpoint, WireRequest } from "../endpoint.ts";
import type { EndpointDoc } from "../endpoint-doc.ts";
import type { Field } from "../field.ts";
import { acting, reading } from "../permission.ts";
import { publicKeyIn, readAuthentication } from "../requests/authentication-request.ts";
import { fieldOf } from "../requests/fields.ts";
import { json, NamedSchema } from "../schema.ts";
import type { EndpointDeps } from "./deps.ts";

/**
 * The library's own wait for a challenge ends after 60 seconds and leaves the shop's page without a
 * result, so the bank ends before (interface 2.7).
 */
const challengeMs = 55 * second;

const pageKey: Field = {
  name: "publicIntegrationKey",
  type: "text",
  required: { code: "BP-SA-1" },
  note: "The account's public key.",
  source: "2.7",
};

const trackId: Field = {
  name: "merchantTrackId",
  type: "text",
  note: "paymentId of generateToken.",
  source: "2.7",
};

const accessToken: Field = {
  name: "token",
  type: "text",
  note: "accessToken of generateToken.",
  source: "2.7",
};

const amountFields: readonly Field[] = [
  {
    name: "orderInformation",
    type: "object",
    note: "The order.",
    source: "2.7",
    fields: [
      {
        name: "amountDetails",
        type: "object",
        note: "What the customer agrees to.",
        source: "2.7",
        fields: [
          {
            name: "totalAmount",
            type: "decimal",
            required: { code: "COFRE-179" },
            note: "In currency: 100, 100.5 or 100.50.",
            source: "2.7",
          },
          {
            name: "currency",
            type: "text",
            required: { code: "COFRE-179" },
            note: "ISO 4217.",
            source: "2.7",
          },
        ],
      },
    ],
  },
];

const cardFields: readonly Field[] = [
  {
    name: "paymentInformation",
    type: "object",
    note: "The card.",
    source: "2.7",
    fields: [
      {
        name: "card",
        type: "object",
        note: "Neither kept nor logged. The expiry date and the name are ignored.",
        source: "2.7",
        fields: [
          {
            name: "number",
            type: "digits",
            required: { code: "COFRE-179" },
            note: "The card number.",
            source: "2.7",
          },
        ],
      },
    ],
  },
];

const tokenAnswer = new NamedSchema(
  "AuthenticationTokenAnswer",
  json.object({
    data: json.list(json.object({ accessToken: json.text, paymentId: json.text })),
  }),
);

const statuses = [
  "AUTHENTICATION_SUCCESSFUL",
  "AUTHENTICATION_FAILED",
  "PENDING_AUTHENTICATION",
] as const;

const authenticationAnswer = new NamedSchema(
  "AuthenticationAnswer",
  json.object({
    data: json.list(
      json.object({
        status: json.oneOf(statuses),
        consumerAuthenticationInformation: json.object(
          {},
          {
            eci: json.text,
            eciRaw: json.text,
            ucaf: json.text,
            ucafAuthenticationData: json.text,
            xid: json.text,
            acsUrl: json.text,
            pareq: json.text,
            authenticationTransactionId: json.text,
            version: json.text,
            directoryServerTransactionId: json.text,
          },
        ),
      }),
    ),
  }),
);

const ignored = new NamedSchema("Ignored", json.object({}));

const exampleAmount = { totalAmount: "100.00", currency: "BRL" };
const exampleOrder = {
  orderInformation: { amountDetails: exampleAmount },
  paymentInformation: { card: { number: "4000000000001000" } },
};

const tokenDoc: EndpointDoc = {
  id: "threeDSecureToken",
  tag: "Browsers",
  summary: "Begin a 3-D Secure authentication",
  description:
    "The browser library calls it first. Amount, currency and card are read by the next call only.",
  fields: [pageKey],
  answer: tokenAnswer,
  codes: ["COFRE-23"],
  example: { publicIntegrationKey: "$PUBLIC_KEY", ...exampleAmount },
};

const authenticationDoc: EndpointDoc = {
  id: "threeDSecureAuthentication",
  tag: "Browsers",
  summary: "Authenticate a cardholder",
  description:
    "Answers AUTHENTICATION_SUCCESSFUL with the values for threeds_eci, threeds_cryptogram, threeds_xid, threeds_version and threeds_trxid of /ws/direct, AUTHENTICATION_FAILED, or PENDING_AUTHENTICATION with the page of the bank's challenge in acsUrl. Without merchantTrackId it begins an authentication itself. The library sends the key inside additionalData, as JSON text.",
  fields: [pageKey, trackId, accessToken, ...amountFields, ...cardFields],
  answer: authenticationAnswer,
  codes: ["COFRE-23", "COFRE-179"],
  example: { publicIntegrationKey: "$PUBLIC_KEY", ...exampleOrder },
};

const resultDoc: EndpointDoc = {
  id: "threeDSecureResult",
  tag: "Browsers",
  summary: "Get the result of a challenge",
  description:
    "The result that the bank has sent to the server. What the browser says (tokenChallenge) has no effect. PENDING_AUTHENTICATION while the challenge is under way, AUTHENTICATION_FAILED for an unknown authentication.",
  fields: [
    pageKey,
    { ...trackId, note: "paymentId of generateToken." },
    accessToken,
    { name: "tokenChallenge", type: "text", note: "Ignored.", source: "2.7" },
  ],
  answer: authenticationAnswer,
  codes: ["COFRE-23"],
  example: { publicIntegrationKey: "$PUBLIC_KEY", merchantTrackId: "unknown", token: "unknown" },
};

const recordDoc: EndpointDoc = {
  id: "threeDSecureRecord",
  tag: "Browsers",
  summary: "Report the end of a challenge in the browser",
  description: "Accepted and ignored: only the bank's result counts.",
  fields: [
    pageKey,
    { name: "status", type: "text", note: "Ignored.", source: "2.7" },
    { ...trackId, note: "Ignored." },
    { name: "errorNumber", type: "text", note: "Ignored.", source: "2.7" },
    { name: "errorMessage", type: "text", note: "Ignored.", source: "2.7" },
  ],
  answer: ignored,
  example: { publicIntegrationKey: "$PUBLIC_KEY", status: "SUCCESS" },
};

type Handle = (
  request: WireRequest,
  authenticator: SimulatedAuthenticator,
) => Promise<WireResponse>;

/**
 * The calls of the browser library's 3-D Secure (interface 2.7), for accounts whose payments are
 * simulated. The result of a challenge is what the bank sends to the server, never what the browser
 * says.
 */
export function threeDSecureEndpoints({
  authenticatorOf,
}: Pick<EndpointDeps, "authenticatorOf">): readonly Endpoint[] {
  const endpoint = (
    name: string,
    doc: EndpointDoc,
    permission: KeyedEndpoint["permission"],
    handle: Handle,
  ): KeyedEndpoint => ({
    path: `/ws/threedsecureserver-${name}`,
    doc,
    permission,
    recorded: true,
    key: "public",
    publicKeyIn,
    family: "json",
    cors: true,
    handle: async (request) => {
      const authenticator = authenticatorOf(request.account);
      return authenticator === undefined
        ? refusalAnswer("COFRE-23", { name: `threedsecureserver-${name}` })
        : handle(request, authenticator);
    },
  });
  return [
    endpoint("generateToken", tokenDoc, reading, begin),
    {
      ...endpoint(
        "authentications",
        authenticationDoc,
        acting("operator", "card_verified"),
        authenticate,
      ),
      authenticates: true,
    },
    endpoint("authentication-results", resultDoc, reading, result),
    endpoint("record", recordDoc, reading, async () => ({ status: 200, body: "{}" })),
  ];
}

async function begin(
  { account }: WireRequest,
  authenticator: Authenticator,
): Promise<WireResponse> {
  const { id, accessToken } = authenticator.begin(account.id);
  return answered({ accessToken, paymentId: id });
}

async function authenticate(
  { account, params, visitor, authenticationFault }: WireRequest,
  authenticator: SimulatedAuthenticator,
): Promise<WireResponse> {
  const { pan, brand, amount } = readAuthentication(params, account);
  try {
    visitor?.card(pan);
    const id =
      fieldOf(params, "merchantTrackId") === undefined
        ? authenticator.begin(account.id).id
        : begunId(params, account.id, authenticator);
    if (id === undefined) return unknownAuthentication;
    const version = await authenticator.versionOf(pan);
    const { id: merchantId } = account;
    const found = await authenticator.authenticate(
      { merchantId, id, pan, brand, amount, version, challengeMs },
      authenticationFault,
    );
    return authenticationAnswerOf(found, params);
  } finally {
    pan.wipe();
  }
}

async function result(
  { account, params }: WireRequest,
  authenticator: Authenticator,
): Promise<WireResponse> {
  const id = begunId(params, account.id, authenticator);
  return authenticationAnswerOf(
    id === undefined ? undefined : await authenticator.result(account.id, id),
    params,
  );
}

/** The id in the request, if its token was made for it. */
function begunId(
  params: TreeObject,
  merchantId: WireRequest["account"]["id"],
  authenticator: Authenticator,
): string | undefined {
  const id = fieldOf(params, "merchantTrackId") ?? "";
  return authenticator.began(merchantId, id, fieldOf(params, "token") ?? "") ? id : undefined;
}

const unknownAuthentication = answered({
  status: "AUTHENTICATION_FAILED",
  consumerAuthenticationInformation: {},
});

function authenticationAnswerOf(
  found: Authentication | undefined,
  params: TreeObject,
): WireResponse {
  if (found === undefined) return unknownAuthentication;
  const { id, directoryServerId, version, eci, authenticationValue, xid } = found;
  return answered({
    status: wireStatusOf(found),
    // JSON omits undefined members.
    consumerAuthenticationInformation: {
      eci,
      eciRaw: eci,
      ucaf: authenticationValue,
      ucafAuthenticationData: authenticationValue,
      xid: authenticationValue === undefined ? undefined : xid,
      ...(found.status === "C" ? challengeOf(id, publicKeyIn(params)) : {}),
      authenticationTransactionId: id,
      version,
      directoryServerTransactionId: directoryServerId,
    },
  });
}

/** Only outcomes with a cryptogram are a success. */
function wireStatusOf({ status }: Authentication): (typeof statuses)[number] {
  if (status === "C") return "PENDING_AUTHENTICATION";
  return status === "Y" || status === "A" || status === "I"
    ? "AUTHENTICATION_SUCCESSFUL"
    : "AUTHENTICATION_FAILED";
}

/**
 * The page of the challenge, relative to this server: the script that opens it comes from here too
 * (http/challenge-endpoint.ts).
 */
function challengeOf(
  id: string,
  key: ReturnType<typeof publicKeyIn>,
): { readonly acsUrl: string; readonly pareq: string } {
  const query = new URLSearchParams({ key: typeof key === "string" ? key : "", id });
  const challengeRequest = {
    messageType: "CReq",
    messageVersion: "2.2.0",
    threeDSServerTransID: id,
  };
  return {
    acsUrl: `/3ds/challenge?${query.toString()}`,
    pareq: Buffer.from(JSON.stringify(challengeRequest)).toString("base64url"),
  };
}

function answered(data: object): WireResponse {
  return { status: 200, body: JSON.stringify({ data: [data] }) };
}
