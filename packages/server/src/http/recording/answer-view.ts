import { isPaymentId } from "../../kernel/ids.ts";
import type { AnswerFacts } from "../../twin/recording/recorder.ts";
import { digestOfToken } from "../../vault/token.ts";
import type { WireAnswer } from "../wire/answer.ts";
import { holdsCardNumber, maskCardNumbers } from "../wire/card-like.ts";
import { shortened } from "./parameter-view.ts";

/** How paymentAnswer begins (payment-answer.ts); a test holds it. */
const paymentStart = '{"payment":{"hash":"';
const hashEnd = paymentStart.length + 48;

const tokenMember = /"token":"((?:[^"\\]|\\.)*)"/;
const codeMember = /"merchant_payment_code":"((?:[^"\\]|\\.)*)"/;
const refundCodeMembers = /"merchant_refund_code":"((?:[^"\\]|\\.)*)"/g;

/**
 * What may be kept of an answer. Answers hold no card data; what is taken out are tokens, and card numbers in the names that a merchant
 * chose where the account allows them.
 */
export function answerFactsOf({ status, code, body, headers }: WireAnswer, characters: number): AnswerFacts {
  const tellsPayment = body.startsWith(paymentStart);
  const hash = tellsPayment ? apart(body.slice(paymentStart.length, hashEnd)) : undefined;
  const paymentCode = tellsPayment ? textIn(codeMember.exec(body)?.[1]) : undefined;
  const token = body.includes('"token":"') ? textIn(tokenMember.exec(body)?.[1]) : undefined;
  const withoutToken = token === undefined ? body : body.replace(tokenMember, () => `"token":${JSON.stringify(shortened(token))}`);
  const isToMask = !tellsPayment || holdsCardNumber(paymentCode ?? "") || refundCodesHoldCard(body);
  const shown = isToMask ? maskCardNumbers(withoutToken) : withoutToken;
  const isCut = shown.length > characters;
  return {
    status,
    code,
    body: isCut ? apart(shown.slice(0, characters)) : shown === body ? body : apart(shown),
    isCut,
    isReplayed: headers?.some(([name]) => name === "Idempotent-Replayed") ?? false,
    hash: hash !== undefined && isPaymentId(hash) ? hash : undefined,
    paymentCode: paymentCode === undefined ? undefined : apart(maskCardNumbers(paymentCode)),
    tokenDigest: token === undefined || tellsPayment ? undefined : digestOfToken(token),
  };
}

function refundCodesHoldCard(body: string): boolean {
  if (!body.includes('"merchant_refund_code":"')) return false;
  for (const [, written] of body.matchAll(refundCodeMembers)) if (holdsCardNumber(textIn(written) ?? "")) return true;
  return false;
}

/** The text that stands in a JSON string. */
function textIn(written: string | undefined): string | undefined {
  if (written === undefined) return undefined;
  return written.includes("\\") ? (JSON.parse(`"${written}"`) as string) : written;
}

/** In memory of its own: a part of a text holds the whole of it. */
export function apart(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}
