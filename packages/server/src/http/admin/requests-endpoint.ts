import { viewing } from "../../wire/permission.ts";
import { formatInstant } from "../../kernel/calendar.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import {
  type Recorder,
  recordingBounds,
  type RecordedRequest,
} from "../../sandbox/recording/recorder.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import { fieldOf, hashOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import { textOf, type TreeObject } from "../../wire/decode/tree.ts";
import { concernedBy, requestSummary, requestView } from "../recording/recorded-view.ts";
import { outcomeOf, type RequestOutcome, requestOutcomes } from "../recording/request-outcome.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

/** Requests per page without a `limit`. Each may have eight thousand characters. */
export const requestsOfPage = 50;
const maxRequests = 100;

const longestCode = 128;
const longestSearch = 200;

const numberOrNull = {
  type: ["number", "null"],
  description: "With `number`.",
} as const;

const answerSchema = new NamedSchema(
  "RequestsAnswer",
  json.object(
    {
      requests: json.list(
        json.object(
          {
            number: { ...json.number, description: "Sequential number in the account, from 1." },
            at: json.text,
            method: json.oneOf(["GET", "POST"]),
            path: json.text,
            key: json.oneOf(["secret", "public", "session"]),
            hash: json.textOrNull,
            merchant_payment_code: json.textOrNull,
            outcome: {
              ...json.oneOf(requestOutcomes),
              description:
                "declined: a new payment that was not accepted. refused: HTTP 4xx or an error code. failed: HTTP 5xx, a cut connection, an internal error or an unknown outcome.",
            },
          },
          {
            parameters: {
              ...json.anyObject,
              description: "Only parameters of the allow list; card numbers are masked.",
            },
            parameters_omitted: json.number,
            response: {
              type: ["object", "array", "null"],
              items: {},
              description: "null while there is none, or when it is too long to be kept.",
            },
            http_status: json.number,
            status_code: json.textOrNull,
            field: {
              ...json.textOrNull,
              description:
                "The refused field, such as payment.email; null when no single field is.",
            },
            message: { ...json.textOrNull, description: "The text of a refusal." },
            duration_ms: json.number,
            replayed: json.flag,
            fault: { ...json.textOrNull, description: "Kind of the fault that was injected." },
            response_prefix: {
              ...json.text,
              description: "The beginning of a response that is too long.",
            },
          },
        ),
      ),
      next: {
        type: ["number", "null"],
        description:
          "The value of `after`, or of `before` with `order`, for the next page; null on the last page.",
      },
      recording: json.object({ since: json.textOrNull, capacity: json.number }),
      status: json.success,
    },
    {
      counts: json.object(
        Object.fromEntries(requestOutcomes.map((outcome) => [outcome, json.number])),
      ),
      paths: { ...json.list(json.text), description: "With `order`: every path in the log." },
      older: numberOrNull,
      newer: numberOrNull,
    },
  ),
);

const doc: EndpointDoc = {
  id: "listRequests",
  tag: "Sandbox",
  summary: "List the account's requests",
  description:
    "The newest thousand, oldest first, fifty per call: if the answer has a `next`, repeat the request with `after` set to it. With `order=newest` they are listed newest first without parameters and responses, each page with `before`, and counted by outcome. With `number`, the answer has that request alone, and the numbers of its neighbours. Without card numbers, security codes and complete tokens.",
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
    {
      name: "order",
      type: "text",
      values: ["newest"],
      note: "Newest first. Any other value: COFRE-86.",
    },
    { name: "before", type: "whole", note: "With `order`: the `next` of the previous page." },
    {
      name: "limit",
      type: "whole",
      note: `The page size, 1 to ${maxRequests}. Default: ${requestsOfPage}. Any other value: COFRE-61.`,
    },
    { name: "path", type: "text", note: "Only requests to this path, such as /ws/direct." },
    {
      name: "outcome",
      type: "text",
      note: `One of ${requestOutcomes.join(", ")}. Any other value: COFRE-86.`,
    },
    {
      name: "search",
      type: "text",
      longest: { characters: longestSearch },
      note: "Words to find in the path, the error code, the refused field, the payment's code or its hash. All words must match.",
    },
    {
      name: "number",
      type: "whole",
      note: "Only this request. `older` and `newer` are the nearest ones that match the other fields. COFRE-61 when it is not a number.",
    },
  ],
  answer: answerSchema,
  codes: ["COFRE-61", "COFRE-85", "COFRE-86"],
  example: { ...exampleKey, after: 0 },
};

/**
 * `/__cofre/requests`, in the sandbox only: the account's newest requests that are still kept. By
 * default oldest first, one page at a time starting after the number `after`; with `order=newest`
 * newest first, as summaries; with `number` one request and its neighbours. `hash`,
 * `merchant_payment_code`, `path`, `outcome` and `search` select requests.
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
      const input = inputOf(params);
      if ("status" in input) return input;
      const { since, requests } = recorder.of(account.id);
      const body = {
        ...answerTo(input, requests),
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

interface Filter {
  readonly hash: string | undefined;
  /** Masked, as it was recorded. Ignored when there is a hash. */
  readonly code: string | undefined;
  readonly path: string | undefined;
  readonly outcome: RequestOutcome | undefined;
  /** In lower case. */
  readonly words: readonly string[];
}

