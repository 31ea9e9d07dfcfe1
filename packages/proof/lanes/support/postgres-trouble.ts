import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { query } from "../../../server/test/postgres/databases.ts";
import type { Chance } from "../../../server/test/support/chance.ts";

/** Another session of the same database, which ends with `use`. */
async function inSession(url: string, use: (session: Client) => Promise<void>): Promise<void> {
  const session = new Client({ connectionString: url });
  // Errors of this session are ignored, because the test disturbs the database.
  session.on("error", () => undefined);
  await session.connect();
  try {
    await use(session);
  } finally {
    await session.end();
  }
}

/** Ends sessions of Cofre and cancels their statements, one at a time, whatever they are doing. */
export async function troubleSessions(url: string, chance: Chance, times: number): Promise<void> {
  await inSession(url, async (session) => {
    for (let time = 0; time < times; time += 1) {
      const call = chance.happens(500) ? "pg_terminate_backend" : "pg_cancel_backend";
      await session.query(
        `SELECT ${call}(pid) FROM pg_stat_activity WHERE application_name LIKE 'cofre %' AND datname = current_database()
          ORDER BY (application_name = 'cofre cofre_gateway' AND state = 'active') DESC, random() LIMIT 1`,
      );
      await sleep(chance.between(5, 60));
    }
  });
}

/**
 * Locks rows that the writers need, for shorter and longer than their timeout, and in the order
 * that ends in a deadlock.
 */
export async function holdRows(
  url: string,
  chance: Chance,
  times: number,
  longestMs: number,
): Promise<{ readonly deadlocks: number }> {
  let deadlocks = 0;
  await inSession(url, async (session) => {
    for (let time = 0; time < times; time += 1) {
      await session.query("BEGIN; SET LOCAL deadlock_timeout = '50ms'");
      try {
        // A batch holds the merchant and then wants the payment.
        await session.query(
          "SELECT 1 FROM payment WHERE attempt IS NOT NULL ORDER BY no DESC LIMIT 50 FOR UPDATE",
        );
        if (time > 0) await session.query("SELECT 1 FROM merchant FOR UPDATE");
        await sleep(time === 0 ? longestMs : chance.between(1, 200));
      } catch (error) {
        deadlocks += error instanceof Error && "code" in error && error.code === "40P01" ? 1 : 0;
      }
      await session.query("ROLLBACK");
      await sleep(chance.between(20, 100));
    }
  });
  return { deadlocks };
}

/**
 * Until `during` has ended, a share of all payment writes, in thousandths, fails with errors as
 * another server would return them.
 */
export async function withRefusals(
  url: string,
  perThousand: number,
  during: () => Promise<void>,
): Promise<void> {
  await query(
    url,
    `CREATE FUNCTION refuse_at_random() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF random() * 1000 < ${perThousand} THEN
          RAISE EXCEPTION USING ERRCODE = (ARRAY['40001', '40P01', '55P03', '40003', '53100', '25006', '57P01', '58030'])[1 + floor(random() * 8)::integer];
        END IF;
        RETURN NEW;
      END $$;
    CREATE TRIGGER refuse_at_random BEFORE INSERT OR UPDATE ON payment FOR EACH ROW EXECUTE FUNCTION refuse_at_random()`,
  );
  await during();
  await query(url, "DROP TRIGGER refuse_at_random ON payment; DROP FUNCTION refuse_at_random()");
}
