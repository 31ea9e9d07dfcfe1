import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Instant } from "../../kernel/instant.ts";
import { isSameHead } from "../../user/audit-chain.ts";
import {
  nameKeyOf,
  type UserChange,
  type UserOutcome,
  type UserRecord,
} from "../../user/user-store.ts";
import type { Outcome } from "../change-message.ts";
import type { KeyChange, KeyOrderChange } from "../key-record-store.ts";
import { AuditWriter } from "./audit-writer.ts";
import { KeyWriter } from "./key-writer.ts";

/** A change that the audit log records, or the use of a session, in transit to the writer thread. */
export type UserMessage =
  | { readonly users: "change"; readonly change: UserChange }
  | { readonly users: "keys"; readonly change: KeyChange }
  | { readonly users: "order"; readonly change: KeyOrderChange }
  | { readonly users: "use"; readonly digest: string; readonly at: Instant };

/** `number`: of the first audit entry that was written; 0 if none was. */
export interface UserWriteResult {
  readonly outcome:
    | UserOutcome
    | "in_use"
    | Extract<Outcome, "unavailable" | "commit_unknown" | "broken">;
  readonly number: number;
}

/**
 * Writes one change of users or of keys, with its audit log entries, within the open transaction. Owns its
 * prepared statements.
 */
export class UserWriter {
  readonly #hasOtherAdmin: StatementSync;
  readonly #insertUser: StatementSync;
  readonly #updateUser: StatementSync;
  readonly #userByName: StatementSync;
  readonly #endSession: StatementSync;
  readonly #endSessions: StatementSync;
  readonly #forgetSessions: StatementSync;
  readonly #insertSession: StatementSync;
  readonly #useSession: StatementSync;
  readonly #audit: AuditWriter;
  readonly #keys: KeyWriter;

  constructor(database: DatabaseSync) {
    this.#hasOtherAdmin = database.prepare(
      "SELECT 1 FROM person WHERE role = 'admin' AND state = 'active' AND id <> unhex(?) LIMIT 1",
    );
    this.#insertUser = database.prepare(
      `INSERT INTO person (id, version, name, name_key, role, state, created_at, last_signed_in_at, passwords, totp, totp_step, failures,
         locked_until, invitation, invitation_ends_at, mac)
       VALUES (unhex(?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, unhex(?), ?, ?)`,
    );
    this.#updateUser = database.prepare(
      `UPDATE person SET version = ?, role = ?, state = ?, last_signed_in_at = ?, passwords = ?, totp = ?, totp_step = ?, failures = ?,
         locked_until = ?, invitation = unhex(?), invitation_ends_at = ?, mac = ? WHERE id = unhex(?) AND version = ?`,
    );
    this.#userByName = database.prepare(
      "SELECT id = unhex(?) AS same FROM person WHERE name_key = ? OR id = unhex(?)",
    );
    this.#endSession = database.prepare("DELETE FROM person_session WHERE digest = unhex(?)");
    this.#endSessions = database.prepare(
      "DELETE FROM person_session WHERE person = unhex(?) AND digest <> unhex(?)",
    );
    this.#forgetSessions = database.prepare("DELETE FROM person_session WHERE ends_at <= ?");
    this.#insertSession = database.prepare(
      "INSERT INTO person_session (digest, person, started_at, last_used_at, ends_at, mac) VALUES (unhex(?), unhex(?), ?, ?, ?, ?)",
    );
    this.#useSession = database.prepare(
      "UPDATE person_session SET last_used_at = ?2 WHERE digest = unhex(?1) AND last_used_at < ?2",
    );
    this.#audit = new AuditWriter(database);
    this.#keys = new KeyWriter(database);
  }

  /**
   * Unless it returns `committed`, the caller must roll the transaction back. Throws SQLite's
   * errors; the caller rolls back then too.
   */
  write(message: UserMessage): UserWriteResult {
    if (message.users === "change") return this.#change(message.change);
    if (message.users === "keys") return this.#changeKeys(message.change);
    if (message.users === "order") return this.#addOrder(message.change);
    this.#useSession.run(message.digest, message.at);
    return { outcome: "committed", number: 0 };
  }

  #changeKeys(change: KeyChange): UserWriteResult {
    if (this.#hasMoved(change)) return { outcome: "head_moved", number: 0 };
    const outcome = this.#keys.write(change);
    return { outcome, number: outcome === "committed" ? this.#audit.append(change) : 0 };
  }

  #addOrder(change: KeyOrderChange): UserWriteResult {
    if (this.#hasMoved(change)) return { outcome: "head_moved", number: 0 };
    if (!this.#keys.writeOrder(change.order)) return { outcome: "stale", number: 0 };
    return { outcome: "committed", number: this.#audit.append(change) };
  }

  #change(change: UserChange): UserWriteResult {
    const { at, user, ends, begins, keepsAdmin } = change;
    if (this.#hasMoved(change)) return { outcome: "head_moved", number: 0 };
    if (keepsAdmin === true && !this.#keepsAdmin(user?.next))
      return { outcome: "no_admin", number: 0 };
    const outcome = user === undefined ? "committed" : this.#user(user.next, user.replaces);
    if (outcome !== "committed") return { outcome, number: 0 };
    if (ends !== undefined) {
      if ("digest" in ends) this.#endSession.run(ends.digest);
      else this.#endSessions.run(ends.of, ends.except ?? "");
    }
    if (begins !== undefined) {
      this.#forgetSessions.run(at);
      this.#insertSession.run(
        begins.digest,
        begins.userId,
        begins.startedAt,
        begins.lastUsedAt,
        begins.endsAt,
        begins.mac ?? null,
      );
    }
    return { outcome: "committed", number: this.#audit.append(change) };
  }

  #hasMoved({ chain }: Pick<UserChange, "chain">): boolean {
    return chain !== undefined && !isSameHead(chain.after, this.#audit.head());
  }

  #keepsAdmin(next: UserRecord | undefined): boolean {
    if (next?.role === "admin" && next.state === "active") return true;
    return this.#hasOtherAdmin.get(next?.id ?? "") !== undefined;
  }

  #user(next: UserRecord, replaces: number | undefined): "committed" | "stale" | "name_taken" {
    const {
      id,
      version,
      name,
      role,
      state,
      createdAt,
      lastSignedInAt,
      totp,
      totpStep,
      failures,
      lockedUntil,
      invitation,
    } = next;
    const rest = [
      lastSignedInAt ?? null,
      JSON.stringify(next.passwords),
      totp ?? null,
      totpStep,
      failures,
      lockedUntil ?? null,
      invitation?.digest ?? null,
      invitation?.endsAt ?? null,
      next.mac ?? null,
    ] as const;
    if (replaces !== undefined) {
      const { changes } = this.#updateUser.run(version, role, state, ...rest, id, replaces);
      return changes === 0 ? "stale" : "committed";
    }
    const taken = this.#userByName.get(id, nameKeyOf(name), id);
    if (taken !== undefined) return taken["same"] === 1 ? "stale" : "name_taken";
    this.#insertUser.run(id, version, name, nameKeyOf(name), role, state, createdAt, ...rest);
    return "committed";
  }
}