interface RequestsInput {
  readonly filter: Filter;
  readonly show:
    | { readonly kind: "oldest"; readonly after: number }
    | { readonly kind: "newest"; readonly before: number }
    | { readonly kind: "one"; readonly number: number };
  readonly limit: number;
}

const numberFormat = /^\d{1,15}$/;
const positiveFormat = /^[1-9]\d{0,14}$/;

function inputOf(params: TreeObject): RequestsInput | WireResponse {
  const after = textOf(params, "after") ?? "0";
  const hash = hashOf(params);
  if (!numberFormat.test(after) || (hash !== undefined && !isPaymentId(hash)))
    return refusalAnswer("COFRE-85");
  const order = fieldOf(params, "order");
  const word = fieldOf(params, "outcome");
  const outcome = requestOutcomes.find((each) => each === word);
  if ((order !== undefined && order !== "newest") || (word !== undefined && outcome === undefined))
    return refusalAnswer("COFRE-86", { list: requestOutcomes.join(", ") });
  const limit = fieldOf(params, "limit") ?? String(requestsOfPage);
  const before = fieldOf(params, "before");
  const number = fieldOf(params, "number");
  const isNumber = (text: string | undefined): boolean =>
    text === undefined || positiveFormat.test(text);
  if (!isNumber(limit) || Number(limit) > maxRequests || !isNumber(before) || !isNumber(number))
    return refusalAnswer("COFRE-61", { most: maxRequests });
  const code = textOf(params, "merchant_payment_code");
  const search = maskedText(fieldOf(params, "search") ?? "", longestSearch);
  return {
    filter: {
      hash,
      code: code === undefined ? undefined : maskedText(code, longestCode),
      path: fieldOf(params, "path"),
      outcome,
      words: search.toLowerCase().split(" ").filter(Boolean),
    },
    show:
      number !== undefined
        ? { kind: "one", number: Number(number) }
        : order === undefined
          ? { kind: "oldest", after: Number(after) }
          : { kind: "newest", before: before === undefined ? Infinity : Number(before) },
    limit: Number(limit),
  };
}

type Answer = Readonly<Record<string, unknown>>;

/** `requests` are oldest first. */
function answerTo(
  { filter, show, limit }: RequestsInput,
  requests: readonly RecordedRequest[],
): Answer {
  if (show.kind === "newest") return newestOf(requests, filter, show.before, limit);
  if (show.kind === "one") return oneOf(requests, filter, show.number);
  const found = requests.filter(
    (request) => request.number > show.after && passes(request, filter),
  );
  return pageOf(found, limit, requestView);
}

function newestOf(
  requests: readonly RecordedRequest[],
  filter: Filter,
  before: number,
  limit: number,
): Answer {
  const counts: Record<string, number> = Object.fromEntries(
    requestOutcomes.map((outcome) => [outcome, 0]),
  );
  const found: RecordedRequest[] = [];
  for (const request of requests.toReversed()) {
    if (!passes(request, { ...filter, outcome: undefined })) continue;
    const outcome = outcomeOf(request);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    if (request.number < before && (filter.outcome === undefined || outcome === filter.outcome))
      found.push(request);
  }
  const paths = [...new Set(requests.map(({ path }) => path))].toSorted();
  return { ...pageOf(found, limit, requestSummary), counts, paths };
}

function oneOf(requests: readonly RecordedRequest[], filter: Filter, number: number): Answer {
  const others = requests.filter((request) => passes(request, filter));
  return {
    requests: requests.filter((request) => request.number === number).map(requestView),
    next: null,
    older: others.findLast((request) => request.number < number)?.number ?? null,
    newer: others.find((request) => request.number > number)?.number ?? null,
  };
}

function pageOf(
  found: readonly RecordedRequest[],
  limit: number,
  view: (request: RecordedRequest) => Answer,
): Answer {
  const page = found.slice(0, limit);
  return {
    requests: page.map(view),
    next: found.length > page.length ? (page.at(-1)?.number ?? null) : null,
  };
}

function passes(request: RecordedRequest, filter: Filter): boolean {
  const { path, answer } = request;
  if (filter.path !== undefined && filter.path !== path) return false;
  if (filter.outcome !== undefined && outcomeOf(request) !== filter.outcome) return false;
  const { hash, code } = concernedBy(request);
  if (filter.hash !== undefined ? hash !== filter.hash : !isOrAny(filter.code, code)) return false;
  if (filter.words.length === 0) return true;
  const text = [path, answer?.code, answer?.field, code, hash].join("\n").toLowerCase();
  return filter.words.every((each) => text.includes(each));
}

function isOrAny(requested: string | undefined, value: string | undefined): boolean {
  return requested === undefined || value === requested;
}
