import { Card, type CardNode, cardNodeOf, codeOf, type Digits } from "./card.ts";
import { CofreConnectionError, CofreRequestError } from "./errors.ts";
import { cardOptions, operations } from "./generated/tables.ts";
import type {
  Answers,
  CardOptions,
  Country,
  CurrencyRate,
  CustomerFields,
  OrderFields,
  Payment,
  PropertiesAnswer,
  Refund,
} from "./generated/types.ts";
import { fromWire, toWire } from "./names.ts";
import {
  type CancelOutcome,
  type CaptureOutcome,
  type ChargeOutcome,
  outcomeOf,
  type PaymentOutcome,
  refundedOf,
  type RefundOutcome,
  type UndoOutcome,
  type Verification,
  verificationOf,
} from "./outcomes.ts";
import { type CallOptions, type CofreOptions, Transport } from "./transport.ts";

/** A payment, by the hash of its answers or by the shop's own code. */
export type PaymentName = { readonly hash: string } | { readonly code: string };

/** A card, or the token of a stored one. */
export type CardOrToken = Card | { readonly token: string };

export interface Charge extends OrderFields, CardOptions {
  /** The shop's unique name for the payment: one code is charged once. */
  readonly code: string;
  /** Decimal text, such as `100.00`. */
  readonly amount: string;
  /** ISO 4217: the country's own currency, USD or EUR. */
  readonly currency: string;
  readonly country: Country;
  readonly card: CardOrToken;
  readonly customer: CustomerFields;
  /** Default: 1. */
  readonly instalments?: number | undefined;
  /** false: the amount is held only, and captured later. Default: true. */
  readonly capture?: boolean | undefined;
  /** Default: `credit`. */
  readonly type?: "credit" | "debit" | undefined;
  /** With `createToken`: the new token, 32 to 128 characters that cannot be guessed. */
  readonly newToken?: string | undefined;
}

export interface CardToStore {
  readonly card: Card;
  /** Default: the account's country. */
  readonly country?: Country | undefined;
  /** The token, 32 to 128 characters that cannot be guessed. Default: the server makes one. */
  readonly token?: string | undefined;
}

export interface CardToVerify {
  readonly card: CardOrToken;
  /** Default: the account's country. */
  readonly country?: Country | undefined;
  readonly type?: "credit" | "debit" | undefined;
  readonly cofInfo?: OrderFields["cofInfo"];
}

export interface StoredCard {
  readonly token: string;
  readonly maskedCardNumber: string;
}

export type RefundRequest = PaymentName & {
  /** Decimal text, in the payment's currency. */
  readonly amount: string;
  /** The shop's unique name for the refund: one code is refunded once. */
  readonly refundCode: string;
  readonly description?: string | undefined;
};

export type RefundName = { readonly refundId: string } | { readonly refundCode: string };

/** Codes of answers that leave open what became of a capture or a cancellation. */
const inProgress: ReadonlySet<string | undefined> = new Set(["COFRE-20", "COFRE-22"]);

/** Waits between the queries of `settled`, in milliseconds: each is a half longer than the last. */
const [firstQueryMs, longestQueryMs] = [500, 5_000];

/**
 * A client of one account. Calls that move money may be repeated with the same code: the server
 * makes one payment per payment code, and one refund per refund code.
 *
 * All calls reject with a `CofreRequestError` when the server refuses the request, and with a
 * `CofreConnectionError` when no attempt had an answer.
 */
export class Cofre {
  readonly #transport: Transport;

  /** @throws {TypeError} An option is invalid. */
  constructor(options: CofreOptions) {
    this.#transport = new Transport(options);
  }

