import { createSecretKey } from "node:crypto";
import { maskCardNumbers } from "../src/wire/decode/card-like.ts";
import { type Instant, instant, laterBy, second } from "../src/kernel/instant.ts";
import { SystemRandom } from "../src/kernel/system-random.ts";
import { createMemoryUsers } from "../src/stores/memory/memory-users.ts";
import { createSealing } from "../src/vault/sealed-secret.ts";
import type { Passwords } from "../src/sign-in/password.ts";
import type { Users, Session } from "../src/sign-in/users.ts";
import { createUsers, type UserOptions } from "../src/sign-in/user-service.ts";
import type { Role } from "../src/user/user.ts";
import { codeOf, stepAt } from "../src/sign-in/totp.ts";

/** Console users over any store, with a test clock, and each user's secrets. */
export const origin = "127.0.0.1";
export const password = "correct horse battery staple";
export const random = new SystemRandom();

/** As fast as possible: argon2id has its own tests. */
const quick: Passwords = {
  hash: async (given) => `hash of ${given}`,
  matches: async (given, hash) => hash === `hash of ${given}`,
  isOld: () => false,
};

export interface UserFixture {
  readonly users: Users;
  readonly options: UserOptions;
  readonly clock: { now(): Instant; advance(ms: number): void };
  /** Completes the invitation of a new user. */
  join(invitation: string, given?: string): Promise<EnrolledUser>;
}

export interface EnrolledUser {
  readonly signedIn: Session;
  readonly session: string;
  readonly secret: Uint8Array;
  readonly name: string;
  /** The value of the browser's device cookie. */
  readonly deviceCookie: string;
}

export function newUserFixture(over: Partial<UserOptions> = {}): UserFixture {
  let now = instant(Date.UTC(2026, 10, 28, 12));
  const clock = {
    now: () => now,
    advance: (ms: number) => {
      now = laterBy(now, ms);
    },
  };
  const options: UserOptions = {
    store: createMemoryUsers(),
    clock,
    random,
    passwords: quick,
    sealing: createSealing({
      key: createSecretKey(random.bytes(32)),
      random,
      earlier: undefined,
    }),
    environment: "sandbox",
    installationName: "sandbox",
    maskCards: maskCardNumbers,
    ...over,
  };
  const users = createUsers(options);
  return {
    users,
    options,
    clock,
    async join(invitation, given = password) {
      const { secret: typed, name } = await users.enrolment(invitation);
      const secret = secretBytes(typed);
      const begun = await users.enrol({
        invitation,
        password: given,
        code: codeAt(secret, clock.now()),
        origin,
      });
      return {
        signedIn: begun.signedIn,
        session: begun.session.reveal(),
        secret,
        name,
        deviceCookie: begun.deviceCookie.reveal(),
      };
    },
  };
}

export function codeAt(secret: Uint8Array, at: Instant): string {
  return codeOf(secret, stepAt(at));
}

/** Decodes the base32 that users type. */
export function secretBytes(base32: string): Uint8Array {
  const bits = Array.from(base32, (digit) =>
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(digit).toString(2).padStart(5, "0"),
  ).join("");
  return Uint8Array.from(bits.match(/.{8}/g) ?? [], (eight) => Number.parseInt(eight, 2));
}

/** A fixture with its first admin, who signed up half a minute ago. */
export async function openUserFixture(
  ...given: Parameters<typeof newUserFixture>
): Promise<UserFixture & { readonly admin: EnrolledUser }> {
  const fixture = newUserFixture(...given);
  const admin = await fixture.join((await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "");
  fixture.clock.advance(30 * second);
  return { ...fixture, admin };
}

export async function addUser(
  fixture: Awaited<ReturnType<typeof openUserFixture>>,
  name: string,
  role: Role,
): Promise<EnrolledUser> {
  const { users, admin, clock } = fixture;
  const { invitation } = await users.invite(admin.signedIn, { name, role, origin });
  const joined = await fixture.join(invitation.reveal());
  clock.advance(30 * second);
  return joined;
}

export function signIn(
  { users, clock }: UserFixture,
  who: EnrolledUser,
  over: { readonly password?: string; readonly code?: string } = {},
) {
  return users.signIn({
    name: who.name,
    password,
    code: codeAt(who.secret, clock.now()),
    origin,
    ...over,
  });
}

export const refusedWith = (code: string) => ({ name: "UserError", code });

export async function eventsOf({ users }: UserFixture): Promise<readonly string[]> {
  return (await users.audit(undefined, 1_000))
    .toReversed()
    .map(({ actor, action, result, detail }) =>
      [actor.kind, action, result, detail].filter((word) => word !== undefined).join(" "),
    );
}
