import { createHmac } from "node:crypto";
import { sha256Hex } from "../kernel/digest.ts";
import type { Clock } from "../kernel/clock.ts";
import { isGuessable } from "../kernel/guessable.ts";
import { hexOf } from "../kernel/ids.ts";
import { hour, type Instant, laterBy, minute } from "../kernel/instant.ts";
import type { Random } from "../kernel/random.ts";
import { Secret } from "../kernel/secret.ts";
import { ServiceError } from "../payment/service-error.ts";
import { StoreError } from "../stores/store.ts";
import type { Sealing } from "../vault/sealed-secret.ts";
import { entryOf } from "../user/audit-chain.ts";
import { verifyAuditLog } from "../user/audit-log.ts";
import type { UserAction, AuditEvent, Actor, AuditEntry } from "../user/audit.ts";
import { browserOfDeviceCookie, deviceCookieText, userOfDeviceCookie } from "./device-cookie.ts";
import {
  type Enrolment,
  type InvitedAdmin,
  type NewSession,
  type Session,
  UserError,
  type Users,
} from "./users.ts";
import {
  nameKeyOf,
  type UserChange,
  type UserStore,
  type UserRecord,
  type SessionRecord,
} from "../user/user-store.ts";
import { inactiveMs, mayDo, type UserId, type UserView, type Role } from "../user/user.ts";
import { holdsName, normalizedPassword, type Passwords } from "./password.ts";
import { SignInLimits } from "./sign-in-limits.ts";
import { base32Of, stepOfCode, totpSecretLength, totpUri } from "./totp.ts";

/** Ten consecutive failures, then half an hour (PCI DSS 8.3.4). */
const maxFailures = 10;
const lockedMs = 30 * minute;
/** PCI DSS 8.2.8. */
const idleMs = 15 * minute;
const sessionMs = 12 * hour;
/**
 * A session's last use is recorded at most this often; a session that is used in between keeps its
 * earlier time.
 */
const useMs = minute;
const invitationMs = 24 * hour;
const passwordsKept = 4;
const secretLength = 32;
/** Most decisions of one change: a change that loses a race is decided again. */
const maxDecisions = 16;
/** Rate-limited attempts are recorded as one entry per this interval. */
const rateLimitedMs = 10 * minute;
const browserLength = 12;
const longestAuditPage = 1_000;

/**
 * ASCII only: no two names look alike, and letter case has one meaning. At least three characters,
 * because a password may not contain the name.
 */
const nameForm = /^[A-Za-z0-9][A-Za-z0-9._@+-]{2,63}$/;
const secretForm = /^[A-Za-z0-9_-]{43}$/;

export interface UserOptions {
  readonly store: UserStore;
  readonly clock: Clock;
  /** Draws secrets: never a seeded generator. */
  readonly random: Random;
  readonly passwords: Passwords;
  /** Seals the secrets of authenticator apps. */
  readonly sealing: Sealing;
  /** `sandbox` or `production`: a secret that was sealed in one does not open in the other. */
  readonly environment: string;
  /** Apps display it. */
  readonly installationName: string;
  /** Returns the text with the middle digits of anything that looks like a card number masked. */
  readonly maskCards: (text: string) => string;
}

export function createUsers(options: UserOptions): Users {
  return new StoredUsers(options);
}

/**
 * A decision: the change to commit, and the caller's result once it is committed. A refusal is
 * committed too, and its `answer` throws.
 */
interface Decision<T> {
  readonly change: Omit<UserChange, "at">;
  readonly answer: () => T;
}

class StoredUsers implements Users {
  readonly #options: UserOptions;
  readonly #limits: SignInLimits;
  /** Attempts since the last entry about them, and the time of that entry. */
  #rateLimited = { attempts: 0, writtenAt: Number.NEGATIVE_INFINITY };

  constructor(options: UserOptions) {
    this.#options = options;
    this.#limits = new SignInLimits(options.clock);
  }

