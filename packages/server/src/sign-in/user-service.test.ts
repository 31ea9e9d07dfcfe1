import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  eventsOf,
  codeAt,
  addUser,
  type EnrolledUser,
  newUserFixture,
  type UserFixture,
  openUserFixture,
  origin,
  password,
  refusedWith,
  signIn,
} from "../../test/console-users.ts";
import { sha256Hex } from "../kernel/digest.ts";
import { day, hour, type Instant, minute, second } from "../kernel/instant.ts";
import { createMemoryUsers } from "../stores/memory/memory-users.ts";
import { StoreError } from "../stores/store.ts";
import type { Passwords } from "./password.ts";
import { UserError } from "./users.ts";
import { createUsers } from "./user-service.ts";
import type { UserChange, UserStore } from "../user/user-store.ts";
import type { UserId } from "../user/user.ts";
import { codeOf, stepAt } from "./totp.ts";

/** The fixture's store as an object whose methods can be replaced. */
function storeOf({ options: { store } }: UserFixture): UserStore {
  return {
    users: () => store.users(),
    user: (id) => store.user(id),
    userByName: (name) => store.userByName(name),
    userByInvitation: (digest) => store.userByInvitation(digest),
    session: (digest) => store.session(digest),
    useSession: (digest, at) => store.useSession(digest, at),
    auditBefore: (before, limit) => store.auditBefore(before, limit),
    auditAfter: (after, limit) => store.auditAfter(after, limit),
    auditHead: () => store.auditHead(),
    commit: (change) => store.commit(change),
  };
}

