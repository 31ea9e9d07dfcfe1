import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { type Connection, lockTimeout, StatementError } from "./connection.ts";

/**
 * The number of migrations of the first version that reads by `due_payment`
 * (migrations/019-due-payments.ts).
 */
const knowsDuePayments = 20;

/**
 * Indexes by which earlier versions find due payments. While they exist, no update of a payment is
 * HOT.
 */
const olderIndexes = "payment_due, payment_in_flight";

/**
 * Requests queue behind this statement while it waits for a lock, so it waits briefly, several
 * times.
 */
const lockMs = 300;
const tries = 10;
const pauseMs = 100;

const isLeft = `SELECT to_regclass('payment_due') IS NOT NULL OR to_regclass('payment_in_flight') IS NOT NULL AS left, EXISTS (
    SELECT 1 FROM node WHERE coalesce(migrations, 0) < ${knowsDuePayments} AND until > (extract(epoch FROM clock_timestamp()) * 1000)::bigint
  ) AS read`;

/**
 * Drops the indexes of `payment` that only earlier versions read by, unless a node of such a
 * version is present: without the indexes each of its reads of due payments scans the whole table.
 * In an upgrade of one node after the other, the start of the last node drops them. If a long
 * transaction holds the table, they remain until the next start.
 */
export async function dropOlderIndexes(owner: Connection): Promise<void> {
  const [found] = await owner.rows<{ readonly left: boolean; readonly read: boolean }>(
    "older",
    isLeft,
  );
  if (found?.left !== true || found.read) return;
  for (let left = tries; left > 0; left -= 1) {
    try {
      await owner.run(
        `BEGIN; SET LOCAL lock_timeout = ${lockMs}; DROP INDEX IF EXISTS ${olderIndexes}; COMMIT`,
      );
      return;
    } catch (error) {
      if (!(error instanceof StatementError) || error.refusal !== lockTimeout) throw error;
      await owner.run("ROLLBACK");
      await systemScheduler.sleep(pauseMs);
    }
  }
}
