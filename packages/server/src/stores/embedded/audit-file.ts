import type { DatabaseSync } from "node:sqlite";
import type { AuditLog } from "../../user/audit-log.ts";
import { StoreError } from "../store.ts";
import { hasDatabase } from "./data-folder.ts";
import { EmbeddedUsers } from "./embedded-users.ts";
import { peopleMacs } from "./migrations/009-people-macs.ts";
import { migrations } from "./migrations/index.ts";
import {
  isSafeVersion,
  openForReading,
  Refused,
  refuseForeign,
  translated,
} from "./open-database.ts";
import { StoreOpenError } from "./open-error.ts";

/** The first version of the tables whose audit log has all current columns. */
const firstWithAudit = migrations.indexOf(peopleMacs) + 1;

/**
 * Opens the audit log of a file for reading, whether or not a server has the file open: a reader's
 * connection does not block writers, and no read lasts longer than one piece. Throws
 * StoreOpenError.
 */
export function openAuditFile(file: string): { readonly log: AuditLog; close(): Promise<void> } {
  if (!hasDatabase(file)) throw new StoreOpenError("nothing", file);
  try {
    const reader = translated(() => readerOf(file));
    return {
      log: new EmbeddedUsers(
        reader,
        { submitUserChange: () => Promise.reject(new StoreError("closed")) },
        () => !reader.isOpen,
      ),
      close: async () => reader.close(),
    };
  } catch (error) {
    throw error instanceof Refused ? new StoreOpenError(error.code, file) : error;
  }
}

function readerOf(file: string): DatabaseSync {
  if (!isSafeVersion(process.versions["sqlite"] ?? "0")) throw new Refused("sqlite_too_old");
  const reader = openForReading(file);
  try {
    refuseForeign(reader, false);
    if (
      Number(Object.values(reader.prepare("PRAGMA user_version").get() ?? {})[0]) < firstWithAudit
    )
      throw new Refused("no_audit");
    return reader;
  } catch (error) {
    reader.close();
    throw error;
  }
}
