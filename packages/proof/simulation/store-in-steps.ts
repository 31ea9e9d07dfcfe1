import type { Instant } from "../../server/src/kernel/instant.ts";
import type { Store } from "../../server/src/stores/store.ts";

/** Runs `call`; the process that waits for it may die before or after it. */
export type Step = <T>(call: () => Promise<T>) => Promise<T>;

/**
 * The store as one process reaches it: each call is a step of that process. `time`: the clock that
 * all processes on the store share.
 */
export function storeInSteps(store: Store, step: Step, time: () => Instant): Store {
  return {
    accountByKey: (digest) => step(() => store.accountByKey(digest)),
    accountKeys: () => step(() => store.accountKeys()),
    accountById: (merchant) => step(() => store.accountById(merchant)),
    accounts: () => step(() => store.accounts()),
    paymentById: (merchant, id) => step(() => store.paymentById(merchant, id)),
    paymentByCode: (merchant, code) => step(() => store.paymentByCode(merchant, code)),
    history: (merchant, id) => step(() => store.history(merchant, id)),
    paymentByRefund: (merchant, refund) => step(() => store.paymentByRefund(merchant, refund)),
    paymentByMandate: (merchant, mandateId) =>
      step(() => store.paymentByMandate(merchant, mandateId)),
    paymentsDue: (now, limit, slots, after) =>
      step(() => store.paymentsDue(now, limit, slots, after)),
    paymentsInFlight: (limit) => step(() => store.paymentsInFlight(limit)),
    paymentsListed: (merchantId, filter, page) =>
      step(() => store.paymentsListed(merchantId, filter, page)),
    paymentFigures: (merchantId, before, limit) =>
      step(() => store.paymentFigures(merchantId, before, limit)),
    paymentsCounted: (merchantId, before, limit) =>
      step(() => store.paymentsCounted(merchantId, before, limit)),
    cardsListed: (merchantId, after, limit) =>
      step(() => store.cardsListed(merchantId, after, limit)),
    cardsAfter: (position, limit) => step(() => store.cardsAfter(position, limit)),
    cardsWithoutMac: (merchant, after, limit) =>
      step(() => store.cardsWithoutMac(merchant, after, limit)),
    cardsOf: (merchant, after, limit) => step(() => store.cardsOf(merchant, after, limit)),
    namedRequest: (merchant, key) => step(() => store.namedRequest(merchant, key)),
    answeredRequests: (before, limit) => step(() => store.answeredRequests(before, limit)),
    cardByToken: (merchant, digest) => step(() => store.cardByToken(merchant, digest)),
    notificationsOf: (merchantId, number, limit) =>
      step(() => store.notificationsOf(merchantId, number, limit)),
    notificationsOfPayment: (merchantId, id, limit) =>
      step(() => store.notificationsOfPayment(merchantId, id, limit)),
    deliveriesOf: (merchantId, from, limit, state) =>
      step(() => store.deliveriesOf(merchantId, from, limit, state)),
    deliveriesBetween: (merchantId, first, last, limit) =>
      step(() => store.deliveriesBetween(merchantId, first, last, limit)),
    deliverySums: (merchantId, ids) => step(() => store.deliverySums(merchantId, ids)),
    endedDeliveries: (before, limit) => step(() => store.endedDeliveries(before, limit)),
    merchantsDue: (now, after, limit, slots) =>
      step(() => store.merchantsDue(now, after, limit, slots)),
    queuesDue: (merchantId, now, after, limit) =>
      step(() => store.queuesDue(merchantId, now, after, limit)),
    deliveriesDue: (to, now, limit) => step(() => store.deliveriesDue(to, now, limit)),
    deliveriesOfMessage: (to, message) => step(() => store.deliveriesOfMessage(to, message)),
    time: () => step(async () => time()),
    noteClock: (node, aheadMs) => step(async () => store.noteClock?.(node, aheadMs)),
    clockReadings: (node) =>
      step(async () => (await store.clockReadings?.(node)) ?? { others: [], last: undefined }),
    renewSlots: (node, leaseMs, release) => step(() => store.renewSlots(node, leaseMs, release)),
    releaseSlots: (node) => step(() => store.releaseSlots(node)),
    eraseRemains: () => step(() => store.eraseRemains()),
    commit: (change) => step(() => store.commit(change)),
    close: () => step(() => store.close()),
  };
}
