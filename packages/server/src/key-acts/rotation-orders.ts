import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { ActName, ActParameters } from "./act-table.ts";

/**
 * What all orders about rotation demand of the keys. Each is a demand on the stored records, such as
 * "the epoch key is newer than this", so that carrying it out twice has no effect, and a process may
 * end at any point.
 */
export interface RotationOrders {
  /** The current epoch key has to be made at this time or later. */
  readonly epochFrom: Instant | undefined;
  /** The same for the current key of every merchant, and of single merchants. */
  readonly merchantsFrom: Instant | undefined;
  readonly merchantFrom: ReadonlyMap<MerchantId, Instant>;
  /** Keys that were made before are known to others: all keys, and those of single merchants. */
  readonly compromisedBefore: Instant | undefined;
  readonly merchantCompromisedBefore: ReadonlyMap<MerchantId, Instant>;
  /** Cards that each node encrypts again in a second; 0: none. */
  readonly cardsPerSecond: number;
  /** Keys to be destroyed: `epoch:1`, `merchant:0a1b2c3d:1`. true: also if keys or cards need it. */
  readonly destroyed: ReadonlyMap<string, boolean>;
}

const defaultRate = 1_000;

export const noRotation: RotationOrders = {
  epochFrom: undefined,
  merchantsFrom: undefined,
  merchantFrom: new Map(),
  compromisedBefore: undefined,
  merchantCompromisedBefore: new Map(),
  cardsPerSecond: defaultRate,
  destroyed: new Map(),
};

/** The demands after one more act that has taken effect at `at`. */
export function afterRotationAct(
  orders: RotationOrders,
  act: ActName,
  { parameters, at }: { readonly parameters: ActParameters; readonly at: Instant },
): RotationOrders {
  const { target = "", rate = "", accept_outage: outage } = parameters;
  const merchant = merchantIn(target);
  if (act === "reseal") return { ...orders, cardsPerSecond: Number(rate) };
  if (act === "destroy")
    return { ...orders, destroyed: new Map([...orders.destroyed, [target, outage === "true"]]) };
  if (act !== "rotate" && act !== "compromised") return orders;
  const isCompromised = act === "compromised";
  if (merchant !== undefined) {
    const { merchantFrom, merchantCompromisedBefore: before } = orders;
    return {
      ...orders,
      merchantFrom: new Map([...merchantFrom, [merchant, at]]),
      ...(isCompromised ? { merchantCompromisedBefore: new Map([...before, [merchant, at]]) } : {}),
    };
  }
  return {
    ...orders,
    ...(target === "epoch" ? { epochFrom: at } : {}),
    ...(target === "merchants" || isCompromised ? { merchantsFrom: at } : {}),
    ...(isCompromised ? { compromisedBefore: at } : {}),
  };
}

/** When the merchant's current key has to be made at the earliest; undefined: it may be of any age. */
export function merchantKeyFrom(orders: RotationOrders, merchant: MerchantId): Instant | undefined {
  return latest(orders.merchantsFrom, orders.merchantFrom.get(merchant));
}

/** Whether others may know a key that was made then. */
export function isCompromised(
  orders: RotationOrders,
  { merchant, createdAt }: { readonly merchant?: MerchantId; readonly createdAt: Instant },
): boolean {
  const ofMerchant =
    merchant === undefined ? undefined : orders.merchantCompromisedBefore.get(merchant);
  const before = latest(orders.compromisedBefore, ofMerchant);
  return before !== undefined && createdAt < before;
}

function latest(one: Instant | undefined, other: Instant | undefined): Instant | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one > other ? one : other;
}

function merchantIn(target: string): MerchantId | undefined {
  return /^merchant:([0-9a-f]{8})$/.exec(target)?.[1] as MerchantId | undefined;
}
