import { type AuditHead, auditBeginning, follows } from "./audit-chain.ts";
import type { UserStore } from "./user-store.ts";

/** Read access to the log. All methods reject with StoreError. */
export type AuditLog = Pick<UserStore, "auditAfter" | "auditHead" | "userByName" | "isGenuine">;

const piece = 1_000;

export type AuditFault =
  /** The entry is not the one that followed its predecessor. */
  | { readonly kind: "broken"; readonly entry: number }
  /** The entry was written by a program without the keys of the installation. */
  | { readonly kind: "forged"; readonly entry: number }
  /** Entries from this one on are missing: the log's own head or a noted head is later. */
  | { readonly kind: "truncated"; readonly entry: number }
  /** The chain gives another digest than the one noted for this entry: the chain was recomputed. */
  | { readonly kind: "rewritten"; readonly entry: number };

export interface VerifiedAudit {
  /** Number of entries read: up to the fault, or all. */
  readonly entries: number;
  /** The last of them. */
  readonly head: AuditHead;
  /** The first fault; undefined when the log is intact. */
  readonly fault: AuditFault | undefined;
  /** The highest noted head that matches; undefined when none does. */
  readonly matchingHead: AuditHead | undefined;
}

/**
 * Recomputes the chain from its beginning, in pages, and compares it with heads that an auditor
 * noted earlier outside the log, in any order.
 */
export async function verifyAuditLog(
  log: AuditLog,
  storedHeads: readonly AuditHead[] = [],
): Promise<VerifiedAudit> {
  // Entries appended from now on come after this head.
  const own = await log.auditHead();
  const heads = new Map<number, AuditHead[]>();
  for (const head of storedHeads) heads.set(head.number, [...(heads.get(head.number) ?? []), head]);
  let head: AuditHead = auditBeginning;
  let matchingHead: AuditHead | undefined;
  const found = (fault: AuditFault | undefined): VerifiedAudit => ({
    entries: head.number,
    head,
    fault,
    matchingHead,
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
        matchingHead = each;
      }
      head = { number: row.number, digest: row.digest };
    }
    if (rows.length < piece) break;
  }
  const lastNumber = Math.max(own.number, ...heads.keys());
  return found(
    head.number < lastNumber ? { kind: "truncated", entry: head.number + 1 } : undefined,
  );
}

/** `NUMBER:DIGEST`, to be noted outside the log. */
export function headText({ number, digest }: AuditHead): string {
  return `${number}:${digest}`;
}

/** undefined when the text is not a head. */
export function headOf(text: string): AuditHead | undefined {
  const [, number, digest = ""] = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text) ?? [];
  return number === undefined || Number(number) < 1
    ? undefined
    : { number: Number(number), digest };
}
