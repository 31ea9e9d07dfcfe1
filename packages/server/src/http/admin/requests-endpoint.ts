import { viewing } from "../../wire/permission.ts";
import { formatInstant } from "../../kernel/calendar.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import {
  type Recorder,
  recordingBounds,
  type RecordedRequest,
} from "../../sandbox/recording/recorder.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { hashOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { textOf } from "../../wire/decode/tree.ts";
import { concernedBy, requestView } from "../recording/recorded-view.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

/** Requests per page. Each may have eight thousand characters. */
export const requestsOfPage = 50;

const longestCode = 128;

const answerSchema = new NamedSchema(
  "RequestsAnswer",
  json.object({
    requests: json.list(
      json.object(
        {
          number: { ...json.number, description: "Sequential number in the account, from 1." },
          at: json.text,
          method: json.oneOf(["GET", "POST"]),
          path: json.text,
          key: json.oneOf(["secret", "public", "session"]),
          parameters: {
            ...json.anyObject,
            description: "Only parameters of the allow list; card numbers are masked.",
          },
          parameters_omitted: json.number,
          hash: json.textOrNull,
          merchant_payment_code: json.textOrNull,
          response: {
            type: ["object", "array", "null"],
            items: {},
            description: "null while there is none, or when it is too long to be kept.",
          },
        },
        {
          http_status: json.number,
          status_code: json.textOrNull,
          duration_ms: json.number,
          replayed: json.flag,
          response_prefix: {
            ...json.text,
            description: "The beginning of a response that is too long.",
          },
        },
      ),
    ),
    next: {
      type: ["number", "null"],
      description: "The value of `after` for the next page; null on the last page.",
    },
    recording: json.object({ since: json.textOrNull, capacity: json.number }),
    status: json.success,
  }),
);

const doc: EndpointDoc = {
  id: "listRequests",
  tag: "Sandbox",
  summary: "List the account's requests",
  description:
    "The newest thousand, oldest first, fifty per call: if the answer has a `next`, repeat the request with `after` set to it. Without card numbers, security codes and complete tokens.",
  fields: [
    secretKey,
    {
      name: "after",
      type: "whole",
      note: "Lists higher numbers than this. Default: 0. Any other value: COFRE-85.",
    },
    {
      name: "hash",
      type: "text",
      note: "Only requests about this payment. COFRE-85 when it is not a hash.",
    },
    {
      name: "merchant_payment_code",
      type: "text",
      note: "Only requests about the payment with this code. Ignored when the request has a hash.",
    },
  ],
  answer: answerSchema,
  codes: ["COFRE-85"],
  example: { ...exampleKey, after: 0 },
};

/**
 * `/__cofre/requests`, in the sandbox only: the account's newest requests that are still kept,
 * oldest first, one page at a time starting after the number `after`; with `hash` or
 * `merchant_payment_code` only those about that payment.
 */
export function requestsEndpoint(recorder: Pick<Recorder, "of">): Endpoint {
  return {
    path: "/__cofre/requests",
    doc,
    permission: viewing,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ params, account }) {
      const after = textOf(params, "after") ?? "0";
      const hash = hashOf(params);
      const code = textOf(params, "merchant_payment_code");
      if (!/^\d{1,15}$/.test(after) || (hash !== undefined && !isPaymentId(hash))) {
        return refusalAnswer("COFRE-85");
      }
      const { since, requests } = recorder.of(account.id);
      const wanted = requests.filter(
        (request) => request.number > Number(after) && isAbout(request, hash, code),
      );
      const page = wanted.slice(0, requestsOfPage);
      const body = {
        requests: page.map(requestView),
        next: wanted.length > page.length ? (page.at(-1)?.number ?? null) : null,
        recording: {
          since: since === undefined ? null : formatInstant(since),
          capacity: recordingBounds.requests,
        },
        status: "SUCCESS",
      };
      return { status: 200, body: JSON.stringify(body) };
    },
  };
}

function isAbout(
  request: RecordedRequest,
  requestedHash: string | undefined,
  requestedCode: string | undefined,
): boolean {
  const { hash, code } = concernedBy(request);
  if (requestedHash !== undefined) return hash === requestedHash;
  return requestedCode === undefined || code === maskedText(requestedCode, longestCode);
}
