import { assert } from "../../src/kernel/assert.ts";
import type { Account } from "../../src/merchant/account.ts";
import type { Payment } from "../../src/payment/payment.ts";
import type { Refund } from "../../src/payment/refund.ts";
import type { Chance } from "./chance.ts";
import type { Installation } from "./installation.ts";
import { endpointUrl, merchantIdOf } from "./receivers.ts";

/** What the clients of one merchant share: as a shop does, they act on the same orders. */
export interface Shop {
  readonly index: number;
  readonly account: Account;
  readonly codes: Set<string>;
  readonly tokens: string[];
  /** Each payment as the shop was last told of it; the one that was told of last is the last. */
  readonly payments: Map<Payment["id"], Payment>;
  readonly refunds: Pick<Refund, "id" | "code">[];
  readonly mandates: string[];
}

export async function openShop(installation: Installation, index: number, settings: Account["settings"]): Promise<Shop> {
  const notificationEndpoints = Array.from({ length: installation.plan.receivers.endpoints }, (_, endpoint) => ({
    id: `endpoint-${endpoint}`,
    url: endpointUrl(index, endpoint),
    enabled: true,
    secretVersion: 1,
  }));
  const account: Account = {
    id: merchantIdOf(index),
    version: 1,
    name: `Shop ${index}`,
    settings: { ...settings, notificationEndpoints },
  };
  const result = await installation.store.commit({
    merchantId: account.id,
    at: installation.time.now(),
    account: { next: account, replaces: undefined, keys: [] },
    facts: [],
    entries: [],
    notifications: [],
  });
  assert(result.outcome === "committed", "an account can be set up");
  return { index, account, codes: new Set(), tokens: [], payments: new Map(), refunds: [], mandates: [] };
}

/** A client was told of a payment, and perhaps of one of its refunds. */
export function note(installation: Installation, shop: Shop, payment: Payment, refund?: Refund): void {
  installation.auditor.told(payment, refund);
  shop.payments.delete(payment.id);
  shop.payments.set(payment.id, payment);
  if (refund !== undefined) shop.refunds.push(refund);
  const mandate = payment.verdict?.networkTransactionId;
  if (payment.order.storedCredential?.use === "initial" && mandate !== undefined) shop.mandates.push(mandate);
}

/**
 * One of the shop's newest payments: mostly one that looks as if something could be done with it, else any, for the refusals.
 * The newest come first in line for whatever comes: races need company.
 */
export function someHash(shop: Shop, chance: Chance, suits: (payment: Payment) => boolean): string | undefined {
  const all = [...shop.payments.values()];
  const among = chance.happens(850) ? all.filter(suits) : all;
  return among.at(-1 - chance.below(3))?.id ?? among.at(-1)?.id;
}
