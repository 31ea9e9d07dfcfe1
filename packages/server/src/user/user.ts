import { day, type Instant } from "../kernel/instant.ts";

/** Sixteen random hex characters. */
export type UserId = string & { readonly brand: "person" };

/**
 * Permissions in the console, each role including the one before: view (`viewer`), move money and
 * replay notifications (`operator`), change settings, users, worlds and faults and read the audit
 * log (`admin`).
 */
export type Role = "viewer" | "operator" | "admin";

export const roles: readonly Role[] = ["viewer", "operator", "admin"];

/** Whether `role` includes the permissions of `needed`. */
export function mayDo(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** A user who has not signed in for this long can no longer sign in (PCI DSS 8.2.6). */
export const inactiveMs = 90 * day;

/** The data of a user that other users may see. */
export interface UserView {
  readonly id: UserId;
  /** The sign-in name; unique without regard to letter case. */
  readonly name: string;
  readonly role: Role;
  /**
   * `invited`: has a link and no password yet. `disabled`: cannot sign in; stays in the audit log.
   */
  readonly state: "invited" | "active" | "disabled";
  readonly createdAt: Instant;
  readonly lastSignedInAt: Instant | undefined;
  /** Sign-in with this name is locked until then, after too many failed attempts. */
  readonly lockedUntil: Instant | undefined;
}
