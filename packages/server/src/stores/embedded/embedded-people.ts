import type { DatabaseSync, StatementSync } from "node:sqlite";
import { BrokenInvariant } from "../../kernel/assert.ts";
import type { Instant } from "../../kernel/instant.ts";
import { auditBeginning, type AuditHead, type AuditRow } from "../../user/audit-chain.ts";
import type {
  PeopleChange,
  PeopleResult,
  PeopleStore,
  PersonRecord,
  SessionRecord,
} from "../../user/user-store.ts";
import type { PersonId } from "../../user/user.ts";
import {
  type AuditEntryRow,
  entryFromRow,
  personFromRow,
  type PersonRow,
  sessionFromRow,
  type SignedInRow,
} from "../people-rows.ts";
import { StoreError } from "../store.ts";
import type { PeopleMessage } from "./people-writer.ts";
import type { Writer } from "./writer.ts";

/**
 * Users in the embedded store's file: read on the caller's thread, written by the writer. The store
 * owns this object and both connections.
 */
export class EmbeddedPeople implements PeopleStore {
  readonly #writer: Pick<Writer, "submitPeople">;
  readonly #isClosed: () => boolean;
  readonly #statements: Record<StatementName, StatementSync>;

  constructor(reader: DatabaseSync, writer: Pick<Writer, "submitPeople">, isClosed: () => boolean) {
    this.#writer = writer;
    this.#isClosed = isClosed;
    this.#statements = {
      person: reader.prepare(sql.person),
      personByName: reader.prepare(sql.personByName),
      personByInvitation: reader.prepare(sql.personByInvitation),
      people: reader.prepare(sql.people),
      session: reader.prepare(sql.session),
      auditBefore: reader.prepare(sql.auditBefore),
      auditAfter: reader.prepare(sql.auditAfter),
      auditHead: reader.prepare(sql.auditHead),
    };
  }

  async person(id: PersonId): Promise<PersonRecord | undefined> {
    return this.#person("person", id);
  }

  async personByName(key: string): Promise<PersonRecord | undefined> {
    return this.#person("personByName", key);
  }

  async personByInvitation(digest: string): Promise<PersonRecord | undefined> {
    return this.#person("personByInvitation", digest);
  }

  async people(): Promise<readonly PersonRecord[]> {
    return this.#rows<PersonRow>("people").map(personFromRow);
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly person: PersonRecord } | undefined> {
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

  async commit(change: PeopleChange): Promise<PeopleResult> {
    const { outcome, number } = await this.#write({ people: "change", change });
    return outcome === "committed" ? { outcome, number } : { outcome };
  }

  async useSession(digest: string, at: Instant): Promise<void> {
    await this.#write({ people: "use", digest, at });
  }

  async #write(
    message: PeopleMessage,
  ): Promise<{ readonly outcome: PeopleResult["outcome"]; readonly number: number }> {
    if (this.#isClosed()) throw new StoreError("closed");
    const { outcome, number } = await this.#writer.submitPeople(message);
    if (outcome === "unavailable" || outcome === "commit_unknown") throw new StoreError(outcome);
    if (outcome === "broken")
      throw new BrokenInvariant("a change of people keeps the constraints of the database");
    return { outcome, number };
  }

  #person(name: StatementName, key: string): PersonRecord | undefined {
    const [row] = this.#rows<PersonRow>(name, key);
    return row === undefined ? undefined : personFromRow(row);
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

const person = `lower(hex(person.id)) AS id, version, name, role, state, created_at, last_signed_in_at, passwords, nullif(lower(hex(totp)), '') AS totp, totp_step,
  failures, locked_until, nullif(lower(hex(invitation)), '') AS invitation, invitation_ends_at, nullif(lower(hex(person.mac)), '') AS mac`;
const entry =
  "no AS number, body, lower(hex(digest)) AS digest, nullif(lower(hex(mac)), '') AS mac FROM audit_entry";

const sql = {
  person: `SELECT ${person} FROM person WHERE person.id = unhex(?)`,
  personByName: `SELECT ${person} FROM person WHERE name_key = ?`,
  personByInvitation: `SELECT ${person} FROM person WHERE person.invitation = unhex(?)`,
  people: `SELECT ${person} FROM person ORDER BY name_key`,
  session: `SELECT ${person}, started_at, last_used_at, ends_at, nullif(lower(hex(person_session.mac)), '') AS session_mac
    FROM person_session JOIN person ON person.id = person_session.person
    WHERE digest = unhex(?)`,
  auditBefore: `SELECT ${entry} WHERE no < ? ORDER BY no DESC LIMIT ?`,
  auditAfter: `SELECT ${entry} WHERE no > ? ORDER BY no LIMIT ?`,
  auditHead: "SELECT no AS number, lower(hex(digest)) AS digest FROM audit_head",
} as const;
type StatementName = keyof typeof sql;