  async signIn({
    deviceCookies = [],
    ...given
  }: Parameters<Users["signIn"]>[0]): Promise<NewSession> {
    const browser = await this.#knownBrowser(given.name, deviceCookies);
    return this.#limited(given.origin, browser, (isKnown) =>
      this.#signIn(given, isKnown ? browser : undefined),
    );
  }

  async #signIn(
    { name, password, code, origin }: Omit<Parameters<Users["signIn"]>[0], "marks">,
    browser: string | undefined,
  ): Promise<NewSession> {
    const given = normalizedPassword(password);
    const find = () => this.#named(name);
    const checked = await this.#checkPassword(given, await find());
    return this.#decide<NewSession>(async (at) => {
      const user = await find();
      const attempt = {
        user,
        at,
        origin,
        action: "sign_in",
        isKnown: browser !== undefined,
      } as const;
      if (user === undefined) return refused(attempt, "unknown_name");
      const verdict = await this.#verify(user, checked, code, at, attempt.isKnown);
      if (typeof verdict === "string") return refused(attempt, verdict);
      const renewed =
        checked.renewed === undefined
          ? user.passwords
          : [checked.renewed, ...user.passwords.slice(1)];
      // The lock of the name remains.
      const right = isLocked(user, at) ? { totpStep: verdict } : successfulAttempt(verdict);
      const next = nextOf(user, { ...right, passwords: renewed, lastSignedInAt: at });
      const detail = attempt.isKnown ? undefined : newBrowser;
      return this.#beginSession(
        user,
        next,
        at,
        [eventOf(actorOf(user), origin, "sign_in", user.id, detail)],
        browser,
      );
    });
  }

  async resume(session: string, isActivity = true): Promise<Session> {
    const { store, clock } = this.#options;
    const at = clock.now();
    const found = await this.#session(session, at);
    if (found === undefined) throw new UserError("not_signed_in");
    let { lastUsedAt } = found.session;
    if (isActivity && at - lastUsedAt >= useMs) {
      // A session whose use cannot be recorded may continue until its idle time is over.
      try {
        await store.useSession(found.session.digest, at);
        lastUsedAt = at;
      } catch (error) {
        if (!(error instanceof StoreError)) throw error;
      }
    }
    return signedInOf(session, { ...found.session, lastUsedAt }, found.user);
  }

  async signOut(session: string, origin: string): Promise<void> {
    const found = await this.#session(session, this.#options.clock.now());
    if (found === undefined) return;
    await this.#commit(this.#options.clock.now(), {
      events: [eventOf(actorOf(found.user), origin, "sign_out", found.user.id)],
      ends: { digest: found.session.digest },
    });
  }

  async enrolment(invitation: string): Promise<Enrolment> {
    const user = await this.#invited(invitation, this.#options.clock.now());
    const secret = await this.#totpSecret(user);
    try {
      return {
        name: user.name,
        role: user.role,
        secret: base32Of(secret),
        uri: totpUri(secret, `Cofre ${this.#options.installationName}`, user.name),
      };
    } finally {
      secret.fill(0);
    }
  }

  async enrol({
    invitation,
    password,
    code,
    origin,
  }: Parameters<Users["enrol"]>[0]): Promise<NewSession> {
    const { passwords, clock } = this.#options;
    const invited = await this.#invited(invitation, clock.now());
    if ((await this.#codeStep(invited, code, clock.now())) === undefined)
      throw new UserError("code_refused");
    const given = await this.#newPassword(invited, password);
    const hash = await passwords.hash(given);
    return this.#decide<NewSession>(async (at) => {
      const user = await this.#invited(invitation, at);
      const step = await this.#codeStep(user, code, at);
      if (step === undefined) throw new UserError("code_refused");
      const next = nextOf(user, {
        ...successfulAttempt(step),
        state: "active",
        passwords: [hash, ...user.passwords].slice(0, passwordsKept),
        invitation: undefined,
        lastSignedInAt: at,
      });
      return this.#beginSession(user, next, at, [
        eventOf(actorOf(user), origin, "enrol", user.id, `role ${user.role}`),
      ]);
    });
  }

  async changePassword(given: Parameters<Users["changePassword"]>[0]): Promise<void> {
    const owner = await this.#session(given.session, this.#options.clock.now());
    if (owner === undefined) throw new UserError("not_signed_in");
    const next = normalizedPassword(given.newPassword);
    if (next === undefined || isGuessable(next) || holdsName(next, owner.user.name))
      throw new UserError("password_refused");
    // Limited like a known browser's attempts; failures also count for the name.
    await this.#limited(given.origin, `session ${owner.session.digest}`, () =>
      this.#changePassword(given, owner, next),
    );
  }

  async #changePassword(
    { session, password, code, origin }: Parameters<Users["changePassword"]>[0],
    owner: { readonly user: UserRecord },
    next: string,
  ): Promise<void> {
    const { passwords } = this.#options;
    const checked = await this.#checkPassword(normalizedPassword(password), owner.user);
    // Without the right password, nothing about earlier passwords is revealed.
    const hash =
      checked.isRight && !(await this.#isOneOf(next, owner.user.passwords))
        ? await passwords.hash(next)
        : undefined;
    await this.#decide<undefined>(async (at) => {
      const found = await this.#session(session, at);
      if (found === undefined) throw new UserError("not_signed_in");
      const { user } = found;
      const verdict = await this.#verify(user, checked, code, at);
      if (typeof verdict === "string")
        return refused({ user, at, origin, action: "change_password" }, verdict);
      if (hash === undefined) throw new UserError("password_refused");
      return {
        change: {
          events: [eventOf(actorOf(user), origin, "change_password", user.id)],
          user: {
            next: nextOf(user, {
              ...successfulAttempt(verdict),
              passwords: [hash, ...user.passwords].slice(0, passwordsKept),
            }),
            replaces: user.version,
          },
          ends: { of: user.id, except: found.session.digest },
        },
        answer: () => undefined,
      };
    });
  }

  async list(): Promise<readonly UserView[]> {
    return (await read(this.#options.store.users())).map(viewOf);
  }

  async invite(by: Session, { name, role, origin }: Parameters<Users["invite"]>[1]) {
    if (!nameForm.test(name) || this.#options.maskCards(name) !== name)
      throw new UserError("name_refused");
    return this.#decide(async (at) => {
      const actor = await this.#admin(by);
      return this.#newUser(name, role, at, actor, origin);
    });
  }

  async inviteAgain(by: Session, id: UserId, origin: string) {
    return this.#decide(async (at) => {
      const actor = await this.#admin(by);
      const user = await this.#existing(id);
      const { change, answer } = await this.#newLink(user, user.role, at, actor, origin);
      return { change: { ...change, keepsAdmin: true as const }, answer };
    });
  }

  setRole(by: Session, id: UserId, role: Role, origin: string): Promise<UserView> {
    return this.#changeOther(
      by,
      id,
      (user) => ({ next: { role }, action: "set_role", detail: `${user.role} to ${role}` }),
      origin,
    );
  }

  disable(by: Session, id: UserId, origin: string): Promise<UserView> {
    const next = { state: "disabled", invitation: undefined, totp: undefined } as const;
    return this.#changeOther(
      by,
      id,
      () => ({ next, action: "disable", endsSessions: true }),
      origin,
    );
  }

  unlock(by: Session, id: UserId, origin: string): Promise<UserView> {
    return this.#changeOther(
      by,
      id,
      () => ({ next: { failures: 0, lockedUntil: undefined }, action: "unlock" }),
      origin,
    );
  }

  async inviteFirstAdmin(force: boolean): Promise<Secret<string> | undefined> {
    for (let number = 1; ; number += 1) {
      try {
        return await this.#inviteFirstAdmin(
          number === 1 ? firstAdmin : `${firstAdmin}-${number}`,
          force,
        );
      } catch (error) {
        // A row of that name was written without the key, and must not prevent the start.
        if (
          !(error instanceof UserError) ||
          error.code !== "name_taken" ||
          number === maxFirstAdmins
        )
          throw error;
      }
    }
  }

  #inviteFirstAdmin(name: string, force: boolean): Promise<Secret<string> | undefined> {
    const server: Actor = { kind: "server" };
    return this.#decide<Secret<string> | undefined>(async (at) => {
      const users = await read(this.#options.store.users());
      const admins = users
        .filter(({ role }) => role === "admin")
        .toSorted((one, other) => one.createdAt - other.createdAt);
      if (!force && admins.some(({ state }) => state === "active")) return undefined;
      const first = users.find(({ name }) => nameKeyOf(name) === firstAdmin);
      const chosen =
        admins.find(({ state }) => state === "invited" && !force) ?? first ?? admins[0];
      const { change, answer } =
        chosen === undefined
          ? await this.#newUser(name, "admin", at, server, undefined)
          : await this.#newLink(chosen, "admin", at, server, undefined);
      return { change, answer: () => answer().invitation };
    });
  }

  async inviteAdmins(names: readonly string[]): Promise<readonly InvitedAdmin[]> {
    const invited: InvitedAdmin[] = [];
    for (const name of names) {
      if (!nameForm.test(name) || this.#options.maskCards(name) !== name)
        throw new UserError("name_refused");
      const admin = await this.#inviteAdmin(name, names.length);
      if (admin !== undefined) invited.push(admin);
    }
    return invited;
  }

  #inviteAdmin(name: string, enough: number): Promise<InvitedAdmin | undefined> {
    const server: Actor = { kind: "server" };
    return this.#decide<InvitedAdmin | undefined>(async (at) => {
      const users = await read(this.#options.store.users());
      const active = users.filter(({ role, state }) => role === "admin" && state === "active");
      const known = users.find((user) => nameKeyOf(user.name) === nameKeyOf(name));
      if (active.length >= enough || (known !== undefined && known.state !== "invited"))
        return undefined;
      const { change, answer } =
        known === undefined
          ? await this.#newUser(name, "admin", at, server, undefined)
          : await this.#newLink(known, "admin", at, server, undefined);
      return {
        change,
        answer: () => ({
          name,
          invitation: answer().invitation,
          endsAt: laterBy(at, invitationMs),
        }),
      };
    });
  }

  async record(event: AuditEvent): Promise<number> {
    return this.#commit(this.#options.clock.now(), { events: [this.#withoutCards(event)] });
  }

  async audit(before: number | undefined, limit: number): Promise<readonly AuditEntry[]> {
    const most = limit >= 1 ? Math.min(Math.trunc(limit), longestAuditPage) : 0;
    return (await read(this.#options.store.auditBefore(before, most))).map(entryOf);
  }

  async verifyAudit(): ReturnType<Users["verifyAudit"]> {
    const { entries, head, fault } = await read(verifyAuditLog(this.#options.store));
    return { entries, firstBad: fault?.entry, head };
  }

  // --- Attempts ----------------------------------------------------------------------------------

  /** `key`: of a known browser or session with its own limit; see sign-in-limits.ts. */
  async #limited<T>(
    origin: string,
    key: string | undefined,
    work: (isKnown: boolean) => Promise<T>,
  ): Promise<T> {
    const allowed = this.#limits.take(origin, key);
    if ("waitMs" in allowed) {
      await this.#recordRateLimited(origin);
      throw new UserError("rate_limited", allowed.waitMs);
    }
    try {
      const done = await work(allowed.isKnown);
      allowed.succeeded();
      return done;
    } catch (error) {
      if (
        error instanceof UserError &&
        (error.code === "busy" || error.code === "password_refused")
      )
        allowed.notEvaluated();
      throw error;
    }
  }

  async #named(name: string): Promise<UserRecord | undefined> {
    return nameForm.test(name) ? read(this.#options.store.userByName(nameKeyOf(name))) : undefined;
  }

  /**
   * The id of a browser with which this user has signed in. Without a device cookie of this user, a
   * known name causes no more work than an unknown one.
   */
  async #knownBrowser(name: string, deviceCookies: readonly string[]): Promise<string | undefined> {
    if (!deviceCookies.some((deviceCookie) => userOfDeviceCookie(deviceCookie) !== undefined))
      return undefined;
    const user = await this.#named(name);
    const own = deviceCookies.find((deviceCookie) => userOfDeviceCookie(deviceCookie) === user?.id);
    if (user?.state !== "active" || own === undefined) return undefined;
    const secret = await this.#totpSecret(user);
    try {
      return browserOfDeviceCookie(secret, user.id, own, this.#options.clock.now());
    } finally {
      secret.fill(0);
    }
  }

  async #newDeviceCookie(
    user: UserRecord,
    browser: string | undefined,
    issuedAt: Instant,
  ): Promise<Secret<string>> {
    const secret = await this.#totpSecret(user);
    try {
      const name = browser ?? hexOf(this.#options.random.bytes(browserLength));
      return new Secret(deviceCookieText(secret, { user: user.id, browser: name, issuedAt }));
    } finally {
      secret.fill(0);
    }
  }

  /** Recorded as one entry per ten minutes, because an entry each would fill the log. */
  async #recordRateLimited(origin: string): Promise<void> {
    const now = this.#options.clock.now();
    const { attempts, writtenAt } = this.#rateLimited;
    if (now >= writtenAt && now - writtenAt < rateLimitedMs) {
      this.#rateLimited = { attempts: attempts + 1, writtenAt };
      return;
    }
    this.#rateLimited = { attempts: 0, writtenAt: now };
    const detail =
      attempts === 0 ? "rate_limited" : `rate_limited, ${attempts} more since the entry before`;
    try {
      await this.#commit(now, {
        events: [eventOf({ kind: "anonymous" }, origin, "sign_in", undefined, detail, "refused")],
      });
    } catch (error) {
      // The attempt stays refused even if it cannot be recorded.
      if (!(error instanceof ServiceError)) throw error;
      this.#rateLimited = { attempts: this.#rateLimited.attempts + attempts + 1, writtenAt };
    }
  }

  // --- Passwords and codes -----------------------------------------------------------------------

  /** Does the same work whether the user exists and may sign in, or not. */
  async #checkPassword(
    given: string | undefined,
    user: UserRecord | undefined,
  ): Promise<CheckedPassword> {
    const { passwords } = this.#options;
    const against = user?.state === "active" ? user.passwords[0] : undefined;
    const matches = await passwords.matches(given ?? "", given === undefined ? undefined : against);
    const isRight = matches && given !== undefined && against !== undefined;
    return {
      against,
      isRight,
      renewed: isRight && passwords.isOld(against) ? await passwords.hash(given) : undefined,
    };
  }

  /** The code's step; or the reason why the attempt fails, which is only in the audit log. */
  async #verify(
    user: UserRecord,
    checked: CheckedPassword,
    code: string,
    at: Instant,
    isKnown = false,
  ): Promise<number | Refusal> {
    if (user.state !== "active") return user.state;
    if (isInactive(user, at)) return "inactive";
    if (!isKnown && isLocked(user, at)) return "locked";
    // Another password was set since: the check was against the previous one.
    if (!checked.isRight || user.passwords[0] !== checked.against) return "wrong_password";
    return (await this.#codeStep(user, code, at)) ?? "wrong_code";
  }

  async #codeStep(user: UserRecord, code: string, at: Instant): Promise<number | undefined> {
    const secret = await this.#totpSecret(user);
    try {
      return stepOfCode(secret, code, at, user.totpStep);
    } finally {
      secret.fill(0);
    }
  }

  async #totpSecret({ id, totp }: UserRecord): Promise<Uint8Array> {
    if (totp === undefined) throw new UserError("no_invitation");
    return this.#options.sealing.open(totp, this.#labelOf(id));
  }

  #labelOf(id: UserId): string {
    return `${this.#options.environment}/people/${id}`;
  }

  /** Returns the form that is hashed. */
  async #newPassword({ name, passwords }: UserRecord, given: string): Promise<string> {
    const password = normalizedPassword(given);
    if (
      password === undefined ||
      isGuessable(password) ||
      holdsName(password, name) ||
      (await this.#isOneOf(password, passwords))
    )
      throw new UserError("password_refused");
    return password;
  }

  async #isOneOf(password: string, hashes: readonly string[]): Promise<boolean> {
    for (const hash of hashes)
      if (await this.#options.passwords.matches(password, hash)) return true;
    return false;
  }

  // --- Users and sessions ------------------------------------------------------------------------

  async #session(
    session: string,
    at: Instant,
  ): Promise<{ readonly session: SessionRecord; readonly user: UserRecord } | undefined> {
    if (!secretForm.test(session)) return undefined;
    const found = await read(this.#options.store.session(sha256Hex(session)));
    if (found === undefined || found.user.state !== "active") return undefined;
    const { lastUsedAt, endsAt } = found.session;
    return at < endsAt && at < laterBy(lastUsedAt, idleMs) ? found : undefined;
  }

  async #invited(invitation: string, at: Instant): Promise<UserRecord> {
    const user = secretForm.test(invitation)
      ? await read(this.#options.store.userByInvitation(sha256Hex(invitation)))
      : undefined;
    if (user?.state !== "invited" || user.invitation === undefined || at >= user.invitation.endsAt)
      throw new UserError("no_invitation");
    return user;
  }

  async #existing(id: UserId): Promise<UserRecord> {
    const user = /^[0-9a-f]{16}$/.test(id) ? await read(this.#options.store.user(id)) : undefined;
    if (user === undefined) throw new UserError("no_such_user");
    return user;
  }

  /** Checked against the present record, not the one of the request's session. */
  async #admin(by: Session): Promise<Actor> {
    const user = await this.#options.store.user(by.user.id);
    if (user?.state !== "active" || !mayDo(user.role, "admin"))
      throw new UserError("not_signed_in");
    return actorOf(user);
  }

  async #beginSession(
    user: UserRecord,
    next: UserRecord,
    at: Instant,
    events: UserChange["events"],
    browser?: string,
  ): Promise<Decision<NewSession>> {
    const secret = this.#secret();
    const deviceCookie = await this.#newDeviceCookie(next, browser, at);
    const begins: SessionRecord = {
      digest: sha256Hex(secret),
      userId: user.id,
      startedAt: at,
      lastUsedAt: at,
      endsAt: laterBy(at, sessionMs),
    };
    return {
      change: { events, user: { next, replaces: user.version }, begins },
      answer: () => ({
        session: new Secret(secret),
        signedIn: signedInOf(secret, begins, next),
        deviceCookie,
      }),
    };
  }

  async #newUser(
    name: string,
    role: Role,
    at: Instant,
    actor: Actor,
    origin: string | undefined,
  ): Promise<Decision<Invited>> {
    const id = hexOf(this.#options.random.bytes(8)) as UserId;
    const { invitation, fields } = await this.#link(id, at);
    const next: UserRecord = {
      id,
      version: 1,
      name,
      role,
      createdAt: at,
      lastSignedInAt: undefined,
      passwords: [],
      ...fields,
    };
    return {
      change: {
        events: [eventOf(actor, origin, "invite", id, `role ${role}`)],
        user: { next, replaces: undefined },
      },
      answer: () => ({ user: viewOf(next), invitation }),
    };
  }

  async #newLink(
    user: UserRecord,
    role: Role,
    at: Instant,
    actor: Actor,
    origin: string | undefined,
  ): Promise<Decision<Invited>> {
    const { invitation, fields } = await this.#link(user.id, at);
    const next = nextOf(user, { ...fields, role });
    return {
      change: {
        events: [eventOf(actor, origin, "reinvite", user.id, `role ${role}`)],
        user: { next, replaces: user.version },
        ends: { of: user.id, except: undefined },
      },
      answer: () => ({ user: viewOf(next), invitation }),
    };
  }

  async #link(id: UserId, at: Instant) {
    const secret = this.#secret();
    const fields = {
      state: "invited",
      totp: await this.#options.sealing.seal(
        this.#options.random.bytes(totpSecretLength),
        this.#labelOf(id),
      ),
      totpStep: 0,
      failures: 0,
      lockedUntil: undefined,
      invitation: { digest: sha256Hex(secret), endsAt: laterBy(at, invitationMs) },
    } as const;
    return { invitation: new Secret(secret), fields };
  }

  #changeOther(
    by: Session,
    id: UserId,
    decide: (user: UserRecord) => {
      readonly next: Partial<UserRecord>;
      readonly action: UserAction;
      readonly detail?: string;
      readonly endsSessions?: true;
    },
    origin: string,
  ): Promise<UserView> {
    return this.#decide<UserView>(async () => {
      const actor = await this.#admin(by);
      const user = await this.#existing(id);
      const { next: fields, action, detail, endsSessions } = decide(user);
      const next = nextOf(user, fields);
      return {
        change: {
          events: [eventOf(actor, origin, action, id, detail)],
          user: { next, replaces: user.version },
          ...(endsSessions === true ? { ends: { of: id, except: undefined } } : {}),
          keepsAdmin: true,
        },
        answer: () => viewOf(next),
      };
    });
  }

  /** 256 bits in 43 characters that are valid in a cookie and a URL. */
  #secret(): string {
    return Buffer.from(this.#options.random.bytes(secretLength)).toString("base64url");
  }

  // --- Writing -----------------------------------------------------------------------------------

  /** Decides and commits; decides again when another change was faster. */
  async #decide<T>(decide: (at: Instant) => Promise<Decision<T> | undefined>): Promise<T> {
    for (let decisions = 0; decisions < maxDecisions; decisions += 1) {
      const at = this.#options.clock.now();
      const decision = await read(decide(at));
      if (decision === undefined) return undefined as T;
      const result = await read(this.#options.store.commit({ ...decision.change, at }));
      if (result.outcome === "committed") return decision.answer();
      if (result.outcome === "name_taken") throw new UserError("name_taken");
      if (result.outcome === "no_admin") throw new UserError("last_admin");
    }
    throw new UserError("busy");
  }

  async #commit(
    at: Instant,
    change: Omit<UserChange, "at" | "person" | "keepsAdmin">,
  ): Promise<number> {
    const result = await read(this.#options.store.commit({ ...change, at }));
    if (result.outcome !== "committed") throw new ServiceError("internal_failure");
    return result.number;
  }

  /** An identifier's digits are random; any other text may have a card number. */
  #withoutCards(event: AuditEvent): AuditEvent {
    const masked = (text: string | undefined, most: number) =>
      text === undefined || /^[0-9a-f]+$/.test(text)
        ? text?.slice(0, most)
        : this.#options.maskCards(text.slice(0, most));
    return {
      ...event,
      target: masked(event.target, longestTarget),
      detail: masked(event.detail, longestDetail),
    };
  }
}

