import { formatInstant } from "../../kernel/calendar.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Secret } from "../../kernel/secret.ts";
import { headText } from "../../user/audit-log.ts";
import { shownEntry } from "../../user/audit-view.ts";
import type { Begun, People, SignedIn } from "../../sign-in/users.ts";
import { type PersonId, type PersonView, type Role, roles } from "../../user/user.ts";
import type { WireAnswer } from "../../wire/answers/answer.ts";
import type { Caller, PeopleEndpoint, PeopleRequest } from "../../wire/endpoint.ts";
import { textOf, type TreeObject } from "../../wire/decode/tree.ts";
import { browserCookieHeader, cookieHeader, withoutCookieHeader } from "./caller.ts";
import { fromOwnPage, type PeopleGate, sessionHeaders, signedInBy } from "./gate.ts";
import { answeringPeople, invalid, peopleError } from "./people-errors.ts";
import { qrCode } from "./qr-code.ts";

export interface PeopleDeps {
  readonly people: People;
  readonly gate: Pick<PeopleGate, "admin">;
  readonly clock: Clock;
}

/** Longer values are wrong in any case; rejecting them early costs no work. */
const longestText = 1_024;
const usualEntries = 50;
const mostEntries = 200;

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
export function peopleEndpoints(deps: PeopleDeps): readonly PeopleEndpoint[] {
  const row = (
    path: string,
    handle: (deps: PeopleDeps, request: PeopleRequest) => Promise<WireAnswer>,
  ): PeopleEndpoint => ({
    path,
    doc: "console",
    key: "session",
    family: "parameters",
    cors: false,
    handle: (request) =>
      answeringPeople(async () => {
        if (request.method !== "POST") throw peopleError("not_from_page");
        return handle(deps, request);
      }),
  });
  return [
    row("/__cofre/session", session),
    row("/__cofre/enrolment", enrolment),
    row("/__cofre/password", password),
    row(peoplePath, peopleList),
    row(auditPath, audit),
  ];
}

function session(deps: PeopleDeps, request: PeopleRequest): Promise<WireAnswer> {
  switch (textOf(request.params, "action")) {
    case undefined:
      return whoIsIt(deps, request);
    case "sign_in":
      return signIn(deps, request);
    case "sign_out":
      return signOut(deps, request);
    default:
      throw invalid("Parameter", "action");
  }
}

/** The only call for which the header needs no value: it returns that value to a signed-in user. */
async function whoIsIt(
  { people, clock }: PeopleDeps,
  { caller }: PeopleRequest,
): Promise<WireAnswer> {
  fromOwnPage(caller);
  if (caller.session === undefined) throw peopleError("not_signed_in");
  return signedInAnswer(await people.resume(caller.session, !caller.isBackground), clock);
}

async function signIn(
  { people, clock }: PeopleDeps,
  { params, caller }: PeopleRequest,
): Promise<WireAnswer> {
  fromOwnPage(caller);
  const given = {
    name: textIn(params, "name"),
    password: textIn(params, "password"),
    code: textIn(params, "code"),
  };
  const begun = await people.signIn({ ...given, origin: caller.address, marks: caller.marks });
  return begunAnswer(people, caller, begun, clock);
}

async function signOut({ people }: PeopleDeps, { caller }: PeopleRequest): Promise<WireAnswer> {
  fromOwnPage(caller);
  // Without a session the user is signed out already, and pages of other sites cannot send this
  // request.
  if (caller.session !== undefined) await people.signOut(caller.session, caller.address);
  return answer({}, withoutCookieHeader(caller));
}

async function enrolment(
  { people, clock }: PeopleDeps,
  { params, caller }: PeopleRequest,
): Promise<WireAnswer> {
  fromOwnPage(caller);
  const invitation = textIn(params, "invitation");
  if (params["password"] === undefined && params["code"] === undefined) {
    const { name, role, secret, uri } = await people.enrolment(invitation);
    const { path, size } = await qrCode(uri);
    return answer({ name, role, secret, uri, qr_path: path, qr_size: size });
  }
  const given = { invitation, password: textIn(params, "password"), code: textIn(params, "code") };
  return begunAnswer(
    people,
    caller,
    await people.enrol({ ...given, origin: caller.address }),
    clock,
  );
}

