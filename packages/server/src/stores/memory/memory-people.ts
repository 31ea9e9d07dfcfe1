import type { Instant } from "../../kernel/instant.ts";
import { auditBeginning, type AuditRow, chainOf, isSameHead } from "../../user/audit-chain.ts";
import {
  nameKeyOf,
  type PeopleChange,
  type PeopleResult,
  type PeopleStore,
  type PersonRecord,
  type SessionRecord,
} from "../../user/user-store.ts";
import type { PersonId } from "../../user/user.ts";
import { StoreError } from "../store.ts";

export interface MemoryPeopleOptions {
  /**
   * Called before a change is applied; the commit rejects with the returned code. With
   * `commit_unknown` the change is still applied.
   */
  readonly commitFault?: (change: PeopleChange) => "unavailable" | "commit_unknown" | undefined;
}

/**
 * Users that last as long as the process. The reference for other user stores, and the store for
 * tests of code that uses one.
 */
export function createMemoryPeople(options: MemoryPeopleOptions = {}): PeopleStore {
  return new MemoryPeople(options);
}

class MemoryPeople implements PeopleStore {
  readonly #options: MemoryPeopleOptions;
  readonly #people = new Map<PersonId, PersonRecord>();
  readonly #sessions = new Map<string, SessionRecord>();
  readonly #audit: AuditRow[] = [];

  constructor(options: MemoryPeopleOptions) {
    this.#options = options;
  }

  async person(id: PersonId): Promise<PersonRecord | undefined> {
    return this.#people.get(id);
  }

  async personByName(key: string): Promise<PersonRecord | undefined> {
    return this.#find((person) => nameKeyOf(person.name) === key);
  }

  async personByInvitation(digest: string): Promise<PersonRecord | undefined> {
    return this.#find(({ invitation }) => invitation?.digest === digest);
  }

  async people(): Promise<readonly PersonRecord[]> {
    return [...this.#people.values()].toSorted((one, other) =>
      nameKeyOf(one.name) < nameKeyOf(other.name) ? -1 : 1,
    );
  }

  async session(
    digest: string,
  ): Promise<{ readonly session: SessionRecord; readonly person: PersonRecord } | undefined> {
    const session = this.#sessions.get(digest);
    const person = session === undefined ? undefined : this.#people.get(session.personId);
    return session === undefined || person === undefined ? undefined : { session, person };
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

  async commit(change: PeopleChange): Promise<PeopleResult> {
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

  #apply({ at, acts, person, ends, begins, keepsAdmin, chain }: PeopleChange): PeopleResult {
    if (chain !== undefined && !isSameHead(chain.after, this.#head()))
      return { outcome: "head_moved" };
    if (keepsAdmin === true && !this.#hasAdmin(person?.next)) return { outcome: "no_admin" };
    if (person !== undefined) {
      const { next, replaces } = person;
      if (this.#people.get(next.id)?.version !== replaces) return { outcome: "stale" };
      if (
        replaces === undefined &&
        this.#find(({ name }) => nameKeyOf(name) === nameKeyOf(next.name)) !== undefined
      )
        return { outcome: "name_taken" };
      this.#people.set(next.id, next);
    }
    for (const session of this.#sessions.values()) {
      const isOver = begins !== undefined && session.endsAt <= at;
      const isEnded =
        ends !== undefined &&
        ("digest" in ends
          ? session.digest === ends.digest
          : session.personId === ends.of && session.digest !== ends.except);
      if (isOver || isEnded) this.#sessions.delete(session.digest);
    }
    if (begins !== undefined) this.#sessions.set(begins.digest, begins);
    const number = this.#head().number + 1;
    this.#audit.push(...(chain?.rows ?? chainOf(this.#head(), at, acts)));
    return { outcome: "committed", number };
  }

  #hasAdmin(next: PersonRecord | undefined): boolean {
    const others = this.#find((person) => person.id !== next?.id && isActiveAdmin(person));
    return others !== undefined || (next !== undefined && isActiveAdmin(next));
  }

  #head(): Pick<AuditRow, "number" | "digest"> {
    return this.#audit.at(-1) ?? auditBeginning;
  }

  #find(fits: (person: PersonRecord) => boolean): PersonRecord | undefined {
    return [...this.#people.values()].find(fits);
  }
}

function isActiveAdmin({ role, state }: PersonRecord): boolean {
  return role === "admin" && state === "active";
}
