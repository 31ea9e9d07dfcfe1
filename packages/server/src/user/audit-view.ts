import { formatInstant } from "../kernel/calendar.ts";
import type { Actor, AuditEntry } from "./audit.ts";

const actorTypes = {
  person: "user",
  key: "key",
  server: "server",
  nobody: "anonymous",
} as const satisfies Record<Actor["kind"], string>;

/** The JSON format of an entry, at `/__cofre/audit` and in `cofre audit --json`. */
export interface ShownEntry {
  readonly number: number;
  readonly at: string;
  /** The name of a user, or `key`, `server` or `anonymous`. */
  readonly actor: string;
  readonly actor_type: (typeof actorTypes)[Actor["kind"]];
  readonly origin: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly result: Exclude<AuditEntry["result"], "asked"> | "started";
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
  of,
  detail,
  digest,
}: AuditEntry): ShownEntry {
  return {
    number,
    at: formatInstant(at),
    actor: actor.kind === "person" ? actor.name : actorTypes[actor.kind],
    actor_type: actorTypes[actor.kind],
    origin: origin ?? null,
    action: action,
    target: target ?? null,
    result: result === "asked" ? "started" : result,
    completes: of ?? null,
    detail: detail ?? null,
    digest,
  };
}
