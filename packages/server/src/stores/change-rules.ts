import { assert } from "../kernel/assert.ts";
import type { JournalEntry } from "../ledger/journal.ts";
import type { Payment } from "../payment/payment.ts";
import type { Refund } from "../payment/refund.ts";
import type { Change } from "./change.ts";

/** Largest amount that a store keeps exactly, in minor units: a signed 64-bit integer. */
export const largestMinor = 2n ** 63n - 1n;

const largestRefundId = 2 ** 31 - 1;

/** The rules that every store checks before it reads stored data. Throws BrokenInvariant. */
export function assertChangeIsSound(change: Change): void {
  const { payment, cardUse, request, account, endpoints, batchFor = [], deliveries } = change;
  assert(isHex(change.merchantId, 8), "a merchant id is 8 hex characters");
  if (payment === undefined) {
    assert(
      change.facts.length === 0 && change.entries.length === 0 && change.notifications.length === 0,
      "facts, journal entries and notifications belong to a payment",
    );
  } else {
    assertPaymentIsSound(payment.next);
    assertFollows(payment.next.version, payment.replaces);
    assert(payment.next.merchantId === change.merchantId, "a change belongs to one merchant");
    for (const { paymentId } of change.notifications)
      assert(paymentId === payment.next.id, "a notification belongs to the payment of its change");
    for (const entry of change.entries) assertEntryBalances(entry);
  }
  assertCardIsSound(change);
  if (cardUse !== undefined)
    assert(isHex(cardUse.tokenDigest, 64), "a token's digest is 64 hex characters");
  assertDeletionsAreSound(change);
  if (request !== undefined) assertRequestIsSound(change, request);
  if (account !== undefined) {
    assert(account.next.id === change.merchantId, "a change belongs to one merchant");
    assertFollows(account.next.version, account.replaces);
    for (const { digest } of account.keys)
      assert(isHex(digest, 64), "a key's digest is 64 hex characters");
  }
  if (endpoints !== undefined) assertEndpointsAreSound(endpoints);
  for (const endpoint of batchFor)
    assert(endpoints?.includes(endpoint) === true, "what is gathered for an endpoint is for it");
  if (deliveries !== undefined) assertDeliveriesAreSound(change, deliveries);
  if (change.parking !== undefined) assertParkingIsSound(change, change.parking);
}

function assertCardIsSound({ merchantId, card }: Change): void {
  if (card === undefined) return;
  assert(card.next.merchantId === merchantId, "a change belongs to one merchant");
  assert(isHex(card.next.tokenDigest, 64), "a token's digest is 64 hex characters");
  assertFollows(card.next.version, card.replaces);
}

function assertDeletionsAreSound(change: Change): void {
  const { payment, card, cardUse, account, request, deliveries } = change;
  if (change.cardErasure !== undefined) {
    assert(isHex(change.cardErasure.tokenDigest, 64), "a token's digest is 64 hex characters");
    assert(
      (payment ?? card ?? cardUse ?? account ?? request) === undefined,
      "a card is forgotten by a change of its own",
    );
  }
  if (change.requestDeletion !== undefined) {
    assert(
      Number.isSafeInteger(change.requestDeletion.claimedBefore),
      "keys are deleted that were claimed before a moment",
    );
    assert(
      (payment ?? card ?? cardUse ?? account ?? request ?? deliveries) === undefined,
      "keys are deleted by a change of their own",
    );
  }
  if (change.deliveryDeletion !== undefined) {
    const { deliveries: deleted, endedBefore } = change.deliveryDeletion;
    assert(Number.isSafeInteger(endedBefore), "deliveries are deleted that ended before a moment");
    for (const { endpoint, number } of deleted) {
      assert(Number.isSafeInteger(number) && number >= 1, "notifications are counted from 1");
      assert(endpointPattern.test(endpoint), "an endpoint's name is of letters, digits and dashes");
    }
    assert(
      (payment ?? card ?? cardUse ?? account ?? request ?? deliveries) === undefined,
      "deliveries are deleted by a change of their own",
    );
  }
}

function assertRequestIsSound(
  { payment, card, cardUse, account }: Change,
  request: NonNullable<Change["request"]>,
): void {
  assert(
    (payment ?? card ?? cardUse ?? account) === undefined,
    "a named request is a change of its own",
  );
  assert(isHex(request.next.digest, 64), "a request's digest is 64 hex characters");
  assert(
    (request.next.answer === undefined) === (request.replaces === "nothing"),
    "a request is claimed first and answered then",
  );
}

