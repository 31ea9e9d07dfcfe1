import type { Instant } from "../kernel/instant.ts";
import type { Secret } from "../kernel/secret.ts";
import type { AuditHead } from "../user/audit-chain.ts";
import type { AuditEvent, AuditEntry } from "../user/audit.ts";
import type { UserId, UserView, Role } from "../user/user.ts";

/** A refusal concerning users. The message is fixed text and does not quote the input. */
export class UserError extends Error {
  override readonly name = "UserError";
  readonly code:
    | "not_signed_in"
    /** Wrong name, password or code, or a locked, disabled or unknown name: one answer for all. */
    | "sign_in_refused"
    /** Too many sign-ins are being verified at once. */
    | "busy"
    /**
     * Rate-limited: too many failed attempts from this network, or in total. Nothing was verified.
     */
    | "rate_limited"
    | "no_invitation"
    /**
     * Shorter than 12 characters, longer than 128, contains the name, or is one of the last four.
     */
    | "password_refused"
    /** The six digits do not match the secret, or were used before. */
    | "code_refused"
    | "name_refused"
    | "name_taken"
    | "no_such_user"
    /** The last active admin cannot be disabled or demoted. */
    | "last_admin";

  /** For `rate_limited`: time until the next attempt can be accepted. */
  readonly waitMs: number | undefined;

  constructor(code: UserError["code"], waitMs?: number) {
    super(code);
    this.code = code;
    this.waitMs = waitMs;
  }
}

/** The link's secret is not kept. */
export interface InvitedAdmin {
  readonly name: string;
  readonly invitation: Secret<string>;
  /** When the link ends. */
  readonly endsAt: Instant;
}

/** A new session. */
export interface NewSession {
  /** The value of the cookie; stored only as its SHA-256. */
  readonly session: Secret<string>;
  readonly signedIn: Session;
  /** The device cookie that the browser sends when it signs in again (device-cookie.ts). */
  readonly deviceCookie: Secret<string>;
}

/** A user with a session. */
export interface Session {
  readonly user: UserView;
  /**
   * The value that a request must have in a header besides the cookie; derived from the session,
   * different for each.
   */
  readonly csrf: string;
  /** When the session ends without a further request: 15 minutes after the last one. */
  readonly idleUntil: Instant;
  /** When it ends at the latest: 12 hours after it began. */
  readonly endsAt: Instant;
}

/** The data that an invited user needs to set up an authenticator app. */
export interface Enrolment {
  readonly name: string;
  readonly role: Role;
  /** Base32, for manual entry. */
  readonly secret: string;
  /** otpauth://totp/... */
  readonly uri: string;
}

/**
 * Users of the console, their sessions, and the audit log. Every method that changes something
 * appends its event to the audit log in the same transaction; when the event cannot be recorded,
 * nothing is changed. All reject with UserError, or with ServiceError `store_unavailable`.
 */
export interface Users {
  /**
   * `deviceCookies`: the browser's device cookies from earlier sign-ins. `rate_limited` is returned before
   * anything is verified.
   */
  signIn(given: {
    readonly name: string;
    readonly password: string;
    readonly code: string;
    readonly origin: string;
    readonly deviceCookies?: readonly string[];
  }): Promise<NewSession>;
  /**
   * The user of a session; `not_signed_in` when it does not exist or has ended, or the user is
   * disabled. Extends the idle time for user activity (`isActivity`, true by default), and not for
   * automatic requests of an idle page.
   */
  resume(session: string, isActivity?: boolean): Promise<Session>;
  /** Ends the session; not an error when it does not exist. */
  signOut(session: string, origin: string): Promise<void>;

  /**
   * The enrolment data for an invitation; the same secret each time until it is used.
   * `no_invitation` when it is unknown, used, or expired.
   */
  enrolment(invitation: string): Promise<Enrolment>;
  /**
   * Sets the invited user's password, verifies a code of the secret that was shown, and signs the
   * user in.
   */
  enrol(given: {
    readonly invitation: string;
    readonly password: string;
    readonly code: string;
    readonly origin: string;
  }): Promise<NewSession>;
  /**
   * Changes one's own password, with the present password and a code; ends all other sessions of
   * the user.
   */
  changePassword(given: {
    readonly session: string;
    readonly password: string;
    readonly code: string;
    readonly newPassword: string;
    readonly origin: string;
  }): Promise<void>;

  /** All users, ordered by name. */
  list(): Promise<readonly UserView[]>;
  /** Creates a user; `invitation` is the secret of the link: shown once, valid for 24 hours. */
  invite(
    by: Session,
    given: { readonly name: string; readonly role: Role; readonly origin: string },
  ): Promise<{
    readonly user: UserView;
    readonly invitation: Secret<string>;
  }>;
  /**
   * Removes password, authenticator and sessions, and issues a new link. For a user who lost one of
   * them, and to enable a disabled user again.
   */
  inviteAgain(
    by: Session,
    id: UserId,
    origin: string,
  ): Promise<{ readonly user: UserView; readonly invitation: Secret<string> }>;
  setRole(by: Session, id: UserId, role: Role, origin: string): Promise<UserView>;
  /** Ends all sessions of the user and disables sign-in with that name. */
  disable(by: Session, id: UserId, origin: string): Promise<UserView>;
  /** Removes the lock of a name. */
  unlock(by: Session, id: UserId, origin: string): Promise<UserView>;

  /**
   * At startup: an invitation for an admin when there is no active one (a new user `admin`, or the
   * one invited before, with a new link), or when `force` says that all admins lost access.
   * undefined when it is not needed.
   */
  inviteFirstAdmin(force: boolean): Promise<Secret<string> | undefined>;

  /**
   * Invites an admin of each name: a new user, or one who has not enrolled yet, with a new link.
   * None when as many admins are active already. Rejects with UserError when a name is refused or
   * taken.
   */
  inviteAdmins(names: readonly string[]): Promise<readonly InvitedAdmin[]>;

  /**
   * Appends one entry durably and returns its number. When this rejects, the caller must not act.
   */
  record(event: AuditEvent): Promise<number>;
  /**
   * Entries with numbers below `before` (the newest when undefined), in descending order, at most
   * `limit`.
   */
  audit(before: number | undefined, limit: number): Promise<readonly AuditEntry[]>;
  /**
   * Recomputes the chain from its beginning in pages. Returns the number of the first entry that
   * does not match, or undefined when all do. `head`: the last that does.
   */
  verifyAudit(): Promise<{
    readonly entries: number;
    readonly firstBad: number | undefined;
    readonly head: AuditHead;
  }>;
}
