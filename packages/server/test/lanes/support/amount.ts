export const proofBudgets = ["quick", "ci", "night"] as const;
type ProofBudget = (typeof proofBudgets)[number];

/** How thorough this run is: COFRE_PROVE, `ci` unless it is set (tools/prove.ts sets it). */
const budget: ProofBudget =
  proofBudgets.find((name) => name === process.env["COFRE_PROVE"]) ?? "ci";

/**
 * How much of something a lane does: the same lane is minutes long at every landing and hours at
 * night.
 */
export function amount(amounts: Readonly<Record<ProofBudget, number>>): number {
  return amounts[budget];
}
