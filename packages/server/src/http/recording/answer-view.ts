import type { TokenDigest } from "../../kernel/ids.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import type { AnswerFacts } from "../../sandbox/recording/recorder.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { holdsCardNumber, maskCardNumbers } from "../../wire/decode/card-like.ts";
import { detachedCopy } from "./detached-copy.ts";
import { shortened } from "./parameter-view.ts";

/** The beginning of every paymentAnswer (payment-answer.ts); a test verifies it. */
const paymentStart = '{"payment":{"hash":"';

const tokenMember = /"token":"((?:[^"\\]|\\.)*)"/;
const codeMember = /"merchant_payment_code":"((?:[^"\\]|\\.)*)"/;
const refundCodeMembers = /"merchant_refund_code":"((?:[^"\\]|\\.)*)"/g;

/**
 * The part of an answer that may be kept. Answers contain no card data; tokens are removed, and
 * card numbers in the names that a merchant chose, where the account allows them. Runs for every
 * request: most answers are kept unchanged.
 */
export function answerFactsOf(
  { status, code, field, body, headers }: WireResponse,
  characters: number,
  digestOf: (token: string) => TokenDigest,
): Omit<AnswerFacts, "fault"> {
  const token = body.includes('"token":"') ? textIn(tokenMember.exec(body)?.[1]) : undefined;
  const isPayment = body.startsWith(paymentStart);
  const isToMask =
    !isPayment ||
    holdsCardNumber(textIn(codeMember.exec(body)?.[1]) ?? "") ||
    refundCodesHoldCard(body);
  const shown = isToMask || token !== undefined ? shownOf(body) : body;
  const isCut = shown.length > characters;
  return {
    status,
    code,
    field,
    body: isCut ? detachedCopy(shown.slice(0, characters)) : shown,
    isCut,
    isReplayed: headers?.some(([name]) => name === "Idempotent-Replayed") ?? false,
    tokenDigest: token === undefined || isPayment ? undefined : digestOf(token),
  };
}

/** A body that is not JSON was not written by this server: only its masked text is kept. */
function shownOf(body: string): string {
  try {
    return JSON.stringify(shownIn(JSON.parse(body)));
  } catch {
    return detachedCopy(maskCardNumbers(body));
  }
}

/**
 * The same value with every token shortened, and the middle digits of card numbers masked in every
 * text but a payment's hash.
 */
function shownIn(value: unknown, name = ""): unknown {
  if (typeof value === "string") {
    if (name === "token") return shortened(value);
    return name === "hash" && isPaymentId(value) ? value : maskCardNumbers(value);
  }
  if (Array.isArray(value)) return value.map((member: unknown) => shownIn(member));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, shownIn(member, key)]),
  );
}

function refundCodesHoldCard(body: string): boolean {
  if (!body.includes('"merchant_refund_code":"')) return false;
  for (const [, written] of body.matchAll(refundCodeMembers))
    if (holdsCardNumber(textIn(written) ?? "")) return true;
  return false;
}

/** The value of a JSON string. */
function textIn(written: string | undefined): string | undefined {
  if (written === undefined) return undefined;
  return written.includes("\\") ? (JSON.parse(`"${written}"`) as string) : written;
}

/** The payment in a kept answer. */
export function paymentIn({
  body,
}: Pick<AnswerFacts, "body">):
  | { readonly hash: string; readonly code: string | undefined }
  | undefined {
  if (!body.startsWith(paymentStart)) return undefined;
  const hash = body.slice(paymentStart.length, paymentStart.length + 48);
  return { hash, code: textIn(codeMember.exec(body)?.[1]) };
}
