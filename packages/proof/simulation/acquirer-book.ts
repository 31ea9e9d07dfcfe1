import type {
  Approval,
  Decline,
  FollowUpOutcome,
  FollowUpRequest,
  InquiryOutcome,
  InquiryRequest,
  ReverseOutcome,
  ReverseRequest,
  VerifyOutcome,
} from "../../server/src/connectors/connector.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { Money } from "../../server/src/kernel/money.ts";
import type { DeclineReason } from "../../server/src/payment/payment.ts";

/**
 * The books of a simulated acquirer, written only for the simulation: they share no code with the
 * product's simulated acquirer, so a mistake in that code cannot hide. Every movement of money is a
 * row that is never changed; the held and captured amounts are sums of rows.
 */

/** The capabilities of this acquirer. Its connector declares the same. */
export interface BookRules {
  readonly dedupes: boolean;
  readonly answersInquiries: boolean;
  /**
   * A capture, void or refund with a known reference returns the first answer and changes nothing.
   */
  readonly repeatsFollowUps: boolean;
}

type Movement = "hold" | "release" | "take" | "untake" | "give_back";

interface Row {
  readonly movement: Movement;
  readonly minor: bigint;
  /** The reference of the request that caused it. */
  readonly reference: string;
}

interface Line {
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly amount: Money;
  readonly sale: boolean;
  readonly card: string;
  answer: Approval | Decline;
  readonly rows: Row[];
  isReversed: boolean;
}

/** An authorization as the books have it. */
export interface Booked {
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly amount: Money;
  /** First six and last four digits. */
  readonly card: string;
  readonly approvals: number;
  readonly captures: number;
  readonly captured: bigint;
  readonly held: bigint;
  readonly refunds: readonly { readonly reference: string; readonly amount: bigint }[];
}

export interface Authorization {
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly amount: Money;
  readonly capture: boolean;
  /** The digits of the card. */
  readonly digits: string;
}

type FollowUp = "capture" | "void" | "refund";
type FollowUpAnswer = Exclude<FollowUpOutcome, { readonly kind: "unknown" }>;

/** Published test numbers. For any other number the issuer is unreachable. */
const goodCards: ReadonlySet<string> = new Set([
  "4111111111111111",
  "5555555555554444",
  "6362970000457013",
  "6011111111111117",
  "378282246310005",
  "5062224607440872",
]);
const badCards: ReadonlyMap<string, DeclineReason> = new Map([
  ["4716909774636285", "insufficient_funds"],
  ["5102026827345142", "invalid_card"],
]);
/**
 * Cards whose scheme has no zero-amount authorization: a small one is made and reversed at once.
 */
const tried: ReadonlySet<string> = new Set(["6362970000457013", "6011111111111117"]);

export class AcquirerBook {
  readonly #rules: BookRules;
  readonly #name: string;
  readonly #lines = new Map<string, Line>();
  readonly #ofMerchant = new Map<MerchantId, Line[]>();
  /** What each reference was used for, and its answer. */
  readonly #followUps = new Map<
    string,
    { readonly request: string; readonly answer: FollowUpAnswer }
  >();
  readonly #reused: (reference: string) => void;
  #approvals = 0;

  /** `reused` is called when a reference comes with another request than the first one. */
  constructor(name: string, rules: BookRules, reused: (reference: string) => void) {
    this.#name = name;
    this.#rules = rules;
    this.#reused = reused;
  }

