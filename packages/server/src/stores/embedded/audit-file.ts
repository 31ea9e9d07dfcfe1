import type { DatabaseSync } from "node:sqlite";
import type { AuditLog } from "../../user/audit-log.ts";
import { StoreError } from "../store.ts";
import type { HeldKeys, KeyRecordStore } from "../key-record-store.ts";
import { hasDatabase } from "./data-folder.ts";
import { EmbeddedKeys } from "./embedded-keys.ts";
import { EmbeddedUsers } from "./embedded-users.ts";
import { peopleMacs } from "./migrations/009-people-macs.ts";
import { keyRecords } from "./migrations/013-key-records.ts";
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
/** The first version of the tables with key records. */
const firstWithKeys = migrations.indexOf(keyRecords) + 1;

/**
 * Opens the audit log of a file for reading, whether or not a server has the file open: a reader's
 * connection does not block writers, and no read lasts longer than one piece. Throws
 * StoreOpenError.
 */
export function openAuditFile(file: string): AuditFile {
  if (!hasDatabase(file)) throw new StoreOpenError("nothing", file);
  try {
    const reader = translated(() => readerOf(file, false));
    return {
      log: new EmbeddedUsers(reader, noWriter, () => !reader.isOpen),
      keys: async () => keysIn(reader),
      close: async () => reader.close(),
    };
  } catch (error) {
    throw error instanceof Refused ? new StoreOpenError(error.code, file) : error;
  }
}

interface AuditFile {
  readonly log: AuditLog;
  /** Undefined: the file has no table of key records yet. */
  keys(): Promise<HeldKeys | undefined>;
  close(): Promise<void>;
}

interface FileKeys extends HeldKeys {
  readonly keys: Pick<KeyRecordStore, "keyRecords" | "merchantKeyRecords">;
}

/**
 * The key records of a file, for reading; also of one whose data was moved. Undefined: the file has
 * no table of key records yet. Throws StoreOpenError.
 */
export function openKeysOfFile(file: string): {
  readonly held: FileKeys | undefined;
  close(): void;
} {
  try {
    const reader = translated(() => readerOf(file, true));
    return { held: keysIn(reader), close: () => reader.close() };
  } catch (error) {
    throw error instanceof Refused ? new StoreOpenError(error.code, file) : error;
  }
}

const noWriter = { submitUserChange: () => Promise.reject(new StoreError("closed")) };

function keysIn(reader: DatabaseSync): FileKeys | undefined {
  if (versionOf(reader) < firstWithKeys) return undefined;
  const identity = reader.prepare("SELECT keys FROM identity").get();
  const keys = new EmbeddedKeys(reader, noWriter, () => !reader.isOpen);
  return { installation: String(identity?.["keys"] ?? ""), keys };
}

function versionOf(reader: DatabaseSync): number {
  return Number(Object.values(reader.prepare("PRAGMA user_version").get() ?? {})[0]);
}

function readerOf(file: string, alsoMoved: boolean): DatabaseSync {
  if (!isSafeVersion(process.versions["sqlite"] ?? "0")) throw new Refused("sqlite_too_old");
  const reader = openForReading(file);
  try {
    refuseForeign(reader, alsoMoved);
    if (versionOf(reader) < firstWithAudit) throw new Refused("no_audit");
    return reader;
  } catch (error) {
    reader.close();
    throw error;
  }
}
