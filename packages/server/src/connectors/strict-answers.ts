import { declineReasons, type DeclineReason } from "../payment/payment.ts";
import { mayRepeatCard, repeatsCard } from "../vault/card-echo.ts";
import type {
  Approval,
  AuthorizeOutcome,
  CardToAuthorize,
  Connector,
  Decline,
  DroppedValue,
  FollowUpOutcome,
  InquiryOutcome,
  InquiryRequest,
  OriginalAuthorization,
  ReportDropped,
  ReverseOutcome,
  Unknown,
  VerifyOutcome,
} from "./connector.ts";
import { responseCodeOf } from "./response-codes.ts";

/**
 * The boundary between an acquirer's answers and all other code. Each text of an outcome has one
 * format and must not repeat card data; a text that fails is dropped and reported, and the outcome
 * itself is still valid. Outcomes are built field by field, so that no other part of an answer
 * passes. `connectorsOf` wraps every connector in it.
 */

/** The format of each field. None is long or free enough for a sentence. */
const shapes = {
  /** DE 38 has six characters; some acquirers use two more. */
  authorization_code: /^[A-Z0-9]{1,8}$/,
  /** DE 39: two characters, or the three digits of the editions since 1993. */
  response_code: /^[A-Za-z0-9]{2,3}$/,
  /** Merchant advice code. */
  advice_code: /^[A-Za-z0-9]{2}$/,
  acquirer_reference: /^[\w-]{1,64}$/,
  network_transaction_id: /^[\w-]{1,40}$/,
  refund_reference: /^[\w-]{1,64}$/,
} as const satisfies Partial<Record<DroppedValue["field"], RegExp>>;

/** The codes of an outcome whose own code was dropped. */
const approvedCode = "00";
const refusedCode = responseCodeOf.not_accepted;
/** DE 39: no action taken, unable to back out. */
const notUndoneCode = "21";

/** A card number has at least 14 digits here (pan.ts). */
const minCardNumber = 10n ** 13n;

const garbled: Unknown = { kind: "unknown", cause: "garbled" };
const causes: ReadonlySet<Unknown["cause"]> = new Set([
  "timeout",
  "connection",
  "garbled",
  "refused_to_say",
]);
const reasons: ReadonlySet<DeclineReason> = new Set(declineReasons);

export function withStrictAnswers(connector: Connector, report: ReportDropped): Connector {
  const { name, capabilities, cardTraits } = connector;
  const inHand = (call: DroppedValue["call"], card: CardToAuthorize) =>
    new Reader(name, call, report, (text) => repeatsCard(text, card));
  const without = (
    call: DroppedValue["call"],
    { original }: { readonly original: OriginalAuthorization },
  ) => new Reader(name, call, report, (text) => mayRepeatCard(text, original.maskedPan));
  return {
    name,
    capabilities,
    authorize: async (request, card) =>
      inHand("authorize", card).authorization(await connector.authorize(request, card)),
    verify: async (request, card) =>
      inHand("verify", card).verification(await connector.verify(request, card)),
    capture: async (request) =>
      without("capture", request).followUp(await connector.capture(request)),
    void: async (request) => without("void", request).followUp(await connector.void(request)),
    refund: async (request) => without("refund", request).followUp(await connector.refund(request)),
    reverse: async (request) =>
      without("reverse", request).reversal(await connector.reverse(request)),
    inquire: async (request) =>
      without("inquire", request).inquiry(await connector.inquire(request), request),
    ...(cardTraits === undefined ? {} : { cardTraits }),
  };
}

/** Reads the outcome of one call. */
class Reader {
  readonly #connector: string;
  readonly #call: DroppedValue["call"];
  readonly #report: ReportDropped;
  readonly #revealsCard: (text: string) => boolean;

  constructor(
    connector: string,
    call: DroppedValue["call"],
    report: ReportDropped,
    tellsOfCard: (text: string) => boolean,
  ) {
    this.#connector = connector;
    this.#call = call;
    this.#report = report;
    this.#revealsCard = tellsOfCard;
  }

  authorization(outcome: AuthorizeOutcome): AuthorizeOutcome {
    if (outcome.kind === "approved") return this.#approval(outcome);
    if (outcome.kind === "declined") return this.#decline(outcome);
    return outcome.kind === "not_sent" ? { kind: "not_sent" } : this.#unknown(outcome);
  }