  /** Stores a card. Its token replaces the card in later payments. */
  async tokenize(
    { card, country, token }: CardToStore,
    options: CallOptions = {},
  ): Promise<StoredCard> {
    const fields = { payment_type_code: "creditcard", country, token, creditcard: card };
    // A chosen token would be in use if the first attempt had stored the card.
    const stored = await this.#call("token", fields, options, {
      isRepeatable: token === undefined,
    });
    return { token: stored.token, maskedCardNumber: stored.maskedCardNumber };
  }

  /** Keeps the security code for the next payment with a token, for 15 minutes at most. */
  async setCvv(token: string, securityCode: Digits, options: CallOptions = {}): Promise<void> {
    const fields = { token, ...codeOf(securityCode) };
    await this.#call("setCvv", fields, options, { isRepeatable: true });
  }

  /**
   * Charges a card, or holds the amount. If the code has a payment with the same amount, currency
   * and country already, its outcome is returned with `existing: true`; a payment with others is a
   * `CofreRequestError` with the code BP-DR-0.
   */
  async charge(charge: Charge, options: CallOptions = {}): Promise<ChargeOutcome> {
    try {
      const { payment } = await this.#call("direct", chargeFields(charge), options);
      return { ...outcomeOf(payment), existing: false };
    } catch (error) {
      if (!mayExist(error)) throw error;
      const payment = await this.#paymentNow({ code: charge.code }, options);
      if (payment === undefined || !isOfCharge(payment, charge)) throw error;
      return { ...outcomeOf(payment), existing: true };
    }
  }

  /** Checks a card. Nothing is charged, and nothing is held. */
  async verifyCard(
    { card, country, type, cofInfo }: CardToVerify,
    options: CallOptions = {},
  ): Promise<Verification> {
    const own = { payment_type_code: typeCode(type), country, card: nodeOfCard(card) };
    const fields = { ...own, ...toWire({ cofInfo }) };
    return verificationOf(await this.#call("verifyCard", fields, options));
  }

  /**
   * Captures an authorization once; a smaller amount releases the rest. A payment that was captured
   * already with this amount, or with any if none is given, is `paid`.
   */
  async capture(
    payment: PaymentName & { readonly amount?: string | undefined },
    options: CallOptions = {},
  ): Promise<CaptureOutcome> {
    const { amount } = payment;
    const fields = {
      ...nameFields(payment),
      amount: amount === undefined ? undefined : amountText(amount),
    };
    const { outcome, error } = await this.#change("capture", payment, fields, options);
    if (error?.code === "BP-CAP-4") {
      const { amountExt } = outcome.payment;
      if (outcome.outcome !== "paid" || !isSameAmount(amountExt, amount ?? amountExt)) throw error;
    }
    if (outcome.outcome === "paid" || outcome.outcome === "pending") return outcome;
    // An authorization that is still there: the acquirer has refused the capture.
    const isHeld = outcome.outcome === "authorized";
    return { outcome: isHeld ? "refused" : "cancelled", payment: outcome.payment };
  }

  /** Cancels an authorization, once. Use `refund` for a captured payment. */
  async cancel(payment: PaymentName, options: CallOptions = {}): Promise<CancelOutcome> {
    const fields = nameFields(payment);
    const { outcome, error } = await this.#change("cancel", payment, fields, options);
    if (error?.code === "BP-CAN-3" && outcome.outcome !== "cancelled") throw error;
    return cancelOutcome(outcome);
  }

  /**
   * Refunds a part of a captured payment, or all of it. If the payment has a refund with this code
   * and amount already, it is returned with `existing: true`.
   */
  async refund(request: RefundRequest, options: CallOptions = {}): Promise<RefundOutcome> {
    const { amount, refundCode, description = "" } = request;
    const fields = {
      ...nameFields(request),
      operation: "request",
      amount: amountText(amount),
      merchant_refund_code: refundCode,
      description,
    };
    try {
      const { refund, payment } = await this.#call("refund", fields, options);
      return { ...refundedOf(refund, payment), existing: false };
    } catch (error) {
      if (!(error instanceof CofreRequestError) || !mayBeRefunded.has(error.code)) throw error;
      const payment = await this.#paymentNow(request, options);
      const refund = refundWith(refundCode, payment);
      if (payment === undefined || refund === undefined) throw error;
      if (!isSameAmount(refund.amountExt, amount)) throw error;
      return { ...refundedOf(refund, payment), existing: true };
    }
  }

  /** Cancels an authorization, or refunds the rest of a captured payment. */
  async refundOrCancel(
    payment: PaymentName & {
      readonly refundCode?: string | undefined;
      readonly description?: string | undefined;
    },
    options: CallOptions = {},
  ): Promise<UndoOutcome> {
    const { refundCode, description = "" } = payment;
    const fields = { ...nameFields(payment), merchant_refund_code: refundCode, description };
    try {
      const done = await this.#call("refundOrCancel", fields, options, { endsWith: "COFRE-22" });
      return done.refund === undefined
        ? cancelOutcome(outcomeOf(done.payment))
        : refundedOf(done.refund, done.payment);
    } catch (error) {
      const now = await this.#afterChange(error, payment, options, ["BP-CAN-4"]);
      if (now.status !== "CO") return cancelOutcome(outcomeOf(now));
      const refund = refundWith(refundCode, now);
      if (refund === undefined) throw error;
      return refundedOf(refund, now);
    }
  }

  /** Cancels a refund that has not been sent to the acquirer. */
  async cancelRefund(name: RefundName, options: CallOptions = {}): Promise<RefundOutcome> {
    const named =
      "refundId" in name ? { refund_id: name.refundId } : { merchant_refund_code: name.refundCode };
    const { refund, payment } = await this.#call(
      "refund",
      { operation: "cancel", ...named },
      options,
    );
    return { ...refundedOf(refund, payment), existing: false };
  }

  /** The payment as it is now. A payment that does not exist is BP-QRY-2. */
  async query(payment: PaymentName, options: CallOptions = {}): Promise<PaymentOutcome> {
    return outcomeOf((await this.#call("query", nameFields(payment), options, readOnly)).payment);
  }

  /**
   * Queries the payment until its outcome is not `pending`, for `withinMs` milliseconds at most.
   * Resolves with the last outcome. A notification needs fewer requests.
   */
  async settled(
    payment: PaymentName,
    { withinMs, signal }: CallOptions & { readonly withinMs: number },
  ): Promise<PaymentOutcome> {
    const { now } = this.#transport.runtime;
    const end = now() + withinMs;
    for (let waitMs = firstQueryMs; ; waitMs = Math.min(longestQueryMs, waitMs * 1.5)) {
      const outcome = await this.query(payment, { signal });
      const leftMs = end - now();
      if (outcome.outcome !== "pending" || leftMs <= 0 || signal?.aborted === true) return outcome;
      await this.#transport.wait(Math.min(waitMs, leftMs), signal);
    }
  }

  /** The value of one unit of a currency. `base`: by default the currency of the account's country. */
  async exchange(
    { currency, base }: { readonly currency: string; readonly base?: string | undefined },
    options: CallOptions = {},
  ): Promise<CurrencyRate> {
    const fields = { currency_code: currency, currency_base_code: base };
    return (await this.#call("exchange", fields, options, readOnly)).currencyRate;
  }

  /** Sends the payment's last notification again. */
  async resendNotification(
    payment: PaymentName,
    options: CallOptions = {},
  ): Promise<PaymentOutcome> {
    return outcomeOf(
      (await this.#call("resendNotification", nameFields(payment), options)).payment,
    );
  }

  /** The account's addresses. Resolves if the key is valid. */
  async properties(options: CallOptions = {}): Promise<PropertiesAnswer["body"]> {
    return (await this.#call("getProperties", {}, options, readOnly)).body;
  }

  /**
   * Sends a request to any path, with the names of the wire on both sides. The key is added. It is
   * sent again only if it certainly was not processed, or if `idempotencyKey` is given.
   */
  async raw(
    path: string,
    fields: Readonly<Record<string, unknown>> = {},
    options: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<Readonly<Record<string, unknown>>> {
    const { signal, idempotencyKey: key } = options;
    if (!path.startsWith("/")) throw new TypeError("path must begin with /");
    if (key !== undefined && !/^[\x21-\x7e]{1,255}$/.test(key))
      throw new TypeError("idempotencyKey must have 1 to 255 characters of ASCII without spaces");
    return this.#transport.send({ path, fields, key, isRepeatable: key !== undefined, signal });
  }

  async #call<Name extends keyof Answers>(
    name: Name,
    fields: object,
    { signal }: CallOptions,
    rules: { readonly isRepeatable?: boolean; readonly endsWith?: string } = {},
  ): Promise<Answers[Name]> {
    const { path, keyed } = operations[name];
    const answer = await this.#transport.send({
      path,
      fields,
      key: keyed ? this.#transport.runtime.uniqueName() : undefined,
      isRepeatable: rules.isRepeatable ?? keyed,
      endsWith: rules.endsWith,
      signal,
    });
    // The types are made from the tables by which the server writes its answers.
    return fromWire(answer) as Answers[Name];
  }

  /** `error`: the answer, if it was a refusal whose reason only the payment shows. */
  async #change(
    name: keyof typeof questionable,
    payment: PaymentName,
    fields: object,
    options: CallOptions,
  ): Promise<{ readonly outcome: PaymentOutcome; readonly error?: CofreRequestError }> {
    try {
      const answer = await this.#call(name, fields, options, { endsWith: "COFRE-22" });
      return { outcome: outcomeOf(answer.payment) };
    } catch (error) {
      const now = await this.#afterChange(error, payment, options, questionable[name]);
      const outcome = outcomeOf(now);
      return error instanceof CofreRequestError ? { outcome, error } : { outcome };
    }
  }

  /** The payment after an answer with one of the codes, or one that leaves the outcome open. */
  async #afterChange(
    error: unknown,
    payment: PaymentName,
    options: CallOptions,
    codes: readonly string[],
  ): Promise<Payment> {
    const isOpen = error instanceof CofreConnectionError && inProgress.has(error.code);
    const isQuestionable = error instanceof CofreRequestError && codes.includes(error.code);
    if (!isOpen && !isQuestionable) throw error;
    const now = await this.#paymentNow(payment, options);
    if (now === undefined) throw error;
    // The other request that was in progress has ended: this one was not processed.
    if (isOpen && error.sent === "no" && outcomeOf(now).outcome !== "pending") throw error;
    return now;
  }

  /**
   * The payment after a request whose outcome it shows; undefined if there is none. A query that
   * fails leaves the outcome of that request open.
   */
  async #paymentNow(name: PaymentName, options: CallOptions): Promise<Payment | undefined> {
    try {
      return (await this.#call("query", nameFields(name), options, readOnly)).payment;
    } catch (error) {
      if (error instanceof CofreRequestError && error.code === "BP-QRY-2") return undefined;
      if (!(error instanceof CofreConnectionError)) throw error;
      throw new CofreConnectionError("maybe", error.reason, error.attempts, error.code);
    }
  }
}

