import { wirePaths } from "../../interface/paths.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { Secret } from "../../kernel/secret.ts";
import type {
  AuthorizeOutcome,
  AuthorizeRequest,
  CardToAuthorize,
  Connector,
  ConnectorCapabilities,
  FollowUpOutcome,
  FollowUpRequest,
  InquiryOutcome,
  InquiryRequest,
  NotSent,
  ReverseOutcome,
  ReverseRequest,
  Unknown,
  VerifyOutcome,
  VerifyRequest,
} from "../connector.ts";
import {
  approvalOf,
  type Answer,
  declineOfPayment,
  declineOfRefusal,
  readAnswer,
  readVerification,
  type SeenPayment,
  type SeenRefund,
} from "./answers.ts";
import { type Exchanges, openExchanges } from "./exchange.ts";
import {
  isReversalCode,
  paymentCodeOf,
  refundCodeOf,
  refundReferenceOf,
  reversalCodeOf,
} from "./references.ts";
import { captureBody, directBody, namingBody, refundBody, verifyBody } from "./requests.ts";

export interface UpstreamOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** URL of the server that has this interface: `https://host[:port]`, or `http://` on loopback. */
  readonly address: URL;
  /** Our secret integration key at the upstream. */
  readonly integrationKey: Secret<string>;
  /** PEM certificates that are trusted instead of the system's. */
  readonly ca?: string | undefined;
  /** See ConnectorCapabilities; for tests that cannot wait two minutes. */
  readonly lateArrivalMs?: number;
  /** The transport to the upstream: HTTPS by default, another in a simulation. */
  readonly exchanges?: Exchanges;
}

/** A connector to another server with this interface (docs/concepts/upstream.md). */
export interface Upstream extends Connector {
  /** Closes all connections. */
  close(): void;
}

/**
 * After a connection is abandoned, data that the network has accepted may still arrive: the kernel
 * retransmits for about 100 seconds (eight times, with doubling pauses), and a proxy may hold it a
 * little longer.
 */
const lateArrivalMs = 120_000;

/** Each with its reason. The connector contract suite checks every claim. */
function capabilitiesWith(lateness: number): ConnectorCapabilities {
  return {
    // merchant_payment_code is unique without time limit: a second request is refused with BP-DR-0,
    // and a query returns the state of the first.
    dedupesByReference: true,
    // /ws/query by merchant_payment_code.
    answersInquiries: true,
    // Supported by the interface; an upstream account that has it disabled declines with BP-CAP-11.
    partialCapture: true,
    // BP-CAP-4 for the same amount and BP-CAN-3 for a payment with status CA mean that it was done;
    // refunds are recognized by merchant_refund_code.
    repeatsFollowUps: true,
    // A hold by /ws/cancel, a sale by a full refund.
    reverses: true,
    lateArrivalMs: lateness,
  };
}

/**
 * The upstream carries out a refund asynchronously: its state is polled this often before its
 * outcome is left to recovery.
 */
const refundRecheckDelaysMs = [300, 600, 900, 1_200, 1_500] as const;

const timedOut: Unknown = { kind: "unknown", cause: "timeout" };
const disconnected: Unknown = { kind: "unknown", cause: "connection" };
const garbled: Unknown = { kind: "unknown", cause: "garbled" };
const refusedToSay: Unknown = { kind: "unknown", cause: "refused_to_say" };

/** DE 39 for a refusal by the upstream without an issuer's code. */
const responseCodes = {
  notAccepted: "05",
  invalidTransaction: "12",
  invalidAmount: "13",
  cannotBackOut: "21",
  unknownOriginal: "25",
} as const;

/**
 * The refusals of /ws/capture, /ws/cancel and /ws/refund that are certain to mean that nothing was
 * done (interface 5; ours in docs/wire/errors.md).
 */
const certainRefusals: ReadonlyMap<string, string> = new Map([
  ["BP-CAP-2", responseCodes.unknownOriginal],
  ["BP-CAP-3", responseCodes.invalidTransaction],
  ["BP-CAP-6", responseCodes.invalidAmount],
  ["BP-CAP-7", responseCodes.notAccepted],
  ["BP-CAP-11", responseCodes.invalidAmount],
  ["BP-CAN-2", responseCodes.unknownOriginal],
  ["BP-CAN-4", responseCodes.notAccepted],
  ["BP-REF-4", responseCodes.invalidAmount],
  ["BP-REF-5", responseCodes.invalidAmount],
  ["BP-REF-7", responseCodes.invalidTransaction],
  ["BP-REF-12", responseCodes.invalidTransaction],
  ["BP-REF-CAN-2", responseCodes.unknownOriginal],
  // The refund window is over; a chargeback came first; the maximum number of refunds is reached.
  ["COFRE-24", responseCodes.invalidTransaction],
  ["COFRE-25", responseCodes.invalidTransaction],
  ["COFRE-43", responseCodes.invalidTransaction],
]);

