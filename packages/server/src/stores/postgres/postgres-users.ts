import { assert, BrokenInvariant } from "../../kernel/assert.ts";
import type { Instant } from "../../kernel/instant.ts";
import { auditBeginning, type AuditHead, type AuditRow, bodyOf } from "../../user/audit-chain.ts";
import {
  nameKeyOf,
  type UserChange,
  type UserOutcome,
  type UserResult,
  type UserStore,
} from "../../user/user-store.ts";
import type { UserRecord, SessionRecord } from "../../user/user-store.ts";
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
import { type Connection, readOnly, StatementError, type Value } from "./connection.ts";
import type { UserStatement } from "./sql.ts";

export interface UserSessions {
  /** Rejects with StoreError. */
  readonly read: <Row extends object>(
    name: UserStatement,
    ...values: readonly Value[]
  ) => Promise<readonly Row[]>;
  /** Opens a session that writes, with the checks of a start. Rejects if none is available. */
  readonly connect: () => Promise<Connection>;
  readonly isClosed: () => boolean;
}

/** Maximum number of waiting changes; more are refused as `overloaded`. */
const maxWaiting = 256;

/**
 * Users in the database. Owns the session that writes them, opened on first use and again after it
 * breaks.
 */
export class PostgresUsers implements UserStore {
  readonly #sessions: UserSessions;
  #writer: Promise<Connection> | undefined;
  #waiting = 0;

  constructor(sessions: UserSessions) {
    this.#sessions = sessions;
  }

  user(id: UserId): Promise<UserRecord | undefined> {
    return this.#user("user", id);
  }

  userByName(key: string): Promise<UserRecord | undefined> {
    return this.#user("userByName", key);
  }

  userByInvitation(digest: string): Promise<UserRecord | undefined> {
    return this.#user("userByInvitation", digest);
  }

  async users(): Promise<readonly UserRecord[]> {
    return (await this.#sessions.read<UserRow>("users")).map(userFromRow);
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined> {
    const [row] = await this.#sessions.read<SignedInRow>("userSession", digest);
    return row === undefined ? undefined : sessionFromRow(digest, row);
  }

  async auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]> {
    return (
      await this.#sessions.read<AuditEntryRow>(
        "auditBefore",
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      )
    ).map(entryFromRow);
  }

  async auditAfter(after: number, limit: number): Promise<readonly AuditRow[]> {
    return (await this.#sessions.read<AuditEntryRow>("auditAfter", after, limit)).map(entryFromRow);
  }

  async auditHead(): Promise<AuditHead> {
    const [row] = await this.#sessions.read<AuditHead>("auditHead");
    return row ?? auditBeginning;
  }

  async commit(change: UserChange): Promise<UserResult> {
    const [row] = await this.#write<{ readonly outcome: UserOutcome; readonly number: number }>(
      "write_people",
      writeUsers,
      [messageOf(change)],
    );
    assert(row !== undefined, "a user change is answered");
    return row.outcome === "committed"
      ? { outcome: row.outcome, number: row.number }
      : { outcome: row.outcome };
  }

  async useSession(digest: string, at: Instant): Promise<void> {
    await this.#write("use_person_session", useSession, [digest, at]);
  }

  /**
   * The address may now refer to another server. Pending changes there may still be answered or
   * not.
   */
  renew(): void {
    const writer = this.#writer;
    this.#writer = undefined;
    void writer?.then((connection) => connection.close()).catch(() => undefined);
  }

  async close(): Promise<void> {
    await this.#writer?.then((connection) => connection.close()).catch(() => undefined);
  }

  async #write<Row extends object>(
    name: string,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    if (this.#sessions.isClosed()) throw new StoreError("closed");
    if (this.#waiting >= maxWaiting) throw new StoreError("overloaded");
    this.#waiting += 1;
    try {
      return await this.#send<Row>(await this.#connected(), name, text, values);
    } finally {
      this.#waiting -= 1;
    }
  }

  async #send<Row extends object>(
    connection: Connection,
    name: string,
    text: string,
    values: readonly Value[],
  ): Promise<readonly Row[]> {
    const { warnings } = connection;
    try {
      const rows = await connection.rows<Row>(name, text, values);
      // A server that stops waiting for its synchronous standby sends a warning and reports
      // success.
      if (connection.warnings > warnings) throw new StoreError("commit_unknown");
      return rows;
    } catch (error) {
      if (!(error instanceof StatementError)) throw error;
      const { refusal } = error;
      if (refusal === undefined || refusal === readOnly) await this.#drop(connection);
      if (refusal === undefined) throw new StoreError("commit_unknown");
      // Invalid values (22) and violated constraints (23) are the change's own fault.
      if (/^2[23]/.test(refusal))
        throw new BrokenInvariant("a user change keeps the constraints of the database");
      throw new StoreError("unavailable");
    }
  }

  async #connected(): Promise<Connection> {
    for (;;) {
      const writer = (this.#writer ??= this.#sessions.connect());
      const connection = await writer.catch(() => undefined);
      if (connection?.isOpen === true) return connection;
      if (this.#writer === writer) this.#writer = undefined;
      // Concurrent callers wait for the same new session, and fail with it.
      if (connection === undefined) throw new StoreError("unavailable");
    }
  }

  async #drop(connection: Connection): Promise<void> {
    if ((await this.#writer?.catch(() => undefined)) === connection) this.#writer = undefined;
    await connection.close();
  }

  async #user(name: UserStatement, key: string): Promise<UserRecord | undefined> {
    const [row] = await this.#sessions.read<UserRow>(name, key);
    return row === undefined ? undefined : userFromRow(row);
  }
}

const writeUsers = "SELECT outcome, number FROM write_people_1($1)";
const useSession = "SELECT use_person_session_1($1, $2)";

/**
 * The input of the function of migrations/008-people.ts: bytes as hex, the user by columns, the
 * events as they enter the hash chain.
 */
function messageOf({ at, events, user, ends, begins, keepsAdmin, chain }: UserChange): string {
  const bodies = chain === undefined ? events.map((event) => bodyOf(at, event)) : [];
  return JSON.stringify({
    at,
    acts: bodies,
    person: user === undefined ? undefined : columnsOf(user.next),
    replaces: user?.replaces,
    ends,
    begins: begins === undefined ? undefined : sessionMessageOf(begins),
    keepsAdmin,
    chain,
  });
}

/** The function reads the user's id as `personId`. */
function sessionMessageOf({ userId, ...session }: SessionRecord): object {
  return { ...session, personId: userId, mac: hexOf(session.mac) };
}

function columnsOf(user: UserRecord): UserRow & { readonly name_key: string } {
  const {
    id,
    version,
    name,
    role,
    state,
    createdAt,
    lastSignedInAt,
    passwords,
    totp,
    totpStep,
    failures,
    lockedUntil,
    invitation,
  } = user;
  return {
    id,
    version,
    name,
    name_key: nameKeyOf(name),
    role,
    state,
    created_at: createdAt,
    last_signed_in_at: lastSignedInAt ?? null,
    passwords: JSON.stringify(passwords),
    totp: hexOf(totp) ?? null,
    totp_step: totpStep,
    failures,
    locked_until: lockedUntil ?? null,
    invitation: invitation?.digest ?? null,
    invitation_ends_at: invitation?.endsAt ?? null,
    mac: hexOf(user.mac) ?? null,
  };
}

function hexOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("hex");
}
