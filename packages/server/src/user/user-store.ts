import type { Instant } from "../kernel/instant.ts";
import type { AuditEvent } from "./audit.ts";
import type { AuditHead, AuditRow } from "./audit-chain.ts";
import type { UserId, UserView, Role } from "./user.ts";

/**
 * Storage of users, their sessions and the audit log. A separate port: users belong to no merchant,
 * and the payment path never uses it.
 *
 * Each store that can be opened has one, `RunningStore.users`: the embedded store writes it
 * through its single writer thread, the PostgreSQL store through its own role and connections.
 * start/open-console-users.ts builds `Users` on it.
 *
 * All methods reject with StoreError (stores/store.ts), like those of `Store`.
 */
export interface UserStore {
  user(id: UserId): Promise<UserRecord | undefined>;
  /** By the name's key (`nameKeyOf`). */
  userByName(key: string): Promise<UserRecord | undefined>;
  /** By the SHA-256 of an invitation, in hex, expired or not. */
  userByInvitation(digest: string): Promise<UserRecord | undefined>;
  /** All users, ordered by their names' keys. */
  users(): Promise<readonly UserRecord[]>;
  /**
   * By the SHA-256 of the session's secret, in hex, expired or not, with the user's present record.
   */
  session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined>;

  /**
   * Entries of the audit log with numbers below `before` (the newest when undefined), in descending
   * order, at most `limit`.
   */
  auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]>;
  /** Entries with numbers above `after`, in ascending order, at most `limit`. */
  auditAfter(after: number, limit: number): Promise<readonly AuditRow[]>;
  /** The last entry's head, which is stored separately; number 0 when there is none. */
  auditHead(): Promise<AuditHead>;
  /** Whether an entry was written with the key; undefined for a store without the key. */
  isGenuine?(row: AuditRow): boolean;

  /**
   * Applies the change and appends its acts, durably and in one transaction. When it rejects with
   * `commit_unknown`, the change may have been applied or not; with `unavailable` it was not. If
   * several conflicts apply, the result is the first of: no admin, version, name.
   */
  commit(change: UserChange): Promise<UserResult>;
  /**
   * Records the use of a session. Never moves its last use back; without effect when the session
   * does not exist. Less durable than changes.
   */
  useSession(digest: string, at: Instant): Promise<void>;
}

export interface UserRecord {
  readonly id: UserId;
  /** Counts up from 1 with every change. */
  readonly version: number;
  /** Never changes. */
  readonly name: string;
  readonly role: Role;
  readonly state: UserView["state"];
  readonly createdAt: Instant;
  readonly lastSignedInAt: Instant | undefined;
  /**
   * Hashes of the last passwords (password.ts), newest first, at most four. Only the newest is
   * valid for sign-in, while the user is active.
   */
  readonly passwords: readonly string[];
  /** The secret of the authenticator app, sealed for this user. */
  readonly totp: Uint8Array | undefined;
  /**
   * Time step of the last accepted code: this step and earlier ones are refused. 0 when there was
   * none.
   */
  readonly totpStep: number;
  /** Failed attempts since the last successful one. */
  readonly failures: number;
  readonly lockedUntil: Instant | undefined;
  readonly invitation: { readonly digest: string; readonly endsAt: Instant } | undefined;
  /** Covers everything above (checked-users.ts). Undefined on a row of an earlier version. */
  readonly mac?: Uint8Array | undefined;
}

/**
 * The key by which names are compared. Names are ASCII (user-service.ts), so folding case is
 * sufficient.
 */
export function nameKeyOf(name: string): string {
  return name.toLowerCase();
}

export interface SessionRecord {
  /** SHA-256 of its secret, in hex. */
  readonly digest: string;
  readonly userId: UserId;
  readonly startedAt: Instant;
  readonly lastUsedAt: Instant;
  /** Its absolute end. */
  readonly endsAt: Instant;
  /** Covers everything above except the last use. Undefined on a row of an earlier version. */
  readonly mac?: Uint8Array | undefined;
}

export interface UserChange {
  readonly at: Instant;
  /** At least one: every change is recorded in the audit log. */
  readonly events: readonly [AuditEvent, ...AuditEvent[]];
  /** `replaces`: the version that was read; undefined for a new user. */
  readonly user?: { readonly next: UserRecord; readonly replaces: number | undefined };
  /** Sessions to end: one, or all of a user except one. */
  readonly ends?:
    | { readonly digest: string }
    | { readonly of: UserId; readonly except: string | undefined };
  /**
   * A session to begin, after the others were ended. Sessions that have expired at `at` are
   * deleted.
   */
  readonly begins?: SessionRecord;
  /** true: refused unless there is an active admin afterwards. */
  readonly keepsAdmin?: true;
  /**
   * The entries of `events` for the log after this head; without it the store creates them, without
   * MACs.
   */
  readonly chain?: { readonly after: AuditHead; readonly rows: readonly AuditRow[] };
}

export type UserResult =
  /** `number`: of the first of its entries. */
  | { readonly outcome: "committed"; readonly number: number }
  /** The user has another version now. */
  | { readonly outcome: "stale" }
  /** Another user has the name. */
  | { readonly outcome: "name_taken" }
  | { readonly outcome: "no_admin" }
  /**
   * The head of the log is no longer the one that `chain` follows. Takes precedence over all
   * others.
   */
  | { readonly outcome: "head_moved" };

/** A store's result of a change, as passed between threads or returned by a database function. */
export type UserOutcome = UserResult["outcome"];
