import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

export interface JudgedPayment {
  /** 48 hex digits. */
  readonly id: string;
  readonly code: string;
  readonly state: string;
  readonly version: number;
  readonly authorized: bigint;
  readonly captured: bigint;
  readonly inFlight: boolean;
  readonly needsReview: boolean;
}

/**
 * The database content that the judge (kill-judge.ts) uses. Read with separate SQL that shares no
 * code with the stores.
 */
export interface JudgedFacts {
  /** Whether the database's own integrity check passes. */
  readonly isSound: boolean;
  readonly payments: readonly JudgedPayment[];
  /** The stored digest of each card's token, in hex. */
  readonly tokenDigests: ReadonlySet<string>;
  /** The merchant of each stored card. */
  readonly cardMerchants: readonly string[];
  /** Journal entries that do not sum to zero in a currency. */
  readonly unbalancedEntries: number;
  /** Sums by account. */
  readonly balances: ReadonlyMap<string, bigint>;
  /** Payments that lack a history row for one of their changes. */
  readonly paymentsWithGaps: number;
  /** Outbox rows by payment. */
  readonly announced: ReadonlyMap<string, number>;
  /**
   * By payment: outcomes that recovery resolved and that are notified although the status stays.
   */
  readonly foundOut: ReadonlyMap<string, number>;
}

/** Payment rows as both databases return them: 64-bit amounts as text. */
export interface JudgedPaymentRow extends Omit<
  JudgedPayment,
  "authorized" | "captured" | "inFlight" | "needsReview"
> {
  readonly authorized: string;
  readonly captured: string;
  readonly inFlight: number;
  readonly needsReview: number;
}

export function judgedPayment({
  authorized,
  captured,
  inFlight,
  needsReview,
  ...row
}: JudgedPaymentRow): JudgedPayment {
  return {
    ...row,
    authorized: BigInt(authorized),
    captured: BigInt(captured),
    inFlight: inFlight === 1,
    needsReview: needsReview === 1,
  };
}

export interface BalanceRow {
  readonly account: string;
  readonly minor: string;
}

export interface AnnouncedRow {
  readonly payment: string;
  readonly count: number;
}

/** A history row: the outcomes that recovery resolved in a change, perhaps with other facts. */
export interface RecoveredRow {
  readonly payment: string;
  readonly facts: string;
}

/**
 * Codes in `history.facts`: an authorization that was approved or is held, a capture or a void that
 * was refused. No authorization expires in the minutes of a run.
 */
const reportedWhenFound = /^(?:aa|ah|cd|vd|vi)\d+r$/;

function foundOut(rows: readonly RecoveredRow[]): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const { payment, facts } of rows) {
    if (facts.split(" ").some((word) => reportedWhenFound.test(word)))
      times.set(payment, (times.get(payment) ?? 0) + 1);
  }
  return times;
}

/** Converts the rows of a database. */
export function judgedFacts(rows: {
  readonly isSound: boolean;
  readonly payments: readonly JudgedPaymentRow[];
  readonly digests: readonly { readonly digest: string; readonly merchant: string }[];
  readonly unbalanced: readonly object[];
  readonly balances: readonly BalanceRow[];
  readonly gaps: readonly object[];
  readonly announced: readonly AnnouncedRow[];
  readonly recovered: readonly RecoveredRow[];
}): JudgedFacts {
  return {
    isSound: rows.isSound,
    payments: rows.payments.map(judgedPayment),
    tokenDigests: new Set(rows.digests.map(({ digest }) => digest)),
    cardMerchants: [...new Set(rows.digests.map(({ merchant }) => merchant))],
    unbalancedEntries: rows.unbalanced.length,
    balances: new Map(rows.balances.map(({ account, minor }) => [account, BigInt(minor)])),
    paymentsWithGaps: rows.gaps.length,
    announced: new Map(rows.announced.map(({ payment, count }) => [payment, count])),
    foundOut: foundOut(rows.recovered),
  };
}

/**
 * Facts of the embedded store. Reads a copy of the database, because opening the file would repair
 * it before Cofre can.
 */
export function factsOfFile(dataDirectory: string, scratch: string): JudgedFacts {
  rmSync(scratch, { recursive: true, force: true });
  mkdirSync(scratch, { recursive: true });
  for (const name of ["cofre.db", "cofre.db-wal"]) {
    if (existsSync(join(dataDirectory, name)))
      copyFileSync(join(dataDirectory, name), join(scratch, name));
  }
  const database = new DatabaseSync(join(scratch, "cofre.db"));
  const rows = <Row>(sql: string): Row[] => database.prepare(sql).all() as Row[];
  try {
    const integrity = rows<{ readonly integrity_check: string }>("PRAGMA integrity_check");
    return judgedFacts({
      isSound: integrity.length === 1 && integrity[0]?.integrity_check === "ok",
      payments: rows<JudgedPaymentRow>(
        `SELECT lower(hex(id)) AS id, code, state, version, CAST(authorized AS TEXT) AS authorized,
          CAST(captured AS TEXT) AS captured, attempt IS NOT NULL AS inFlight, needs_review AS needsReview FROM payment`,
      ),
      digests: rows(
        "SELECT lower(hex(token_digest)) AS digest, lower(hex(merchant)) AS merchant FROM card",
      ),
      unbalanced: rows(
        "SELECT payment FROM journal GROUP BY merchant, payment, version, entry, currency HAVING sum(minor) <> 0",
      ),
      balances: rows(
        "SELECT account, CAST(sum(minor) AS TEXT) AS minor FROM journal GROUP BY account",
      ),
      gaps: rows(
        `SELECT payment.no FROM payment LEFT JOIN history ON history.payment = payment.no GROUP BY payment.no
          HAVING count(*) <> payment.version OR max(history.version) <> payment.version`,
      ),
      announced: rows(
        "SELECT lower(hex(payment.id)) AS payment, count(*) AS count FROM outbox JOIN payment ON payment.no = outbox.payment GROUP BY 1",
      ),
      recovered: rows(
        `SELECT lower(hex(payment.id)) AS payment, history.facts FROM history JOIN payment ON payment.no = history.payment
          WHERE history.facts || ' ' LIKE '%r %'`,
      ),
    });
  } finally {
    database.close();
  }
}
