import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { paymentCodeOf } from "../../src/connectors/upstream/references.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";

interface Row {
  readonly merchant: MerchantId;
  readonly id: string;
  readonly code: string;
  readonly state: string;
  readonly authorized: bigint;
  readonly captured: bigint;
  readonly refunded: bigint;
  readonly inFlight: boolean;
  readonly needsReview: boolean;
}

/**
 * The number of refunds that are neither confirmed nor cancelled, in the database of a running
 * server.
 */
export function unsettledRefunds(dataDirectory: string): number {
  return withDatabase(dataDirectory, (database) =>
    Number(
      database
        .prepare(
          `SELECT count(*) AS count FROM payment, json_each(payment.refunds) AS refund
            WHERE payment.refunds IS NOT NULL AND json_extract(refund.value, '$[1]') NOT IN ('confirmed', 'cancelled')`,
        )
        .get()?.["count"],
    ),
  );
}

/**
 * Compares payments and accounts: what the outer books contain, the inner ones contain too. Both
 * servers have settled.
 */
export function compareBooks(
  outerDirectory: string,
  innerDirectory: string,
): { readonly violations: readonly string[]; readonly figures: Readonly<Record<string, number>> } {
  const violations: string[] = [];
  const is = (holds: boolean, what: string): void => void (holds || violations.push(what));
  const [outer, inner] = [outerDirectory, innerDirectory].map((directory) =>
    withDatabase(directory, paymentsIn),
  );
  if (outer === undefined || inner === undefined) throw new Error("both servers have books");
  const byCode = new Map(inner.map((row) => [row.code, row]));
  const states = new Map<string, number>();
  for (const payment of outer) {
    const name = `${payment.code}, ${payment.state}`;
    states.set(payment.state, (states.get(payment.state) ?? 0) + 1);
    const code = paymentCodeOf(payment.merchant, `${payment.id}-1`);
    const there = byCode.get(code);
    byCode.delete(code);
    is(!payment.inFlight, `nothing is stuck: ${name}`);
    is(!payment.needsReview, `nothing waits for people: ${name}`);
    is(
      heldBy(payment) === heldBy(there),
      `held here and there is the same: ${name}, ${heldBy(payment)} and ${heldBy(there)}, ${there?.state}`,
    );
    is(
      leftOf(payment) === leftOf(there),
      `what was taken and not given back is the same: ${name}, ${leftOf(payment)} and ${leftOf(there)}, ${there?.state}`,
    );
    if (payment.state !== "captured") continue;
    is(
      payment.captured === there?.captured,
      `captured here and there is the same: ${name}, ${payment.captured} and ${there?.captured}`,
    );
    is(
      payment.refunded === there?.refunded,
      `refunded here and there is the same: ${name}, ${payment.refunded} and ${there?.refunded}`,
    );
  }
  for (const { code, state } of byCode.values())
    is(false, `nothing is sent before it is written down: ${code}, ${state}`);
  const [here, there] = [outerDirectory, innerDirectory].map((directory) =>
    withDatabase(directory, balancesIn),
  );
  is(
    JSON.stringify(here) === JSON.stringify(there),
    `the ledgers agree: ${JSON.stringify(here)} and ${JSON.stringify(there)}`,
  );
  is(
    (here ?? []).some(([, minor]) => minor !== "0"),
    "control: the ledgers hold something",
  );
  const refunds = outer.filter(({ refunded }) => refunded > 0n).length;
  const figures = {
    payments: outer.length,
    "payments with refunds": refunds,
    "payments of the inner server": inner.length,
  };
  return {
    violations,
    figures: {
      ...figures,
      ...Object.fromEntries([...states].map(([state, count]) => [`payments ${state}`, count])),
    },
  };
}

function heldBy(payment: Row | undefined): bigint {
  return payment?.state === "authorized" ? payment.authorized : 0n;
}

function leftOf(payment: Row | undefined): bigint {
  return payment === undefined ? 0n : payment.captured - payment.refunded;
}

function paymentsIn(database: DatabaseSync): Row[] {
  const rows = database
    .prepare(
      `SELECT lower(hex(merchant)) AS merchant, lower(hex(id)) AS id, code, state, CAST(authorized AS TEXT) AS authorized,
        CAST(captured AS TEXT) AS captured, CAST(refunded AS TEXT) AS refunded, attempt IS NOT NULL AS inFlight,
        needs_review AS needsReview FROM payment`,
    )
    .all();
  return rows.map((row) => ({
    merchant: String(row["merchant"]) as MerchantId,
    id: String(row["id"]),
    code: String(row["code"]),
    state: String(row["state"]),
    authorized: BigInt(String(row["authorized"])),
    captured: BigInt(String(row["captured"])),
    refunded: BigInt(String(row["refunded"])),
    inFlight: row["inFlight"] === 1,
    needsReview: row["needsReview"] === 1,
  }));
}

/**
 * The balance of each account in each currency, without zeros: a sale that was reversed there was
 * never posted here.
 */
function balancesIn(database: DatabaseSync): (readonly [account: string, minor: string])[] {
  return database
    .prepare(
      `SELECT account || ' ' || currency AS account, CAST(sum(minor) AS TEXT) AS minor FROM journal GROUP BY account, currency
        HAVING sum(minor) <> 0 ORDER BY account, currency`,
    )
    .all()
    .map((row) => [String(row["account"]), String(row["minor"])]);
}

function withDatabase<Result>(
  dataDirectory: string,
  read: (database: DatabaseSync) => Result,
): Result {
  const database = new DatabaseSync(join(dataDirectory, "cofre.db"), { readOnly: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
}
