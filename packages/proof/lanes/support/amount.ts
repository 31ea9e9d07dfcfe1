export const proofBudgets = ["quick", "ci", "night"] as const;
type ProofBudget = (typeof proofBudgets)[number];

/** The budget of this run: COFRE_PROVE, or `ci` if it is unset (tools/prove.ts sets it). */
const budget: ProofBudget =
  proofBudgets.find((name) => name === process.env["COFRE_PROVE"]) ?? "ci";

/** The amount for this run's budget: a lane takes minutes before a merge and hours at night. */
export function amount(amounts: Readonly<Record<ProofBudget, number>>): number {
  return amounts[budget];
}
