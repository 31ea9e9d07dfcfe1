import type { IdentityRow } from "../identity.ts";
import { Connection, StatementError } from "./connection.ts";
import { commandTurnMs, migrate } from "./migrate.ts";
import type { MoveTargetOptions } from "./move-target.ts";
import { PostgresOpenError } from "./open-error.ts";
import { checkServer } from "./start-check.ts";

/**
 * Raises the epoch of a database to `next` of the current one, while nodes may be serving it.
 * Resolves with the resulting epoch.
 */
export async function raiseEpoch(
  { url, clock, waiveStandby }: MoveTargetOptions,
  next: (epoch: number) => number,
): Promise<number> {
  let owner: Connection | undefined;
  try {
    owner = await Connection.open(url.reveal(), "owner");
    await checkServer(owner, clock, waiveStandby);
    await migrate(owner, { turnMs: commandTurnMs });
    const [known] = await owner.rows<IdentityRow>("identity", "SELECT epoch FROM identity");
    const [raised] = await owner.rows<IdentityRow>(
      "raise",
      "SELECT epoch FROM raise_identity_1(NULL, $1::integer, 0, NULL)",
      [String(next(known?.epoch ?? 0))],
    );
    return raised?.epoch ?? 0;
  } catch (error) {
    throw error instanceof StatementError ? new PostgresOpenError("unreachable") : error;
  } finally {
    await owner?.close();
  }
}
