import { formatInstant } from "../kernel/calendar.ts";
import type { Actor, AuditEntry } from "./audit.ts";

/** The JSON format of an entry, at `/__cofre/audit` and in `cofre audit --json`. */
export interface ShownEntry {
  readonly number: number;
  readonly at: string;
  /** The name of a user, or `key`, `server` or `anonymous`. */
  readonly actor: string;
  readonly actor_type: Actor["kind"];
  readonly origin: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly result: AuditEntry["result"];
  /** The number of the `started` entry that this entry completes. */
  readonly completes: number | null;
  readonly detail: string | null;
  readonly digest: string;
}

export function shownEntry({
  number,
  at,
  actor,
  origin,
  action,
  target,
  result,
  completes,
  detail,
  digest,
}: AuditEntry): ShownEntry {
  return {
    number,
    at: formatInstant(at),
    actor: actor.kind === "user" ? actor.name : actor.kind,
    actor_type: actor.kind,
    origin: origin ?? null,
    action,
    target: target ?? null,
    result,
    completes: completes ?? null,
    detail: detail ?? null,
    digest,
  };
}