  verification(outcome: VerifyOutcome): VerifyOutcome {
    if (outcome.kind === "not_sent") return { kind: "not_sent" };
    if (outcome.kind !== "good" && outcome.kind !== "declined") return this.#unknown(outcome);
    const method = outcome.method === "ghost_authorization" ? "ghost_authorization" : "zero_amount";
    if (outcome.kind === "declined") return { ...this.#decline(outcome), method };
    return {
      kind: "good",
      method,
      networkTransactionId: this.#text("network_transaction_id", outcome.networkTransactionId),
    };
  }

  followUp(outcome: FollowUpOutcome): FollowUpOutcome {
    if (outcome.kind === "approved") return { kind: "approved" };
    if (outcome.kind !== "declined") return this.#unknown(outcome);
    return {
      kind: "declined",
      responseCode: this.#text("response_code", outcome.responseCode) ?? refusedCode,
    };
  }

  reversal(outcome: ReverseOutcome): ReverseOutcome {
    if (outcome.kind === "reversed" || outcome.kind === "unknown_original")
      return { kind: outcome.kind };
    if (outcome.kind !== "refused") return this.#unknown(outcome);
    return {
      kind: "refused",
      responseCode: this.#text("response_code", outcome.responseCode) ?? notUndoneCode,
    };
  }

  inquiry(
    outcome: InquiryOutcome,
    { reference: requested, original }: Pick<InquiryRequest, "reference" | "original">,
  ): InquiryOutcome {
    if (outcome.kind === "not_found") return { kind: "not_found" };
    if (outcome.kind !== "found") return this.#unknown(outcome);
    const { authorization, captured, voided, refunds } = outcome;
    // The request log shows the amount. An amount that was never requested and is as long as a card
    // number may be one.
    if (captured >= minCardNumber && captured > original.amount.minor)
      return this.#unusable("captured", "card_data");
    return {
      kind: "found",
      authorization:
        authorization.kind === "approved"
          ? this.#approval(authorization)
          : this.#decline(authorization),
      captured,
      voided,
      // The requested reference is ours, even if its digits happen to match the card's. Dropping it
      // would mark the refund as not done and send it again.
      refunds: refunds.filter(
        (reference) =>
          reference === requested || this.#text("refund_reference", reference) !== undefined,
      ),
    };
  }

  #approval({
    authorizationCode,
    responseCode,
    acquirerReference,
    networkTransactionId,
  }: Approval): Approval {
    return {
      kind: "approved",
      authorizationCode: this.#text("authorization_code", authorizationCode) ?? "",
      responseCode: this.#text("response_code", responseCode) ?? approvedCode,
      acquirerReference: this.#text("acquirer_reference", acquirerReference),
      networkTransactionId: this.#text("network_transaction_id", networkTransactionId),
    };
  }

  #decline({ reason: given, responseCode, adviceCode, refusedBeforeIssuer }: Decline): Decline {
    const reason = reasons.has(given) ? given : "not_accepted";
    if (reason !== given) this.#reportDropped("reason", "shape");
    return {
      kind: "declined",
      reason,
      responseCode: this.#text("response_code", responseCode) ?? responseCodeOf[reason],
      adviceCode: this.#text("advice_code", adviceCode),
      refusedBeforeIssuer,
    };
  }

  #unknown({ kind, cause }: Unknown): Unknown {
    return kind === "unknown" && causes.has(cause)
      ? { kind, cause }
      : this.#unusable("kind", "shape");
  }

  #unusable(field: DroppedValue["field"], cause: DroppedValue["cause"]): Unknown {
    this.#reportDropped(field, cause);
    return garbled;
  }

  /**
   * The text, or undefined when it does not have the field's format or repeats the card. A missing
   * text is not reported.
   */
  #text(field: keyof typeof shapes, value: unknown): string | undefined {
    if (value === undefined || value === "") return undefined;
    if (typeof value !== "string" || !shapes[field].test(value)) return this.#drop(field, "shape");
    return this.#revealsCard(value) ? this.#drop(field, "card_data") : value;
  }

  #drop(field: DroppedValue["field"], cause: DroppedValue["cause"]): undefined {
    this.#reportDropped(field, cause);
  }

  #reportDropped(field: DroppedValue["field"], cause: DroppedValue["cause"]): void {
    this.#report({ connector: this.#connector, call: this.#call, field, cause });
  }
}
