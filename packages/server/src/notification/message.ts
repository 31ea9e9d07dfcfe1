import { chaosPlan } from "./chaos.ts";
import type { NotificationChaos } from "./endpoint.ts";
import { type Delivery, openMessage } from "./events.ts";

/**
 * Deliveries to one endpoint that are sent as one message, in the order of their numbers, and share
 * whatever becomes of it.
 */
export type Message = readonly [Delivery, ...Delivery[]];

/**
 * What goes together with `first`, the longest due of all that may: of the same type, each payment
 * once, at most `most`, and nothing that the sandbox does something to of its own. Nothing goes
 * with a delivery whose message is its own or fixed.
 */
export function gathered(
  first: Delivery,
  due: readonly Delivery[],
  most: number,
  chaos: NotificationChaos | undefined,
): Message {
  if (!isOrdinary(first, chaos)) return [first];
  const paymentIds = new Set([first.paymentId]);
  const others: Delivery[] = [];
  for (const each of due) {
    if (others.length + 1 >= most) break;
    if (each.kind !== first.kind || paymentIds.has(each.paymentId) || !isOrdinary(each, chaos))
      continue;
    paymentIds.add(each.paymentId);
    others.push(each);
  }
  return sorted([first, ...others]);
}

/**
 * The next versions of all of them, with which is said that they go together: the lowest number
 * names the message.
 */
export function fixed(message: Message): Message {
  const [{ number }] = message;
  return eachOf(message, (each) => ({ ...each, version: each.version + 1, message: number }));
}

/** The same done to all of them. */
export function eachOf(
  [first, ...others]: Message,
  next: (delivery: Delivery) => Delivery,
): Message {
  return [next(first), ...others.map(next)];
}

/** What has become of the first has become of all. */
export function allAs(message: Message, { state, dueAt, attempts, outcome }: Delivery): Message {
  return eachOf(message, (each) => ({
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
  const { drop, holdUntil, double, breakSignature } = chaosPlan(chaos, delivery);
  return !drop && holdUntil === undefined && !double && !breakSignature;
}
