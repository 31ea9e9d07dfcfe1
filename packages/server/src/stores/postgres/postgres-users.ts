import { assert } from "../../kernel/assert.ts";
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
import type { AuditedWriter } from "./audited-writer.ts";
import type { Value } from "./connection.ts";
import type { UserStatement } from "./sql.ts";

/** Rejects with StoreError. */
type ReadUsers = <Row extends object>(
  name: UserStatement,
  ...values: readonly Value[]
) => Promise<readonly Row[]>;

/** Users in the database. */
export class PostgresUsers implements UserStore {
  readonly #read: ReadUsers;
  readonly #writer: AuditedWriter;

  constructor(read: ReadUsers, writer: AuditedWriter) {
    this.#read = read;
    this.#writer = writer;
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
    return (await this.#read<UserRow>("users")).map(userFromRow);
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined> {
    const [row] = await this.#read<SignedInRow>("userSession", digest);
    return row === undefined ? undefined : sessionFromRow(digest, row);
  }

  async auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]> {
    return (
      await this.#read<AuditEntryRow>("auditBefore", before ?? Number.MAX_SAFE_INTEGER, limit)
    ).map(entryFromRow);
  }

  async auditAfter(after: number, limit: number): Promise<readonly AuditRow[]> {
    return (await this.#read<AuditEntryRow>("auditAfter", after, limit)).map(entryFromRow);
  }

  async auditHead(): Promise<AuditHead> {
    const [row] = await this.#read<AuditHead>("auditHead");
    return row ?? auditBeginning;
  }

  async commit(change: UserChange): Promise<UserResult> {
    const [row] = await this.#writer.write<{
      readonly outcome: UserOutcome;
      readonly number: number;
    }>("write_people", writeUsers, [messageOf(change)]);
    assert(row !== undefined, "a user change is answered");
    return row.outcome === "committed"
      ? { outcome: row.outcome, number: row.number }
      : { outcome: row.outcome };
  }

  async useSession(digest: string, at: Instant): Promise<void> {
    await this.#writer.write("use_person_session", useSession, [digest, at]);
  }

  async #user(name: UserStatement, key: string): Promise<UserRecord | undefined> {
    const [row] = await this.#read<UserRow>(name, key);
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