const readOnly = { isRepeatable: true };

/**
 * Codes of a decline by the acquirer, and of a payment on which the operation was done already:
 * perhaps by an earlier call of the shop.
 */
const questionable = {
  capture: ["BP-CAP-7", "BP-CAP-4"],
  cancel: ["BP-CAN-4", "BP-CAN-3"],
} as const;

/** Codes of refunds that are refused because of an earlier refund: perhaps by the same request. */
const mayBeRefunded: ReadonlySet<string> = new Set([
  "BP-REF-5",
  "BP-REF-7",
  "BP-REF-11",
  "BP-REF-12",
]);

function refundWith(code: string | undefined, payment: Payment | undefined): Refund | undefined {
  return code === undefined
    ? undefined
    : payment?.refunds?.find(({ merchantRefundCode }) => merchantRefundCode === code);
}

function chargeFields(charge: Charge): object {
  const { code, amount, currency, card, customer, capture, type, newToken, ...others } = charge;
  const isOfCard = ([name]: readonly [string, unknown]): boolean => cardOptions.includes(name);
  const ofCard = Object.fromEntries(Object.entries(others).filter(isOfCard));
  const ofOrder = Object.fromEntries(Object.entries(others).filter((each) => !isOfCard(each)));
  return {
    operation: "request",
    payment: {
      ...toWire(customer),
      ...toWire(ofOrder),
      merchant_payment_code: code,
      amount_total: amountText(amount),
      currency_code: currency,
      payment_type_code: typeCode(type),
      token: newToken,
      creditcard: { ...nodeOfCard(card), ...toWire(ofCard), auto_capture: capture ?? true },
    },
  };
}

