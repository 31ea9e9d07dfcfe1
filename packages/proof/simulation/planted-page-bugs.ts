import type { PlantedBug } from "../../server/test/support/planted-bug.ts";

const decisions = "decisions/page-decisions.ts";
const steps = "decisions/steps.ts";

/** Plausible mistakes in the code of hosted pages, for page-model.ts to find. */
export const plantedPageBugs: readonly PlantedBug[] = [
  {
    name: "a missing answer on a page counts as a decline",
    file: "decisions/payment-decisions.ts",
    find: `  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);

  const fact = authorizeFact(`,
    replace: `  if (outcome.kind === "unknown" && payment.order.page !== undefined)
    return decideTryDeclined(payment, neverSent, now, by);
  if (outcome.kind === "unknown") return unanswered(payment, attempt, now, by);

  const fact = authorizeFact(`,
  },
  {
    name: "a follow-up names the first attempt of a page",
    file: "operations/follow-up.ts",
    find: `attemptReference(payment.id, payment.authorization)`,
    replace: `attemptReference(payment.id, 1)`,
  },
  {
    name: "the number of the authorizing attempt is not stored",
    file: steps,
    find: `  const authorization = authorizing.includes(kind) ? number : payment.authorization;`,
    replace: `  const authorization = payment.authorization;`,
  },
  {
    name: "the acquirer is asked before the submitted card is committed",
    file: "operations/page.ts",
    find: `  const payment = await changeOpenPage(context, seen, input, (current, now) =>
    decidePageSubmitted(current, submitted, now, context.answerBy()),
  );`,
    replace: `  const early = decidePageSubmitted(seen, submitted, context.clock.now(), context.answerBy());
  await sendAuthorization(context, early.payment.next, [], toAuthorize);
  const payment = await changeOpenPage(context, seen, input, (current, now) =>
    decidePageSubmitted(current, submitted, now, context.answerBy()),
  );`,
  },
  {
    name: "a try that was carried out may be sent again",
    file: "operations/page.ts",
    find: `  if (page.tries + 1 !== number) throw new ServiceError("payment_in_flight");`,
    replace: `  if (page.tries + 1 < number) throw new ServiceError("payment_in_flight");`,
  },
  {
    name: "a page takes cards without end",
    file: decisions,
    find: `page: { ...page, tries: page.tries + 1, declined: undefined },`,
    replace: `page: { ...page, tries: Math.min(page.tries + 1, 2), declined: undefined },`,
  },
  {
    name: "a page takes a card after its time",
    file: decisions,
    find: `    if (page.lapsesAt <= now) throw new ServiceError("payment_cancelled");`,
    replace: ``,
  },
  {
    name: "a card that was refused for good is forgotten",
    file: decisions,
    find: `refusedCards: isFinal ? [...page.refusedCards, card.maskedPan] : page.refusedCards,`,
    replace: `refusedCards: page.refusedCards,`,
  },
  {
    name: "a card that was refused for good is sent again",
    file: decisions,
    find: `  if (page.refusedCards.includes(submitted.card.maskedPan))
    throw new ServiceError("card_exhausted");`,
    replace: ``,
  },
  {
    name: "the verdict of a declined try stays on the open page",
    file: decisions,
    find: `    verdict: undefined,
    order: { ...order, page: declined },`,
    replace: `    verdict,
    order: { ...order, page: declined },`,
  },
  {
    name: "the route of a declined try stays on the page",
    file: decisions,
    find: `  const { reroutedTo: _, ...rest } = payment;
  const order: PaymentOrder = {`,
    replace: `  const rest = payment;
  const order: PaymentOrder = {`,
    also: [
      {
        file: decisions,
        find: `  const { reroutedTo: _, ...rest } = payment;
  const next = settle(advance(rest, "try_declined", now), {`,
        replace: `  const rest = payment;
  const next = settle(advance(rest, "try_declined", now), {`,
      },
    ],
  },
  {
    name: "a submitted card replaces what the merchant fixed",
    file: decisions,
    find: `    ...submitted,
    page: {`,
    replace: `    ...submitted,
    note: submitted.card.brand,
    page: {`,
  },
  {
    name: "no merchant is notified that a page is pending",
    file: steps,
    find: `  return isOpenPage(before) === isOpenPage(next) ? undefined : "update";`,
    replace: `  return before === next ? "update" : undefined;`,
  },
  {
    name: "each declined try notifies the merchant",
    file: decisions,
    find: `  return change(now, next, payment.version, [note], [], pageUpdate(payment, next));`,
    replace: `  return change(now, next, payment.version, [note], [], "update");`,
  },
  {
    name: "the merchant is not notified of a page that lapsed",
    file: decisions,
    find: `    [record("page_lapsed", undefined, "clock")],
    [],
    "update",`,
    replace: `    [record("page_lapsed", undefined, "clock")],
    [],`,
  },
  {
    name: "nothing lapses a page",
    file: "payment/due.ts",
    find: `  if (payment.state === "opened" || payment.state === "authenticating")
    return payment.order.page?.lapsesAt;`,
    replace: ``,
  },
  {
    name: "a cancelled page may be paid",
    file: "operations/cancel.ts",
    find: `      decidePageCancelled(payment, context.clock.now(), named) ??
      decideVoid(payment, context.clock.now(), context.answerBy(), named),`,
    replace: `      payment.state === "opened"
        ? { ...decidePageCancelled(payment, context.clock.now(), named)!, payment: { next: { ...payment, version: payment.version + 1 }, replaces: payment.version } }
        : decideVoid(payment, context.clock.now(), context.answerBy(), named),`,
  },
  {
    name: "the order of a page is not written again",
    file: "stores/memory/memory-store.ts",
    find: `next.order.page === undefined ? order : { ...next.order, code: order.code };`,
    replace: `order;`,
  },
  {
    name: "a challenge that was not passed counts as one that the bank could not make",
    file: "operations/page-authentication.ts",
    find: `status === "C" ? "not_completed" : status;`,
    replace: `status === "C" || status === "not_completed" ? "U" : status;`,
  },
  {
    name: "a strict account takes a card that the bank could not authenticate",
    file: "operations/page-authentication.ts",
    find: `policy === "normal" && paymentType === "credit"`,
    replace: `policy !== "off" && paymentType === "credit"`,
  },
  {
    name: "an outcome is used after the payment stopped waiting for it",
    file: decisions,
    find: `  if (!waitsFor(payment, id) || pageOf(payment).lapsesAt <= now) return undefined;`,
    replace: ``,
  },
  {
    name: "the sealed card stays under a payment whose challenge was not passed",
    file: decisions,
    find: `  const ended = withPage(payment, {
    authentication: undefined,`,
    replace: `  const ended = withPage(payment, {
    authentication: page.authentication,`,
  },
  {
    name: "a card is sealed for another try than it is opened for",
    file: "operations/page.ts",
    find: `context.vault.put(card, paymentOwner(seen, number));`,
    replace: `context.vault.put(card, paymentOwner(seen));`,
  },
  {
    name: "a page is open again while the card is authorized that passed its challenge",
    file: steps,
    find: `  return payment.order.page !== undefined && isPending && !isOpenPage(payment) ? 1 : 0;`,
    replace: `  return isPending && payment.version < 0 ? 1 : 0;`,
  },
  {
    name: "a page authorizes a card that its bank challenges",
    file: "operations/page.ts",
    find: `  if (authentication?.status === "C" && input.showsChallenges) {`,
    replace: `  if (authentication?.status === "C") return submitAuthorized(context, seen, input, submitted, others, toAuthorize);
  if (authentication?.status === "C" && input.showsChallenges) {`,
  },
];