describe("signing up", () => {
  test("the first admin is invited when there is none, once more with another link, and not when there is one", async () => {
    const fixture = newUserFixture();
    const first = (await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "";
    const second_ = (await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "";
    await assert.rejects(fixture.users.enrolment(first), refusedWith("no_invitation"));
    const admin = await fixture.join(second_);
    assert.equal(admin.signedIn.user.name, "admin");
    assert.equal(admin.signedIn.user.role, "admin");
    assert.equal(await fixture.users.inviteFirstAdmin(false), undefined);
    assert.deepEqual(await eventsOf(fixture), [
      "server invite done role admin",
      "server reinvite done role admin",
      "user enrol done role admin",
    ]);
  });

  test("an admin who lost their way in has a new one by force, and the sessions before are over", async () => {
    const fixture = await openUserFixture();
    const invitation = (await fixture.users.inviteFirstAdmin(true))?.reveal() ?? "";
    await assert.rejects(fixture.users.resume(fixture.admin.session), refusedWith("not_signed_in"));
    await assert.rejects(signIn(fixture, fixture.admin), refusedWith("sign_in_refused"));
    await assert.rejects(
      fixture.join(invitation),
      refusedWith("password_refused"),
      "it was theirs before",
    );
    await fixture.join(invitation, "another horse battery staple");
  });

  test("by force it is the first person's who is called admin, whatever they are now, and admin they are again", async () => {
    const fixture = await openUserFixture();
    const { users, admin } = fixture;
    const ada = await addUser(fixture, "Ada", "admin");
    await users.setRole(ada.signedIn, admin.signedIn.user.id, "viewer", origin);
    assert.equal(await users.inviteFirstAdmin(false), undefined, "Ada is one");
    const link = (await users.inviteFirstAdmin(true))?.reveal() ?? "";
    const { name, role } = await users.enrolment(link);
    assert.deepEqual([name, role], ["admin", "admin"]);
    assert.equal((await users.list()).length, 2);
  });

  test("an invitation shows the same secret until it is used, works once, and for 24 hours", async () => {
    const fixture = await openUserFixture();
    const { invitation } = await fixture.users.invite(fixture.admin.signedIn, {
      name: "bob",
      role: "viewer",
      origin,
    });
    const link = invitation.reveal();
    assert.deepEqual(await fixture.users.enrolment(link), await fixture.users.enrolment(link));
    assert.match(
      (await fixture.users.enrolment(link)).uri,
      /^otpauth:\/\/totp\/Cofre%20sandbox:bob\?secret=[A-Z2-7]{32}&issuer=Cofre%20sandbox&/,
    );
    await fixture.join(link);
    await assert.rejects(fixture.users.enrolment(link), refusedWith("no_invitation"));
    await assert.rejects(fixture.join(link), refusedWith("no_invitation"));

    const late = (
      await fixture.users.invite(fixture.admin.signedIn, { name: "eve", role: "viewer", origin })
    ).invitation.reveal();
    fixture.clock.advance(24 * hour - 1);
    await fixture.users.enrolment(late);
    fixture.clock.advance(1);
    await assert.rejects(fixture.users.enrolment(late), refusedWith("no_invitation"));
    for (const odd of ["", "x", "x".repeat(43), "x".repeat(100_000)])
      await assert.rejects(fixture.users.enrolment(odd), refusedWith("no_invitation"));
  });

  test("two who use one invitation at once: one is signed up, the other is refused", async () => {
    const fixture = await openUserFixture();
    const { invitation } = await fixture.users.invite(fixture.admin.signedIn, {
      name: "bob",
      role: "viewer",
      origin,
    });
    const results = await Promise.allSettled([1, 2].map(() => fixture.join(invitation.reveal())));
    assert.deepEqual(results.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    assert.equal(
      (await eventsOf(fixture)).filter((line) => line.startsWith("user enrol done role viewer"))
        .length,
      1,
    );
  });

  test("a wrong code enrols no user", async () => {
    const fixture = newUserFixture();
    const invitation = (await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "";
    for (const code of ["000000", "", "12345", "1234567", "abcdef", "١٢٣٤٥٦"]) {
      await assert.rejects(
        fixture.users.enrol({ invitation, password, code, origin }),
        refusedWith("code_refused"),
        code,
      );
    }
    assert.equal((await fixture.users.list())[0]?.state, "invited");
  });

  test("passwords that are refused", async () => {
    const fixture = newUserFixture();
    const invitation = (await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "";
    const bad = [
      "",
      "short",
      "elevenchars",
      "x".repeat(129),
      "my ADMIN password",
      "💳".repeat(11),
      "e\u0301".repeat(11),
      `lone \ud800 surrogate`,
      "aaaaaaaaaaaa",
      "123456789012",
      " ".repeat(12),
      "💳".repeat(12),
      "qwertyuiop12",
      "passwordpassword",
    ];
    for (const each of bad)
      await assert.rejects(fixture.join(invitation, each), refusedWith("password_refused"), each);
    await fixture.join(invitation, "💳🔑🚪🧾🏦💶 💳🔑🚪🧾💷");
  });

  test("names that are refused, and names that are taken", async () => {
    const fixture = await openUserFixture();
    const invite = (name: string) =>
      fixture.users.invite(fixture.admin.signedIn, { name, role: "viewer", origin });
    const bad = [
      "",
      "a",
      "ab",
      " bob",
      "bob ",
      "b\u0000ob",
      "bob\n",
      "\u0430dmin",
      "ａｄｍｉｎ",
      "José",
      "x".repeat(65),
      "x".repeat(10_000),
      "4111111111111111",
      "card-4111.1111.1111.1111",
      "-bob",
      "<b>bob</b>",
      "__proto__",
    ];
    for (const name of bad)
      await assert.rejects(
        invite(name),
        refusedWith("name_refused"),
        JSON.stringify(name.slice(0, 40)),
      );
    await invite("Bob.Smith+1@example.com");
    await assert.rejects(invite("bob.smith+1@EXAMPLE.com"), refusedWith("name_taken"));
    await assert.rejects(invite("ADMIN"), refusedWith("name_taken"));
  });
});

describe("signing in", () => {
  test("with name, password and code, whatever the name's case and the password's composition", async () => {
    const fixture = newUserFixture();
    const invitation = (await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "";
    const admin = await fixture.join(invitation, "caf\u00e9 caf\u00e9 com leite");
    fixture.clock.advance(30 * second);
    const { session, signedIn } = await signIn(
      fixture,
      { ...admin, name: "ADMIN" },
      { password: "cafe\u0301 cafe\u0301 com leite" },
    );
    assert.equal(signedIn.user.name, "admin");
    assert.equal(signedIn.user.lastSignedInAt, fixture.clock.now());
    assert.match(session.reveal(), /^[\w-]{43}$/);
    assert.deepEqual(await fixture.users.resume(session.reveal()), signedIn);
    assert.notEqual(signedIn.csrf, admin.signedIn.csrf);
    assert.ok(!signedIn.csrf.includes(session.reveal()));
  });

  test("whatever is wrong, the answer is the same; the audit log says which", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "viewer");
    const eve = await addUser(fixture, "eve", "viewer");
    await fixture.users.disable(fixture.admin.signedIn, eve.signedIn.user.id, origin);
    await fixture.users.invite(fixture.admin.signedIn, { name: "new", role: "viewer", origin });
    const attempts = [
      { name: "nobody", password, code: "123456" },
      { name: "x".repeat(10_000), password, code: "123456" },
      { name: "bob", password: "not the password", code: codeAt(bob.secret, fixture.clock.now()) },
      { name: "bob", password: "x".repeat(100_000), code: codeAt(bob.secret, fixture.clock.now()) },
      { name: "bob", password, code: "000000" },
      { name: "eve", password, code: codeAt(eve.secret, fixture.clock.now()) },
      { name: "new", password, code: "123456" },
    ];
    const before = (await eventsOf(fixture)).length;
    for (const each of attempts) {
      await assert.rejects(fixture.users.signIn({ ...each, origin }), (error: Error) => {
        assert.deepEqual(
          { code: "", ...Object.fromEntries(Object.entries(error)) },
          {
            name: "UserError",
            code: "sign_in_refused",
            waitMs: undefined,
          },
        );
        assert.equal(error.message, "sign_in_refused");
        return true;
      });
    }
    assert.deepEqual((await eventsOf(fixture)).slice(before), [
      "anonymous sign_in refused unknown_name",
      "anonymous sign_in refused unknown_name",
      "anonymous sign_in refused wrong_password",
      "anonymous sign_in refused wrong_password",
      "anonymous sign_in refused wrong_code",
      "anonymous sign_in refused disabled",
      "anonymous sign_in refused invited",
    ]);
  });

  test("a code works once, and none before it works any more", async () => {
    const fixture = await openUserFixture();
    const { admin, clock } = fixture;
    const code = codeAt(admin.secret, clock.now());
    const before = codeOf(admin.secret, stepAt(clock.now()) - 1);
    await signIn(fixture, admin, { code });
    await assert.rejects(signIn(fixture, admin, { code }), refusedWith("sign_in_refused"));
    await assert.rejects(signIn(fixture, admin, { code: before }), refusedWith("sign_in_refused"));
    await signIn(fixture, admin, { code: codeOf(admin.secret, stepAt(clock.now()) + 1) });
  });

  test("of many who come with one code at once, on two nodes, one is let in", async () => {
    const fixture = await openUserFixture();
    const other = createUsers(fixture.options);
    const code = codeAt(fixture.admin.secret, fixture.clock.now());
    const results = await Promise.allSettled(
      [fixture.users, other, fixture.users, other].map((node) =>
        node.signIn({ name: "admin", password, code, origin }),
      ),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
  });

  test("ten wrong attempts lock a name for half an hour, wrong passwords and wrong codes alike, and no answer reveals it", async () => {
    const fixture = await openUserFixture();
    const { users, admin, clock } = fixture;
    for (let attempts = 0; attempts < 9; attempts += 1) {
      await assert.rejects(
        signIn(
          fixture,
          admin,
          attempts % 2 === 0 ? { password: "not the password" } : { code: "000000" },
        ),
        refusedWith("sign_in_refused"),
      );
    }
    assert.equal((await users.list())[0]?.lockedUntil, undefined);
    await assert.rejects(
      signIn(fixture, admin, { code: "000000" }),
      refusedWith("sign_in_refused"),
    );
    assert.equal((await users.list())[0]?.lockedUntil, clock.now() + 30 * minute);
    await assert.rejects(signIn(fixture, admin), refusedWith("sign_in_refused"), "locked");
    assert.deepEqual((await eventsOf(fixture)).slice(-3), [
      "anonymous sign_in refused wrong_code",
      "server lock done",
      "anonymous sign_in refused locked",
    ]);
    // Another process with the same store.
    await assert.rejects(
      createUsers(fixture.options).signIn({
        name: "admin",
        password,
        code: codeAt(admin.secret, clock.now()),
        origin,
      }),
      refusedWith("sign_in_refused"),
    );
    clock.advance(30 * minute - 1);
    await assert.rejects(signIn(fixture, admin), refusedWith("sign_in_refused"));
    clock.advance(1);
    await assert.rejects(
      signIn(fixture, admin, { code: "000000" }),
      refusedWith("sign_in_refused"),
      "counted anew",
    );
    await signIn(fixture, admin);
  });

  test("a right try forgets the wrong ones; an admin unlocks", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "viewer");
    const fail = async (times: number) => {
      for (let attempts = 0; attempts < times; attempts += 1)
        await assert.rejects(
          signIn(fixture, bob, { code: "000000" }),
          refusedWith("sign_in_refused"),
        );
    };
    for (let round = 0; round < 2; round += 1) {
      await fail(9);
      await signIn(fixture, bob);
      // Until the network's limit allows as many attempts again.
      fixture.clock.advance(10 * minute);
    }
    await fail(10);
    await assert.rejects(signIn(fixture, bob), refusedWith("sign_in_refused"));
    const view = await fixture.users.unlock(fixture.admin.signedIn, bob.signedIn.user.id, origin);
    assert.equal(view.lockedUntil, undefined);
    await signIn(fixture, bob);
  });

  test("tries that come at once are counted each", async () => {
    const fixture = await openUserFixture();
    const results = await Promise.allSettled(
      Array.from({ length: 14 }, () => signIn(fixture, fixture.admin, { code: "000000" })),
    );
    assert.ok(results.every(({ status }) => status === "rejected"));
    assert.equal((await fixture.users.list())[0]?.lockedUntil, fixture.clock.now() + 30 * minute);
    const events = await eventsOf(fixture);
    assert.equal(
      events.filter((line) => line === "anonymous sign_in refused wrong_code").length,
      10,
    );
    assert.equal(events.filter((line) => line === "anonymous sign_in refused locked").length, 4);
  });

  test("a user who stays away for 90 days is disabled at the next attempt", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "viewer");
    fixture.clock.advance(90 * day - 30 * second - 1);
    await signIn(fixture, bob);
    fixture.clock.advance(90 * day);
    await assert.rejects(signIn(fixture, bob), refusedWith("sign_in_refused"));
    assert.equal(
      (await fixture.users.list()).find(({ name }) => name === "bob")?.state,
      "disabled",
    );
    assert.deepEqual((await eventsOf(fixture)).slice(-2), [
      "anonymous sign_in refused inactive",
      "server disable done inactive",
    ]);
  });

  test("a hash of an older measure is replaced when the password was right", async () => {
    const passwords: Passwords = {
      hash: async (given) => `new ${given}`,
      matches: async (given, hash) => hash === `old ${given}` || hash === `new ${given}`,
      isOld: (hash) => hash.startsWith("old "),
    };
    const fixture = newUserFixture({
      passwords: { ...passwords, hash: async (given) => `old ${given}` },
    });
    const admin = await fixture.join((await fixture.users.inviteFirstAdmin(false))?.reveal() ?? "");
    fixture.clock.advance(30 * second);
    const renewing = createUsers({ ...fixture.options, passwords });
    const kept = async () => (await fixture.options.store.userByName("admin"))?.passwords;
    await assert.rejects(
      renewing.signIn({ name: "admin", password: "not the password", code: "000000", origin }),
    );
    assert.deepEqual(await kept(), [`old ${password}`]);
    await renewing.signIn({
      name: "admin",
      password,
      code: codeAt(admin.secret, fixture.clock.now()),
      origin,
    });
    assert.deepEqual(await kept(), [`new ${password}`]);
  });
});

describe("tries that are wrong", () => {
  const wrong = (
    fixture: UserFixture,
    who: EnrolledUser,
    from: string,
    deviceCookies: readonly string[] = [],
  ) =>
    assert.rejects(
      fixture.users.signIn({
        name: who.name,
        password: "not the password",
        code: "000000",
        origin: from,
        deviceCookies,
      }),
      refusedWith("sign_in_refused"),
    );
  const network = (number: number) => `198.51.100.${number}`;
  const right = (
    fixture: UserFixture,
    { name, secret }: EnrolledUser,
    deviceCookie: string,
    from = origin,
  ) =>
    fixture.users.signIn({
      name,
      password,
      code: codeAt(secret, fixture.clock.now()),
      origin: from,
      deviceCookies: [deviceCookie],
    });

  test("of strangers lock no user out of a browser that they have signed in with, and signing in there opens nothing for strangers", async () => {
    const fixture = await openUserFixture();
    const { admin, clock, users } = fixture;
    for (let attempts = 0; attempts < 10; attempts += 1)
      await wrong(fixture, admin, network(attempts));
    const lockedUntil = clock.now() + 30 * minute;
    assert.equal((await users.list())[0]?.lockedUntil, lockedUntil);
    const code = codeAt(admin.secret, clock.now());
    await assert.rejects(
      users.signIn({ name: "admin", password, code, origin }),
      refusedWith("sign_in_refused"),
      "control: locked",
    );
    const again = await right(fixture, admin, admin.deviceCookie, "203.0.113.9");
    assert.equal((await users.list())[0]?.lockedUntil, lockedUntil);
    clock.advance(30 * second);
    const next = codeAt(admin.secret, clock.now());
    await assert.rejects(
      users.signIn({ name: "admin", password, code: next, origin }),
      refusedWith("sign_in_refused"),
      "still locked",
    );
    // On another node, which has only the device cookie and the store.
    await createUsers(fixture.options).signIn({
      name: "admin",
      password,
      code: next,
      origin,
      deviceCookies: [again.deviceCookie.reveal()],
    });
    assert.deepEqual((await eventsOf(fixture)).slice(-4), [
      "anonymous sign_in refused locked",
      "user sign_in done",
      "anonymous sign_in refused locked",
      "user sign_in done",
    ]);
  });

  test("of a known browser are counted for it alone: ten, then it is a stranger's for half an hour", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "viewer");
    for (let attempts = 0; attempts < 10; attempts += 1)
      await wrong(fixture, bob, network(attempts), [bob.deviceCookie]);
    assert.equal(
      (await eventsOf(fixture)).at(-1),
      "anonymous sign_in refused wrong_password, known browser",
    );
    assert.equal((await fixture.options.store.userByName("bob"))?.failures, 0);
    await right(fixture, bob, "");
    for (let attempts = 0; attempts < 10; attempts += 1)
      await wrong(fixture, bob, network(attempts), [bob.deviceCookie]);
    assert.equal((await eventsOf(fixture)).at(-1), "server lock done", "as a stranger");
    fixture.clock.advance(30 * second);
    await assert.rejects(right(fixture, bob, bob.deviceCookie), refusedWith("sign_in_refused"));
    fixture.clock.advance(30 * minute - 30 * second);
    for (let attempts = 0; attempts < 9; attempts += 1)
      await wrong(fixture, bob, network(attempts), [bob.deviceCookie]);
    await right(fixture, bob, bob.deviceCookie);
    fixture.clock.advance(30 * second);
    for (let attempts = 0; attempts < 9; attempts += 1)
      await wrong(fixture, bob, network(attempts), [bob.deviceCookie]);
    await right(fixture, bob, bob.deviceCookie);
  });

  test("come from a known browser only with a mark of that person's, as it was given, and for 90 days", async () => {
    const fixture = await openUserFixture();
    const { admin, clock } = fixture;
    const bob = await addUser(fixture, "bob", "viewer");
    const [user = "", browser = "", issued = "", mac = ""] = admin.deviceCookie.split(".");
    const others = [
      "",
      "x".repeat(500),
      bob.deviceCookie,
      [user, browser, issued, bob.deviceCookie.split(".")[3]].join("."),
      [user, browser, String(Number(issued) + 1), mac].join("."),
      [user, `${browser.slice(0, -1)}${browser.endsWith("0") ? "1" : "0"}`, issued, mac].join("."),
      [bob.signedIn.user.id, browser, issued, mac].join("."),
      `${admin.deviceCookie}0`,
      admin.deviceCookie.toUpperCase(),
    ];
    for (const [number, deviceCookie] of others.entries()) {
      await wrong(fixture, admin, network(number), [deviceCookie]);
      assert.equal(
        (await eventsOf(fixture)).at(-1),
        "anonymous sign_in refused wrong_password",
        deviceCookie,
      );
    }
    await wrong(fixture, admin, origin, ["none", bob.deviceCookie, admin.deviceCookie]);
    assert.equal(
      (await eventsOf(fixture)).at(-1),
      "anonymous sign_in refused wrong_password, known browser",
      "control",
    );
    clock.advance(60 * day);
    const { deviceCookie: renewed } = await right(fixture, admin, admin.deviceCookie);
    assert.equal(renewed.reveal().split(".")[1], browser, "the browser stays the one it was");
    clock.advance(30 * day);
    await wrong(fixture, admin, origin, [admin.deviceCookie]);
    assert.equal(
      (await eventsOf(fixture)).at(-1),
      "anonymous sign_in refused wrong_password",
      "90 days are over",
    );
    await wrong(fixture, admin, origin, [renewed.reveal()]);
    assert.equal(
      (await eventsOf(fixture)).at(-1),
      "anonymous sign_in refused wrong_password, known browser",
    );
  });

  test("make no known browser of one whose person was invited again or disabled", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "viewer");
    const { invitation } = await fixture.users.inviteAgain(
      fixture.admin.signedIn,
      bob.signedIn.user.id,
      origin,
    );
    await wrong(fixture, bob, network(1), [bob.deviceCookie]);
    assert.equal((await eventsOf(fixture)).at(-1), "anonymous sign_in refused invited");
    const rejoined = await fixture.join(invitation.reveal(), "another horse battery staple");
    await wrong(fixture, bob, network(1), [bob.deviceCookie]);
    assert.equal((await eventsOf(fixture)).at(-1), "anonymous sign_in refused wrong_password");
    await fixture.users.disable(fixture.admin.signedIn, bob.signedIn.user.id, origin);
    await wrong(fixture, bob, network(1), [rejoined.deviceCookie]);
    assert.equal((await eventsOf(fixture)).at(-1), "anonymous sign_in refused disabled");
  });

  test("from one network are rate-limited unchecked, for every name, and recorded once in ten minutes", async () => {
    let hashed = 0;
    const fixture = await openUserFixture();
    const { store, passwords } = fixture.options;
    const counting = createUsers({
      ...fixture.options,
      store,
      passwords: {
        ...passwords,
        matches: async (...given) => ((hashed += 1), passwords.matches(...given)),
      },
    });
    const from = (name: string, where: string) =>
      counting
        .signIn({ name, password: "not the password", code: "000000", origin: where })
        .catch((error: unknown) => error);
    for (let attempts = 0; attempts < 20; attempts += 1)
      assert.equal(
        ((await from(`nobody-${attempts}`, network(1))) as UserError).code,
        "sign_in_refused",
      );
    const before = (await eventsOf(fixture)).length;
    for (const name of ["admin", "nobody", "x".repeat(10_000)]) {
      const error = (await from(name, network(1))) as UserError;
      assert.deepEqual([error.code, error.waitMs], ["rate_limited", 30 * second]);
    }
    for (let attempts = 0; attempts < 500; attempts += 1) await from("nobody", network(1));
    assert.equal(hashed, 20);
    assert.deepEqual((await eventsOf(fixture)).slice(before), [
      "anonymous sign_in refused rate_limited",
    ]);
    assert.equal(
      ((await from("nobody", network(2))) as UserError).code,
      "sign_in_refused",
      "others are not held back",
    );
    fixture.clock.advance(10 * minute);
    for (let attempts = 0; attempts < 25; attempts += 1) await from("nobody", network(1));
    assert.equal(
      (await eventsOf(fixture)).at(-1),
      "anonymous sign_in refused rate_limited, 502 more since the entry before",
    );
  });

  test("that are rate-limited while that cannot be recorded are rate-limited all the same, and counted with the next that is", async () => {
    const fixture = await openUserFixture();
    let failure: Error | undefined;
    const store = {
      ...storeOf(fixture),
      commit: (change: UserChange) =>
        failure === undefined ? fixture.options.store.commit(change) : Promise.reject(failure),
    };
    const users = createUsers({ ...fixture.options, store });
    const from = (): Promise<unknown> =>
      users
        .signIn({
          name: "nobody",
          password: "not the password",
          code: "000000",
          origin: network(1),
        })
        .catch((error: unknown) => error);
    for (let attempts = 0; attempts < 20; attempts += 1) await from();
    failure = new StoreError("unavailable");
    for (let attempts = 0; attempts < 3; attempts += 1)
      assert.equal(((await from()) as UserError).code, "rate_limited");
    failure = undefined;
    await from();
    assert.equal(
      (await eventsOf(fixture)).at(-1),
      "anonymous sign_in refused rate_limited, 3 more since the entry before",
    );
    fixture.clock.advance(10 * minute);
    for (let attempts = 0; attempts < 25; attempts += 1) await from();
    failure = new TypeError("a fault");
    fixture.clock.advance(10 * minute);
    let last: unknown;
    for (let attempts = 0; attempts < 25 && !(last instanceof TypeError); attempts += 1)
      last = await from();
    assert.ok(last instanceof TypeError);
  });

  test("from ever new addresses write no more than so much, and do not affect known browsers", async () => {
    const fixture = await openUserFixture();
    const { users, admin, clock } = fixture;
    const before = (await eventsOf(fixture)).length;
    for (let attempts = 0; attempts < 3_000; attempts += 1) {
      await users
        .signIn({
          name: "nobody",
          password: "not the password",
          code: "000000",
          origin: `2001:db8:${(attempts >> 8).toString(16)}:${attempts & 255}::1`,
        })
        .catch(() => undefined);
      if (attempts % 10 === 0) clock.advance(1 * second);
    }
    const written = (await eventsOf(fixture)).length - before;
    assert.ok(
      written >= 200 && written <= 100 + 150 + 2,
      `${written} for 3,000 tries within 300 seconds`,
    );
    await assert.rejects(
      right(fixture, admin, ""),
      refusedWith("rate_limited"),
      "control: a stranger waits",
    );
    await right(fixture, admin, admin.deviceCookie);
  });

  test("that could not be checked do not count", async () => {
    const fixture = await openUserFixture();
    let isBusy = true;
    const { passwords } = fixture.options;
    const users = createUsers({
      ...fixture.options,
      passwords: {
        ...passwords,
        matches: async (...given) => {
          if (isBusy) throw new UserError("busy");
          return passwords.matches(...given);
        },
      },
    });
    const attempt = (deviceCookies: readonly string[]) =>
      users.signIn({
        name: "admin",
        password,
        code: codeAt(fixture.admin.secret, fixture.clock.now()),
        origin,
        deviceCookies,
      });
    for (let attempts = 0; attempts < 200; attempts += 1)
      await assert.rejects(
        attempt(attempts % 2 === 0 ? [] : [fixture.admin.deviceCookie]),
        refusedWith("busy"),
      );
    isBusy = false;
    await attempt([]);
  });
});