const firstAdmin = "admin";
const maxFirstAdmins = 100;
const longestTarget = 500;
const longestDetail = 500;

interface Invited {
  readonly user: UserView;
  readonly invitation: Secret<string>;
}

interface CheckedPassword {
  /** The hash that was compared. */
  readonly against: string | undefined;
  readonly isRight: boolean;
  /** A hash with the present parameters, when the stored one is older. */
  readonly renewed: string | undefined;
}

type Refusal = "invited" | "disabled" | "inactive" | "locked" | "wrong_password" | "wrong_code";

interface SignInAttempt {
  readonly user: UserRecord | undefined;
  readonly at: Instant;
  readonly origin: string;
  readonly action: UserAction;
  /**
   * From a browser with which the user has signed in: failures count for that browser only
   * (sign-in-limits.ts).
   */
  readonly isKnown?: boolean;
}

const newBrowser = "new browser";
const knownBrowser = "known browser";

/** A failed attempt. The client gets the same answer for every reason. */
function refused(
  { user, at, origin, action, isKnown = false }: SignInAttempt,
  why: Refusal | "unknown_name",
): Decision<never> {
  const attempt = eventOf(
    { kind: "anonymous" },
    origin,
    action,
    user?.id,
    isKnown ? `${why}, ${knownBrowser}` : why,
    "refused",
  );
  const answer = (): never => {
    throw new UserError("sign_in_refused");
  };
  if (user === undefined) return { change: { events: [attempt] }, answer };
  const server: Actor = { kind: "server" };
  if (why === "inactive") {
    const next = nextOf(user, { state: "disabled", totp: undefined });
    const events = [attempt, eventOf(server, undefined, "disable", user.id, why)] as const;
    return {
      change: {
        events: [...events],
        user: { next, replaces: user.version },
        ends: { of: user.id, except: undefined },
      },
      answer,
    };
  }
  if (isKnown || (why !== "wrong_password" && why !== "wrong_code"))
    return { change: { events: [attempt] }, answer };
  // An expired lock is cleared.
  const failures = (user.lockedUntil === undefined ? user.failures : 0) + 1;
  const isLast = failures >= maxFailures;
  const next = nextOf(user, {
    failures,
    lockedUntil: isLast ? laterBy(at, lockedMs) : undefined,
  });
  const locked = eventOf(server, undefined, "lock", user.id);
  return {
    change: {
      events: isLast ? [attempt, locked] : [attempt],
      user: { next, replaces: user.version },
    },
    answer,
  };
}

