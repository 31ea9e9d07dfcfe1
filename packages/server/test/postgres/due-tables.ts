import { query } from "./databases.ts";

/**
 * What the tables of what is due hold, and what they must hold by the deliveries alone, as long as
 * no queue is parked.
 */
export interface DueTables {
  readonly held: readonly string[];
  readonly expected: readonly string[];
  /** Deliveries that wait for an earlier one of their payment, which none of the tables has. */
  readonly blocked: number;
}

const queue =
  "CASE WHEN endpoint LIKE 'url-________________-%' THEN left(endpoint, 20) ELSE endpoint END";

/**
 * All that wait, but for those that an earlier one to the same endpoint about the same payment
 * blocks.
 */
const mayBeTried = `SELECT * FROM (
  SELECT merchant, ${queue} AS queue, due_at, number, endpoint, coalesce(max(in_order) OVER (
    PARTITION BY merchant, endpoint, payment ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS blocked
  FROM delivery WHERE state = 'waiting') AS waiting WHERE blocked = 0`;

/** Each table as rows of one column, which begins with its name. */
const tables: readonly (readonly [held: string, expected: string])[] = [
  [
    "SELECT concat_ws(' ', 'delivery', merchant, queue, due_at, number, endpoint) AS line FROM due_delivery",
    `SELECT concat_ws(' ', 'delivery', merchant, queue, due_at, number, endpoint) AS line FROM (${mayBeTried}) AS due`,
  ],
  [
    "SELECT concat_ws(' ', 'queue', merchant, queue, first_at, due_at, parked_until) AS line FROM due_queue",
    `SELECT concat_ws(' ', 'queue', merchant, queue, min(due_at), min(due_at)) AS line FROM (${mayBeTried}) AS due GROUP BY merchant, queue`,
  ],
  [
    "SELECT concat_ws(' ', 'merchant', merchant, due_at) AS line FROM due_merchant",
    `SELECT concat_ws(' ', 'merchant', merchant, min(due_at)) AS line FROM (${mayBeTried}) AS due GROUP BY merchant`,
  ],
];

export async function dueTables(url: string): Promise<DueTables> {
  const lines = async (side: 0 | 1): Promise<readonly string[]> =>
    (
      await query<{ readonly line: string }>(
        url,
        tables.map((table) => table[side]).join(" UNION ALL "),
      )
    )
      .map(({ line }) => line)
      .toSorted();
  const [held, expected] = [await lines(0), await lines(1)];
  const [waiting] = await query<{ readonly n: number }>(
    url,
    "SELECT count(*)::integer AS n FROM delivery WHERE state = 'waiting'",
  );
  const tried = expected.filter((line) => line.startsWith("delivery ")).length;
  return { held, expected, blocked: (waiting?.n ?? 0) - tried };
}
