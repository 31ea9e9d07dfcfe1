import { formatInstant } from "../../kernel/calendar.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Secret } from "../../kernel/secret.ts";
import { headText } from "../../user/audit-log.ts";
import { shownEntry } from "../../user/audit-view.ts";
import type { NewSession, Users, Session } from "../../sign-in/users.ts";
import { type UserId, type UserView, type Role, roles } from "../../user/user.ts";
import type { WireResponse } from "../../wire/answers/answer.ts";
import type { Caller, UserEndpoint, UserRequest } from "../../wire/endpoint.ts";
import { textOf, type TreeObject } from "../../wire/decode/tree.ts";
import { browserCookieHeader, cookieHeader, withoutCookieHeader } from "./caller.ts";
import {
  fromOwnPage,
  type ConsoleAuthorizer,
  sessionHeaders,
  signedInBy,
} from "./console-authorizer.ts";
import { answeringUsers, invalid, userError } from "./user-errors.ts";
import { qrCode } from "./qr-code.ts";

export interface UserDeps {
  readonly users: Users;
  readonly authorizer: Pick<ConsoleAuthorizer, "admin">;
  readonly clock: Clock;
}

/** Longer values are wrong in any case; rejecting them early costs no work. */
const longestText = 1_024;
const usualEntries = 50;
const maxEntries = 200;

/**
 * The console's calls about users (docs/wire/sandbox.md), if it has logins. POST only, so that no
 * parameter is in an address.
 * - `/__cofre/session`: the signed-in user; `action`: `sign_in` with `name`, `password` and `code`,
 *   `sign_out`.
 * - `/__cofre/enrolment`: shows an `invitation`; `password` and `code` accept it.
 * - `/__cofre/password`: changes the user's own; `password`, `code` and `new_password`.
 * - `/__cofre/users`, admins only: all users; `action`: `invite` with `name` and `role`, and with an
 *   `id` `reinvite`, `set_role`, `disable`, `unlock`.
 * - `/__cofre/audit`, admins only: entries, newest first; `verify` checks whether the chain is
 *   whole.
 */
export function userEndpoints(deps: UserDeps): readonly UserEndpoint[] {
  const row = (
    path: string,
    handle: (deps: UserDeps, request: UserRequest) => Promise<WireResponse>,
  ): UserEndpoint => ({
    path,
    doc: "console",
    key: "session",
    family: "parameters",
    cors: false,
    handle: (request) =>
      answeringUsers(async () => {
        if (request.method !== "POST") throw userError("not_from_page");
        return handle(deps, request);
      }),
  });
  return [
    row("/__cofre/session", session),
    row("/__cofre/enrolment", enrolment),
    row("/__cofre/password", password),
    row(userPath, userList),
    row(auditPath, audit),
  ];
}

function session(deps: UserDeps, request: UserRequest): Promise<WireResponse> {
  switch (textOf(request.params, "action")) {
    case undefined:
      return currentSession(deps, request);
    case "sign_in":
      return signIn(deps, request);
    case "sign_out":
      return signOut(deps, request);
    default:
      throw invalid("Parameter", "action");
  }
}

/** The only call for which the header needs no value: it returns that value to a signed-in user. */
async function currentSession(
  { users, clock }: UserDeps,
  { caller }: UserRequest,
): Promise<WireResponse> {
  fromOwnPage(caller);
  if (caller.session === undefined) throw userError("not_signed_in");
  return signedInAnswer(await users.resume(caller.session, !caller.isBackground), clock);
}

async function signIn(
  { users, clock }: UserDeps,
  { params, caller }: UserRequest,
): Promise<WireResponse> {
  fromOwnPage(caller);
  const given = {
    name: textIn(params, "name"),
    password: textIn(params, "password"),
    code: textIn(params, "code"),
  };
  const begun = await users.signIn({
    ...given,
    origin: caller.address,
    deviceCookies: caller.deviceCookies,
  });
  return newSessionAnswer(users, caller, begun, clock);
}

async function signOut({ users }: UserDeps, { caller }: UserRequest): Promise<WireResponse> {
  fromOwnPage(caller);
  // Without a session the user is signed out already, and pages of other sites cannot send this
  // request.
  if (caller.session !== undefined) await users.signOut(caller.session, caller.address);
  return answer({}, withoutCookieHeader(caller));
}

async function enrolment(
  { users, clock }: UserDeps,
  { params, caller }: UserRequest,
): Promise<WireResponse> {
  fromOwnPage(caller);
  const invitation = textIn(params, "invitation");
  if (params["password"] === undefined && params["code"] === undefined) {
    const { name, role, secret, uri } = await users.enrolment(invitation);
    const { path, size } = await qrCode(uri);
    return answer({ name, role, secret, uri, qr_path: path, qr_size: size });
  }
  const given = { invitation, password: textIn(params, "password"), code: textIn(params, "code") };
  return newSessionAnswer(
    users,
    caller,
    await users.enrol({ ...given, origin: caller.address }),
    clock,
  );
}

