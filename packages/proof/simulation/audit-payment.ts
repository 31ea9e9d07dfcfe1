import type { JournalEntry, LedgerAccount } from "../../server/src/ledger/journal.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import type { FactRecord, HistoryRow } from "../../server/src/stores/change.ts";
import type { OutboxRow } from "../../server/src/stores/store.ts";
import type { Booked } from "./acquirer-book.ts";
import {
  announced,
  announcedWhenFound,
  finalRefundStates,
  finalStates,
  settledStates,
} from "./audit-tables.ts";

/** Reports `what` unless the condition holds. */
export type Is = (condition: boolean, what: string) => void;

/** Minor units returned by the merchant: confirmed refunds, and a chargeback that was not won. */
export function returnedAmount({ refunds, chargeback }: Payment): bigint {
  const refunded = refunds.reduce(
    (sum, { state, amount }) => (state === "confirmed" ? sum + amount : sum),
    0n,
  );
  return refunded + (chargeback?.state === "opened" ? chargeback.amount : 0n);
}

/** What must hold for a single payment after it had time to settle. */
export function checkSettledPayment(payment: Payment, now: number, is: Is): void {
  is(
    settledStates.includes(payment.state),
    "I8: nothing stays in flight after the faults are over",
  );
  is(
    payment.attempt === undefined || payment.needsReview,
    "I8: nothing is still being undone after the faults are over",
  );
  is(
    payment.refunds.every(
      ({ state, dueAt }) => finalRefundStates.includes(state) && dueAt === undefined,
    ),
    "I8: every refund comes to its end after the faults are over",
  );
  is(!payment.needsReview, "no payment waits for people");
  const waits = payment.state === "authorized" || payment.state === "in_review";
  is(
    !waits || (payment.captureBy !== undefined && payment.captureBy > now - 60_000),
    "an authorization lapses when its window is over",
  );
}

/** Must hold with any clock: nothing ends before it began, and nothing precedes its cause. */
export function checkTimes(
  { createdAt, statusAt, capturedAt, refunds, chargeback }: Payment,
  is: Is,
): void {
  const goForward = (...moments: readonly (number | undefined)[]): boolean => {
    const known = moments.filter((moment) => moment !== undefined);
    return known.every((moment, index) => index === 0 || moment >= (known[index - 1] ?? 0));
  };
  is(
    goForward(createdAt, capturedAt) && goForward(createdAt, statusAt),
    "I6: no payment ends before it began",
  );
  is(
    refunds.every(({ requestedAt, pendingAt, confirmedAt, cancelledAt }) =>
      goForward(capturedAt, requestedAt, pendingAt, confirmedAt ?? cancelledAt),
    ),
    "I6: no refund comes before its capture, or ends before it began",
  );
  is(
    goForward(capturedAt, chargeback?.openedAt, chargeback?.creditedAt),
    "I6: no chargeback comes before its capture",
  );
}

/** Compares the payment with the acquirer's books. */
export function checkAgainstBooks(payment: Payment, books: readonly Booked[], is: Is): void {
  const held = books.reduce((sum, booked) => sum + booked.held, 0n);
  const captured = books.reduce((sum, booked) => sum + booked.captured, 0n);
  is(
    captured === payment.captured,
    `I2: captured is ${payment.captured} here and ${captured} at the acquirer`,
  );
  const expectedHold =
    payment.state === "authorized" || payment.state === "in_review" ? payment.authorized : 0n;
  is(held === expectedHold, `I2: held is ${expectedHold} here and ${held} at the acquirer`);

  const given = books.flatMap(({ refunds }) => refunds);
  for (const { id, state, amount } of payment.refunds) {
    const carriedOut = given.filter(({ reference }) =>
      reference.startsWith(`${payment.id}-r${id}-`),
    );
    const expected = state === "confirmed" ? 1 : 0;
    is(
      carriedOut.length === expected,
      `I4: refund ${state} was carried out ${carriedOut.length} times at the acquirer`,
    );
    is(
      carriedOut.every((booked) => booked.amount === amount),
      "I4: the acquirer gives back what the refund says",
    );
  }
  const back = given.reduce((sum, { amount }) => sum + amount, 0n);
  const confirmed = payment.refunds.reduce(
    (sum, { state, amount }) => (state === "confirmed" ? sum + amount : sum),
    0n,
  );
  is(back === confirmed, `I4: confirmed refunds are ${confirmed} here and ${back} at the acquirer`);
}

/**
 * One balanced history row for each change; one notification for each change that merchants are
 * notified of, and no other.
 */