const codeTaken = "BP-DR-0";
const alreadyCaptured = "BP-CAP-4";
const notCancellable = "BP-CAN-3";
const refundCodeTaken = "BP-REF-11";
const paymentUnknown = "BP-QRY-2";

type Timed = { readonly deadline: Instant };
type Named = Pick<InquiryRequest, "merchantId" | "original" | "deadline">;

export function connectUpstream(options: UpstreamOptions): Upstream {
  const exchanges =
    options.exchanges ??
    openExchanges({ scheduler: options.scheduler, address: options.address, ca: options.ca });
  const translator = new Translator(options, exchanges);
  return {
    name: "upstream",
    capabilities: capabilitiesWith(options.lateArrivalMs ?? lateArrivalMs),
    authorize: (request, card) => translator.authorize(request, card),
    verify: (request, card) => translator.verify(request, card),
    capture: (request) => translator.capture(request),
    void: (request) => translator.void(request),
    refund: (request) => translator.refund(request),
    reverse: (request) => translator.reverse(request),
    inquire: (request) => translator.inquire(request),
    close: () => exchanges.close(),
  };
}

/**
 * Translates between the connector's types and the wire format. Holds nothing of a request after
 * its answer.
 */
class Translator {
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #key: Secret<string>;
  readonly #exchanges: Exchanges;

  constructor({ clock, scheduler, integrationKey }: UpstreamOptions, exchanges: Exchanges) {
    this.#clock = clock;
    this.#scheduler = scheduler;
    this.#key = integrationKey;
    this.#exchanges = exchanges;
  }

