import type { Instant } from "../../kernel/instant.ts";
import { type AuditRow, isSameHead } from "../../user/audit-chain.ts";
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
import { MemoryAudit } from "./memory-audit.ts";

export interface MemoryUserOptions {
  /**
   * Called before a change is applied; the commit rejects with the returned code. With
   * `commit_unknown` the change is still applied.
   */
  readonly commitFault?: (change: UserChange) => "unavailable" | "commit_unknown" | undefined;
  /** The audit log, to share it with key records. */
  readonly audit?: MemoryAudit;
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
  readonly #audit: MemoryAudit;

  constructor(options: MemoryUserOptions) {
    this.#options = options;
    this.#audit = options.audit ?? new MemoryAudit();
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
    const { number, digest } = this.#audit.head;
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

  #apply(change: UserChange): UserResult {
    const { at, user, ends, begins, keepsAdmin, chain } = change;
    if (chain !== undefined && !isSameHead(chain.after, this.#audit.head))
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
    return { outcome: "committed", number: this.#audit.append(change) };
  }

  #hasAdmin(next: UserRecord | undefined): boolean {
    const others = this.#find((user) => user.id !== next?.id && isActiveAdmin(user));
    return others !== undefined || (next !== undefined && isActiveAdmin(next));
  }

  #find(fits: (user: UserRecord) => boolean): UserRecord | undefined {
    return [...this.#users.values()].find(fits);
  }
}

function isActiveAdmin({ role, state }: UserRecord): boolean {
  return role === "admin" && state === "active";
}
