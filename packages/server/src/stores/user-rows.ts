import { type Instant, instant } from "../kernel/instant.ts";
import type { AuditRow } from "../user/audit-chain.ts";
import type { UserStore, UserRecord, SessionRecord } from "../user/user-store.ts";
import type { UserId, UserView, Role } from "../user/user.ts";

/** A user as both SQL stores read it; ids and digests are hex. */
export interface UserRow {
  readonly id: string;
  readonly version: number;
  readonly name: string;
  readonly role: Role;
  readonly state: UserView["state"];
  readonly created_at: number;
  readonly last_signed_in_at: number | null;
  readonly passwords: string;
  readonly totp: string | null;
  readonly totp_step: number;
  readonly failures: number;
  readonly locked_until: number | null;
  readonly invitation: string | null;
  readonly invitation_ends_at: number | null;
  readonly mac: string | null;
}

export interface SessionRow {
  readonly started_at: number;
  readonly last_used_at: number;
  readonly ends_at: number;
  readonly session_mac: string | null;
}

/** A session with its user. */
export type SignedInRow = UserRow & SessionRow;

export function userFromRow(row: UserRow): UserRecord {
  const { id, version, name, role, state, failures } = row;
  return {
    id: id as UserId,
    version,
    name,
    role,
    state,
    createdAt: instant(row.created_at),
    lastSignedInAt: optional(row.last_signed_in_at),
    passwords: JSON.parse(row.passwords) as readonly string[],
    totp: row.totp === null ? undefined : Uint8Array.from(Buffer.from(row.totp, "hex")),
    totpStep: row.totp_step,
    failures,
    lockedUntil: optional(row.locked_until),
    invitation:
      row.invitation === null || row.invitation_ends_at === null
        ? undefined
        : { digest: row.invitation, endsAt: instant(row.invitation_ends_at) },
    ...macOf(row.mac),
  };
}

export function sessionFromRow(
  digest: string,
  row: SignedInRow,
): NonNullable<Awaited<ReturnType<UserStore["session"]>>> {
  const user = userFromRow(row);
  const session: SessionRecord = {
    digest,
    userId: user.id,
    startedAt: instant(row.started_at),
    lastUsedAt: instant(row.last_used_at),
    endsAt: instant(row.ends_at),
    ...macOf(row.session_mac),
  };
  return { session, user };
}

/** An audit log entry as both SQL stores read it. */
export interface AuditEntryRow extends Omit<AuditRow, "mac"> {
  readonly mac: string | null;
}

export function entryFromRow({ number, body, digest, mac }: AuditEntryRow): AuditRow {
  return { number, body, digest, ...(mac === null ? {} : { mac }) };
}

function macOf(hex: string | null): { readonly mac?: Uint8Array } {
  return hex === null ? {} : { mac: Uint8Array.from(Buffer.from(hex, "hex")) };
}

function optional(at: number | null): Instant | undefined {
  return at === null ? undefined : instant(at);
}
