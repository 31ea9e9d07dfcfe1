import { plantedCopy } from "./planted-copy.ts";

/** Number of PostgreSQL's migrations in that version: those up to the roles. */
export const earlierMigrations = 4;

/** The queue of a delivery. */
const queue =
  "CASE WHEN left(endpoint, 4) = 'url-' AND substr(endpoint, 21, 1) = '-' THEN left(endpoint, 20) ELSE endpoint END";

/**
 * A copy of this version without its newest migrations and the code that uses them. Made from the
 * working tree, because a clone may have no history; with a new migration, add here what the
 * earlier version did instead of the code that depends on it. The caller removes the copy.
 */
export function earlierCopy(): string {
  return plantedCopy(
    {
      name: "the newest migrations are not there",
      file: "stores/postgres/migrate.ts",
      find: "migrations.entries()",
      replace: `migrations.slice(0, ${earlierMigrations}).entries()`,
    },
    {
      name: "a batch is written by the first function",
      file: "stores/postgres/batch-writer.ts",
      find: "SELECT write_batch_2($1)",
      replace: "SELECT write_batch_1($1)",
    },
    {
      name: "no run has deliveries",
      file: "stores/postgres/batch-message.ts",
      find: "payment[paymentIndex.rare] === undefined && moved.length === 0",
      replace:
        "payment[paymentIndex.rare] === undefined && message[changeIndex.deliveries] === undefined",
    },
    {
      name: "moves of deliveries go one change after another",
      file: "stores/postgres/batch-message.ts",
      find: "moved.length > 0 && moved.every((delivery) => delivery[replacedVersion] !== undefined)",
      replace: "false",
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
      find: `WHERE message IS NULL OR message IN (0, number) OR (
      SELECT first.state FROM delivery AS first WHERE first.merchant = delivery.merchant AND first.endpoint = delivery.endpoint
        AND first.number = delivery.message
    ) IS DISTINCT FROM 'waiting' `,
      replace: "",
    },
    {
      name: "due merchants are found among all deliveries",
      file: "stores/postgres/sql.ts",
      find: `AS "dueAt" FROM due_merchant\n`,
      replace: `AS "dueAt" FROM (SELECT merchant, min(due_at) AS due_at FROM delivery WHERE state = 'waiting' GROUP BY merchant) AS due_merchant\n`,
    },
    {
      name: "due queues are found among all deliveries",
      file: "stores/postgres/sql.ts",
      find: `AS "dueAt" FROM due_queue\n`,
      replace: `AS "dueAt" FROM (SELECT merchant, ${queue} AS queue, min(due_at) AS due_at FROM delivery
      WHERE state = 'waiting' GROUP BY 1, 2) AS due_queue\n`,
    },
    {
      name: "due deliveries are found among all deliveries",
      file: "stores/postgres/sql.ts",
      find: `AS from_at FROM due_delivery WHERE`,
      replace: `AS from_at FROM (SELECT merchant, ${queue} AS queue, due_at, number, endpoint FROM delivery AS waiting
        WHERE state = 'waiting' AND NOT EXISTS (
          SELECT 1 FROM delivery AS earlier WHERE earlier.merchant = waiting.merchant AND earlier.payment = waiting.payment
            AND earlier.endpoint = waiting.endpoint AND earlier.number < waiting.number AND earlier.state = 'waiting' AND earlier.in_order = 1
        )) AS due_delivery WHERE`,
    },
    {
      name: "due payments are found among all payments",
      file: "stores/postgres/sql.ts",
      find: "`FROM due_payment AS due\n",
      replace: `\`FROM (SELECT merchant, id AS payment, due_at, no, CASE WHEN attempt IS NULL THEN 0 ELSE 1 END AS in_flight
      FROM payment WHERE due_at IS NOT NULL) AS due\n`,
    },
    {
      name: "no index of a version before it is dropped",
      file: "stores/postgres/postgres-store.ts",
      find: "    await dropOlderIndexes(owner);\n",
      replace: "",
    },
    {
      name: "each process does the jobs of all merchants",
      file: "stores/postgres/postgres-store.ts",
      find: `    const [row] = await this.#all<NodeSlotsRow>("leases", "renewSlots", node, leaseMs, release.join(" "), migrations.length);
    assert(row !== undefined, "a request for slots is answered with those that are held");
    return { ...row, slots: row.slots === "" ? [] : row.slots.split(" ").map(Number) };`,
      replace: "    return { slots: [...everySlot], share: everySlot.size, nodes: 1 };",
    },
    {
      name: "an integration key has no MAC",
      file: "stores/postgres/sql.ts",
      find: "${account}, grants, mac FROM account_key",
      replace: "${account}, grants, NULL AS mac FROM account_key",
    },
    {
      name: "nor do the others",
      file: "stores/postgres/sql.ts",
      find: "grants, mac FROM account_key ORDER BY",
      replace: "grants, NULL AS mac FROM account_key ORDER BY",
    },
    {
      name: "a card has no MAC",
      file: "stores/postgres/sql.ts",
      find: `"lastUsedAt", mac FROM card WHERE merchant = \${merchant} AND token_digest = ANY`,
      replace: `"lastUsedAt", NULL AS mac FROM card WHERE merchant = \${merchant} AND token_digest = ANY`,
    },
    {
      name: "no key is a record",
      file: "start/open-keys.ts",
      find: "const stored = await sharedKeyRecords(store.keys);",
      replace: "const stored: Awaited<ReturnType<typeof sharedKeyRecords>> = [];",
    },
    {
      name: "nor is a new one",
      file: "start/open-keys.ts",
      find: "const isNew = create &&",
      replace: "const isNew = false &&",
    },
    {
      name: "a root key is made with its file",
      file: "start/open-file-keys.ts",
      find: "environment, create: false, random, root",
      replace: "environment, create: true, random, root",
    },
    {
      name: "keys are made with their files",
      file: "start/open-file-keys.ts",
      find: "clock, create: false",
      replace: "clock, create: true",
    },
    {
      name: "token digests are not keyed, and rows have no MACs",
      file: "start/open-file-keys.ts",
      find: `const upgrade: RowUpgrade = { earlier: "read", lastUnkeyedEntry: 0 };`,
      replace: `const upgrade: RowUpgrade = { earlier: "written", lastUnkeyedEntry: 0 };`,
    },
    {
      name: "no note of an upgrade is read",
      file: "start/open-file-keys.ts",
      find: "  Object.assign(upgrade, await note.load());\n",
      replace: "",
    },
    {
      name: "the database says nothing of itself",
      file: "stores/postgres/postgres-store.ts",
      find: "{ read: () => this.#identity(), raise: (raise) => this.#raiseIdentity(raise) }",
      replace:
        "{ read: async () => identityFromRow(undefined, undefined), raise: async () => identityFromRow(undefined, undefined) }",
    },
    {
      name: "no incarnation is noted or looked for",
      file: "start/foundation.ts",
      find: "const incarnation = incarnationOf(config, store, ports, log);",
      replace: "const incarnation: Incarnation | undefined = undefined;",
    },
    {
      name: "there are no orders about keys",
      file: "key-acts/key-orders.ts",
      find: "const page = await this.#parts.store.keyOrders(this.#state.last, pageSize);",
      replace: "const page: readonly KeyOrderRow[] = [];",
    },
    {
      name: "nothing is upgraded",
      file: "start/services.ts",
      find: "own.retention, ...upgrades, ...ofKeys, own.dispatcher",
      replace: "own.retention, ...ofKeys, own.dispatcher",
    },
    {
      name: "the origin of the database is not checked",
      file: "stores/postgres/postgres-store.ts",
      find: "    await checkStart(owner, options.beginning ?? { hasKeys: false, allowEmpty: false });",
      replace: "",
    },
    {
      name: "no clock is noted",
      file: "stores/postgres/postgres-store.ts",
      find: `    await this.#all("leases", "noteClock", node, aheadMs ?? null);`,
      replace: "",
    },
    {
      name: "no clock is compared with others",
      file: "stores/postgres/postgres-store.ts",
      find: `    const [row] = await this.#all<{ readonly others: string; readonly latest: number | null }>(
      "leases",
      "clockReadings",
      node,
      freshReadingMs,
    );
    assert(row !== undefined, "the server answers what it has of clocks");
    return { others: row.others === "" ? [] : row.others.split(" ").map(Number), last: row.latest ?? undefined };`,
      replace: "    return { others: [], last: undefined };",
    },
    {
      name: "no process leaves",
      file: "stores/postgres/postgres-store.ts",
      find: `    await this.#all("leases", "releaseSlots", node);`,
      replace: "",
    },
  );
}