export function checkHistory(
  payment: Payment,
  history: readonly HistoryRow[],
  outbox: readonly OutboxRow[],
  is: Is,
): void {
  is(history.length === payment.version, "one history row for each change");
  is(
    history.every(({ version }, index) => version === index + 1),
    "history has no gaps",
  );
  const expected: string[] = [];
  // A reviewer's acceptance is notified if the capture comes later; otherwise the capture is
  // notified.
  const accepted = history.filter(
    ({ facts }) => facts.length === 1 && facts[0]?.fact === "review_accepted",
  );
  const found = history.filter(({ facts }) => facts.some((fact) => wasRecovered(fact, history)));
  for (const { version, facts, entries } of history) {
    if ([...accepted, ...found].some((row) => row.version === version))
      expected.push(`update of version ${version}`);
    for (const { fact } of facts) {
      const kind = announced[fact];
      if (kind !== undefined) expected.push(`${kind} of version ${version}`);
    }
    for (const { postings } of entries) {
      is(sumsToNothing(postings), "I7: every entry balances in every currency");
    }
  }
  const reported = outbox.map(({ kind, version }) => `${kind} of version ${version}`);
  is(
    reported.join() === expected.join(),
    `I9: merchants are told of ${expected.join()} and not of ${reported.join()}`,
  );
  const updates = outbox.filter(({ kind }) => kind === "update").length;
  const final = finalStates.includes(payment.state) ? 1 : 0;
  const due = final + accepted.length + found.length;
  is(updates === due, `I9: ${payment.state} is announced ${due} times and not ${updates} times`);
  for (const { id, state, pendingAt } of payment.refunds) {
    const times = (fact: string): number =>
      history.flatMap(({ facts }) => facts).filter((row) => row.fact === fact && row.attempt === id)
        .length;
    is(
      times("refund_queued") === (pendingAt === undefined ? 0 : 1),
      "I9: a refund is announced when it is pending, once",
    );
    is(
      times("refund_approved") === (state === "confirmed" ? 1 : 0),
      "I9: a confirmed refund is announced once",
    );
  }
}

/**
 * Whether recovery resolved a result that the merchant did not receive. Requests of the clock or a
 * reviewer are not the merchant's.
 */
function wasRecovered({ fact, by, attempt }: FactRecord, history: readonly HistoryRow[]): boolean {
  if (by !== "recovery" || !announcedWhenFound.includes(fact)) return false;
  if (fact !== "void_declined" && fact !== "void_declined_in_review") return true;
  return history.some(({ facts }) =>
    facts.some((each) => each.fact === "void_sent" && each.attempt === attempt),
  );
}

/** Checks that the journal and the payment agree, in the order's currency and in the local one. */
export function checkJournal(payment: Payment, history: readonly HistoryRow[], is: Is): void {
  const entries = history.flatMap((row) => row.entries);
  const balanceOf = (
    account: LedgerAccount,
    currency: string,
    of: readonly JournalEntry[] = entries,
  ): bigint =>
    of
      .flatMap(({ postings }) => postings)
      .reduce(
        (sum, each) =>
          each.account === account && each.currency === currency ? sum + each.minor : sum,
        0n,
      );
  const { pricing, amount } = payment.order;
  const { currency } = amount;
  const local = pricing.total.currency;
  const waits =
    payment.state === "authorized" ||
    payment.state === "in_review" ||
    payment.attempt?.kind === "capture";
  const held = waits ? payment.authorized : 0n;
  const heldHere = waits ? pricing.total.minor : 0n;
  // If both currencies are the same there is one set of books, with the tax.
  if (currency !== local)
    is(
      balanceOf("authorized_holds", currency) === held,
      `I7: ${held} is held and the journal says ${balanceOf("authorized_holds", currency)}`,
    );
  is(
    balanceOf("authorized_holds", local) === heldHere,
    `I7: ${heldHere} is held and the journal says ${balanceOf("authorized_holds", local)} in ${local}`,
  );
  const back = returnedAmount(payment);
  const receivable = balanceOf("acquirer_receivable", currency);
  if (currency !== local)
    is(
      receivable === payment.captured - back,
      `I7: ${payment.captured - back} is left of what was captured and the journal says ${receivable}`,
    );
  if (payment.captured === 0n) return;
  // The remaining share of the local amounts equals that of the order's amounts, to the cent: for
  // any refunded amount and number of parts.
  const captures = entries.filter(({ kind }) => kind === "capture");
  for (const account of ["acquirer_receivable", "tax_payable"] as const) {
    const taken = balanceOf(account, local, captures);
    const left = taken - shareOf(taken, back, payment.captured);
    is(
      balanceOf(account, local) === left,
      `I7: ${left} is left on ${account} and the journal says ${balanceOf(account, local)}`,
    );
  }
}

/** Rounds half up, for negative amounts as for positive ones. */
function shareOf(whole: bigint, part: bigint, of: bigint): bigint {
  const share = ((whole < 0n ? -whole : whole) * part * 2n + of) / (of * 2n);
  return whole < 0n ? -share : share;
}

function sumsToNothing(
  postings: readonly { readonly currency: string; readonly minor: bigint }[],
): boolean {
  const sums = new Map<string, bigint>();
  for (const { currency, minor } of postings)
    sums.set(currency, (sums.get(currency) ?? 0n) + minor);
  return [...sums.values()].every((sum) => sum === 0n);
}
