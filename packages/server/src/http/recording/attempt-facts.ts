import type { DeliveryAttempt } from "../../delivery/dispatcher.ts";
import { shownAddress } from "../../merchant/receiver-address.ts";
import {
  type AttemptFacts,
  type ExchangeFacts,
  recordingBounds,
  type ResponseFacts,
} from "../../sandbox/recording/recorder.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import { detachedCopy } from "./detached-copy.ts";
import { shortened } from "./parameter-view.ts";

type Exchange = NonNullable<DeliveryAttempt["exchange"]>;
type Answered = Extract<Exchange["outcome"], { readonly kind: "answered" }>;
type ReceiverAnswer = NonNullable<Answered["answer"]>;

const longestUrl = 300;

/** The recorded facts of an attempt to deliver a notification. */
export function attemptFactsOf({
  number: attempt,
  url,
  verdict,
  delivery,
  exchange,
}: DeliveryAttempt): AttemptFacts {
  const { paymentId, endpoint, number, kind, state, outcome, dueAt } = delivery;
  return {
    paymentId,
    endpoint,
    url: detachedCopy(maskedText(shownAddress(url), longestUrl)),
    number,
    notificationType: kind,
    attempt,
    outcome: outcome ?? "nothing",
    verdict,
    dueAt: state === "waiting" && verdict === "retry" ? dueAt : undefined,
    exchange: exchange === undefined ? undefined : exchangeFactsOf(exchange, url),
  };
}

/** A message of several payments is one exchange of several attempts. */
const known = new WeakMap<Exchange, ExchangeFacts>();

function exchangeFactsOf(exchange: Exchange, url: string): ExchangeFacts | undefined {
  const { headers: signed, body, outcome, durationMs } = exchange;
  // The address must not be reached: nothing was sent.
  if (outcome.kind === "refused") return undefined;
  const earlier = known.get(exchange);
  if (earlier !== undefined) return earlier;
  const hasPassword = shownAddress(url) !== url;
  const headers = hasPassword ? { ...signed, Authorization: "Basic ***" } : signed;
  const response =
    outcome.kind === "answered" && outcome.answer !== undefined
      ? responseFactsOf(outcome.status, outcome.answer)
      : undefined;
  const facts = {
    headers,
    body,
    durationMs: Math.max(0, Math.round(durationMs * 10) / 10),
    response,
    characters:
      body.length +
      (response?.body.length ?? 0) +
      lengthOf(headers) +
      lengthOf(response?.headers ?? {}),
  };
  known.set(exchange, facts);
  return facts;
}

function lengthOf(headers: Readonly<Record<string, string>>): number {
  return Object.entries(headers).reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    0,
  );
}

/** Headers that explain a response; cookies and others are never kept. */
const keptHeaders = [
  "allow",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "location",
  "retry-after",
  "server",
  "via",
  "www-authenticate",
  "x-request-id",
] as const;

function responseFactsOf(status: number, { headers, body, isCut }: ReceiverAnswer): ResponseFacts {
  const kept = keptHeaders.flatMap((name) => {
    const value = headers[name];
    return typeof value === "string"
      ? [[name, shownText(shownAddress(value), recordingBounds.headerCharacters)] as const]
      : [];
  });
  // The bytes that are read hold more characters than are kept, and the digits after them: a card
  // number at the end is masked as a whole.
  const text = new TextDecoder().decode(body);
  const shown = shownText(text, recordingBounds.responseCharacters);
  return {
    status,
    headers: Object.fromEntries(kept),
    body: shown,
    isCut: isCut || shown.length < text.length,
  };
}

/**
 * At most `characters` of a receiver's text, which may repeat anything that the receiver has: card
 * numbers are masked, secrets, passwords and tokens are hidden.
 */
function shownText(text: string, characters: number): string {
  const hidden = text
    .replaceAll(/whsec_[\w+/=-]*/g, "whsec_***")
    .replaceAll(/\b(basic|bearer) +[\w+/=.~-]+/gi, "$1 ***")
    .replaceAll(
      /("token"\s*:\s*")((?:[^"\\]|\\.)*)/g,
      (_, name: string, token: string) => name + shortened(token),
    );
  return detachedCopy(maskedText(hidden, characters));
}
