import type {
  AuthorizeOutcome,
  Connector,
  Connectors,
  FollowUpOutcome,
  InquiryOutcome,
  OriginalAuthorization,
  ReverseOutcome,
  VerifyOutcome,
} from "../../connectors/connector.ts";
import type { Clock } from "../../kernel/clock.ts";
import { scaleOf } from "../../kernel/currency.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { isPaymentId } from "../../payment/payment-id.ts";
import { formatAmount, formatMoney, type Money } from "../../kernel/money.ts";
import type { OrderCard } from "../../payment/payment.ts";
import type { CallFacts, CallKind, OutcomeFacts, Recorder } from "./recorder.ts";

/** The connectors with each call recorded: the request, never the card. */
export function recordingConnectors(
  connectors: Connectors,
  recorder: Pick<Recorder, "call">,
  clock: Clock,
): Connectors {
  const recording = new Map<string, Connector>();
  return {
    names: connectors.names,
    standard: connectors.standard,
    of(name) {
      const known = recording.get(name ?? "");
      if (known !== undefined) return known;
      const connector = recordingCalls(connectors.of(name), recorder, clock);
      // Names also come from payments, which may have connectors that are no longer configured.
      if (name === undefined || connectors.names.includes(name))
        recording.set(name ?? "", connector);
      return connector;
    },
  };
}

function recordingCalls(
  connector: Connector,
  recorder: Pick<Recorder, "call">,
  clock: Clock,
): Connector {
  async function recorded<Outcome extends AnyOutcome>(
    kind: CallKind,
    request: CallRequest,
    card: OrderCard | undefined,
    send: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const answered = recorder.call(
      request.merchantId,
      clock.now(),
      factsOf(connector.name, kind, request, card),
    );
    try {
      const outcome = await send();
      answered(outcomeOf(outcome, request.original), clock.now());
      return outcome;
    } catch (error) {
      // Only a connector that breaks its contract rejects.
      answered({ kind: "failed" }, clock.now());
      throw error;
    }
  }

  const { cardTraits } = connector;
  return {
    name: connector.name,
    capabilities: connector.capabilities,
    authorize: (request, card) =>
      recorded("authorize", request, request.card, () => connector.authorize(request, card)),
    verify: (request, card) =>
      recorded("verify", request, request.card, () => connector.verify(request, card)),
    capture: (request) => recorded("capture", request, undefined, () => connector.capture(request)),
    void: (request) => recorded("void", request, undefined, () => connector.void(request)),
    refund: (request) => recorded("refund", request, undefined, () => connector.refund(request)),
    reverse: (request) => recorded("reverse", request, undefined, () => connector.reverse(request)),
    inquire: (request) => recorded("inquire", request, undefined, () => connector.inquire(request)),
    ...(cardTraits === undefined ? {} : { cardTraits }),
  };
}

type AnyOutcome =
  | AuthorizeOutcome
  | VerifyOutcome
  | FollowUpOutcome
  | ReverseOutcome
  | InquiryOutcome;

interface CallRequest {
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly amount?: Money;
  readonly capture?: boolean;
  readonly original?: OriginalAuthorization;
}

function factsOf(
  connector: string,
  kind: CallKind,
  request: CallRequest,
  card: OrderCard | undefined,
): CallFacts {
  const { reference, original } = request;
  // A reversal undoes the whole authorization; an inquiry moves no money, whatever amount its
  // request has.
  const amount =
    kind === "inquire" ? undefined : kind === "reverse" ? original?.amount : request.amount;
  const id = (original?.reference ?? reference).slice(0, 48);
  return {
    connector,
    kind,
    reference,
    originalReference: original?.reference,
    amount: amount === undefined ? undefined : formatMoney(amount),
    currency: amount?.currency,
    capture: request.capture,
    brand: card?.brand,
    maskedPan: card?.maskedPan,
    // A verification does not belong to a payment, though its reference begins like a payment's.
    paymentId: kind !== "verify" && isPaymentId(id) ? id : undefined,
  };
}

/** Field by field: no other property of an outcome is recorded. */
function outcomeOf(outcome: AnyOutcome, original: OriginalAuthorization | undefined): OutcomeFacts {
  switch (outcome.kind) {
    case "approved":
      return "authorizationCode" in outcome
        ? {
            kind: "approved",
            authorization_code: outcome.authorizationCode,
            response_code: outcome.responseCode,
            acquirer_reference: outcome.acquirerReference,
          }
        : { kind: "approved" };
    case "declined":
      return "reason" in outcome
        ? {
            kind: "declined",
            reason: outcome.reason,
            response_code: outcome.responseCode,
            advice_code: outcome.adviceCode,
            refused_before_issuer: outcome.refusedBeforeIssuer,
          }
        : { kind: "declined", response_code: outcome.responseCode };
    case "unknown":
      return { kind: "unknown", cause: outcome.cause };
    case "good":
      return { kind: "good", method: outcome.method };
    case "refused":
      return { kind: "refused", response_code: outcome.responseCode };
    case "found":
      return {
        kind: "found",
        authorization: outcome.authorization.kind,
        captured:
          original === undefined
            ? String(outcome.captured)
            : formatAmount(outcome.captured, scaleOf(original.amount.currency)),
        voided: outcome.voided,
        refunds: String(outcome.refunds.length),
      };
    default:
      return { kind: outcome.kind };
  }
}
