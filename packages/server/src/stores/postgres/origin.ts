import { type Connection, lockTimeout, StatementError } from "./connection.ts";
import { PostgresOpenError } from "./open-error.ts";

/** The origin of the data in the database: see migrations/006-reports.ts. */

interface Origin {
  readonly state: "begun" | "moved" | "returned";
  /** Identifies the move; null if there was none. */
  readonly move: string | null;
}

export async function readOrigin(owner: Connection): Promise<Origin | undefined> {
  const [origin] = await owner.rows<Origin>("origin", "SELECT state, move FROM origin");
  return origin;
}

export async function writeOrigin(owner: Connection, { state, move }: Origin): Promise<void> {
  await owner.rows(
    "set_origin",
    `INSERT INTO origin (no, state, move, at) VALUES (1, $1, $2, now())
     ON CONFLICT (no) DO UPDATE SET state = excluded.state, move = excluded.move, at = excluded.at`,
    [state, move],
  );
}

/** Conditions of a start. */
export interface StartConditions {
  /** The keys of an installation exist where this one keeps its own. */
  readonly hasKeys: boolean;
  /** The start accepts an empty database, whatever keys exist. */
  readonly allowEmpty: boolean;
}

/**
 * Rejects with PostgresOpenError if an installation would silently start with an empty database
 * because its own is gone or another one is configured; if the database was marked as returned; and
 * if a move holds it for longer than the lock timeout. A start that fails after this and before it
 * has created an account may be repeated.
 */
export async function checkStart(
  owner: Connection,
  { hasKeys, allowEmpty }: StartConditions,
): Promise<void> {
  const origin = await readOrigin(owner).catch((error: unknown) => {
    throw error instanceof StatementError && error.refusal === lockTimeout
      ? new PostgresOpenError("moving")
      : error;
  });
  if (origin?.state === "returned") throw new PostgresOpenError("returned");
  if (origin !== undefined) return;
  const accounts = await owner.rows("accounts", "SELECT 1 AS found FROM account LIMIT 1");
  if (accounts.length > 0) return;
  if (hasKeys && !allowEmpty) throw new PostgresOpenError("missing");
  await writeOrigin(owner, { state: "begun", move: null });
}
