import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { PaymentId } from "../../server/src/payment/payment-id.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import type { HistoryRow } from "../../server/src/stores/change.ts";
import type { Store } from "../../server/src/stores/store.ts";
import { isOfTheMoment, type Refused, rightRefusals, saysNothingDone } from "./audit-refusals.ts";
import type { AnswerView } from "./payment-view.ts";

export type Verb =
  | "direct"
  | "capture"
  | "cancel"
  | "refund"
  | "refund_cancel"
  | "refund_or_cancel";

/** One action that a client wants. It may be sent several times, and still is one action. */
export interface Wish {
  readonly merchantId: MerchantId;
  readonly verb: Verb;
  /** The Idempotency-Key of all its requests; without a key each request counts separately. */
  readonly key: string | undefined;
  /** The key was used by another wish before. */
  readonly reusesKey: boolean;
  /** The payment's code, as the client knows it. */
  readonly code: string | undefined;
  readonly hash: string | undefined;
  readonly refundId: number | undefined;
  /** Minor units; undefined for everything. */
  readonly amount: bigint | undefined;
}

interface Sending {
  readonly wish: Wish;
  readonly sentAt: number;
  /** A payment with this code existed when the request was sent. */
  readonly existed: boolean;
  answer: "lost" | "done" | { readonly refused: string };
}

export interface RequestRules extends Pick<
  Refused,
  "partialCapture" | "strictRefundCancel" | "refundWindowDays"
> {
  /** The latest time that any server's clock has shown. */
  readonly now: () => number;
  readonly elapsed: () => number;
}

/**
 * The independent judge of answers to clients: an answer that nothing was done is true, and no
 * request is refused too early.
 */
export class RequestAuditor {
  readonly #store: Store;
  readonly #rules: RequestRules;
  readonly #violation: (text: string) => void;
  readonly #mark: (what: string) => void;
  readonly #sendings = new Map<Wish, Sending[]>();
  /** When payments of a code could first be read, by merchant and code. */
  readonly #existsSince = new Map<string, number>();
  /** Each version of a payment and when it was committed, by merchant and id. */
  readonly #versions = new Map<string, { readonly since: number; readonly payment: Payment }[]>();
  readonly #refundsOf = new Map<Wish, number>();
  readonly #wishOf = new Map<string, Wish>();
  /** What was done under a key, by merchant and key. */
  readonly #doneUnder = new Map<string, Verb>();
  #isPutBack = false;
  /** Keys shared by two wishes, by merchant. */
  readonly #contested = new Set<string>();
  /** Actions that acquirers refused, by verb, merchant and payment. */
  readonly #acquirerRefused = new Set<string>();

  constructor(
    store: Store,
    rules: RequestRules,
    violation: (text: string) => void,
    mark: (what: string) => void,
  ) {
    this.#store = store;
    this.#rules = rules;
    this.#violation = violation;
    this.#mark = mark;
  }

  /** An older copy of the store is restored: earlier answers to clients refer to another state. */
  forgets(): void {
    this.#isPutBack = true;
  }