describe("sessions", () => {
  test("end after 15 minutes without a request, and after 12 hours whatever is asked", async () => {
    const { users, admin, clock } = await openUserFixture();
    const { session } = admin;
    clock.advance(15 * minute - 30 * second - 1);
    assert.equal((await users.resume(session)).idleUntil, clock.now() + 15 * minute);
    for (
      let calls = 0;
      calls < 200 && clock.now() + 14 * minute < admin.signedIn.endsAt;
      calls += 1
    ) {
      clock.advance(14 * minute);
      await users.resume(session);
    }
    clock.advance(admin.signedIn.endsAt - clock.now() - 1);
    assert.equal((await users.resume(session)).idleUntil, admin.signedIn.endsAt);
    clock.advance(1);
    await assert.rejects(users.resume(session), refusedWith("not_signed_in"));
  });

  test("idle ones are over", async () => {
    const { users, admin, clock } = await openUserFixture();
    clock.advance(14 * minute + 30 * second);
    await assert.rejects(users.resume(admin.session), refusedWith("not_signed_in"));
  });

  test("a last use is written once a minute", async () => {
    const { users, admin, clock, options } = await openUserFixture();
    const digest = sha256Hex(admin.session);
    const written = new Set<Instant | undefined>();
    for (let calls = 0; calls < 120; calls += 1) {
      clock.advance(1 * second);
      await users.resume(admin.session);
      written.add((await options.store.session(digest))?.session.lastUsedAt);
    }
    // At its start, after 30 seconds, and once more.
    assert.equal(written.size, 3);
  });

  test("continue until they are idle when a last use cannot be recorded", async () => {
    const fixture = await openUserFixture();
    const { admin, clock, options } = fixture;
    let failure: Error = new StoreError("unavailable");
    const store = { ...storeOf(fixture), useSession: () => Promise.reject(failure) };
    const users = createUsers({ ...options, store });
    const idleUntil = (await users.resume(admin.session)).idleUntil;
    clock.advance(10 * minute);
    assert.equal((await users.resume(admin.session)).idleUntil, idleUntil);
    failure = new TypeError("a fault");
    await assert.rejects(users.resume(admin.session), TypeError);
    clock.advance(5 * minute);
    await assert.rejects(users.resume(admin.session), refusedWith("not_signed_in"));
  });

  test("signing out ends one, and is not an error twice", async () => {
    const fixture = await openUserFixture();
    const { session } = await signIn(fixture, fixture.admin);
    await fixture.users.signOut(session.reveal(), origin);
    await fixture.users.signOut(session.reveal(), origin);
    await fixture.users.signOut("x", origin);
    await assert.rejects(fixture.users.resume(session.reveal()), refusedWith("not_signed_in"));
    await fixture.users.resume(fixture.admin.session);
    assert.equal((await eventsOf(fixture)).filter((line) => line.includes("sign_out")).length, 1);
  });

  test("another's secret, an altered one and no secret at all are none", async () => {
    const { users, admin } = await openUserFixture();
    const altered = `${admin.session.slice(0, -1)}${admin.session.endsWith("A") ? "E" : "A"}`;
    for (const odd of [
      "",
      altered,
      admin.signedIn.csrf,
      `${admin.session}=`,
      "x".repeat(1_000_000),
    ]) {
      await assert.rejects(users.resume(odd), refusedWith("not_signed_in"));
    }
  });

  test("a role that changes, and a person who is disabled, are so at the next request on every node", async () => {
    const fixture = await openUserFixture();
    const other = createUsers(fixture.options);
    const bob = await addUser(fixture, "bob", "viewer");
    assert.equal((await other.resume(bob.session)).user.role, "viewer");
    await fixture.users.setRole(fixture.admin.signedIn, bob.signedIn.user.id, "operator", origin);
    assert.equal((await other.resume(bob.session)).user.role, "operator");
    await fixture.users.disable(fixture.admin.signedIn, bob.signedIn.user.id, origin);
    await assert.rejects(other.resume(bob.session), refusedWith("not_signed_in"));
    assert.deepEqual((await eventsOf(fixture)).slice(-2), [
      "user set_role done viewer to operator",
      "user disable done",
    ]);
  });
});

