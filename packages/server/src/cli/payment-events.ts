import { ownValue } from "../kernel/own.ts";
import { wirePaths } from "../interface/paths.ts";
import { formatInstant, parseInstant } from "../kernel/calendar.ts";
import { laterBy, second } from "../kernel/instant.ts";
import { ClientProblem } from "./client-problem.ts";
import { type CofreClient, printable } from "./cofre-client.ts";

type Fields = Readonly<Record<string, unknown>>;

interface EventDetails {
  /** The payment, as a member of a request. */
  readonly selector: Fields;
  /** Its code or hash, as it was given. */
  readonly name: string;
  readonly amount: string | undefined;
  readonly description: string;
  readonly reason: string | undefined;
}

/** Details that only some events have. */
export const eventDetails = ["amount", "description", "reason"] as const;
type EventDetail = (typeof eventDetails)[number];

export interface PaymentEvent {
  readonly doc: string;
  /** Details that apply to it. */
  readonly takes?: readonly EventDetail[];
  readonly cause: (client: CofreClient, details: EventDetails) => Promise<unknown>;
}

const simulated =
  (action: string): PaymentEvent["cause"] =>
  (client, { selector, description, reason }) =>
    client.operate("/__cofre/payment", {
      ...selector,
      action,
      ...(description === "" ? {} : { description }),
      ...(reason === undefined ? {} : { reason }),
    });

/** What an issuer, a reviewer, the merchant or the time does to a payment: one row per event. */
const events: Readonly<Record<string, PaymentEvent>> = {
  captured: { doc: "an authorized payment is captured", cause: simulated("confirm") },
  cancelled: { doc: "an uncaptured payment is voided", cause: simulated("cancel") },
  refunded: {
    doc: "a refund of the amount, otherwise of all that is left, is requested; it is sent minutes later",
    takes: ["amount", "description"],
    cause: refund,
  },
  dispute: {
    doc: "the issuer charges back what is left of a captured payment",
    takes: ["description", "reason"],
    cause: simulated("chargeback"),
  },
  "dispute-won": { doc: "the merchant wins the dispute", cause: simulated("chargeback_credit") },
  "review-accepted": { doc: "a reviewer accepts the payment", cause: simulated("accept_review") },
  "review-rejected": { doc: "a reviewer rejects the payment", cause: simulated("reject_review") },
  expired: {
    doc: "the clock of the world moves to the end of the authorization, which expires",
    cause: expire,
  },
};

/** The names of all events. */
export const eventNames = Object.keys(events);

/** undefined when there is no event of this name. */
export function eventNamed(name: string): PaymentEvent | undefined {
  return ownValue(events, name);
}

/**
 * Causes an event of the payment with this `merchant_payment_code` or hash. Rejects with a
 * ClientProblem.
 */
export async function causeEvent(
  client: CofreClient,
  event: PaymentEvent,
  {
    name,
    amount,
    description = "",
    reason,
  }: {
    readonly name: string;
    readonly amount?: string | undefined;
    readonly description?: string | undefined;
    readonly reason?: string | undefined;
  },
): Promise<void> {
  const selector = /^[0-9a-f]{48}$/.test(name) ? { hash: name } : { merchant_payment_code: name };
  await event.cause(client, { selector, name, amount, description, reason });
}

async function refund(
  client: CofreClient,
  { selector, name, amount, description }: EventDetails,
): Promise<void> {
  await client.operate(wirePaths.refund, {
    ...selector,
    operation: "request",
    amount: amount ?? (await leftToRefund(client, name)),
    description: description === "" ? "requested with cofre" : description,
  });
}

/** Decimal text: captured, less what was returned. */
async function leftToRefund(client: CofreClient, name: string): Promise<string> {
  const { payments } = await client.findPayment(name);
  const [payment = {}] = payments;
  const [captured, refunded] = [payment["captured"], payment["refunded"]].map(minorOf);
  const { length } = printable(payment["captured"]).split(".")[1] ?? "";
  const left = String((captured ?? 0n) - (refunded ?? 0n)).padStart(length + 1, "0");
  return length === 0 ? left : `${left.slice(0, -length)}.${left.slice(-length)}`;
}

/** Digits of decimal text. */
export function minorOf(amount: unknown): bigint {
  const digits = printable(amount).replace(".", "");
  return /^\d+$/.test(digits) ? BigInt(digits) : 0n;
}

async function expire(client: CofreClient, { name }: EventDetails): Promise<void> {
  const { payments } = await client.findPayment(name);
  const captureBy = payments[0]?.["capture_by"];
  const end = typeof captureBy === "string" ? parseInstant(captureBy) : undefined;
  if (end === undefined)
    throw new ClientProblem(`${printable(name)} is not an authorized payment, and cannot expire.`);
  // The shown time has no milliseconds. An account that is not a world is refused with a reason.
  await client.clock({ set: formatInstant(laterBy(end, second)) });
}