  committed(payment: Payment): void {
    const since = this.#rules.elapsed();
    const key = payment.merchantId + payment.id;
    const versions = this.#versions.get(key);
    if (versions === undefined) this.#versions.set(key, [{ since, payment }]);
    else versions.push({ since, payment });
    const code = payment.merchantId + payment.order.code;
    if (!this.#existsSince.has(code)) this.#existsSince.set(code, since);
  }

  acquirerRefuses(verb: string, merchantId: MerchantId, reference: string): void {
    this.#acquirerRefused.add(`${verb} ${merchantId}${reference.slice(0, 48)}`);
  }

  sends(wish: Wish): Sending {
    const existed = wish.code !== undefined && this.#existsSince.has(wish.merchantId + wish.code);
    const sending: Sending = { wish, sentAt: this.#rules.elapsed(), existed, answer: "lost" };
    const sendings = this.#sendings.get(wish);
    if (sendings === undefined) this.#sendings.set(wish, [sending]);
    else sendings.push(sending);
    if (wish.reusesKey) this.#contested.add(`${wish.merchantId} ${wish.key}`);
    return sending;
  }

  async onDone(sending: Sending, { payment, refund }: AnswerView): Promise<void> {
    sending.answer = "done";
    if (this.#isPutBack) return;
    const { wish } = sending;
    const { merchantId, verb, code, hash, amount, key } = wish;
    const what = `${verb} of ${payment.code}`;
    if (key !== undefined) {
      const done = this.#doneUnder.get(`${merchantId} ${key}`) ?? verb;
      if (done !== verb)
        this.#violation(
          `I4: under one key one request is carried out: ${key}, ${done} and ${what}`,
        );
      this.#doneUnder.set(`${merchantId} ${key}`, done);
    }
    if ((code ?? payment.code) !== payment.code || (hash ?? payment.id) !== payment.id)
      this.#violation(`an answer is about the payment that was asked for: ${what}`);
    if (
      (await this.#store.paymentById(merchantId, payment.id as PaymentId))?.merchantId !==
      merchantId
    )
      this.#violation(`I12: no merchant is told of another's payment: ${what}`);
    if (
      verb === "capture" &&
      (payment.status !== "CO" || (amount ?? payment.amount) !== payment.amount)
    )
      this.#violation(
        `a capture that was done has taken what was asked for: ${amount} and not ${payment.amount}, ${what}`,
      );
    if (verb === "cancel" && payment.status !== "CA")
      this.#violation(`a cancellation that was done has cancelled: ${what}`);
    if (verb === "refund" || verb === "refund_cancel") {
      if (refund === undefined) this.#violation(`an answer about a refund shows it: ${what}`);
      else if (verb === "refund" && (amount ?? refund.amount) !== refund.amount)
        this.#violation(`a refund gives back what was asked for: ${what}`);
      else if (verb === "refund_cancel" && refund.status !== "CA")
        this.#violation(`a refund that was taken back is cancelled: ${what}`);
    }
    if (refund === undefined || verb === "refund_cancel" || key === undefined) return;
    if ((this.#refundsOf.get(wish) ?? refund.id) !== refund.id)
      this.#violation(`I4: a request under a key is one refund: ${what}`);
    const name = `${merchantId} ${refund.id}`;
    // Equal requests of two clients under one key are one request.
    const { key: firstKey, verb: firstVerb } = this.#wishOf.get(name) ?? wish;
    if (firstKey !== key || firstVerb !== verb)
      this.#violation(`I4: two requests are two refunds: ${what}`);
    this.#refundsOf.set(wish, refund.id);
    this.#wishOf.set(name, wish);
  }

  async onRefusal(sending: Sending, code: string): Promise<void> {
    sending.answer = { refused: code };
    this.#mark(`refused ${code}`);
    if (this.#isPutBack) return;
    const { wish, existed } = sending;
    const { merchantId, verb, hash } = wish;
    if (code === "COFRE-44" && !this.#isContested(wish))
      this.#violation(`no key of a client's own is taken: ${wish.key} for ${verb}`);
    if (verb === "direct") {
      if (existed && saysNothingDone(code) && !isOfTheMoment(code) && code !== "COFRE-44")
        this.#violation(
          `who is told that nothing was done is right: ${code} for ${wish.code}, which was paid for before`,
        );
      const exists =
        code !== "BP-DR-0" ||
        (await this.#store.paymentByCode(merchantId, wish.code ?? "")) !== undefined;
      if (!exists)
        this.#violation(
          `nothing is refused too early: ${code} for ${wish.code}, which there is none of`,
        );
      return;
    }
    if (code === "BP-REF-11" || hash === undefined) return;
    // Under a key the first answer is repeated, even if its reason no longer holds.
    const [first = sending] = wish.key === undefined ? [sending] : (this.#sendings.get(wish) ?? []);
    await this.#judge({ wish, sentAt: first.sentAt }, code, hash);
  }

  /** The result of an operator's request. */
  async onOperatorResult(
    merchantId: MerchantId,
    hash: string,
    code: string,
    sentAt: number,
  ): Promise<void> {
    this.#mark(`refused ${code}`);
    if (this.#isPutBack) return;
    const none = {
      key: undefined,
      reusesKey: false,
      code: undefined,
      refundId: undefined,
      amount: undefined,
    };
    const wish = { ...none, merchantId, verb: "capture" as const, hash };
    await this.#judge({ wish, sentAt }, code, hash);
  }

  async #judge(
    { wish, sentAt }: Pick<Sending, "wish" | "sentAt">,
    code: string,
    hash: string,
  ): Promise<void> {
    const isRight = rightRefusals[code];
    if (isRight === undefined) return;
    const alive = await this.#aliveSince(wish.merchantId, hash, sentAt);
    if (alive === undefined) {
      this.#mark("a refusal cannot be judged");
      return;
    }
    const { partialCapture, strictRefundCancel, refundWindowDays } = this.#rules;
    const refused: Refused = {
      amount: wish.amount,
      refundId: wish.refundId,
      now: this.#rules.now(),
      partialCapture,
      strictRefundCancel,
      refundWindowDays,
      acquirerRefused: this.#acquirerRefused.has(
        `${wish.verb === "capture" ? "capture" : "void"} ${wish.merchantId}${hash}`,
      ),
    };
    if (!alive.some((payment) => isRight(payment, refused)))
      this.#violation(
        `nothing is refused without its reason: ${code} to ${wish.verb} of ${alive.at(-1)?.order.code}, ${alive.at(-1)?.state}`,
      );
  }

  /** Every version of a payment since then; undefined if one is unknown. */
  async #aliveSince(
    merchantId: MerchantId,
    hash: string,
    since: number,
  ): Promise<readonly Payment[] | undefined> {
    const versions = this.#versions.get(merchantId + hash) ?? [];
    const first = versions.findLastIndex((version) => version.since < since);
    const alive = versions.slice(Math.max(0, first)).map(({ payment }) => payment);
    const stored = await this.#store.paymentById(merchantId, hash as PaymentId);
    if (stored !== undefined && (alive.at(-1)?.version ?? 0) < stored.version) alive.push(stored);
    const isWhole = alive.every(
      ({ version }, index) => index === 0 || version === (alive[index - 1]?.version ?? 0) + 1,
    );
    return isWhole && alive.length > 0 ? alive : undefined;
  }

  /**
   * All faults have ended: each action must belong to a client that was not answered that nothing
   * was done.
   */
  checkPayment(payment: Payment, history: readonly HistoryRow[]): void {
    // Some runs have no clients.
    if (this.#sendings.size === 0 || this.#isPutBack) return;
    const { merchantId, id, refunds } = payment;
    const code = payment.order.code;
    const of = (...verbs: readonly Verb[]): readonly Wish[] =>
      [...this.#sendings.keys()].filter(
        (wish) =>
          wish.merchantId === merchantId &&
          verbs.includes(wish.verb) &&
          (wish.hash === id || wish.code === code),
      );
    const rows = history.flatMap(({ facts }) => facts);
    const byMerchant = (fact: string, sent: string): boolean =>
      rows.some(
        (row) =>
          row.fact === fact &&
          rows.some(
            (each) => each.fact === sent && each.by === "merchant" && each.attempt === row.attempt,
          ),
      );

    const paid = of("direct");
    this.#hasCause("a payment", paid, 1, code);
    const captures = of("capture");
    const didCapture = byMerchant("capture_approved", "capture_sent");
    if (didCapture) this.#hasCause("a capture", captures, 1, code);
    const voids = of("cancel", "refund_or_cancel");
    const didVoid = byMerchant("void_approved", "void_sent");
    if (didVoid) this.#hasCause("a cancellation", voids, 1, code);
    this.#hasCause("refunds", of("refund", "refund_or_cancel"), refunds.length, code);

    this.#onlyOne("capture", captures, code);
    this.#onlyOne("cancel", of("cancel"), code);
    this.#isKept(paid, true, code);
    this.#isKept(captures, didCapture, code);
    if (of("refund_or_cancel").length === 0) this.#isKept(of("cancel"), didVoid, code);
  }

  /**
   * Checks that at least `times` of these wishes may have been executed, according to their
   * clients' answers.
   */
  #hasCause(what: string, wishes: readonly Wish[], times: number, code: string): void {
    let most = 0;
    for (const wish of wishes) {
      const sendings = this.#sendings.get(wish) ?? [];
      const open = sendings.filter(
        ({ answer }) => typeof answer === "string" || !saysNothingDone(answer.refused),
      ).length;
      const last = sendings.at(-1)?.answer;
      const isRefused =
        typeof last === "object" && saysNothingDone(last.refused) && !isOfTheMoment(last.refused);
      // Under a key the last answer covers all of its requests.
      most +=
        wish.key === undefined
          ? open
          : open === 0 || (isRefused && !this.#isContested(wish))
            ? 0
            : 1;
    }
    if (most < times)
      this.#violation(
        `who is told that nothing was done is right: ${times} ${what} of ${code}, and ${most} may have been`,
      );
  }

  #isContested({ merchantId, key }: Wish): boolean {
    return this.#contested.has(`${merchantId} ${key}`);
  }

  /** Checks that an action possible only once was done for one client only. */
  #onlyOne(what: Verb, wishes: readonly Wish[], code: string): void {
    const done = wishes.filter((wish) =>
      (this.#sendings.get(wish) ?? []).some(({ answer }) => answer === "done"),
    );
    // Equal requests of two clients under one key are one request.
    const requests = new Set(
      done.map((wish) => (wish.key === undefined ? wish : `${wish.merchantId} ${wish.key}`)),
    );
    if (requests.size > 1)
      this.#violation(`I5: one ${what} is done, and not ${requests.size}: ${code}`);
  }

  /**
   * Checks that a single client's request under a key, if executed, is answered as done in the end.
   */
  #isKept(wishes: readonly Wish[], isDone: boolean, code: string): void {
    const [wish] = wishes;
    if (!isDone || wishes.length !== 1 || wish?.key === undefined || this.#isContested(wish))
      return;
    const answer = this.#sendings.get(wish)?.at(-1)?.answer;
    if (
      typeof answer !== "object" ||
      (!saysNothingDone(answer.refused) && answer.refused !== "BP-DR-0")
    )
      return;
    if (!isOfTheMoment(answer.refused))
      this.#violation(
        `a request under a key is answered with what it did: ${answer.refused} to ${wish.verb} of ${code}`,
      );
  }
}
