import type { DatabaseSync, StatementSync } from "node:sqlite";
import { assert, BrokenInvariant } from "../../kernel/assert.ts";
import type { Instant } from "../../kernel/instant.ts";
import { auditBeginning, type AuditHead, type AuditRow } from "../../user/audit-chain.ts";
import type {
  UserChange,
  UserOutcome,
  UserResult,
  UserStore,
  UserRecord,
  SessionRecord,
} from "../../user/user-store.ts";
import type { UserId } from "../../user/user.ts";
import {
  type AuditEntryRow,
  entryFromRow,
  userFromRow,
  type UserRow,
  sessionFromRow,
  type SignedInRow,
} from "../user-rows.ts";
import { StoreError } from "../store.ts";
import type { UserMessage } from "./user-writer.ts";
import type { Writer } from "./writer.ts";

/**
 * Users in the embedded store's file: read on the caller's thread, written by the writer. The store
 * owns this object and both connections.
 */
export class EmbeddedUsers implements UserStore {
  readonly #writer: Pick<Writer, "submitUserChange">;
  readonly #isClosed: () => boolean;
  readonly #statements: Record<StatementName, StatementSync>;

  constructor(
    reader: DatabaseSync,
    writer: Pick<Writer, "submitUserChange">,
    isClosed: () => boolean,
  ) {
    this.#writer = writer;
    this.#isClosed = isClosed;
    this.#statements = {
      user: reader.prepare(sql.user),
      userByName: reader.prepare(sql.userByName),
      userByInvitation: reader.prepare(sql.userByInvitation),
      users: reader.prepare(sql.users),
      session: reader.prepare(sql.session),
      auditBefore: reader.prepare(sql.auditBefore),
      auditAfter: reader.prepare(sql.auditAfter),
      auditHead: reader.prepare(sql.auditHead),
    };
  }

  async user(id: UserId): Promise<UserRecord | undefined> {
    return this.#user("user", id);
  }

  async userByName(key: string): Promise<UserRecord | undefined> {
    return this.#user("userByName", key);
  }

  async userByInvitation(digest: string): Promise<UserRecord | undefined> {
    return this.#user("userByInvitation", digest);
  }

  async users(): Promise<readonly UserRecord[]> {
    return this.#rows<UserRow>("users").map(userFromRow);
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined> {
    const [row] = this.#rows<SignedInRow>("session", digest);
    return row === undefined ? undefined : sessionFromRow(digest, row);
  }

  async auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]> {
    return this.#rows<AuditEntryRow>("auditBefore", before ?? Number.MAX_SAFE_INTEGER, limit).map(
      entryFromRow,
    );
  }

  async auditAfter(after: number, limit: number): Promise<readonly AuditRow[]> {
    return this.#rows<AuditEntryRow>("auditAfter", after, limit).map(entryFromRow);
  }

  async auditHead(): Promise<AuditHead> {
    const [row] = this.#rows<AuditHead>("auditHead");
    return row === undefined ? auditBeginning : { ...row };
  }

  async commit(change: UserChange): Promise<UserResult> {
    const { outcome, number } = await this.#write({ users: "change", change });
    return outcome === "committed" ? { outcome, number } : { outcome };
  }

  async useSession(digest: string, at: Instant): Promise<void> {
    await this.#write({ users: "use", digest, at });
  }

  async #write(message: UserMessage): Promise<WrittenChange> {
    if (this.#isClosed()) throw new StoreError("closed");
    const { outcome, number } = await submitted(this.#writer, message);
    assert(outcome !== "in_use", "a change of users destroys no key");
    return { outcome, number };
  }

  #user(name: StatementName, key: string): UserRecord | undefined {
    const [row] = this.#rows<UserRow>(name, key);
    return row === undefined ? undefined : userFromRow(row);
  }

  #rows<Row>(name: StatementName, ...values: readonly (string | number)[]): Row[] {
    if (this.#isClosed()) throw new StoreError("closed");
    try {
      return this.#statements[name].all(...values) as Row[];
    } catch {
      throw new StoreError("unavailable");
    }
  }
}

interface WrittenChange {
  readonly outcome: UserOutcome;
  /** Of the first audit entry; 0 if none was written. */
  readonly number: number;
}

/** Has the writer write it. Rejects with StoreError and BrokenInvariant. */
export async function submitted(
  writer: Pick<Writer, "submitUserChange">,
  message: UserMessage,
): Promise<Omit<WrittenChange, "outcome"> & { readonly outcome: UserOutcome | "in_use" }> {
  const { outcome, number } = await writer.submitUserChange(message);
  if (outcome === "unavailable" || outcome === "commit_unknown") throw new StoreError(outcome);
  if (outcome === "broken")
    throw new BrokenInvariant("a user change keeps the constraints of the database");
  return { outcome, number };
}

const user = `lower(hex(person.id)) AS id, version, name, role, state, created_at, last_signed_in_at, passwords, nullif(lower(hex(totp)), '') AS totp, totp_step,
  failures, locked_until, nullif(lower(hex(invitation)), '') AS invitation, invitation_ends_at, nullif(lower(hex(person.mac)), '') AS mac`;
const entry =
  "no AS number, body, lower(hex(digest)) AS digest, nullif(lower(hex(mac)), '') AS mac FROM audit_entry";

const sql = {
  user: `SELECT ${user} FROM person WHERE person.id = unhex(?)`,
  userByName: `SELECT ${user} FROM person WHERE name_key = ?`,
  userByInvitation: `SELECT ${user} FROM person WHERE person.invitation = unhex(?)`,
  users: `SELECT ${user} FROM person ORDER BY name_key`,
  session: `SELECT ${user}, started_at, last_used_at, ends_at, nullif(lower(hex(person_session.mac)), '') AS session_mac
    FROM person_session JOIN person ON person.id = person_session.person
    WHERE digest = unhex(?)`,
  auditBefore: `SELECT ${entry} WHERE no < ? ORDER BY no DESC LIMIT ?`,
  auditAfter: `SELECT ${entry} WHERE no > ? ORDER BY no LIMIT ?`,
  auditHead: "SELECT no AS number, lower(hex(digest)) AS digest FROM audit_head",
} as const;
type StatementName = keyof typeof sql;
