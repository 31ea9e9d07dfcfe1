import { second } from "../../server/src/kernel/instant.ts";
import { isOfTheMoment, isOpen } from "./audit-refusals.ts";
import type { Wish } from "./audit-requests.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { Installation } from "./installation.ts";
import { readAnswer, type AnswerView } from "./payment-view.ts";
import { note, type Shop } from "./shop.ts";
import { type Fields, wireRequest, type WireRequest } from "./wire-request.ts";

/** The final result for a client that sends nothing more. */
export type ClientResult =
  | { readonly kind: "done"; readonly answer: AnswerView }
  | { readonly kind: "refused"; readonly code: string }
  /** The connection broke, or the client's patience ended: the result is unknown. */
  | { readonly kind: "lost" };

const paths = {
  direct: "/ws/direct",
  capture: "/ws/capture",
  cancel: "/ws/cancel",
  refund: "/ws/refund",
  refund_cancel: "/ws/refund",
  refund_or_cancel: "/ws/refundOrCancel",
} as const;

/**
 * A wish of one of the shop's clients, perhaps under an Idempotency-Key; sometimes under a key of
 * another wish of the shop.
 */
export function wish(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  requested: Pick<Wish, "verb"> & Partial<Pick<Wish, "code" | "hash" | "refundId" | "amount">>,
): Wish {
  const none = { code: undefined, hash: undefined, refundId: undefined, amount: undefined };
  const earlier = chance.happens(installation.plan.clients.reuseKey)
    ? shop.keys.at(-1 - chance.below(3))
    : undefined;
  const reusesKey = earlier !== undefined && earlier.verb !== requested.verb;
  let key: string | undefined;
  if (reusesKey) ({ key } = earlier);
  else if (chance.happens(500)) {
    // Every shop numbers its requests separately: two shops have the same keys.
    key = `request-${shop.keys.length}`;
    shop.keys.push({ key, verb: requested.verb });
  }
  return { ...none, ...requested, merchantId: shop.account.id, key, reusesKey };
}

/**
 * Sends the wish's request, and repeats it without an answer, as clients do: mostly the same bytes
 * under the same key, and rarely without a key where that would be another wish.
 */
export async function ask(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  wished: Wish,
  fields: Fields,
  options: { readonly hasCard?: boolean; readonly local?: boolean } = {},
): Promise<ClientResult> {
  const request = (): WireRequest =>
    wireRequest(chance, paths[wished.verb], fields, shop.key, {
      ...options,
      idempotencyKey: wished.key,
    });
  let bytes = request();
  const again = wished.key !== undefined ? 850 : wished.verb === "refund" ? 100 : 500;
  for (let sendings = 1; ; sendings += 1) {
    const received = await send(installation, shop, wished, bytes);
    const isOver =
      received.kind === "done" ||
      (received.kind === "refused" && !isOfTheMoment(received.code) && !isOpen(received.code));
    // A payment with an open outcome is not final either.
    if (received.kind === "done" && wished.key !== undefined && isOpenStill(received.answer))
      asksLater(shop, wished, bytes);
    if (isOver) return received;
    if (sendings === 5 || !chance.happens(again)) {
      if (wished.key !== undefined) asksLater(shop, wished, bytes);
      return received;
    }
    installation.auditor.mark(wished.key === undefined ? "sent again" : "sent again under its key");
    await installation.time.sleep(chance.pick([0, 0, second, 12 * second, 60 * second]));
    if (chance.happens(200)) bytes = request();
  }
}

function asksLater({ unanswered }: Shop, wished: Wish, bytes: WireRequest): void {
  if (!unanswered.some((each) => each.wished === wished)) unanswered.push({ wished, bytes });
}

function isOpenStill({ payment }: AnswerView): boolean {
  return payment.status === "PE" && !payment.preApproved;
}

/**
 * After the faults: each request under a key without an answer gets its answer now. Resolves with
 * the number of requests.
 */
export async function askForAnswers(installation: Installation, shop: Shop): Promise<number> {
  const requested = shop.unanswered.splice(0);
  for (const { wished, bytes } of requested) {
    const received = await send(installation, shop, wished, bytes);
    const isAnswered =
      (received.kind === "done" && !isOpenStill(received.answer)) ||
      (received.kind === "refused" && !isOfTheMoment(received.code) && !isOpen(received.code));
    // Payments about which an acquirer gives false answers are left to manual review.
    if (isAnswered || installation.auditor.isPutBack || installation.plan.liesPerMille > 0)
      continue;
    installation.auditor.violation(
      `a request under a key is answered when all is well: ${wished.verb} ${wished.key}, ${received.kind === "refused" ? received.code : received.kind}`,
    );
  }
  return requested.length;
}

async function send(
  installation: Installation,
  shop: Shop,
  wished: Wish,
  request: WireRequest,
): Promise<ClientResult> {
  const { requests } = installation.auditor;
  const sending = requests.sends(wished);
  const answer = await installation.send(request);
  if (answer === "lost") return { kind: "lost" };
  const reported: unknown = JSON.parse(answer.body);
  const code = codeOf(reported);
  if (code !== undefined) {
    await requests.onRefusal(sending, code);
    return { kind: "refused", code };
  }
  const seen = readAnswer(shop.account.id, reported);
  await requests.onDone(sending, seen);
  installation.auditor.reads(seen.payment);
  note(installation, shop, seen.payment, seen.refund);
  return { kind: "done", answer: seen };
}

/** Queries a payment once. */
export async function query(
  installation: Installation,
  shop: Shop,
  chance: Chance,
  name: { readonly hash: string } | { readonly code: string },
): Promise<ClientResult> {
  const fields: Fields =
    "hash" in name ? { hash: name.hash } : { merchant_payment_code: name.code };
  const answer = await installation.send(wireRequest(chance, "/ws/query", fields, shop.key, {}));
  if (answer === "lost") return { kind: "lost" };
  const reported: unknown = JSON.parse(answer.body);
  const code = codeOf(reported);
  if (code !== undefined) {
    installation.auditor.mark(`refused ${code}`);
    if (
      code === "BP-QRY-2" &&
      "hash" in name &&
      shop.payments.has(name.hash) &&
      !installation.auditor.isPutBack
    )
      installation.auditor.violation(`a payment that a client was told of is found: ${name.hash}`);
    return { kind: "refused", code };
  }
  const seen = readAnswer(shop.account.id, reported);
  installation.auditor.reads(seen.payment);
  note(installation, shop, seen.payment);
  return { kind: "done", answer: seen };
}

/** The code of an error; undefined for a success. */
export function codeOf(reported: unknown): string | undefined {
  const { status, status_code: code } = reported as {
    readonly status?: unknown;
    readonly status_code?: unknown;
  };
  if (status === "SUCCESS") return undefined;
  if (status !== "ERROR" || typeof code !== "string")
    throw new Error("an answer is a success or an error with its code");
  return code;
}