function assertParkingIsSound(
  { payment, card, cardUse, account, request }: Change,
  { queue, until, accountVersion }: NonNullable<Change["parking"]>,
): void {
  assert(endpointPattern.test(queue), "a queue's name is of letters, digits and dashes");
  assert(
    Number.isSafeInteger(until) && Number.isSafeInteger(accountVersion),
    "a queue is parked until a moment",
  );
  assert(
    (payment ?? card ?? cardUse ?? account ?? request) === undefined,
    "a queue is parked by a change of its own",
  );
}

function assertEndpointsAreSound(endpoints: NonNullable<Change["endpoints"]>): void {
  for (const endpoint of endpoints)
    assert(endpointPattern.test(endpoint), "an endpoint's name is of letters, digits and dashes");
  assert(new Set(endpoints).size === endpoints.length, "an endpoint is listed once");
}

function assertDeliveriesAreSound(
  { merchantId }: Change,
  deliveries: NonNullable<Change["deliveries"]>,
): void {
  for (const { next, replaces } of deliveries) {
    assert(next.merchantId === merchantId, "a change belongs to one merchant");
    assert(
      Number.isSafeInteger(next.number) && next.number >= 1,
      "notifications are counted from 1",
    );
    assert(isHex(next.paymentId, 48), "a payment id is 48 hex characters");
    assert(
      endpointPattern.test(next.endpoint),
      "an endpoint's name is of letters, digits and dashes",
    );
    assert(
      Number.isSafeInteger(next.attempts) && next.attempts >= 0,
      "attempts are counted from 0",
    );
    assertFollows(next.version, replaces);
    const { message = 0, number } = next;
    assert(
      Number.isSafeInteger(message) && 0 <= message && message <= number,
      "a message is named by the lowest number in it",
    );
  }
  const names = new Set(deliveries.map(({ next }) => `${next.number} ${next.endpoint}`));
  assert(names.size === deliveries.length, "a change moves a delivery once");
}

const endpointPattern = /^[a-z][a-z0-9-]{0,63}$/;

function assertPaymentIsSound(payment: Payment): void {
  assert(isHex(payment.id, 48), "a payment id is 48 hex characters");
  assert(0n <= payment.captured, "what was captured is not negative");
  assert(payment.captured <= payment.authorized, "no more is captured than was authorized");
  assertKeepable(payment.authorized);
  if (payment.refunds.length === 0)
    assert(payment.refunded === 0n, "what was refunded is the sum of the refunds");
  else assertRefundsAreSound(payment);
  const disputed = payment.chargeback?.state === "opened" ? payment.chargeback.amount : 0n;
  assert(0n <= disputed, "what was charged back is not negative");
  assert(
    payment.refunded + disputed <= payment.captured,
    "no more is refunded and charged back than was captured",
  );
  assertKeepable(payment.order.amount.minor);
  assert(
    (payment.order.card ?? payment.order.page) !== undefined,
    "only an order with a page waits for its card",
  );
  if (payment.attempt !== undefined) {
    assert(0n <= payment.attempt.amount, "the amount of an attempt is not negative");
    assertKeepable(payment.attempt.amount);
  }
}

function assertRefundsAreSound({ refunds, refunded }: Payment): void {
  let sum = 0n;
  for (const { id, state, amount } of refunds) {
    assert(
      Number.isInteger(id) && 1 <= id && id <= largestRefundId,
      "a refund's id is a whole number from 1 to 2^31 - 1",
    );
    assert(0n < amount, "a refund is above zero");
    assertKeepable(amount);
    if (state !== "cancelled") sum += amount;
  }
  assert(
    new Set(refunds.map((refund: Refund) => refund.id)).size === refunds.length,
    "the refunds of a payment have different ids",
  );
  assert(refunded === sum, "what was refunded is the sum of the refunds that are not cancelled");
}

function assertEntryBalances({ postings }: JournalEntry): void {
  const sums = new Map<string, bigint>();
  for (const { currency, minor } of postings) {
    assert(/^[A-Z]{3}$/.test(currency), "a currency is three upper-case letters");
    assertKeepable(minor);
    sums.set(currency, (sums.get(currency) ?? 0n) + minor);
  }
  for (const sum of sums.values())
    assert(sum === 0n, "the postings of a journal entry sum to zero in each currency");
}

function assertFollows(version: number, replaces: number | undefined): void {
  assert(version === (replaces ?? 0) + 1, "a version follows the one that it replaces");
}

function assertKeepable(minor: bigint): void {
  assert(-largestMinor <= minor && minor <= largestMinor, "an amount fits 64 bits");
}

const hexPattern = /^[0-9a-f]+$/;

function isHex(text: string, length: number): boolean {
  return text.length === length && hexPattern.test(text);
}
