import { type AuditHead, auditBeginning, follows } from "./audit-chain.ts";
import type { PeopleStore } from "./user-store.ts";

/** The log as somebody reads it who writes nothing. All methods reject with StoreError. */
export type AuditLog = Pick<PeopleStore, "auditAfter" | "auditHead" | "personByName" | "isGenuine">;

const piece = 1_000;

export type AuditFault =
  /** The entry is not the one that followed the one before. */
  | { readonly kind: "broken"; readonly entry: number }
  /** The entry was written by a program without the keys of the installation. */
  | { readonly kind: "forged"; readonly entry: number }
  /**
   * From this one on entries are missing that were there: the log's own head says so, or a noted
   * one.
   */
  | { readonly kind: "cut"; readonly entry: number }
  /** The chain leads to another digest than was noted of this entry: it was computed anew. */
  | { readonly kind: "rewritten"; readonly entry: number };

export interface VerifiedAudit {
  /** Those that were read up to the fault, or all. */
  readonly entries: number;
  /** The last one of them. */
  readonly head: AuditHead;
  /** The first one; undefined when the log is whole. */
  readonly fault: AuditFault | undefined;
  /** The greatest of the noted heads that was found as it was noted; undefined when none was. */
  readonly fits: AuditHead | undefined;
}

/**
 * Recomputes the chain from its beginning, in pieces, and compares it with heads that somebody
 * noted earlier elsewhere, in any order.
 */
export async function verifyAuditLog(
  log: AuditLog,
  noted: readonly AuditHead[] = [],
): Promise<VerifiedAudit> {
  // What is appended meanwhile comes behind this one.
  const own = await log.auditHead();
  const heads = new Map<number, AuditHead[]>();
  for (const head of noted) heads.set(head.number, [...(heads.get(head.number) ?? []), head]);
  let head: AuditHead = auditBeginning;
  let fits: AuditHead | undefined;
  const found = (fault: AuditFault | undefined): VerifiedAudit => ({
    entries: head.number,
    head,
    fault,
    fits,
  });
  for (;;) {
    const rows = await log.auditAfter(head.number, piece);
    for (const row of rows) {
      const entry = head.number + 1;
      if (!follows(head, row) || (row.number === own.number && row.digest !== own.digest))
        return found({ kind: "broken", entry });
      if (log.isGenuine?.(row) === false) return found({ kind: "forged", entry });
      for (const each of heads.get(entry) ?? []) {
        if (each.digest !== row.digest) return found({ kind: "rewritten", entry });
        fits = each;
      }
      head = { number: row.number, digest: row.digest };
    }
    if (rows.length < piece) break;
  }
  const most = Math.max(own.number, ...heads.keys());
  return found(head.number < most ? { kind: "cut", entry: head.number + 1 } : undefined);
}

/** `NUMBER:DIGEST`, to be kept elsewhere. */
export function headText({ number, digest }: AuditHead): string {
  return `${number}:${digest}`;
}

/** undefined when it is no head. */
export function headOf(text: string): AuditHead | undefined {
  const [, number, digest = ""] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  return number === undefined || Number(number) < 1
    ? undefined
    : { number: Number(number), digest };
}
