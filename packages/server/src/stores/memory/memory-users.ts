import type { Instant } from "../../kernel/instant.ts";
import { auditBeginning, type AuditRow, chainOf, isSameHead } from "../../user/audit-chain.ts";
import {
  nameKeyOf,
  type UserChange,
  type UserResult,
  type UserStore,
  type UserRecord,
  type SessionRecord,
} from "../../user/user-store.ts";
import type { UserId } from "../../user/user.ts";
import { StoreError } from "../store.ts";

export interface MemoryUserOptions {
  /**
   * Called before a change is applied; the commit rejects with the returned code. With
   * `commit_unknown` the change is still applied.
   */
  readonly commitFault?: (change: UserChange) => "unavailable" | "commit_unknown" | undefined;
}

/**
 * Users that last as long as the process. The reference for other user stores, and the store for
 * tests of code that uses one.
 */
export function createMemoryUsers(options: MemoryUserOptions = {}): UserStore {
  return new MemoryUsers(options);
}

class MemoryUsers implements UserStore {
  readonly #options: MemoryUserOptions;
  readonly #users = new Map<UserId, UserRecord>();
  readonly #sessions = new Map<string, SessionRecord>();
  readonly #audit: AuditRow[] = [];

  constructor(options: MemoryUserOptions) {
    this.#options = options;
  }

  async user(id: UserId): Promise<UserRecord | undefined> {
    return this.#users.get(id);
  }

  async userByName(key: string): Promise<UserRecord | undefined> {
    return this.#find((user) => nameKeyOf(user.name) === key);
  }

  async userByInvitation(digest: string): Promise<UserRecord | undefined> {
    return this.#find(({ invitation }) => invitation?.digest === digest);
  }

  async users(): Promise<readonly UserRecord[]> {
    return [...this.#users.values()].toSorted((one, other) =>
      nameKeyOf(one.name) < nameKeyOf(other.name) ? -1 : 1,
    );
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined> {
    const session = this.#sessions.get(digest);
    const user = session === undefined ? undefined : this.#users.get(session.userId);
    return session === undefined || user === undefined ? undefined : { session, user };
  }

  async auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]> {
    const end =
      before === undefined
        ? this.#audit.length
        : Math.min(Math.max(before - 1, 0), this.#audit.length);
    return this.#audit.slice(Math.max(end - limit, 0), end).toReversed();
  }

  async auditAfter(after: number, limit: number): Promise<readonly AuditRow[]> {
    return this.#audit.slice(after, after + limit);
  }

  async auditHead(): Promise<{ readonly number: number; readonly digest: string }> {
    const { number, digest } = this.#head();
    return { number, digest };
  }

  async commit(change: UserChange): Promise<UserResult> {
    const fault = this.#options.commitFault?.(change);
    if (fault === "unavailable") throw new StoreError(fault);
    const result = this.#apply(change);
    if (fault !== undefined) throw new StoreError(fault);
    return result;
  }

  async useSession(digest: string, at: Instant): Promise<void> {
    const session = this.#sessions.get(digest);
    if (session !== undefined && session.lastUsedAt < at)
      this.#sessions.set(digest, { ...session, lastUsedAt: at });
  }

  #apply({ at, events, user, ends, begins, keepsAdmin, chain }: UserChange): UserResult {
    if (chain !== undefined && !isSameHead(chain.after, this.#head()))
      return { outcome: "head_moved" };
    if (keepsAdmin === true && !this.#hasAdmin(user?.next)) return { outcome: "no_admin" };
    if (user !== undefined) {
      const { next, replaces } = user;
      if (this.#users.get(next.id)?.version !== replaces) return { outcome: "stale" };
      if (
        replaces === undefined &&
        this.#find(({ name }) => nameKeyOf(name) === nameKeyOf(next.name)) !== undefined
      )
        return { outcome: "name_taken" };
      this.#users.set(next.id, next);
    }
    for (const session of this.#sessions.values()) {
      const isOver = begins !== undefined && session.endsAt <= at;
      const isEnded =
        ends !== undefined &&
        ("digest" in ends
          ? session.digest === ends.digest
          : session.userId === ends.of && session.digest !== ends.except);
      if (isOver || isEnded) this.#sessions.delete(session.digest);
    }
    if (begins !== undefined) this.#sessions.set(begins.digest, begins);
    const number = this.#head().number + 1;
    this.#audit.push(...(chain?.rows ?? chainOf(this.#head(), at, events)));
    return { outcome: "committed", number };
  }

  #hasAdmin(next: UserRecord | undefined): boolean {
    const others = this.#find((user) => user.id !== next?.id && isActiveAdmin(user));
    return others !== undefined || (next !== undefined && isActiveAdmin(next));
  }

  #head(): Pick<AuditRow, "number" | "digest"> {
    return this.#audit.at(-1) ?? auditBeginning;
  }

  #find(fits: (user: UserRecord) => boolean): UserRecord | undefined {
    return [...this.#users.values()].find(fits);
  }
}

function isActiveAdmin({ role, state }: UserRecord): boolean {
  return role === "admin" && state === "active";
}
