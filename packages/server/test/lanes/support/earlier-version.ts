import { plantedCopy } from "./planted-copy.ts";

/** How many migrations that version lacks. */
export const migrationsSince = 4;

/**
 * A copy of this version as it was before its newest migrations (005 to 008): without them, and without what uses them. Made from the working tree, for a
 * clone need not have a history; whoever adds a migration says here what the version before did in place of what rests on it. The caller
 * removes it.
 */
export function earlierCopy(): string {
  return plantedCopy(
    {
      name: "the newest migrations are not there",
      file: "stores/postgres/migrations/index.ts",
      find: "[tables, writer, runs, roles, leases, reports, worldPlaces, people]",
      replace: "[tables, writer, runs, roles]",
    },
    {
      name: "each process does the jobs of all merchants",
      file: "stores/postgres/postgres-store.ts",
      find: `    const [row] = await this.#all<HeldSlotsRow>("leases", "holdSlots", node, leaseMs, giveBack.join(" "));
    assert(row !== undefined, "whoever asks for slots is told which it holds");
    return { ...row, slots: row.slots === "" ? [] : row.slots.split(" ").map(Number) };`,
      replace: "    return { slots: [...everySlot], share: everySlot.size, nodes: 1 };",
    },
    {
      name: "nobody asks where the database came from",
      file: "stores/postgres/postgres-store.ts",
      find: "    await checkBeginning(owner, options.beginning ?? { besideKeys: false, beginAnew: false });",
      replace: "",
    },
    {
      name: "no process leaves",
      file: "stores/postgres/postgres-store.ts",
      find: `    await this.#all("leases", "leaveSlots", node);`,
      replace: "",
    },
  );
}
