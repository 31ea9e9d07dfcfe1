import { day, type Instant } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import type { Change } from "../stores/change.ts";
import { nextAttemptAt, retryAfter } from "../notification/backoff.ts";
import { isUrlEndpoint } from "../notification/endpoint.ts";
import type { Delivery } from "../notification/events.ts";
import type { SendOutcome } from "./sender.ts";

/** 410 Gone: the receiver is permanently removed. */
const goneStatus = 410;

export interface DeliveryDecision {
  readonly next: Delivery;
  /** `gone`: the endpoint must be disabled; its deliveries are kept. */
  readonly verdict: "delivered" | "retry" | "failed" | "gone";
  /** The receiver wants no messages before this time. */
  readonly notBefore: Instant | undefined;
}

/** The next version of a delivery after an attempt at `now`. */
export function decideDelivery(
  delivery: Delivery,
  outcome: SendOutcome,
  now: Instant,
  random: Random,
): DeliveryDecision {
  const attempts = delivery.attempts + 1;
  const attempted: Delivery = {
    ...delivery,
    version: delivery.version + 1,
    attempts,
    outcome: outcomeText(outcome),
  };
  if (outcome.kind === "answered" && outcome.status >= 200 && outcome.status <= 299) {
    return {
      next: { ...attempted, state: "delivered", dueAt: now },
      verdict: "delivered",
      notBefore: undefined,
    };
  }
  if (outcome.kind === "answered" && outcome.status === goneStatus) {
    // A payment's own address cannot be disabled: its deliveries can be replayed.
    if (isUrlEndpoint(delivery.endpoint))
      return {
        next: { ...attempted, state: "failed", dueAt: now },
        verdict: "failed",
        notBefore: undefined,
      };
    return {
      next: { ...attempted, attempts: delivery.attempts, dueAt: now },
      verdict: "gone",
      notBefore: undefined,
    };
  }
  const notBefore = outcome.kind === "answered" ? retryAfter(outcome.retryAfter, now) : undefined;
  const again = nextAttemptAt(attempts, now, random);
  if (again === undefined)
    return {
      next: { ...attempted, state: "failed", dueAt: now },
      verdict: "failed",
      notBefore,
    };
  const dueAt = notBefore !== undefined && notBefore > again ? notBefore : again;
  return { next: { ...attempted, dueAt }, verdict: "retry", notBefore };
}

/** Ends a delivery without another attempt: its endpoint was removed. */
export function decideRemoved(delivery: Delivery, now: Instant): Delivery {
  return {
    ...delivery,
    version: delivery.version + 1,
    state: "failed",
    outcome: "endpoint_removed",
    dueAt: now,
  };
}

/** A delivery that is undelivered for longer than this after its request is over. */
const retentionMs = 30 * day;

export function isExpired({ requestedAt }: Delivery, now: Instant): boolean {
  return now - requestedAt > retentionMs;
}

/** Ends a delivery without another attempt: it has waited too long. */
export function decideExpired(delivery: Delivery, now: Instant): Delivery {
  return {
    ...delivery,
    version: delivery.version + 1,
    state: "failed",
    outcome: "expired",
    dueAt: now,
  };
}

/** The outcome of the last attempt: the status, or the reason that there was none. */
function outcomeText(outcome: SendOutcome): string {
  return outcome.kind === "answered" ? String(outcome.status) : `${outcome.kind}_${outcome.cause}`;
}

/** The change that writes the next versions of deliveries of one merchant. */
export function deliveryChange(
  at: Instant,
  first: Delivery,
  ...others: readonly Delivery[]
): Change {
  const deliveries = [first, ...others].map((next) => ({
    next,
    replaces: next.version === 1 ? undefined : next.version - 1,
  }));
  return {
    merchantId: first.merchantId,
    at,
    facts: [],
    entries: [],
    notifications: [],
    deliveries,
  };
}
