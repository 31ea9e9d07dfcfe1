/** A mistake that somebody could make: what it replaces must stand in the source exactly once, or the list is out of date. */
export interface PlantedBug {
  readonly name: string;
  /** Relative to packages/server/src. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const decisions = "decisions/payment-decisions.ts";
const recover = "recovery/recover-payment.ts";

export const plantedBugs: readonly PlantedBug[] = [
  {
    name: "a timeout is taken for a decline",
    file: decisions,
    find: `  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);

  const fact = authorizeFact(payment, attempt, outcome);`,
    replace: `  if (outcome.kind === "unknown") {
    const declined = settle(advance(payment, "authorization_declined", now), { captured: 0n, authorized: 0n });
    return change(now, declined, payment.version, [record("authorization_declined", 1, by)], [], true);
  }
  const fact = authorizeFact(payment, attempt, outcome);`,
  },
  {
    name: "the acquirer is asked before the intention is written down",
    file: "operations/direct.ts",
    find: `  const intention = await context.change(async () => decideIntention(account.id, id, order, now, context.answerBy()));`,
    replace: `  const early = decideIntention(account.id, id, order, now, context.answerBy());
  await context.connector.authorize(authorizeRequest(context, early.payment.next), toAuthorize);
  const intention = await context.change(async () => early);`,
  },
  {
    name: "recovery never runs",
    file: "recovery/recovery-job.ts",
    find: `    const queue = due.values();`,
    replace: `    const queue = due.slice(due.length).values();`,
  },
  {
    name: "a late approval counts although recovery has claimed the reversal",
    file: decisions,
    find: `  if (payment.state !== "authorizing" || attempt === undefined) return undefined;`,
    replace: `  if (attempt === undefined) return undefined;
  if (payment.state === "reversing") payment = { ...payment, state: "authorizing" };`,
  },
  {
    name: "an unknown original is believed before it can have arrived",
    file: recover,
    find: `(outcome.kind === "unknown_original" && conclusive)`,
    replace: `outcome.kind === "unknown_original"`,
  },
  {
    name: "whether an original can still arrive is asked after the acquirer has answered",
    file: recover,
    find: `  const outcome = await context.connector.reverse(followUpRequest(context, payment));`,
    replace: `  const outcome = await context.connector.reverse(followUpRequest(context, payment));
  if (outcome.kind === "unknown_original" && arrivalIsPast(context, payment)) {
    return settle(context, payment, (current) => decideReversed(current, context.clock.now()));
  }`,
  },
  {
    name: "an acquirer that has not heard of an authorization is believed at once",
    file: recover,
    find: `    return conclusive ? claimAndReverse(context, payment) : checkLater(context, payment, attempt);`,
    replace: `    return settleAuthorization(context, payment, { kind: "declined", reason: "timeout", responseCode: "91", adviceCode: undefined, refusedBeforeIssuer: false });`,
  },
  {
    name: "a second payment with the same code is accepted",
    file: "stores/memory/memory-store.ts",
    find: `if (existing !== undefined) return { outcome: "duplicate", key: "payment_code", existing };`,
    replace: `if (existing !== undefined && existing.version > 1_000) return { outcome: "duplicate", key: "payment_code", existing };`,
  },
  {
    name: "versions are not compared when a change is applied",
    file: "stores/memory/memory-store.ts",
    find: `    if (replaces !== undefined) return stored?.version === replaces ? undefined : { outcome: "stale" };`,
    replace: `    if (replaces !== undefined) return stored === undefined ? { outcome: "stale" } : undefined;`,
  },
  {
    name: "a capture is sent again under a new reference",
    file: decisions,
    find: `  const next = changed(payment, { attempt: { ...attempt, recheckAt: recheckAfter(answerBy, 0) } });`,
    replace: `  const number = payment.attempts + 1;
  const next = changed(payment, { attempts: number, attempt: { ...attempt, number, recheckAt: recheckAfter(answerBy, 0) } });`,
  },
  {
    name: "a commit of which nothing is known is taken for done",
    file: "operations/commit.ts",
    find: `    if (error instanceof StoreError) throw serviceErrorOf(error);`,
    replace: `    if (error instanceof StoreError && error.code === "commit_unknown") return { outcome: "committed" };
    if (error instanceof StoreError) throw serviceErrorOf(error);`,
  },
  {
    name: "a partial capture books the whole authorization",
    file: decisions,
    find: `{ captured: attempt.amount });`,
    replace: `{ captured: payment.authorized });`,
  },
  {
    name: "what recovery finds out is not announced",
    file: decisions,
    find: `[record(fact, attempt.number, by)], entries, options.notify),`,
    replace: `[record(fact, attempt.number, by)], entries, options.notify && by === "merchant"),`,
  },
  {
    name: "a void is announced before the acquirer has answered",
    file: decisions,
    find: `  const next = begin(payment, "void_sent", "void", payment.authorized, now, answerBy);
  return change(now, next, payment.version, [record("void_sent", next.attempts, "merchant")]);`,
    replace: `  const next = begin(payment, "void_sent", "void", payment.authorized, now, answerBy);
  const told = change(now, next, payment.version, [record("void_sent", next.attempts, "merchant")]);
  return { ...told, notifications: [{ kind: "update", paymentId: next.id }] };`,
  },
  {
    name: "an adopted sale is not checked against what was taken",
    file: recover,
    find: `  return !found.voided && found.captured === captured ? found.authorization : undefined;`,
    replace: `  return captured >= 0n ? found.authorization : undefined;`,
  },
  {
    name: "a released hold is not posted",
    file: decisions,
    find: `[record("void_approved", attempt.number, by)], releaseEntries(next), true);`,
    replace: `[record("void_approved", attempt.number, by)], [], true);`,
  },
];
