import type { PlantedBug } from "./planted-bugs.ts";

/** Mistakes that somebody could make where several servers share a store, clocks are set, or an acquirer does not tell the truth. */
export const plantedServerBugs: readonly PlantedBug[] = [
  {
    name: "a server goes on when its lease has run out",
    file: "recovery/slot-keeper.ts",
    find: `    return this.#parts.elapsedMs() < this.#until && !this.#hasStepped();`,
    replace: `    return this.#parts.elapsedMs() < this.#until + 1_000 * leaseMs;`,
  },
  {
    name: "what a server held that died is nobody's",
    file: "stores/memory/slot-table.ts",
    find: `      if (this.#nodes.has(this.#holders.get(slot) ?? "")) continue;`,
    replace: `      if (this.#holders.has(slot)) continue;`,
  },
  {
    name: "a server takes what another holds",
    file: "stores/memory/slot-table.ts",
    find: `      if (this.#nodes.has(this.#holders.get(slot) ?? "")) continue;`,
    replace: `      if (this.#holders.get(slot) === node) continue;`,
  },
  {
    name: "a payment ends before it began when the clock is set back",
    file: "decisions/steps.ts",
    find: `  const at = notBefore(now, ...timesOf(payment));`,
    replace: `  const at = notBefore(now, ...timesOf(payment).slice(0, 0));`,
  },
  {
    name: "nobody looks at a payment that broke an invariant",
    file: "operations/runner.ts",
    find: `    if (payment === undefined || !broken) return;`,
    replace: `    if (payment === undefined || broken) return;`,
  },
  {
    name: "attempts are not numbered above the epoch of a store that was put back",
    file: "operations/runner.ts",
    find: `    return this.#epoch();`,
    replace: `    return Math.min(0, this.#epoch());`,
  },
  {
    name: "messages' ids come again for something else when a store was put back",
    file: "outbox/courier.ts",
    find: `    return present === 0 ? installation`,
    replace: `    return present >= 0 ? installation`,
  },
];