function nextOf(user: UserRecord, fields: Partial<UserRecord>): UserRecord {
  return { ...user, ...fields, version: user.version + 1 };
}

function successfulAttempt(
  step: number,
): Pick<UserRecord, "failures" | "lockedUntil" | "totpStep"> {
  return { failures: 0, lockedUntil: undefined, totpStep: step };
}

function isLocked({ lockedUntil }: UserRecord, at: Instant): boolean {
  return lockedUntil !== undefined && at < lockedUntil;
}

function isInactive({ lastSignedInAt }: UserRecord, at: Instant): boolean {
  return lastSignedInAt !== undefined && at >= laterBy(lastSignedInAt, inactiveMs);
}

function actorOf({ id, name }: UserRecord): Actor {
  return { kind: "user", id, name };
}

function eventOf(
  actor: Actor,
  origin: string | undefined,
  action: UserAction,
  target: string | undefined,
  detail?: string,
  result: AuditEvent["result"] = "done",
): AuditEvent {
  return { actor, origin, action, target, result, completes: undefined, detail };
}

function viewOf({
  id,
  name,
  role,
  state,
  createdAt,
  lastSignedInAt,
  lockedUntil,
}: UserRecord): UserView {
  return { id, name, role, state, createdAt, lastSignedInAt, lockedUntil };
}

function signedInOf(
  secret: string,
  { lastUsedAt, endsAt }: SessionRecord,
  user: UserRecord,
): Session {
  const idleUntil = laterBy(lastUsedAt, idleMs);
  return {
    user: viewOf(user),
    csrf: csrfOf(secret),
    idleUntil: idleUntil < endsAt ? idleUntil : endsAt,
    endsAt,
  };
}

/** Derived from the session, which it does not reveal; cannot be computed without it. */
function csrfOf(secret: string): string {
  return createHmac("sha256", secret).update("cofre csrf 1").digest("base64url");
}

/**
 * A failure of the store has one meaning: the change was not applied, or its outcome is unknown.
 */
async function read<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    throw new ServiceError(
      error.code === "commit_unknown" ? "internal_failure" : "store_unavailable",
    );
  }
}
