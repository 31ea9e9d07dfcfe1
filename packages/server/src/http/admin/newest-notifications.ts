import type { MerchantId } from "../../kernel/ids.ts";
import { type Delivery, deliveryStates, type DeliveryState } from "../../notification/events.ts";
import type { OutboxRow, Store } from "../../stores/store.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import { fieldOf } from "../../wire/requests/fields.ts";
import { refusalAnswer } from "../../wire/answers/refusal-answer.ts";
import type { TreeObject } from "../../wire/decode/tree.ts";

const defaultLimit = 50;
export const maxNewest = 100;
/** Notification numbers per search for deliveries in a state, and per call. */
const windowSize = 500;
const maxExamined = 2_000;
/** Deliveries per read; one notification always has fewer. */
const maxRead = 500;
/**
 * Deliveries of one notification: more than an account can have endpoints, because some may have
 * been removed.
 */
export const maxPerNotification = 64;

export interface NewestInput {
  /** Only numbers below this one; undefined: from the newest. */
  readonly before: number | undefined;
  readonly limit: number;
  /** Only notifications with a delivery in this state. */
  readonly state: DeliveryState | undefined;
}

export interface Newest {
  readonly rows: readonly OutboxRow[];
  readonly deliveries: readonly Delivery[];
  /** The lowest number that was searched; undefined if there is none below it. */
  readonly next: number | undefined;
}

type Reads = Pick<Store, "notificationsOf" | "deliveriesOf" | "deliveriesBetween">;

/** The input of `order=newest`, or the refusal. */
export function newestInput(params: TreeObject): NewestInput | WireResponse {
  const word = fieldOf(params, "state")?.toLowerCase();
  const state = deliveryStates.find((each) => each === word);
  const limit = fieldOf(params, "limit") ?? String(defaultLimit);
  const before = fieldOf(params, "before");
  if (fieldOf(params, "order") !== "newest" || (word !== undefined && state === undefined)) {
    return refusalAnswer("COFRE-60", { list: deliveryStates.join(", ") });
  }
  if (
    !/^[1-9]\d{0,2}$/.test(limit) ||
    Number(limit) > maxNewest ||
    (before !== undefined && !/^[1-9]\d{0,14}$/.test(before))
  ) {
    return refusalAnswer("COFRE-61", { most: maxNewest });
  }
  return { before: before === undefined ? undefined : Number(before), limit: Number(limit), state };
}

/**
 * Notifications of this merchant in descending order of number, each with its deliveries. Searches
 * 2,000 numbers at most.
 */
export async function newestNotifications(
  store: Reads,
  merchantId: MerchantId,
  input: NewestInput,
): Promise<Newest> {
  const { before, limit, state } = input;
  const numbers: number[] = [];
  const begin = before ?? (await lastNumber(store, merchantId)) + 1;
  let from = begin;
  while (from > 1 && numbers.length < limit && begin - from < maxExamined) {
    const below = from;
    from = Math.max(1, below - (state === undefined ? limit : windowSize));
    numbers.push(...(await numbersBetween(store, merchantId, from, below, state)).toReversed());
  }
  const chosen = numbers.slice(0, limit);
  const lowest = numbers.length > limit ? (chosen.at(-1) ?? from) : from;
  const rows = await Promise.all(
    chosen.map((number) => store.notificationsOf(merchantId, number - 1, 1)),
  );
  const deliveries = await Promise.all(
    chosen.map((number) => store.deliveriesBetween(merchantId, number, number, maxPerNotification)),
  );
  return {
    rows: rows.flat(),
    deliveries: deliveries.flat(),
    next: lowest > 1 ? lowest : undefined,
  };
}

/** Numbers have no gaps, so a binary search finds the last one. */
async function lastNumber(store: Reads, merchantId: MerchantId): Promise<number> {
  const isThere = async (number: number): Promise<boolean> =>
    (await store.notificationsOf(merchantId, number - 1, 1)).length > 0;
  let there = 0;
  let missing = 1;
  while (await isThere(missing)) {
    there = missing;
    missing *= 2;
  }
  while (missing - there > 1) {
    const middle = Math.floor((there + missing) / 2);
    if (await isThere(middle)) there = middle;
    else missing = middle;
  }
  return there;
}

/**
 * Numbers from `from` to below `below`, in ascending order; with `state`, only those with a
 * delivery in it.
 */
async function numbersBetween(
  store: Reads,
  merchantId: MerchantId,
  from: number,
  below: number,
  state: DeliveryState | undefined,
): Promise<readonly number[]> {
  if (state === undefined) return Array.from({ length: below - from }, (_, index) => from + index);
  const found = new Set<number>();
  let next = from;
  while (next < below) {
    // Delivered ones have no index: all deliveries are read and filtered.
    const some: readonly Delivery[] =
      state === "delivered"
        ? await store.deliveriesBetween(merchantId, next, below - 1, maxRead)
        : await store.deliveriesOf(merchantId, next, maxRead, state);
    for (const delivery of some)
      if (delivery.number < below && delivery.state === state) found.add(delivery.number);
    const last = some.at(-1)?.number;
    if (last === undefined || some.length < maxRead) break;
    // A number whose deliveries were split between two reads is read again.
    next = Math.max(last, next + 1);
  }
  return [...found].toSorted((left, right) => left - right);
}