describe("passwords", () => {
  test("of one's own are changed with the one before and a code; other sessions end", async () => {
    const fixture = await openUserFixture();
    const { users, admin, clock } = fixture;
    const { session } = await signIn(fixture, admin);
    clock.advance(30 * second);
    const change = (over: object) =>
      users.changePassword({
        session: session.reveal(),
        password,
        code: codeAt(admin.secret, clock.now()),
        newPassword: "a wholly new password",
        origin,
        ...over,
      });
    await assert.rejects(change({ session: "x" }), refusedWith("not_signed_in"));
    await assert.rejects(change({ password: "not the password" }), refusedWith("sign_in_refused"));
    await assert.rejects(change({ code: "000000" }), refusedWith("sign_in_refused"));
    for (const newPassword of ["short", "the admin's password", password])
      await assert.rejects(change({ newPassword }), refusedWith("password_refused"));
    await assert.rejects(
      change({ newPassword: password, password: "not the password" }),
      refusedWith("sign_in_refused"),
    );
    await change({});
    await users.resume(session.reveal());
    await assert.rejects(users.resume(admin.session), refusedWith("not_signed_in"));
    clock.advance(30 * second);
    await assert.rejects(signIn(fixture, admin), refusedWith("sign_in_refused"));
    await signIn(fixture, admin, { password: "a wholly new password" });
  });

  test("none of the last four comes back, the one before them does", async () => {
    const fixture = await openUserFixture();
    const { users, admin, clock } = fixture;
    const passwords = [
      password,
      ...Array.from({ length: 4 }, (_, number) => `password number ${number}`),
    ];
    const change = (from: string, to: string) => {
      clock.advance(30 * second);
      return users.changePassword({
        session: admin.session,
        password: from,
        code: codeAt(admin.secret, clock.now()),
        newPassword: to,
        origin,
      });
    };
    for (const [index, to] of passwords.slice(1).entries()) {
      for (const old of passwords.slice(Math.max(0, index - 3), index + 1))
        await assert.rejects(change(passwords[index] ?? "", old), refusedWith("password_refused"));
      await change(passwords[index] ?? "", to);
    }
    for (const old of passwords.slice(1))
      await assert.rejects(change(passwords[4] ?? "", old), refusedWith("password_refused"));
    await change(passwords[4] ?? "", password);
  });

  test("are guessed no faster through a session: wrong ones count, and lock", async () => {
    const fixture = await openUserFixture();
    const { users, admin, clock } = fixture;
    const change = (given: string) =>
      users.changePassword({
        session: admin.session,
        password: given,
        code: codeAt(admin.secret, clock.now()),
        newPassword: "a wholly new password",
        origin,
      });
    for (let attempts = 0; attempts < 10; attempts += 1)
      await assert.rejects(change("not the password"), refusedWith("sign_in_refused"));
    await assert.rejects(change(password), refusedWith("sign_in_refused"));
    await users.resume(admin.session);
  });

  test("are guessed through a session without writing, or hashing, without end", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "viewer");
    const change = (newPassword: string) =>
      fixture.users.changePassword({
        session: bob.session,
        password: "not the password",
        code: "000000",
        newPassword,
        origin,
      });
    // A change that fails only because of the new password is not a failed attempt.
    for (let attempts = 0; attempts < 50; attempts += 1)
      await assert.rejects(change("short"), refusedWith("password_refused"));
    const before = (await eventsOf(fixture)).length;
    for (let attempts = 0; attempts < 30; attempts += 1)
      await assert.rejects(change("a wholly new password"), refusedWith("sign_in_refused"));
    for (let attempts = 0; attempts < 100; attempts += 1)
      await assert.rejects(change("a wholly new password"), refusedWith("rate_limited"));
    // Thirty attempts, the lock of the name, and the rate-limited attempts.
    assert.equal((await eventsOf(fixture)).length - before, 32);
  });
});

