import { formatInstant } from "../kernel/calendar.ts";
import type { AuditEntry } from "./audit.ts";

/** The JSON format of an entry, at `/__cofre/audit` and in `cofre audit --json`. */
export interface ShownEntry {
  readonly number: number;
  readonly at: string;
  readonly who: string;
  readonly is_person: boolean;
  readonly origin: string | null;
  readonly act: string;
  readonly target: string | null;
  readonly result: AuditEntry["result"];
  readonly of: number | null;
  readonly detail: string | null;
  readonly digest: string;
}

export function shownEntry({
  number,
  at,
  actor,
  origin,
  act,
  target,
  result,
  of,
  detail,
  digest,
}: AuditEntry): ShownEntry {
  return {
    number,
    at: formatInstant(at),
    who: actor.kind === "person" ? actor.name : actor.kind,
    is_person: actor.kind === "person",
    origin: origin ?? null,
    act,
    target: target ?? null,
    result,
    of: of ?? null,
    detail: detail ?? null,
    digest,
  };
}
