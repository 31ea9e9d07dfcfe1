import type { PlantedBug } from "../../server/test/support/planted-bug.ts";

const named = "operations/idempotent-requests.ts";
const postings = "ledger/postings.ts";

/**
 * Plausible mistakes with answers to clients: requests under keys, premature refusals, amounts in
 * the local currency.
 */
export const plantedRequestBugs: readonly PlantedBug[] = [
  {
    name: "a key is claimed without waiting for its commit",
    file: named,
    find: `        await this.#write(merchantId, claim, "nothing");`,
    replace: `        void this.#write(merchantId, claim, "nothing").catch(ignore);`,
  },
  {
    name: "a key is another merchant's too",
    file: "stores/memory/memory-store.ts",
    find: `    return this.#requests.get(keyOf(merchantId, key));`,
    replace: `    return this.#requests.get(keyOf(merchantId, key)) ?? [...this.#requests.values()].find((each) => each.key === key);`,
  },
  {
    name: "another request under a known key is answered as the first one was",
    file: named,
    find: `stored.digest !== digest`,
    replace: `stored.digest.length !== digest.length`,
  },
  {
    name: "a refund is refused a day before its window is over",
    file: "decisions/refund-decisions.ts",
    find: `now > addDays(payment.capturedAt, refundWindowDays)`,
    replace: `now > addDays(payment.capturedAt, refundWindowDays - 1)`,
  },
  {
    name: "what a refund comes to in the local currency is rounded down",
    file: postings,
    find: `  const total = proportion(captured.total, requested, captured.requested);`,
    replace: `  const total = (captured.total * requested) / captured.requested;`,
  },
  {
    name: "the tax of a refund is rounded down",
    file: postings,
    find: `  const tax = proportion(captured.tax, requested, captured.requested);`,
    replace: `  const tax = (captured.tax * requested) / captured.requested;`,
  },
  {
    name: "a capture is refused one second before its window is over",
    file: "decisions/payment-decisions.ts",
    find: `  if (payment.captureBy !== undefined && payment.captureBy <= now) throw new ServiceError("payment_cancelled");`,
    replace: `  if (payment.captureBy !== undefined && payment.captureBy - 1_000 <= now) throw new ServiceError("payment_cancelled");`,
  },
  {
    name: "a token expires one second early",
    file: "vault/token.ts",
    find: `  return addMonths(lastUsedAt, monthsUnused);`,
    replace: `  return (addMonths(lastUsedAt, monthsUnused) - 1_000) as Instant;`,
  },
  {
    name: "a review is refused one second before the capture window is over",
    file: "decisions/review-decisions.ts",
    find: `  if (payment.captureBy !== undefined && payment.captureBy <= now)`,
    replace: `  if (payment.captureBy !== undefined && payment.captureBy - 1_000 <= now)`,
  },
  {
    name: "the answer to a payment whose outcome is open is kept",
    file: "wire/endpoints/direct.ts",
    find: `keep: token === undefined && payment.attempt === undefined`,
    replace: `keep: token === undefined`,
  },
  {
    name: "a refusal of the moment is kept",
    file: "wire/endpoints/deps.ts",
    find: `serviceErrors[error.code] !== "never"`,
    replace: `serviceErrors[error.code] === "after_inquiry"`,
  },
  {
    name: "a key that another process has claimed is never free again",
    file: named,
    find: `Math.abs(ageMs) < recentMs`,
    replace: `Math.abs(ageMs) < 1_000_000 * recentMs`,
  },
  {
    name: "payments are found by another merchant's hash",
    file: "stores/memory/memory-store.ts",
    find: `    return this.#payments.get(keyOf(merchantId, id))?.current;
  }

  async paymentByCode`,
    replace: `    return (this.#payments.get(keyOf(merchantId, id)) ?? [...this.#payments.values()].find(({ current }) => current.id === id))?.current;
  }

  async paymentByCode`,
  },
];
