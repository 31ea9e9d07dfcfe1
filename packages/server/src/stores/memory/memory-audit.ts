import { auditBeginning, type AuditHead, type AuditRow, chainOf } from "../../user/audit-chain.ts";
import type { KeyChange } from "../key-record-store.ts";

/** The audit log of users and key records that last as long as the process. */
export class MemoryAudit {
  readonly #rows: AuditRow[] = [];

  get head(): AuditHead {
    return this.#rows.at(-1) ?? auditBeginning;
  }

  get length(): number {
    return this.#rows.length;
  }

  /** Entries of these positions, which count from 0. */
  slice(from: number, to: number): readonly AuditRow[] {
    return this.#rows.slice(from, to);
  }

  /** Returns the number of the first entry. */
  append({ at, events, chain }: Pick<KeyChange, "at" | "events" | "chain">): number {
    const number = this.head.number + 1;
    this.#rows.push(...(chain?.rows ?? chainOf(this.head, at, events)));
    return number;
  }
}