async function password(
  { people, clock }: PeopleDeps,
  { params, caller }: PeopleRequest,
): Promise<WireAnswer> {
  const signedIn = await signedInBy(people, caller);
  const given = {
    password: textIn(params, "password"),
    code: textIn(params, "code"),
    newPassword: textIn(params, "new_password"),
  };
  await people.changePassword({ ...given, session: caller.session ?? "", origin: caller.address });
  return answer({}, ...sessionHeaders(signedIn, clock));
}

const auditPath = "/__cofre/audit";
const peoplePath = "/__cofre/users";

async function peopleList(
  { people, gate, clock }: PeopleDeps,
  { params, caller }: PeopleRequest,
): Promise<WireAnswer> {
  const by = await gate.admin(peoplePath, caller);
  const headers = sessionHeaders(by, clock);
  const { address: origin } = caller;
  const asked = textOf(params, "action");
  if (params["action"] === undefined)
    return answer({ users: (await people.list()).map(shown) }, ...headers);
  if (asked === "invite") {
    const role = roleIn(params);
    return invited(
      await people.invite(by, { name: textIn(params, "name"), role, origin }),
      headers,
    );
  }
  const id = idIn(params);
  switch (asked) {
    case "reinvite":
      return invited(await people.inviteAgain(by, id, origin), headers);
    case "set_role":
      return answer(
        { user: shown(await people.setRole(by, id, roleIn(params), origin)) },
        ...headers,
      );
    case "disable":
      return answer({ user: shown(await people.disable(by, id, origin)) }, ...headers);
    case "unlock":
      return answer({ user: shown(await people.unlock(by, id, origin)) }, ...headers);
    default:
      throw invalid("Parameter", "action");
  }
}

async function audit(
  { people, gate, clock }: PeopleDeps,
  { params, caller }: PeopleRequest,
): Promise<WireAnswer> {
  const headers = sessionHeaders(await gate.admin(auditPath, caller, { isView: true }), clock);
  if (params["verify"] !== undefined) {
    const { entries, firstBad, head } = await people.verifyAudit();
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
  const limit = numberIn(params, "limit", mostEntries) ?? usualEntries;
  const entries = await people.audit(numberIn(params, "before", Number.MAX_SAFE_INTEGER), limit);
  const last = entries.at(-1)?.number ?? 1;
  return answer(
    { entries: entries.map(shownEntry), next: entries.length === limit && last > 1 ? last : null },
    ...headers,
  );
}

/** Every sign-in creates a new session, whatever cookie was sent; the earlier session ends. */
async function begunAnswer(
  people: People,
  caller: Caller,
  { session: begun, signedIn, mark }: Begun,
  clock: Clock,
): Promise<WireAnswer> {
  if (caller.session !== undefined) await people.signOut(caller.session, caller.address);
  const made = signedInAnswer(signedIn, clock);
  const cookies = [
    cookieHeader(caller, begun.reveal()),
    browserCookieHeader(caller, mark.reveal()),
  ];
  return { ...made, headers: [...(made.headers ?? []), ...cookies] };
}

function signedInAnswer(signedIn: SignedIn, clock: Clock): WireAnswer {
  return answer(
    { user: shown(signedIn.person), csrf: signedIn.csrf },
    ...sessionHeaders(signedIn, clock),
  );
}

function invited(
  { person, invitation }: { readonly person: PersonView; readonly invitation: Secret<string> },
  headers: ReturnType<typeof sessionHeaders>,
): WireAnswer {
  return answer({ user: shown(person), invitation: invitation.reveal() }, ...headers);
}

function shown({
  id,
  name,
  role,
  state,
  createdAt,
  lastSignedInAt,
  lockedUntil,
}: PersonView): object {
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

function idIn(params: TreeObject): PersonId {
  const id = textOf(params, "id") ?? "";
  if (!/^[0-9a-f]{16}$/.test(id)) throw invalid("Parameter", "id");
  return id as PersonId;
}

function numberIn(params: TreeObject, name: string, most: number): number | undefined {
  const text = textOf(params, name);
  if (text === undefined) return undefined;
  const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) throw invalid("Parameter", name);
  return number;
}

function answer(
  body: object,
  ...headers: readonly (readonly [name: string, value: string])[]
): WireAnswer {
  return { status: 200, body: JSON.stringify({ ...body, status: "SUCCESS" }), headers };
}
