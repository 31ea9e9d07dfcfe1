import type { Secret } from "../../kernel/secret.ts";
import type { AuditLog } from "../../people/audit-log.ts";
import { StoreError } from "../store.ts";
import { Connection, StatementError, type Value } from "./connection.ts";
import { PostgresOpenError } from "./open-error.ts";
import { PostgresPeople } from "./postgres-people.ts";
import { type PeopleStatement, sql } from "./sql.ts";

/** Of a role, a table or a column: this database has had no version of Cofre with the audit log of today. */
const isMissing = /^(?:22023|42P01|42703|42704)$/;

/** Opens the audit log of a database for reading, beside the nodes that serve it: through the role that may read it and writes nothing by itself. */
export async function openAuditDatabase(url: Secret<string>): Promise<{ readonly log: AuditLog; close(): Promise<void> }> {
  let connection: Connection | undefined;
  try {
    const opened = await Connection.open(url.reveal(), "cofre_people");
    connection = opened;
    await opened.rows("auditAfter", sql.auditAfter, [0, 0]);
    const log = new PostgresPeople({
      async read<Row extends object>(name: PeopleStatement, ...values: readonly Value[]) {
        try {
          return await opened.rows<Row>(name, sql[name], values);
        } catch (error) {
          throw error instanceof StatementError ? new StoreError("unavailable") : error;
        }
      },
      connect: () => Promise.reject(new StoreError("closed")),
      isClosed: () => !opened.isOpen,
    });
    return { log, close: () => opened.close() };
  } catch (error) {
    await connection?.close();
    if (!(error instanceof StatementError)) throw error;
    throw new PostgresOpenError(isMissing.test(error.refusal ?? "") ? "no_audit" : "unreachable");
  }
}
