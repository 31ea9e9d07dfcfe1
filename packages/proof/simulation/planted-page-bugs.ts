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
    find: `  const { payment } = await changePayment(context, seen, (current) => {`,
    replace: `  const early = decidePageSubmitted(seen, { card, customer: order.customer, instalments, paymentType, manualReview, connector, expectedLiability: "merchant" }, now, context.answerBy());
  await sendAuthorization(context, early.payment.next, [], toAuthorize);
  const { payment } = await changePayment(context, seen, (current) => {`,
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
    find: `  if (payment.state === "opened") return payment.order.page?.lapsesAt;`,
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
];
