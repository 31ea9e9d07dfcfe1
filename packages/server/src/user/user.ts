import { day, type Instant } from "../kernel/instant.ts";

/** Sixteen hex characters, drawn at random. */
export type PersonId = string & { readonly brand: "person" };

/**
 * What a person may do in the console, each one more than the one before: look (`viewer`), move
 * money and send notifications again (`operator`), change settings, people, worlds and faults and
 * read the audit log (`admin`).
 */
export type Role = "viewer" | "operator" | "admin";

export const roles: readonly Role[] = ["viewer", "operator", "admin"];

/** true: whoever has `role` may do what asks for `needed`. */
export function mayDo(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}

/** Whoever has not signed in for so long does so no more (PCI DSS 8.2.6). */
export const forgottenMs = 90 * day;

/** What others may see of a person. */
export interface PersonView {
  readonly id: PersonId;
  /** What they sign in with; unique without regard to letter case. */
  readonly name: string;
  readonly role: Role;
  /**
   * `invited`: has a link and no password yet. `disabled`: cannot sign in; stays in the audit log.
   */
  readonly state: "invited" | "active" | "disabled";
  readonly createdAt: Instant;
  readonly lastSignedInAt: Instant | undefined;
  /** Nobody signs in with this name until then, after too many wrong tries. */
  readonly lockedUntil: Instant | undefined;
}
