import type { RowField, RowKind, RowMacs } from "../vault/row-mac.ts";
import type { AuditHead, AuditRow } from "../user/audit-chain.ts";
import { entryFields, keyedChain } from "../user/keyed-chain.ts";
import {
  nameKeyOf,
  type UserChange,
  type UserResult,
  type UserStore,
  type UserRecord,
  type SessionRecord,
} from "../user/user-store.ts";
import type { UserId } from "../user/user.ts";

export interface CheckedUserParts {
  readonly store: UserStore;
  readonly macs: Pick<RowMacs, "of" | "accepts">;
  /** Number of the last entry of the audit log that may lack a MAC. */
  readonly lastUnkeyedEntry: () => number;
  /** Called with a row that was written without the key; at most once for each. */
  readonly refused: (kind: RowKind, id: string) => void;
}

/** Most retries of an append when other nodes move the head first. */
const maxAttempts = 16;
const maxRemembered = 1_000;

/**
 * Users and the audit log with a MAC on every row: an attacker who writes the database without the
 * key cannot create an admin, open a session, or forge an entry of the log. A row without a valid
 * MAC is hidden from the caller. The log's chain is computed here and not in the store, because
 * only this side has the key: a change names the head that it follows, and is repeated when another
 * node was faster. Changes of one process are serialized.
 */
export class CheckedUsers implements UserStore {
  readonly #parts: CheckedUserParts;
  readonly #refused = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: CheckedUserParts) {
    this.#parts = parts;
  }

  async user(id: UserId): Promise<UserRecord | undefined> {
    return this.#genuine(await this.#parts.store.user(id));
  }

  async userByName(key: string): Promise<UserRecord | undefined> {
    const user = this.#genuine(await this.#parts.store.userByName(key));
    // The MAC covers the name, but not the key by which the store finds it.
    if (user === undefined || nameKeyOf(user.name) === key) return user;
    this.#refuse("person", user.id);
    return undefined;
  }

  async userByInvitation(digest: string): Promise<UserRecord | undefined> {
    return this.#genuine(await this.#parts.store.userByInvitation(digest));
  }

  async users(): Promise<readonly UserRecord[]> {
    return (await this.#parts.store.users()).filter((user) => this.#genuine(user) !== undefined);
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined> {
    const found = await this.#parts.store.session(digest);
    if (found === undefined || this.#genuine(found.user) === undefined) return undefined;
    const { session } = found;
    return this.#accepts("person_session", session.userId, sessionFields(session), session.mac)
      ? found
      : undefined;
  }

  auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]> {
    return this.#parts.store.auditBefore(before, limit);
  }

  auditAfter(after: number, limit: number): Promise<readonly AuditRow[]> {
    return this.#parts.store.auditAfter(after, limit);
  }

  auditHead(): Promise<AuditHead> {
    return this.#parts.store.auditHead();
  }

  isGenuine(row: AuditRow): boolean {
    return isGenuineEntry(this.#parts, row);
  }

  async commit(change: UserChange): Promise<UserResult> {
    const result = this.#last.then(() => this.#commit(change));
    this.#last = result.catch(() => undefined);
    return result;
  }

  useSession(...used: Parameters<UserStore["useSession"]>): Promise<void> {
    return this.#parts.store.useSession(...used);
  }

  async #commit(change: UserChange): Promise<UserResult> {
    const { store, macs } = this.#parts;
    const { user, begins } = change;
    const keyed: UserChange = {
      ...change,
      ...(user === undefined
        ? {}
        : {
            user: {
              ...user,
              next: { ...user.next, mac: macs.of("person", userFields(user.next)) },
            },
          }),
      ...(begins === undefined
        ? {}
        : { begins: { ...begins, mac: macs.of("person_session", sessionFields(begins)) } }),
    };
    for (let attempts = 1; ; attempts += 1) {
      const chain = keyedChain(macs, await store.auditHead(), change);
      const result = await store.commit({ ...keyed, chain });
      if (result.outcome !== "head_moved" || attempts === maxAttempts) return result;
    }
  }

  #genuine(user: UserRecord | undefined): UserRecord | undefined {
    return user !== undefined && this.#accepts("person", user.id, userFields(user), user.mac)
      ? user
      : undefined;
  }

  #accepts(
    kind: RowKind,
    id: string,
    fields: readonly RowField[],
    mac: Uint8Array | undefined,
  ): boolean {
    if (this.#parts.macs.accepts(kind, fields, mac)) return true;
    this.#refuse(kind, id);
    return false;
  }

  #refuse(kind: RowKind, id: string): void {
    const key = `${kind} ${id}`;
    if (this.#refused.has(key) || this.#refused.size >= maxRemembered) return;
    this.#refused.add(key);
    this.#parts.refused(kind, id);
  }
}

/** Whether an entry was written with the key. */
export function isGenuineEntry(
  { macs, lastUnkeyedEntry }: Pick<CheckedUserParts, "macs" | "lastUnkeyedEntry">,
  row: AuditRow,
): boolean {
  if (row.mac === undefined) return row.number <= lastUnkeyedEntry();
  return macs.accepts("audit_entry", entryFields(row), Buffer.from(row.mac, "hex"));
}

function userFields(user: UserRecord): RowField[] {
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
  const credentials = [
    JSON.stringify(passwords),
    totp,
    totpStep,
    failures,
    lockedUntil,
    invitation?.digest,
    invitation?.endsAt,
  ];
  return [id, version, name, role, state, createdAt, lastSignedInAt, ...credentials];
}

/** Without the last use, which is updated without the key. */
function sessionFields({ digest, userId, startedAt, endsAt }: SessionRecord): RowField[] {
  return [digest, userId, startedAt, endsAt];
}
