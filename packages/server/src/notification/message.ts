import { chaosPlan } from "./chaos.ts";
import type { NotificationChaos } from "./endpoint.ts";
import { type Delivery, openMessage } from "./events.ts";

/**
 * Deliveries to one endpoint that are sent as one message, in the order of their numbers, and share
 * its outcome.
 */
export type Message = readonly [Delivery, ...Delivery[]];

/**
 * The message of `first`, the delivery that is longest due, with others: of the same type, each
 * payment once, at most `most`, and none into which the sandbox injects a fault. Nothing is
 * combined with a delivery that is sent alone or whose message is already determined.
 */
export function batched(
  first: Delivery,
  due: readonly Delivery[],
  max: number,
  chaos: NotificationChaos | undefined,
): Message {
  if (!isOrdinary(first, chaos)) return [first];
  const paymentIds = new Set([first.paymentId]);
  const others: Delivery[] = [];
  for (const each of due) {
    if (others.length + 1 >= max) break;
    if (each.kind !== first.kind || paymentIds.has(each.paymentId) || !isOrdinary(each, chaos))
      continue;
    paymentIds.add(each.paymentId);
    others.push(each);
  }
  return sorted([first, ...others]);
}

/** The next versions of all deliveries, which record their message by its lowest number. */
export function withMessageNumber(message: Message): Message {
  const [{ number }] = message;
  return mapMessage(message, (each) => ({ ...each, version: each.version + 1, message: number }));
}

/** Applies `next` to all deliveries. */
export function mapMessage(
  [first, ...others]: Message,
  next: (delivery: Delivery) => Delivery,
): Message {
  return [next(first), ...others.map(next)];
}

/** Gives all deliveries the outcome of the first. */
export function withOutcomeOfFirst(
  message: Message,
  { state, dueAt, attempts, outcome }: Delivery,
): Message {
  return mapMessage(message, (each) => ({
    ...each,
    version: each.version + 1,
    state,
    dueAt,
    attempts,
    outcome,
  }));
}

function sorted(deliveries: readonly [Delivery, ...Delivery[]]): Message {
  const [first, ...others] = deliveries.toSorted((left, right) => left.number - right.number);
  return first === undefined ? deliveries : [first, ...others];
}

function isOrdinary(delivery: Delivery, chaos: NotificationChaos | undefined): boolean {
  if (delivery.message !== openMessage) return false;
  if (chaos === undefined) return true;
  const { drop, delayUntil, double, breakSignature } = chaosPlan(chaos, delivery);
  return !drop && delayUntil === undefined && !double && !breakSignature;
}