describe("who may be where", () => {
  test("the last active admin stays one: not disabled, not less, not invited again", async () => {
    const fixture = await openUserFixture();
    const { users, admin } = fixture;
    const own = admin.signedIn.user.id;
    await assert.rejects(users.disable(admin.signedIn, own, origin), refusedWith("last_admin"));
    await assert.rejects(
      users.setRole(admin.signedIn, own, "operator", origin),
      refusedWith("last_admin"),
    );
    await assert.rejects(users.inviteAgain(admin.signedIn, own, origin), refusedWith("last_admin"));
    const bob = await addUser(fixture, "bob", "admin");
    await users.disable(admin.signedIn, own, origin);
    await assert.rejects(users.resume(admin.session), refusedWith("not_signed_in"), "of oneself");
    await assert.rejects(
      users.disable(bob.signedIn, bob.signedIn.user.id, origin),
      refusedWith("last_admin"),
    );
  });

  test("two admins who disable each other at once: one is left", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "admin");
    const other = createUsers(fixture.options);
    const results = await Promise.allSettled([
      fixture.users.disable(fixture.admin.signedIn, bob.signedIn.user.id, origin),
      other.disable(bob.signedIn, fixture.admin.signedIn.user.id, origin),
    ]);
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    assert.equal((await fixture.users.list()).filter(({ state }) => state === "active").length, 1);
  });

  test("a user who was an admin when the request arrived, and is not now, changes no user", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "admin");
    await fixture.users.setRole(fixture.admin.signedIn, bob.signedIn.user.id, "operator", origin);
    await assert.rejects(
      fixture.users.disable(bob.signedIn, fixture.admin.signedIn.user.id, origin),
      refusedWith("not_signed_in"),
    );
    await assert.rejects(
      fixture.users.invite(bob.signedIn, { name: "eve", role: "admin", origin }),
      refusedWith("not_signed_in"),
    );
  });

  test("a disabled person comes back through a new link", async () => {
    const fixture = await openUserFixture();
    const bob = await addUser(fixture, "bob", "operator");
    await fixture.users.disable(fixture.admin.signedIn, bob.signedIn.user.id, origin);
    const { user, invitation } = await fixture.users.inviteAgain(
      fixture.admin.signedIn,
      bob.signedIn.user.id,
      origin,
    );
    assert.equal(user.state, "invited");
    const back = await fixture.join(invitation.reveal(), "another horse battery staple");
    assert.equal(back.signedIn.user.role, "operator");
    assert.notDeepEqual(back.secret, bob.secret);
    await assert.rejects(signIn(fixture, bob), refusedWith("sign_in_refused"));
  });

  test("no user can act as another", async () => {
    const { users, admin } = await openUserFixture();
    for (const id of ["0000000000000000", "", "x".repeat(10_000)]) {
      await assert.rejects(
        users.disable(admin.signedIn, id as UserId, origin),
        refusedWith("no_such_user"),
      );
    }
  });
});