  async authorize(request: AuthorizeRequest, card: CardToAuthorize): Promise<AuthorizeOutcome> {
    const code = paymentCodeOf(request.merchantId, request.reference);
    const answer = await this.#exchange(
      request,
      wirePaths.direct,
      (key) => directBody(key, code, request, card),
      (answer) => readAnswer(answer, code),
    );
    if (answer.kind === "unknown" || answer.kind === "not_sent") return answer;
    if (answer.kind === "payment") return authorizeOutcomeOf(answer.payment, request);
    if (answer.code !== codeTaken) return declineOfRefusal(answer.code) ?? refusedToSay;
    // It was sent before: return its state.
    const existing = await this.#query(request, code);
    if (existing.kind === "payment") return authorizeOutcomeOf(existing.payment, request);
    return existing.kind === "unknown" ? existing : refusedToSay;
  }

  async verify(request: VerifyRequest, card: CardToAuthorize): Promise<VerifyOutcome> {
    const answer = await this.#exchange(
      request,
      wirePaths.verifyCard,
      (key) => verifyBody(key, request, card),
      readVerification,
    );
    if (answer.kind !== "refusal") return answer;
    const decline = declineOfRefusal(answer.code);
    return decline === undefined ? refusedToSay : { ...decline, method: "zero_amount" };
  }

  async capture(request: FollowUpRequest): Promise<FollowUpOutcome> {
    const code = originalCodeOf(request);
    const answer = await this.#send(request, code, wirePaths.capture, (key) =>
      captureBody(key, code, request.amount),
    );
    if (answer.kind === "unknown") return answer;
    if (answer.kind === "payment")
      return isCaptured(answer.payment, request) ? { kind: "approved" } : refusedToSay;
    if (answer.code !== alreadyCaptured) return refusalOf(answer.code);
    // The amount shows whether this capture was sent before; a sale has no captures.
    const existing = await this.#query(request, code);
    if (existing.kind === "unknown") return existing;
    if (existing.kind === "refusal" || existing.payment.status !== "CO") return refusedToSay;
    const { payment } = existing;
    return !payment.sale && isCaptured(payment, request)
      ? { kind: "approved" }
      : declined(responseCodes.invalidTransaction);
  }

  async void(request: FollowUpRequest): Promise<FollowUpOutcome> {
    const code = originalCodeOf(request);
    const answer = await this.#send(request, code, wirePaths.cancel, (key) =>
      namingBody(key, code),
    );
    if (answer.kind === "unknown") return answer;
    if (answer.kind === "payment")
      return answer.payment.status === "CA" ? { kind: "approved" } : refusedToSay;
    if (answer.code !== notCancellable) return refusalOf(answer.code);
    const existing = await this.#query(request, code);
    if (existing.kind === "unknown") return existing;
    if (existing.kind === "refusal") return refusedToSay;
    if (existing.payment.status === "CO") return declined(responseCodes.cannotBackOut);
    if (existing.payment.status !== "CA") return refusedToSay;
    // A hold that existed is released: cancelled before, or expired there. What was never held
    // cannot be voided.
    const wasAuthorized =
      request.original.authorizationCode !== undefined || existing.payment.verdict === "OK";
    return wasAuthorized ? { kind: "approved" } : declined(responseCodes.invalidTransaction);
  }

  async refund(request: FollowUpRequest): Promise<FollowUpOutcome> {
    const { merchantId, original, reference, amount } = request;
    return this.#refundCaptured(
      request,
      refundCodeOf(merchantId, original.reference, reference),
      amount.minor,
    );
  }

  /**
   * Queries first: the right request depends on the payment's state, and often there is nothing to
   * reverse.
   */
  async reverse(request: ReverseRequest): Promise<ReverseOutcome> {
    const code = originalCodeOf(request);
    const found = await this.#query(request, code);
    if (found.kind === "unknown") return found;
    if (found.kind === "refusal")
      return found.code === paymentUnknown ? { kind: "unknown_original" } : refusedToSay;
    const { payment } = found;
    if (payment.status === "CA") return { kind: "reversed" };
    if (payment.status === "CO") return this.#reverseSale(request, payment);
    if (!isAuthorized(payment)) return refusedToSay;
    const answer = await this.#send(request, code, wirePaths.cancel, (key) =>
      namingBody(key, code),
    );
    if (answer.kind === "unknown") return answer;
    return answer.kind === "payment" && answer.payment.status === "CA"
      ? { kind: "reversed" }
      : refusedToSay;
  }

  async inquire(request: InquiryRequest): Promise<InquiryOutcome> {
    const { merchantId, original } = request;
    const found = await this.#query(request, originalCodeOf(request));
    if (found.kind === "unknown") return found;
    if (found.kind === "refusal")
      return found.code === paymentUnknown ? { kind: "not_found" } : refusedToSay;
    const { payment } = found;
    if (payment.amount.currency !== original.amount.currency) return garbled;
    if (payment.status === "CA") {
      const authorization =
        payment.verdict === "OK" ? approvalOf(payment) : declineOfPayment(payment);
      return { kind: "found", authorization, captured: 0n, voided: true, refunds: [] };
    }
    // In flight there, or under review: the outcome is not known yet.
    if (payment.status !== "CO" && !isAuthorized(payment)) return refusedToSay;
    // A hold has the requested amount; a capture may have less.
    if (payment.status !== "CO" && payment.amount.minor !== original.amount.minor) return garbled;
    const authorization = approvalOf(payment);
    const done = payment.refunds.filter(({ status }) => status === "CO");
    const reversed = done.some((refund) => isReversal(refund, request));
    const captured = payment.status === "CO" && !reversed ? payment.amount.minor : 0n;
    const refunds = done.flatMap(({ code }) =>
      code === undefined ? [] : (refundReferenceOf(merchantId, original.reference, code) ?? []),
    );
    return { kind: "found", authorization, captured, voided: reversed, refunds };
  }

  /** Refunds the whole amount, once, with its own refund code. */
  async #reverseSale(request: ReverseRequest, payment: SeenPayment): Promise<ReverseOutcome> {
    const { merchantId, original } = request;
    const refusal: ReverseOutcome = { kind: "refused", responseCode: responseCodes.cannotBackOut };
    if (!payment.sale) return refusal;
    const reversals = payment.refunds.filter((refund) => isReversal(refund, request));
    if (payment.refunds.some((refund) => refund.status !== "CA" && !reversals.includes(refund)))
      return refusal;
    const failed = reversals.filter(({ status }) => status === "CA").length;
    const outcome = await this.#refundCaptured(
      request,
      reversalCodeOf(merchantId, original.reference, failed),
      payment.amount.minor,
    );
    if (outcome.kind === "approved") return { kind: "reversed" };
    // The money is still there; the next attempt uses a new code.
    return outcome.kind === "declined" ? refusedToSay : outcome;
  }

  /**
   * Requests one refund by its code unless it exists already; returns its outcome, or unknown while
   * the upstream has not carried it out.
   */
  async #refundCaptured(
    request: Named,
    refundCode: string,
    minor: bigint,
  ): Promise<FollowUpOutcome> {
    const code = originalCodeOf(request);
    const amount = { minor, currency: request.original.amount.currency };
    const answer = await this.#send(request, code, wirePaths.refund, (key) =>
      refundBody(key, code, refundCode, amount),
    );
    if (answer.kind === "unknown") return answer;
    if (answer.kind === "payment")
      return this.#outcomeOfRefund(request, answer.payment, refundCode, minor);
    const refusal = answer.code === refundCodeTaken ? refusedToSay : refusalOf(answer.code);
    if (answer.code !== refundCodeTaken && refusal.kind === "unknown") return refusal;
    // An earlier request of the same refund may be why nothing is left for this one.
    const existing = await this.#query(request, code);
    if (existing.kind === "unknown") return existing;
    if (existing.kind === "refusal")
      return existing.code === paymentUnknown ? refusal : refusedToSay;
    const known = existing.payment.refunds.some((refund) => refund.code === refundCode);
    return known ? this.#outcomeOfRefund(request, existing.payment, refundCode, minor) : refusal;
  }

  async #outcomeOfRefund(
    request: Named,
    payment: SeenPayment,
    refundCode: string,
    minor: bigint,
  ): Promise<FollowUpOutcome> {
    let seen: SeenPayment = payment;
    for (const pauseMs of [...refundRecheckDelaysMs, undefined]) {
      const refund = seen.refunds.find((each) => each.code === refundCode);
      if (refund === undefined || refund.amount !== minor) return garbled;
      if (refund.status === "CO") return { kind: "approved" };
      if (refund.status === "CA") return declined(responseCodes.notAccepted);
      if (pauseMs === undefined || request.deadline - this.#clock.now() <= pauseMs) break;
      await this.#scheduler.sleep(pauseMs);
      const answer = await this.#query(request, originalCodeOf(request));
      if (answer.kind === "unknown") return answer;
      if (answer.kind === "refusal") return refusedToSay;
      seen = answer.payment;
    }
    return refusedToSay;
  }

  #query(request: Timed, code: string): Promise<Answer | Unknown> {
    return this.#send(request, code, wirePaths.query, (key) => namingBody(key, code));
  }

  /** The upstream's answer about the payment with this code. */
  async #send(
    request: Timed,
    code: string,
    path: string,
    body: (key: string) => Buffer,
  ): Promise<Answer | Unknown> {
    const answer = await this.#exchange(request, path, body, (answer) => readAnswer(answer, code));
    // A follow-up that was not sent stays open: recovery inquires, and sends it again where that is
    // safe.
    return answer.kind === "not_sent" ? disconnected : answer;
  }

  async #exchange<Outcome>(
    { deadline }: Timed,
    path: string,
    body: (key: string) => Buffer,
    read: (answer: unknown) => Outcome,
  ): Promise<Outcome | NotSent | Unknown> {
    const leftMs = deadline - this.#clock.now();
    if (leftMs <= 0) return timedOut;
    const answer = await this.#exchanges.exchange({ path, body: body(this.#key.reveal()), leftMs });
    if (answer.kind !== "complete") return answer;
    try {
      return read(answer.answer);
    } catch {
      return garbled;
    }
  }
}