  authorize(
    { merchantId, reference, amount, capture, digits }: Authorization,
    refusal?: DeclineReason,
  ): Approval | Decline {
    const key = `${merchantId} ${reference}`;
    const known = this.#lines.get(key);
    const isSame =
      known !== undefined &&
      known.amount.minor === amount.minor &&
      known.amount.currency === amount.currency &&
      known.sale === capture &&
      known.card === cardOf(digits);
    if (known !== undefined && !isSame) {
      this.#reused(reference);
      return declined("acquirer_error");
    }
    if (known !== undefined && this.#rules.dedupes) return known.answer;
    const verdict = refusal ?? verdictOf(digits);
    const answer = verdict === undefined ? this.#approval() : declined(verdict);
    const line = known ?? {
      merchantId,
      reference,
      amount,
      sale: capture,
      card: cardOf(digits),
      answer,
      rows: [],
      isReversed: false,
    };
    line.answer = answer;
    if (known === undefined) this.#add(key, line);
    if (answer.kind === "approved")
      line.rows.push({ movement: capture ? "take" : "hold", minor: amount.minor, reference });
    return answer;
  }

  verify(
    request: Omit<Authorization, "capture" | "amount">,
    currency: string,
  ): Exclude<VerifyOutcome, { kind: "unknown" | "not_sent" }> {
    const method = tried.has(request.digits) ? "ghost_authorization" : "zero_amount";
    const verdict = verdictOf(request.digits);
    if (method === "ghost_authorization" && verdict === undefined) {
      const small = { ...request, amount: { minor: 100n, currency }, capture: false };
      this.authorize(small);
      this.#undo(this.#lines.get(`${request.merchantId} ${request.reference}`), request.reference);
    }
    if (verdict !== undefined) return { ...declined(verdict), method };
    return { kind: "good", method, networkTransactionId: this.#approval().networkTransactionId };
  }

  followUp(what: FollowUp, request: FollowUpRequest, refusal?: DeclineReason): FollowUpAnswer {
    const { merchantId, reference, original, amount } = request;
    const key = `${merchantId} ${reference}`;
    const content = `${what} ${original.reference} ${amount.minor} ${amount.currency}`;
    const known = this.#followUps.get(key);
    if (known !== undefined && known.request !== content) {
      this.#reused(reference);
      return { kind: "declined", responseCode: "12" };
    }
    if (known !== undefined && this.#rules.repeatsFollowUps) return known.answer;
    const line = this.#lines.get(`${merchantId} ${original.reference}`);
    const answer =
      line === undefined
        ? no("25")
        : refusal === undefined
          ? carryOut[what](line, request)
          : no(declined(refusal).responseCode);
    this.#followUps.set(key, { request: content, answer });
    return answer;
  }

  reverse({
    merchantId,
    original,
    reference,
  }: ReverseRequest): Exclude<ReverseOutcome, { kind: "unknown" }> {
    const line = this.#lines.get(`${merchantId} ${original.reference}`);
    if (line === undefined) return { kind: "unknown_original" };
    const { captures, refunds } = bookedOf(line);
    if (captures > 0 || refunds.length > 0) return { kind: "refused", responseCode: "21" };
    this.#undo(line, reference);
    return { kind: "reversed" };
  }

  inquire({ merchantId, original }: InquiryRequest): InquiryOutcome {
    if (!this.#rules.answersInquiries) return { kind: "unknown", cause: "refused_to_say" };
    const line = this.#lines.get(`${merchantId} ${original.reference}`);
    if (line === undefined) return { kind: "not_found" };
    const { held, captured, refunds } = bookedOf(line);
    return {
      kind: "found",
      authorization: line.answer,
      captured,
      voided:
        line.isReversed || (line.answer.kind === "approved" && held === 0n && captured === 0n),
      refunds: refunds.map((refund) => refund.reference),
    };
  }

  /** The authorizations of one merchant, oldest first. */
  of(merchantId: MerchantId): readonly Booked[] {
    return (this.#ofMerchant.get(merchantId) ?? []).map(bookedOf);
  }

  #add(key: string, line: Line): void {
    this.#lines.set(key, line);
    const lines = this.#ofMerchant.get(line.merchantId);
    if (lines === undefined) this.#ofMerchant.set(line.merchantId, [line]);
    else lines.push(line);
  }

  #undo(line: Line | undefined, reference: string): void {
    if (line === undefined) return;
    const { held, captured } = bookedOf(line);
    if (held > 0n) line.rows.push({ movement: "release", minor: held, reference });
    if (captured > 0n) line.rows.push({ movement: "untake", minor: captured, reference });
    line.isReversed ||= held > 0n || captured > 0n;
  }

  /** The scheme's name of a transaction has fifteen digits and is unique. */
  #approval(): Approval {
    this.#approvals += 1;
    const number = String(this.#approvals);
    return {
      kind: "approved",
      authorizationCode: number.padStart(6, "0"),
      responseCode: "00",
      acquirerReference: number.padStart(12, "0"),
      networkTransactionId: `${this.#name === "main" ? "7" : "8"}${number.padStart(14, "0")}`,
    };
  }
}

const carryOut: Readonly<
  Record<FollowUp, (line: Line, request: FollowUpRequest) => FollowUpAnswer>
> = {
  // A capture is final: the amount that it does not take is released.
  capture: (line, { amount, reference }) => {
    const { held, captures } = bookedOf(line);
    if (held === 0n || captures > 0) return no("12");
    if (amount.currency !== line.amount.currency || amount.minor <= 0n || amount.minor > held)
      return no("13");
    line.rows.push(
      { movement: "release", minor: held, reference },
      { movement: "take", minor: amount.minor, reference },
    );
    return { kind: "approved" };
  },
  void: (line, { reference }) => {
    const { held, captured } = bookedOf(line);
    if (captured > 0n) return no("21");
    if (held === 0n) return no("12");
    line.rows.push({ movement: "release", minor: held, reference });
    return { kind: "approved" };
  },
  refund: (line, { amount, reference }) => {
    const { captured, refunds } = bookedOf(line);
    const left = captured - refunds.reduce((sum, refund) => sum + refund.amount, 0n);
    if (captured === 0n) return no("12");
    if (amount.currency !== line.amount.currency || amount.minor <= 0n || amount.minor > left)
      return no("13");
    line.rows.push({ movement: "give_back", minor: amount.minor, reference });
    return { kind: "approved" };
  },
};

function bookedOf({ merchantId, reference, amount, card, rows }: Line): Booked {
  let [held, captured, approvals, captures] = [0n, 0n, 0, 0];
  const refunds: { readonly reference: string; readonly amount: bigint }[] = [];
  for (const { movement, minor, reference: by } of rows) {
    if (movement === "hold") held += minor;
    else if (movement === "release") held -= minor;
    else if (movement === "take") captured += minor;
    else if (movement === "untake") captured -= minor;
    else refunds.push({ reference: by, amount: minor });
    if ((movement === "hold" || movement === "take") && by === reference) approvals += 1;
    else if (movement === "take") captures += 1;
  }
  return { merchantId, reference, amount, card, approvals, captures, captured, held, refunds };
}

function verdictOf(digits: string): DeclineReason | undefined {
  return goodCards.has(digits) ? undefined : (badCards.get(digits) ?? "invalid_card_number");
}

function declined(reason: DeclineReason): Decline {
  const responseCode =
    reason === "insufficient_funds" ? "51" : reason === "acquirer_error" ? "96" : "05";
  const refusedBeforeIssuer = reason === "invalid_card_number" || reason === "acquirer_error";
  return { kind: "declined", reason, responseCode, adviceCode: undefined, refusedBeforeIssuer };
}

function no(responseCode: string): FollowUpAnswer {
  return { kind: "declined", responseCode };
}

function cardOf(digits: string): string {
  return `${digits.slice(0, 6)}${digits.slice(-4)}`;
}