function nodeOfCard(card: CardOrToken): CardNode {
  if (card instanceof Card) return cardNodeOf(card);
  const { token } = card;
  if (typeof token !== "string") throw new TypeError("card must be a Card, or have a token");
  return { token };
}

function typeCode(type: "credit" | "debit" = "credit"): string {
  return `${type}card`;
}

function nameFields(name: PaymentName): object {
  return "hash" in name ? { hash: name.hash } : { merchant_payment_code: name.code };
}

/**
 * The server captures everything when an amount is empty or zero. An amount that was calculated must
 * not have that effect.
 */
function amountText(amount: string): string {
  if (typeof amount !== "string" || !/^\d+(?:\.\d+)?$/.test(amount) || !/[1-9]/.test(amount))
    throw new TypeError("amount must be decimal text above zero, such as 100.00");
  return amount;
}

/** Whether an error of a charge may mean that the payment exists. */
function mayExist(error: unknown): boolean {
  if (error instanceof CofreRequestError) return error.code === "BP-DR-0";
  return error instanceof CofreConnectionError && error.code !== undefined;
}

/** Whether a payment can be the result of this charge. The interface shows the card of none. */
function isOfCharge(payment: Payment, charge: Charge): boolean {
  const { amount, currency, country, customer, instalments = 1 } = charge;
  const email = payment.customer?.email ?? customer.email;
  return (
    isSameAmount(payment.amountExt, amount) &&
    payment.currencyExt === currency.toUpperCase() &&
    payment.country === country.toLowerCase() &&
    Number(payment.instalments) === instalments &&
    email.toLowerCase() === customer.email.trim().toLowerCase()
  );
}

function isSameAmount(one: string, other: string): boolean {
  const plain = (text: string): string =>
    (text.includes(".") ? text.replace(/\.?0+$/, "") : text).replace(/^0+(?=\d)/, "");
  return plain(one) === plain(other);
}

/** A cancelled payment, whatever the issuer had decided before. */
function cancelOutcome({ outcome, payment }: PaymentOutcome): CancelOutcome {
  if (outcome === "cancelled" || outcome === "declined") return { outcome: "cancelled", payment };
  return outcome === "pending"
    ? { outcome, approved: payment.preApproved, payment }
    : { outcome: "refused", payment };
}
