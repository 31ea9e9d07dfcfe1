import { sha256Hex } from "../kernel/digest.ts";
import { type Instant, instant } from "../kernel/instant.ts";
import type { AuditEvent, Actor, AuditEntry } from "./audit.ts";
import type { UserId } from "./user.ts";

/**
 * The hash chain of the audit log: SHA-256 over the previous digest, the entry's number, and its
 * body. The body is stored exactly as it was hashed, so the stores need not agree on a column
 * format.
 */
export interface AuditRow {
  /** Counts up from 1 without a gap. */
  readonly number: number;
  /** JSON of an event and its time, as created by `bodyOf`. */
  readonly body: string;
  /** 64 lower-case hex characters. */
  readonly digest: string;
  /**
   * Covers the number and the digest, in hex (checked-users.ts). Undefined on an entry of an
   * earlier version.
   */
  readonly mac?: string | undefined;
}

/**
 * The last entry, stored separately, so that entries deleted at the end of the log are detected.
 */
export type AuditHead = Pick<AuditRow, "number" | "digest">;

/** The head before the first entry. */
export const auditBeginning: AuditHead = { number: 0, digest: "0".repeat(64) };

/**
 * JSON with its members in a fixed order, without undefined ones. Entries are kept unchanged, so
 * some members and values have the names of the first version: `act`, `of`, `asked`, `person` and
 * `nobody`.
 */
export function bodyOf(
  at: Instant,
  { actor, origin, action: act, target, result, completes: of, detail }: AuditEvent,
): string {
  return JSON.stringify({
    at,
    actor: storedActor(actor),
    origin,
    act,
    target,
    result: storedResults[result],
    of,
    detail,
  });
}

export function nextInChain(head: AuditHead, body: string): AuditRow {
  const number = head.number + 1;
  return { number, body, digest: sha256Hex(`${head.digest} ${number} ${body}`) };
}

/** The entries of these events after a head, without MACs. */
export function chainOf(
  after: AuditHead,
  at: Instant,
  events: readonly AuditEvent[],
): readonly AuditRow[] {
  const rows: AuditRow[] = [];
  for (const event of events) rows.push(nextInChain(rows.at(-1) ?? after, bodyOf(at, event)));
  return rows;
}

export function isSameHead(one: AuditHead, other: AuditHead): boolean {
  return one.number === other.number && one.digest === other.digest;
}

/** Whether `row` is the entry that was appended to `head`. */
export function follows(head: AuditHead, row: AuditRow): boolean {
  const next = nextInChain(head, row.body);
  return row.number === next.number && row.digest === next.digest;
}

/**
 * An entry that was made unreadable, in part or completely, is shown as far as possible: the chain
 * reports the change.
 */
export function entryOf({ number, body, digest }: AuditRow): AuditEntry {
  const { at, actor, origin, act, target, result, of, detail } = parsed(body);
  return {
    number,
    at: instant(typeof at === "number" && at >= 0 && at <= endOfTime ? Math.trunc(at) : 0),
    actor: actorOf(actor),
    origin: textOf(origin),
    action: textOf(act) ?? "unreadable",
    target: textOf(target),
    result: results.find((each) => storedResults[each] === result) ?? "unknown",
    completes: typeof of === "number" ? of : undefined,
    detail: textOf(detail),
    digest,
  };
}

const storedResults = {
  started: "asked",
  done: "done",
  refused: "refused",
  unknown: "unknown",
} as const satisfies Record<AuditEvent["result"], string>;
const results: readonly AuditEvent["result"][] = ["started", "done", "refused", "unknown"];
/** 9999-12-31T23:59:59.999Z. */
const endOfTime = 253_402_300_799_999;

function parsed(body: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(body);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** A stored actor that is unreadable is shown as anonymous. */
function actorOf(stored: unknown): Actor {
  if (!isObject(stored)) return { kind: "anonymous" };
  const { kind, id, name } = stored;
  if (kind === "person" && typeof id === "string" && typeof name === "string")
    return { kind: "user", id: id as UserId, name };
  return { kind: kind === "server" || kind === "key" ? kind : "anonymous" };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Without any other properties of the input. */
function storedActor(actor: Actor): object {
  if (actor.kind === "user") return { kind: "person", id: actor.id, name: actor.name };
  return { kind: actor.kind === "anonymous" ? "nobody" : actor.kind };
}
