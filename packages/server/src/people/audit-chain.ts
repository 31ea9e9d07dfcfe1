import { sha256Hex } from "../kernel/digest.ts";
import { type Instant, instant } from "../kernel/instant.ts";
import type { Act, Actor, AuditEntry } from "./audit.ts";

/**
 * The chain of the audit log: SHA-256 over the digest before, the entry's number, and its body. The body is what the digest was taken of and what
 * is kept, character by character, so the stores need not agree on how a column is written.
 */
export interface AuditRow {
  /** Counts up from 1 without a gap. */
  readonly number: number;
  /** JSON of an act and its time, as `bodyOf` writes it. */
  readonly body: string;
  /** 64 lower-case hex characters. */
  readonly digest: string;
}

/** The last entry, kept apart: entries that were cut off behind it are missed. */
export type AuditHead = Pick<AuditRow, "number" | "digest">;

/** What the first entry follows. */
export const auditBeginning: AuditHead = { number: 0, digest: "0".repeat(64) };

/** JSON with its members in one order; those without a value are left out. */
export function bodyOf(at: Instant, { actor, origin, act, target, result, of, detail }: Act): string {
  return JSON.stringify({ at, actor: actorOf(actor), origin, act, target, result, of, detail });
}

export function nextInChain(head: AuditHead, body: string): AuditRow {
  const number = head.number + 1;
  return { number, body, digest: sha256Hex(`${head.digest} ${number} ${body}`) };
}

/** Whether `row` is the one that follows `head`, as it was written. */
export function follows(head: AuditHead, row: AuditRow): boolean {
  const next = nextInChain(head, row.body);
  return row.number === next.number && row.digest === next.digest;
}

/** One that somebody has made unreadable is shown as such: the chain says that it was. */
export function entryOf({ number, body, digest }: AuditRow): AuditEntry {
  const { at = 0, actor, origin, act, target, result, of, detail } = parsed(body);
  return {
    number,
    at: instant(at),
    actor: actor ?? { kind: "nobody" },
    origin,
    act: act ?? "unreadable",
    target,
    result: result ?? "unknown",
    of,
    detail,
    digest,
  };
}

function parsed(body: string): Partial<Act> & { readonly at?: number } {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Without what else whoever gave it may have put there. */
function actorOf(actor: Actor): Actor {
  return actor.kind === "person" ? { kind: "person", id: actor.id, name: actor.name } : { kind: actor.kind };
}
