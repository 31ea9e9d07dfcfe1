import type { Instant } from "../kernel/instant.ts";
import type { Secret } from "../kernel/secret.ts";
import type { AuditHead } from "../user/audit-chain.ts";
import type { Act, AuditEntry } from "../user/audit.ts";
import type { PersonId, PersonView, Role } from "../user/user.ts";

/**
 * Why something about people is refused. The message is fixed text and says nothing of what was
 * given.
 */
export class PeopleError extends Error {
  override readonly name = "PeopleError";
  readonly code:
    | "not_signed_in"
    /**
     * Name, password or code is wrong, or the name is locked, disabled or unknown: one answer for
     * all.
     */
    | "sign_in_refused"
    /** Too many sign-ins are being checked at once. */
    | "busy"
    /** Too many wrong ones came from there, or in all: nothing was looked at. */
    | "held_back"
    | "no_invitation"
    /** Shorter than 12 characters, longer than 128, holds the name, or is one of the last four. */
    | "password_refused"
    /** The six digits do not fit the secret, or were used before. */
    | "code_refused"
    | "name_refused"
    | "name_taken"
    | "no_such_person"
    /** The last active admin cannot be disabled or become less. */
    | "last_admin";

  /** Of `held_back`: when it is worth trying again. */
  readonly waitMs: number | undefined;

  constructor(code: PeopleError["code"], waitMs?: number) {
    super(code);
    this.code = code;
    this.waitMs = waitMs;
  }
}

/** A session that has begun. */
export interface Begun {
  /** Goes into the cookie and is kept nowhere but as its SHA-256. */
  readonly session: Secret<string>;
  readonly signedIn: SignedIn;
  /** For the browser to bring along when it signs in again (known-browser.ts). */
  readonly mark: Secret<string>;
}

/** Somebody who is signed in. */
export interface SignedIn {
  readonly person: PersonView;
  /**
   * What a request must bring in a header beside the cookie; derived from the session, different
   * for each.
   */
  readonly csrf: string;
  /**
   * When the session ends unless something is asked for before: 15 minutes after the last request.
   */
  readonly idleUntil: Instant;
  /** When it ends at the latest: 12 hours after it began. */
  readonly endsAt: Instant;
}

/** What an invited person needs to set up an authenticator app. */
export interface Enrolment {
  readonly name: string;
  readonly role: Role;
  /** Base32, for typing. */
  readonly secret: string;
  /** otpauth://totp/... */
  readonly uri: string;
}

/**
 * People who use the console, their sessions, and the audit log. Every method that changes
 * something writes its act into the audit log together with it. All reject with PeopleError, or
 * with ServiceError `store_unavailable`; when an act cannot be written down, what it was to change
 * is not changed.
 */
export interface People {
  /**
   * `marks`: what the browser was given when somebody signed in with it before. `held_back` is told
   * without a look at anything else.
   */
  signIn(given: {
    readonly name: string;
    readonly password: string;
    readonly code: string;
    readonly origin: string;
    readonly marks?: readonly string[];
  }): Promise<Begun>;
  /**
   * Who this session is of; `not_signed_in` when there is none, it has ended, or the person is
   * disabled. Moves its idle end when somebody does something (`isAct`, true unless given), and not
   * when a page that nobody has touched asks again.
   */
  resume(session: string, isAct?: boolean): Promise<SignedIn>;
  /** Ends the session; not an error when there is none. */
  signOut(session: string, origin: string): Promise<void>;

  /**
   * What an invitation's link is for; the same secret each time until it is used. `no_invitation`
   * when it is unknown, used, or over.
   */
  enrolment(invitation: string): Promise<Enrolment>;
  /**
   * Sets the invited person's password, with a code of the secret that they were shown, and signs
   * them in.
   */
  enrol(given: {
    readonly invitation: string;
    readonly password: string;
    readonly code: string;
    readonly origin: string;
  }): Promise<Begun>;
  /** Of one's own, with the password and a code; ends all other sessions of the person. */
  changePassword(given: {
    readonly session: string;
    readonly password: string;
    readonly code: string;
    readonly newPassword: string;
    readonly origin: string;
  }): Promise<void>;

  /** All people, in the order of their names. */
  list(): Promise<readonly PersonView[]>;
  /** A new person, and the secret of their link: shown once, works for 24 hours. */
  invite(
    by: SignedIn,
    given: { readonly name: string; readonly role: Role; readonly origin: string },
  ): Promise<{
    readonly person: PersonView;
    readonly invitation: Secret<string>;
  }>;
  /**
   * Takes password, authenticator and sessions away, and gives a new link. For whoever lost one of
   * them, and to let a disabled person in again.
   */
  inviteAgain(
    by: SignedIn,
    id: PersonId,
    origin: string,
  ): Promise<{ readonly person: PersonView; readonly invitation: Secret<string> }>;
  setRole(by: SignedIn, id: PersonId, role: Role, origin: string): Promise<PersonView>;
  /** Ends all sessions of the person; nobody signs in with that name any more. */
  disable(by: SignedIn, id: PersonId, origin: string): Promise<PersonView>;
  /** Lets a locked name try again. */
  unlock(by: SignedIn, id: PersonId, origin: string): Promise<PersonView>;

  /**
   * At a start: an invitation for an admin when there is no active one (a new person `admin`, or
   * the one invited before, with a new link), or when `force` says that all of them have lost their
   * way in. undefined when it is not needed.
   */
  inviteFirstAdmin(force: boolean): Promise<Secret<string> | undefined>;

  /** Writes one entry down, durably, and gives its number. Whoever is refused here does nothing. */
  record(act: Act): Promise<number>;
  /**
   * Entries with numbers below `before` (the newest when undefined), from the greatest down, at
   * most `limit`.
   */
  audit(before: number | undefined, limit: number): Promise<readonly AuditEntry[]>;
  /**
   * Recomputes the chain from its beginning in pieces; the number of the first entry that does not
   * fit, or undefined when all do. `head`: the last that does.
   */
  verifyAudit(): Promise<{
    readonly entries: number;
    readonly firstBad: number | undefined;
    readonly head: AuditHead;
  }>;
}
