import type { Instant } from "../kernel/instant.ts";
import type { Act } from "./audit.ts";
import type { AuditHead, AuditRow } from "./audit-chain.ts";
import type { PersonId, PersonView, Role } from "./user.ts";

/**
 * Where people, their sessions and the audit log are kept. A port of its own: people belong to no
 * merchant, and what serves payments never asks it.
 *
 * Each store that can be opened has one beside it, `RunningStore.people`: the embedded store writes
 * it through its one writer thread, the PostgreSQL store through a role and sessions of its own.
 * `app.ts` puts the rest around it:
 *
 *     const people = createPeople({ store: store.people, clock, random, passwords: createPasswords({ random }), sealing, environment, maskCards });
 *
 * where `sealing` is `createSealing` of vault/sealed-secret.ts over the installation's key
 * provider, which openKeys has, and `maskCards` is `maskCardNumbers` of wire/decode/card-like.ts.
 *
 * All methods reject with StoreError (stores/store.ts), like those of `Store`.
 */
export interface PeopleStore {
  person(id: PersonId): Promise<PersonRecord | undefined>;
  /** By the name's key (`nameKeyOf`). */
  personByName(key: string): Promise<PersonRecord | undefined>;
  /** By the SHA-256 of an invitation, in hex, whether it is over or not. */
  personByInvitation(digest: string): Promise<PersonRecord | undefined>;
  /** All of them, in the order of their names' keys. */
  people(): Promise<readonly PersonRecord[]>;
  /**
   * By the SHA-256 of the session's secret, in hex, whether it is over or not, with the person as
   * they are now.
   */
  session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly person: PersonRecord } | undefined>;

  /**
   * Entries of the audit log with numbers below `before` (the newest when undefined), from the
   * greatest down, at most `limit`.
   */
  auditBefore(before: number | undefined, limit: number): Promise<readonly AuditRow[]>;
  /** Entries with numbers above `after`, from the least up, at most `limit`. */
  auditAfter(after: number, limit: number): Promise<readonly AuditRow[]>;
  /** The last one, as it is noted apart from the entries; number 0 when there is none. */
  auditHead(): Promise<AuditHead>;
  /** Whether an entry was written with the key; not there where there is none. */
  isGenuine?(row: AuditRow): boolean;

  /**
   * Applies the change and writes its acts down, durably and in one transaction: all of it, or
   * nothing. When it rejects with `commit_unknown`, it may have been applied or not; `unavailable`
   * means that nothing was. Of several things in the way the answer names the first of: no admin,
   * version, name.
   */
  commit(change: PeopleChange): Promise<PeopleResult>;
  /**
   * Notes that a session was used. Never moves its last use back; nothing happens when there is no
   * such session. Kept less surely than changes.
   */
  useSession(digest: string, at: Instant): Promise<void>;
}

export interface PersonRecord {
  readonly id: PersonId;
  /** Counts up from 1 with every change. */
  readonly version: number;
  /** Never changes. */
  readonly name: string;
  readonly role: Role;
  readonly state: PersonView["state"];
  readonly createdAt: Instant;
  readonly lastSignedInAt: Instant | undefined;
  /**
   * Hashes of the last passwords (password.ts), newest first, at most four. The newest opens while
   * the person is active.
   */
  readonly passwords: readonly string[];
  /** The secret of the authenticator app, sealed for this person. */
  readonly totp: Uint8Array | undefined;
  /**
   * Time step of the last code that was used: one before it, or the same again, is refused. 0 when
   * there was none.
   */
  readonly totpStep: number;
  /** Wrong tries since the last right one. */
  readonly failures: number;
  readonly lockedUntil: Instant | undefined;
  readonly invitation: { readonly digest: string; readonly endsAt: Instant } | undefined;
  /** Covers everything above (checked-people.ts). Undefined on a row of an earlier version. */
  readonly mac?: Uint8Array | undefined;
}

/**
 * What names are compared by. Names are ASCII (people-service.ts), so case is all there is to it.
 */
export function nameKeyOf(name: string): string {
  return name.toLowerCase();
}

export interface SessionRecord {
  /** SHA-256 of its secret, in hex. */
  readonly digest: string;
  readonly personId: PersonId;
  readonly startedAt: Instant;
  readonly lastUsedAt: Instant;
  /** When it ends at the latest. */
  readonly endsAt: Instant;
  /** Covers everything above but the last use. Undefined on a row of an earlier version. */
  readonly mac?: Uint8Array | undefined;
}

export interface PeopleChange {
  readonly at: Instant;
  /** One at least: nothing changes without being written down. */
  readonly acts: readonly [Act, ...Act[]];
  /** `replaces`: the version that was read; undefined for a new person. */
  readonly person?: { readonly next: PersonRecord; readonly replaces: number | undefined };
  /** One session, or all of a person but one. */
  readonly ends?:
    | { readonly digest: string }
    | { readonly of: PersonId; readonly except: string | undefined };
  /** A session that begins, behind what ends. Those that are over at `at` are forgotten then. */
  readonly begins?: SessionRecord;
  /** true: refused unless an active admin is there afterwards. */
  readonly keepsAdmin?: true;
  /**
   * The entries of `acts` as they go into the log behind this head; without it the store makes
   * them, without MACs.
   */
  readonly chain?: { readonly after: AuditHead; readonly rows: readonly AuditRow[] };
}

export type PeopleResult =
  /** `number`: of the first of its entries. */
  | { readonly outcome: "committed"; readonly number: number }
  /** The person has another version by now. */
  | { readonly outcome: "stale" }
  /** Somebody has the name. */
  | { readonly outcome: "name_taken" }
  | { readonly outcome: "no_admin" }
  /** The log has another head by now than `chain` follows. Before all others. */
  | { readonly outcome: "head_moved" };

/**
 * What a store answers a change with, on its way through a thread or from a function of the
 * database.
 */
export type PeopleOutcome = PeopleResult["outcome"];