describe("the audit log", () => {
  test("an action that cannot be recorded is not done", async () => {
    let fault: "unavailable" | "commit_unknown" | undefined;
    const fixture = await openUserFixture({
      store: createMemoryUsers({ commitFault: () => fault }),
    });
    const bob = await addUser(fixture, "bob", "viewer");
    const whole = async () => [
      await fixture.options.store.users(),
      await fixture.options.store.auditHead(),
    ];
    const before = await whole();
    fault = "unavailable";
    const { users, admin } = fixture;
    const unwritten = { name: "ServiceError", code: "store_unavailable" };
    await assert.rejects(signIn(fixture, admin), unwritten);
    await assert.rejects(signIn(fixture, admin, { code: "000000" }), unwritten);
    await assert.rejects(
      users.invite(admin.signedIn, { name: "eve", role: "viewer", origin }),
      unwritten,
    );
    await assert.rejects(
      users.setRole(admin.signedIn, bob.signedIn.user.id, "admin", origin),
      unwritten,
    );
    await assert.rejects(users.disable(admin.signedIn, bob.signedIn.user.id, origin), unwritten);
    await assert.rejects(users.signOut(admin.session, origin), unwritten);
    await assert.rejects(
      users.record({
        actor: { kind: "server" },
        origin,
        action: "refund",
        target: undefined,
        result: "started",
        completes: undefined,
        detail: undefined,
      }),
      unwritten,
    );
    assert.deepEqual(await whole(), before);
    await users.resume(admin.session);
    fault = "commit_unknown";
    await assert.rejects(signIn(fixture, admin), {
      name: "ServiceError",
      code: "internal_failure",
    });
  });

  test("no change of a user comes without an act", async () => {
    const changes: UserChange[] = [];
    const store = createMemoryUsers({
      commitFault: (change) => {
        changes.push(change);
        return undefined;
      },
    });
    const fixture = await openUserFixture({ store });
    const bob = await addUser(fixture, "bob", "viewer");
    await fixture.users.disable(fixture.admin.signedIn, bob.signedIn.user.id, origin);
    assert.ok(changes.length >= 5, "control");
    for (const { events } of changes) assert.ok(events.length > 0);
  });

  test("an act is kept as it was, but for what looks like a card number", async () => {
    const { users } = await openUserFixture();
    const event = {
      actor: { kind: "server" },
      origin,
      action: "refund",
      target: "61a2b3c4111111111111111151a2b3c4d5e6f708192a3b4c",
      result: "started",
      completes: 7,
      detail: `card 4111 1111 1111 1111 ${"x".repeat(600)}`,
    } as const;
    const number = await users.record(event);
    const [entry] = await users.audit(number + 1, 1);
    assert.equal(entry?.number, number);
    assert.equal(entry?.target, event.target, "an id is no card number");
    assert.equal(entry?.detail?.length, 500);
    assert.ok(entry?.detail?.startsWith("card 4111 11xx xxxx 1111 x"));
    assert.equal(entry?.completes, 7);
    assert.equal(await users.record({ ...event, result: "done", completes: number }), number + 1);
  });

  test("pages are as long as asked, and never endless", async () => {
    const { users } = await openUserFixture();
    assert.equal((await users.audit(undefined, 1)).length, 1);
    assert.equal((await users.audit(undefined, -1)).length, 0);
    assert.equal((await users.audit(undefined, Number.NaN)).length, 0);
    const { entries, firstBad, head } = await users.verifyAudit();
    assert.deepEqual([entries, firstBad, head.number], [2, undefined, 2]);
  });
});
