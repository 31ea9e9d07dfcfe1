import { plantedCopy } from "./planted-copy.ts";

/** How many migrations that version lacks. */
export const migrationsSince = 5;

/**
 * A copy of this version as it was before its newest migrations (005 to 009): without them, and without what uses them. Made from the working tree, for a
 * clone need not have a history; whoever adds a migration says here what the version before did in place of what rests on it. The caller
 * removes it.
 */
export function earlierCopy(): string {
  return plantedCopy(
    {
      name: "the newest migrations are not there",
      file: "stores/postgres/migrations/index.ts",
      find: "[tables, writer, runs, roles, leases, reports, worldPlaces, people, messages]",
      replace: "[tables, writer, runs, roles]",
    },
    {
      name: "a delivery is of no message",
      file: "stores/postgres/sql.ts",
      find: `in_order AS "inOrder", message\`;`,
      replace: `in_order AS "inOrder", NULL AS message\`;`,
    },
    {
      name: "each delivery is due for itself",
      file: "stores/postgres/sql.ts",
      find: `AND (message IS NULL OR message IN (0, number) OR (
      SELECT first.state FROM delivery AS first WHERE first.merchant = delivery.merchant AND first.endpoint = delivery.endpoint
        AND first.number = delivery.message
    ) IS DISTINCT FROM 'waiting') `,
      replace: "",
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
