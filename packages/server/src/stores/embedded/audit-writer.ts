import type { DatabaseSync, StatementSync } from "node:sqlite";
import { auditBeginning, type AuditHead, chainOf } from "../../user/audit-chain.ts";
import type { UserChange } from "../../user/user-store.ts";

/** Appends audit entries within the open transaction. Owns its prepared statements. */
export class AuditWriter {
  readonly #head: StatementSync;
  readonly #moveHead: StatementSync;
  readonly #insertEntry: StatementSync;

  constructor(database: DatabaseSync) {
    this.#head = database.prepare(
      "SELECT no AS number, lower(hex(digest)) AS digest FROM audit_head",
    );
    this.#moveHead = database.prepare(
      `INSERT INTO audit_head (one, no, digest) VALUES (1, ?, unhex(?)) ON CONFLICT (one) DO UPDATE SET no = excluded.no, digest = excluded.digest`,
    );
    this.#insertEntry = database.prepare(
      "INSERT INTO audit_entry (no, digest, body, mac) VALUES (?, unhex(?), ?, unhex(?))",
    );
  }

  head(): AuditHead {
    return (this.#head.get() as AuditHead | undefined) ?? auditBeginning;
  }

  /** Returns the number of the first entry. */
  append({ at, events, chain }: Pick<UserChange, "at" | "events" | "chain">): number {
    let head = this.head();
    const number = head.number + 1;
    for (const row of chain?.rows ?? chainOf(head, at, events)) {
      this.#insertEntry.run(row.number, row.digest, row.body, row.mac ?? null);
      head = row;
    }
    this.#moveHead.run(head.number, head.digest);
    return number;
  }
}