async function password(
  { users, clock }: UserDeps,
  { params, caller }: UserRequest,
): Promise<WireResponse> {
  const signedIn = await signedInBy(users, caller);
  const given = {
    password: textIn(params, "password"),
    code: textIn(params, "code"),
    newPassword: textIn(params, "new_password"),
  };
  await users.changePassword({ ...given, session: caller.session ?? "", origin: caller.address });
  return answer({}, ...sessionHeaders(signedIn, clock));
}

const auditPath = "/__cofre/audit";
const userPath = "/__cofre/users";

async function userList(
  { users, authorizer, clock }: UserDeps,
  { params, caller }: UserRequest,
): Promise<WireResponse> {
  const by = await authorizer.admin(userPath, caller);
  const headers = sessionHeaders(by, clock);
  const { address: origin } = caller;
  const requested = textOf(params, "action");
  if (params["action"] === undefined)
    return answer({ users: (await users.list()).map(shown) }, ...headers);
  if (requested === "invite") {
    const role = roleIn(params);
    return invited(await users.invite(by, { name: textIn(params, "name"), role, origin }), headers);
  }
  const id = idIn(params);
  switch (requested) {
    case "reinvite":
      return invited(await users.inviteAgain(by, id, origin), headers);
    case "set_role":
      return answer(
        { user: shown(await users.setRole(by, id, roleIn(params), origin)) },
        ...headers,
      );
    case "disable":
      return answer({ user: shown(await users.disable(by, id, origin)) }, ...headers);
    case "unlock":
      return answer({ user: shown(await users.unlock(by, id, origin)) }, ...headers);
    default:
      throw invalid("Parameter", "action");
  }
}

async function audit(
  { users, authorizer, clock }: UserDeps,
  { params, caller }: UserRequest,
): Promise<WireResponse> {
  const headers = sessionHeaders(
    await authorizer.admin(auditPath, caller, { isView: true }),
    clock,
  );
  if (params["verify"] !== undefined) {
    const { entries, firstBad, head } = await users.verifyAudit();
    return answer(
      {
        verified: {
          entries,
          first_invalid: firstBad ?? null,
          head: head.number === 0 ? null : headText(head),
        },
      },
      ...headers,
    );
  }
  const limit = numberIn(params, "limit", maxEntries) ?? usualEntries;
  const entries = await users.audit(numberIn(params, "before", Number.MAX_SAFE_INTEGER), limit);
  const last = entries.at(-1)?.number ?? 1;
  return answer(
    { entries: entries.map(shownEntry), next: entries.length === limit && last > 1 ? last : null },
    ...headers,
  );
}

/** Every sign-in creates a new session, whatever cookie was sent; the earlier session ends. */
async function newSessionAnswer(
  users: Users,
  caller: Caller,
  { session: begun, signedIn, deviceCookie }: NewSession,
  clock: Clock,
): Promise<WireResponse> {
  if (caller.session !== undefined) await users.signOut(caller.session, caller.address);
  const made = signedInAnswer(signedIn, clock);
  const cookies = [
    cookieHeader(caller, begun.reveal()),
    browserCookieHeader(caller, deviceCookie.reveal()),
  ];
  return { ...made, headers: [...(made.headers ?? []), ...cookies] };
}

function signedInAnswer(signedIn: Session, clock: Clock): WireResponse {
  return answer(
    { user: shown(signedIn.user), csrf: signedIn.csrf },
    ...sessionHeaders(signedIn, clock),
  );
}

function invited(
  { user, invitation }: { readonly user: UserView; readonly invitation: Secret<string> },
  headers: ReturnType<typeof sessionHeaders>,
): WireResponse {
  return answer({ user: shown(user), invitation: invitation.reveal() }, ...headers);
}

function shown({
  id,
  name,
  role,
  state,
  createdAt,
  lastSignedInAt,
  lockedUntil,
}: UserView): object {
  return {
    id,
    name,
    role,
    state,
    created_at: formatInstant(createdAt),
    last_signed_in_at: lastSignedInAt === undefined ? null : formatInstant(lastSignedInAt),
    locked_until: lockedUntil === undefined ? null : formatInstant(lockedUntil),
  };
}

/** A missing or too long value is wrong in any case: it is replaced by an empty one. */
function textIn(params: TreeObject, name: string): string {
  const text = textOf(params, name) ?? "";
  return text.length <= longestText ? text : "";
}

function roleIn(params: TreeObject): Role {
  const role = roles.find((each) => each === textOf(params, "role"));
  if (role === undefined) throw invalid("Parameter", "role");
  return role;
}

function idIn(params: TreeObject): UserId {
  const id = textOf(params, "id") ?? "";
  if (!/^[0-9a-f]{16}$/.test(id)) throw invalid("Parameter", "id");
  return id as UserId;
}

function numberIn(params: TreeObject, name: string, max: number): number | undefined {
  const text = textOf(params, name);
  if (text === undefined) return undefined;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > max) throw invalid("Parameter", name);
  return number;
}

function answer(
  body: object,
  ...headers: readonly (readonly [name: string, value: string])[]
): WireResponse {
  return { status: 200, body: JSON.stringify({ ...body, status: "SUCCESS" }), headers };
}
