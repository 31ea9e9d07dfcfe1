import { assert } from "../../server/src/kernel/assert.ts";
import type { Account } from "../../server/src/merchant/account.ts";
import { grant } from "../../server/src/operations/sandbox-account.ts";
import type { Verb, Wish } from "./audit-requests.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { Installation } from "./installation.ts";
import { endpointUrl, merchantIdOf } from "./receivers.ts";
import type { PaymentView, RefundView } from "./payment-view.ts";
import type { WireRequest } from "./wire-request.ts";

/** Shared by the clients of one merchant: as in a shop, they act on the same orders. */
export interface Shop {
  readonly index: number;
  readonly account: Account;
  /** Its integration key. */
  readonly key: string;
  /** The Idempotency-Keys that its clients have used, and for what. */
  readonly keys: { readonly key: string; readonly verb: Verb }[];
  /** Requests under a key that its clients gave up without an answer. */
  readonly unanswered: { readonly wished: Wish; readonly bytes: WireRequest }[];
  /** Hashes of every merchant's payments: sometimes a client names another merchant's. */
  readonly hashes: readonly string[];
  readonly codes: Set<string>;
  readonly tokens: string[];
  /** Each payment as the shop last received it; the last one received is the last entry. */
  readonly payments: Map<string, PaymentView>;
  readonly refunds: (Pick<RefundView, "id" | "code"> & { readonly payment: string })[];
  readonly mandates: string[];
}

export async function openShop(
  installation: Installation,
  index: number,
  settings: Account["settings"],
): Promise<Shop> {
  const notificationEndpoints = Array.from(
    { length: installation.plan.receivers.endpoints },
    (_, endpoint) => ({
      id: `endpoint-${endpoint}`,
      url: endpointUrl(index, endpoint),
      enabled: true,
      secretVersion: 1,
    }),
  );
  const account: Account = {
    id: merchantIdOf(index),
    version: 1,
    name: `Shop ${index}`,
    settings: { ...settings, notificationEndpoints },
  };
  const key = `test_ik_shop_${index}`;
  const result = await installation.store.commit({
    merchantId: account.id,
    at: installation.time.now(),
    account: { next: account, replaces: undefined, keys: [grant(key, "secret")] },
    facts: [],
    entries: [],
    notifications: [],
  });
  assert(result.outcome === "committed", "an account can be set up");
  return {
    index,
    account,
    key,
    keys: [],
    unanswered: [],
    hashes: installation.hashes,
    codes: new Set(),
    tokens: [],
    payments: new Map(),
    refunds: [],
    mandates: [],
  };
}

/** A client received a payment, and perhaps one of its refunds. */
export function note(
  installation: Installation,
  shop: Shop,
  payment: PaymentView,
  refund?: RefundView,
): void {
  installation.auditor.reported(payment, refund);
  if (!shop.payments.has(payment.id)) installation.hashes.push(payment.id);
  shop.payments.delete(payment.id);
  shop.payments.set(payment.id, payment);
  if (refund !== undefined) shop.refunds.push({ ...refund, payment: payment.id });
  if (payment.mandate !== undefined) shop.mandates.push(payment.mandate);
}

/**
 * One of the shop's newest payments: mostly one that seems to allow an action, else any, for the
 * refusals. The newest come first, because races need several clients on one payment.
 */
export function someHash(
  shop: Shop,
  chance: Chance,
  suits: (payment: PaymentView) => boolean,
): string | undefined {
  if (chance.happens(20)) return shop.hashes.at(-1 - chance.below(5));
  const all = [...shop.payments.values()];
  const among = chance.happens(850) ? all.filter(suits) : all;
  return among.at(-1 - chance.below(3))?.id ?? among.at(-1)?.id;
}