function originalCodeOf({ merchantId, original }: Named): string {
  return paymentCodeOf(merchantId, original.reference);
}

/** Held and nothing else: not under review, not being captured or cancelled (interface 3.4). */
function isAuthorized({ status, verdict, captureAvailable }: SeenPayment): boolean {
  return status === "PE" && verdict === "OK" && captureAvailable;
}

function isCaptured(payment: SeenPayment, { amount }: FollowUpRequest): boolean {
  return (
    payment.status === "CO" &&
    payment.amount.minor === amount.minor &&
    payment.amount.currency === amount.currency
  );
}

function isReversal({ code }: SeenRefund, { merchantId, original }: Named): boolean {
  return code !== undefined && isReversalCode(merchantId, original.reference, code);
}

/**
 * Only exactly what was requested counts as an approval; in any other state, recovery resolves the
 * payment and undoes it.
 */
function authorizeOutcomeOf(
  payment: SeenPayment,
  { amount, capture }: AuthorizeRequest,
): AuthorizeOutcome {
  if (payment.amount.minor !== amount.minor || payment.amount.currency !== amount.currency)
    return garbled;
  if (payment.status === "CA")
    return payment.verdict === "OK" ? refusedToSay : declineOfPayment(payment);
  const asRequested = capture ? payment.status === "CO" : isAuthorized(payment);
  return asRequested ? approvalOf(payment) : refusedToSay;
}

function refusalOf(code: string): FollowUpOutcome {
  const responseCode = certainRefusals.get(code);
  return responseCode === undefined ? refusedToSay : declined(responseCode);
}

function declined(responseCode: string): FollowUpOutcome {
  return { kind: "declined", responseCode };
}
