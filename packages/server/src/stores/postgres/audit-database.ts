import type { Secret } from "../../kernel/secret.ts";
import type { AuditLog } from "../../user/audit-log.ts";
import type { IdentityRow } from "../identity.ts";
import type { HeldKeys, KeyRecordStore } from "../key-record-store.ts";
import { keyFromRow, type KeyRow } from "../key-rows.ts";
import { StoreError } from "../store.ts";
import { AuditedWriter } from "./audited-writer.ts";
import { Connection, StatementError, type Value } from "./connection.ts";
import { PostgresOpenError } from "./open-error.ts";
import { PostgresUsers } from "./postgres-users.ts";
import { type UserStatement, sql, type StatementName } from "./sql.ts";

/**
 * SQLSTATEs for a missing role, table or column: no version of Cofre with the current audit log has
 * used this database.
 */
const isMissing = /^(?:22023|42P01|42703|42704)$/;

/** Payments that one statement compares. */
const pieceOfPayments = 5_000;

interface ComparedPayment {
  readonly merchantId: string;
  readonly paymentId: string;
  readonly differs: boolean;
}

export interface AuditDatabase {
  readonly log: AuditLog;
  /** Rejects with PostgresOpenError if no node with key records has served the database. */
  keys(): Promise<HeldKeys>;
  /**
   * Payments with a due time but without a matching row in `due_payment`, by which the jobs find
   * them.
   */
  duePayments(): AsyncGenerator<Omit<ComparedPayment, "differs">>;
  close(): Promise<void>;
}

/**
 * Opens the audit log of a database for reading, beside the nodes that serve it, through roles that
 * may read it and cannot write by themselves.
 */
export async function openAuditDatabase(url: Secret<string>): Promise<AuditDatabase> {
  const opened = await openAs("cofre_people", url, (connection) =>
    connection.rows("auditAfter", sql.auditAfter, [0, 0]),
  );
  const read = <Row extends object>(name: UserStatement, ...values: readonly Value[]) =>
    rowsOf<Row>(opened, name, values);
  const noWriter = new AuditedWriter(
    () => Promise.reject(new StoreError("closed")),
    () => !opened.isOpen,
  );
  const log = new PostgresUsers(read, noWriter);
  let vault: Connection | undefined;
  return {
    log,
    async keys() {
      const jobs = await openAs("cofre_jobs", url);
      try {
        const [identity] = await rowsOf<IdentityRow>(jobs, "identity", []);
        const connection = (vault ??= await openAs("cofre_vault", url));
        const keyRecords: KeyRecordStore["keyRecords"] = async (after, limit) => {
          const values = [after?.purpose ?? "", after?.version ?? 0, limit] as const;
          return (await rowsOf<KeyRow>(connection, "keyRecords", values)).map(keyFromRow);
        };
        return { installation: identity?.keys ?? "", keys: { keyRecords } };
      } finally {
        await jobs.close();
      }
    },
    async *duePayments() {
      const jobs = await openAs("cofre_jobs", url);
      try {
        let [merchantId, paymentId] = ["", ""];
        for (;;) {
          const rows = await rowsOf<ComparedPayment>(jobs, "paymentsDiffering", [
            merchantId,
            paymentId,
            pieceOfPayments,
          ]);
          for (const { differs, ...payment } of rows) {
            if (differs) yield payment;
            ({ merchantId, paymentId } = payment);
          }
          if (rows.length === 0) return;
        }
      } finally {
        await jobs.close();
      }
    },
    async close() {
      await vault?.close();
      await opened.close();
    },
  };
}

async function openAs(
  role: "cofre_people" | "cofre_jobs" | "cofre_vault",
  url: Secret<string>,
  check: (connection: Connection) => Promise<unknown> = async () => undefined,
): Promise<Connection> {
  let connection: Connection | undefined;
  try {
    connection = await Connection.open(url.reveal(), role);
    await check(connection);
    return connection;
  } catch (error) {
    await connection?.close();
    if (!(error instanceof StatementError)) throw error;
    throw new PostgresOpenError(isMissing.test(error.refusal ?? "") ? "no_audit" : "unreachable");
  }
}

async function rowsOf<Row extends object>(
  connection: Connection,
  name: StatementName,
  values: readonly Value[],
): Promise<readonly Row[]> {
  try {
    return await connection.rows<Row>(name, sql[name], values);
  } catch (error) {
    if (!(error instanceof StatementError)) throw error;
    throw isMissing.test(error.refusal ?? "")
      ? new PostgresOpenError("no_audit")
      : new StoreError("unavailable");
  }
}
