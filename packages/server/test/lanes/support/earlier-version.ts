import { plantedCopy } from "./planted-copy.ts";

/**
 * A copy of this version as it was before its newest migration: without that, and without what uses it. Made from the working tree, for a
 * clone need not have a history; whoever adds a migration says here what the version before did in place of what rests on it. The caller
 * removes it.
 */
export function earlierCopy(): string {
  return plantedCopy(
    {
      name: "the newest migration is not there",
      file: "stores/postgres/migrations/index.ts",
      find: "[tables, writer, runs, roles, leases]",
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
      name: "no process leaves",
      file: "stores/postgres/postgres-store.ts",
      find: `    await this.#all("leases", "leaveSlots", node);`,
      replace: "",
    },
  );
}
