import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Instant, instant, laterBy } from "../../src/kernel/instant.ts";
import type { AuditEvent } from "../../src/user/audit.ts";
import { auditBeginning, entryOf, follows, type AuditHead } from "../../src/user/audit-chain.ts";
import type {
  UserChange,
  UserStore,
  UserRecord,
  SessionRecord,
} from "../../src/user/user-store.ts";
import type { UserId } from "../../src/user/user.ts";

export const start = instant(Date.UTC(2026, 10, 28, 12));

export function userId(number: number): UserId {
  return number.toString(16).padStart(16, "0") as UserId;
}

export function hexDigest(number: number): string {
  return number.toString(16).padStart(64, "0");
}

export function newUser(number: number, over: Partial<UserRecord> = {}): UserRecord {
  return {
    id: userId(number),
    version: 1,
    name: `Person-${number}`,
    role: "admin",
    state: "active",
    createdAt: start,
    lastSignedInAt: undefined,
    passwords: ["$argon2id$one", "$argon2id$two"],
    totp: Uint8Array.of(0, 1, 254, 255),
    totpStep: 59_000_000,
    failures: 0,
    lockedUntil: undefined,
    invitation: undefined,
    ...over,
  };
}

export function action(over: Partial<AuditEvent> = {}): AuditEvent {
  return {
    actor: { kind: "server" },
    origin: undefined,
    action: "invite",
    target: undefined,
    result: "done",
    completes: undefined,
    detail: undefined,
    ...over,
  };
}

export function userChange(next: UserRecord, over: Partial<UserChange> = {}): UserChange {
  const replaces = next.version === 1 ? undefined : next.version - 1;
  return { at: start, events: [action({ target: next.id })], user: { next, replaces }, ...over };
}

export function sessionOf(
  number: number,
  user: number,
  over: Partial<SessionRecord> = {},
): SessionRecord {
  const endsAt = laterBy(start, 1_000_000);
  return {
    digest: hexDigest(number),
    userId: userId(user),
    startedAt: start,
    lastUsedAt: start,
    endsAt,
    ...over,
  };
}

export function begin(session: SessionRecord, at: Instant = start): UserChange {
  return { at, events: [action({ action: "sign_in" })], begins: session };
}

/** Reads the whole audit chain and returns its length. */
export async function assertChain(store: UserStore): Promise<number> {
  let head: AuditHead = auditBeginning;
  for (const row of await store.auditAfter(0, 100_000)) {
    assert.ok(follows(head, row), `entry ${head.number + 1} follows the one before`);
    head = row;
  }
  const { number, digest } = await store.auditHead();
  assert.deepEqual({ number, digest }, { number: head.number, digest: head.digest });
  return head.number;
}

/** Promises of UserStore, each tested on a new store. */
export function describeUserStoreContract(
  name: string,
  open: () => Promise<{ readonly users: UserStore; close(): Promise<void> }>,
): void {
  const eachTest = (title: string, check: (store: UserStore) => Promise<void>): void => {
    test(title, async (context) => {
      const store = await open();
      context.after(() => store.close());
      await check(store.users);
    });
  };

  describe(`people: ${name}`, () => {
    eachTest("an empty store has nobody, no session and no entry", async (store) => {
      assert.deepEqual(await store.users(), []);
      assert.equal(await store.user(userId(1)), undefined);
      assert.equal(await store.userByName("person-1"), undefined);
      assert.equal(await store.userByInvitation(hexDigest(1)), undefined);
      assert.equal(await store.session(hexDigest(1)), undefined);
      assert.deepEqual(await store.auditBefore(undefined, 10), []);
      assert.deepEqual(await store.auditHead(), auditBeginning);
    });

    eachTest(
      "a person comes back as committed, with all there is and with as little as there can be",
      async (store) => {
        const whole = newUser(1, {
          lastSignedInAt: laterBy(start, 5),
          failures: 3,
          lockedUntil: laterBy(start, 7),
          invitation: { digest: hexDigest(9), endsAt: laterBy(start, 9) },
        });
        const bare = newUser(2, {
          role: "viewer",
          state: "invited",
          passwords: [],
          totp: undefined,
          totpStep: 0,
        });
        assert.deepEqual(await store.commit(userChange(whole)), {
          outcome: "committed",
          number: 1,
        });
        assert.deepEqual(await store.commit(userChange(bare)), {
          outcome: "committed",
          number: 2,
        });
        assert.deepEqual(await store.user(whole.id), whole);
        assert.deepEqual(await store.user(bare.id), bare);
        assert.deepEqual(await store.userByName("person-1"), whole);
        assert.deepEqual(await store.userByInvitation(hexDigest(9)), whole);
        assert.deepEqual(await store.users(), [whole, bare]);
      },
    );

    eachTest(
      "a person is replaced at the version that was read, or not at all and without an entry",
      async (store) => {
        await store.commit(userChange(newUser(1)));
        const second = newUser(1, {
          version: 2,
          failures: 1,
          totp: undefined,
          state: "disabled",
          invitation: undefined,
        });
        assert.deepEqual(await store.commit(userChange(second)), {
          outcome: "committed",
          number: 2,
        });
        assert.deepEqual(
          await store.commit(userChange({ ...second, failures: 2 }, { begins: sessionOf(1, 1) })),
          { outcome: "stale" },
        );
        assert.deepEqual(
          await store.commit(userChange(newUser(7, { version: 2 }))),
          { outcome: "stale" },
          "nobody to replace",
        );
        assert.deepEqual(
          await store.commit(userChange(newUser(1))),
          { outcome: "stale" },
          "somebody there already",
        );
        assert.deepEqual(await store.user(userId(1)), second);
        assert.equal(await store.session(hexDigest(1)), undefined);
        assert.equal(await assertChain(store), 2);
      },
    );

    eachTest(
      "a name is taken whatever its case, and people come in the order of their names",
      async (store) => {
        await store.commit(userChange(newUser(1, { name: "bob" })));
        await store.commit(userChange(newUser(2, { name: "Alice" })));
        assert.deepEqual(await store.commit(userChange(newUser(3, { name: "BOB" }))), {
          outcome: "name_taken",
        });
        assert.deepEqual(
          (await store.users()).map(({ name }) => name),
          ["Alice", "bob"],
        );
        assert.equal(await assertChain(store), 2);
      },
    );

    eachTest(
      "a change that must keep an admin is refused when none would be left",
      async (store) => {
        await store.commit(userChange(newUser(1)));
        await store.commit(userChange(newUser(2, { role: "operator" })));
        const demoted = newUser(1, { version: 2, role: "viewer" });
        assert.deepEqual(await store.commit(userChange(demoted, { keepsAdmin: true })), {
          outcome: "no_admin",
        });
        await store.commit(userChange(newUser(3, { state: "invited" })));
        assert.deepEqual(
          await store.commit(userChange(demoted, { keepsAdmin: true })),
          { outcome: "no_admin" },
          "invited is not active",
        );
        const promoted = newUser(2, { version: 2, role: "admin" });
        assert.equal(
          (await store.commit(userChange(promoted, { keepsAdmin: true }))).outcome,
          "committed",
        );
        assert.equal(
          (await store.commit(userChange(demoted, { keepsAdmin: true }))).outcome,
          "committed",
        );
        assert.equal(
          (await store.commit(userChange(newUser(2, { version: 3, role: "viewer" })))).outcome,
          "committed",
          "when not asked for",
        );
      },
    );

    eachTest(
      "sessions begin and end: one, all of a person but one, and those that are over",
      async (store) => {
        for (const number of [1, 2]) await store.commit(userChange(newUser(number)));
        for (const number of [1, 2, 3]) await store.commit(begin(sessionOf(number, 1)));
        await store.commit(begin(sessionOf(4, 2, { endsAt: laterBy(start, 10) })));
        const found = await store.session(hexDigest(1));
        assert.deepEqual(found, { session: sessionOf(1, 1), user: newUser(1) });
        const left = async () => {
          const sessions = await Promise.all(
            [1, 2, 3, 4, 5].map((number) => store.session(hexDigest(number))),
          );
          return sessions.flatMap((each, index) => (each === undefined ? [] : [index + 1]));
        };
        await store.commit({ at: start, events: [action()], ends: { digest: hexDigest(3) } });
        assert.deepEqual(await left(), [1, 2, 4]);
        await store.commit({
          at: start,
          events: [action()],
          ends: { of: userId(1), except: hexDigest(2) },
        });
        assert.deepEqual(await left(), [2, 4]);
        await store.commit(begin(sessionOf(5, 1), laterBy(start, 10)));
        assert.deepEqual(await left(), [2, 5], "what was over is forgotten");
        await store.commit({
          at: start,
          events: [action()],
          ends: { of: userId(1), except: undefined },
        });
        assert.deepEqual(await left(), []);
      },
    );

    eachTest("a session's last use moves on and never back", async (store) => {
      await store.commit(userChange(newUser(1)));
      await store.commit(begin(sessionOf(1, 1)));
      const lastUse = async () => (await store.session(hexDigest(1)))?.session.lastUsedAt;
      await store.useSession(hexDigest(1), laterBy(start, 60));
      assert.equal(await lastUse(), start + 60);
      await store.useSession(hexDigest(1), laterBy(start, 30));
      assert.equal(await lastUse(), start + 60);
      await store.useSession(hexDigest(2), laterBy(start, 30));
      assert.equal(await store.session(hexDigest(2)), undefined);
      assert.equal(await assertChain(store), 2, "it is no act");
    });

    eachTest("a session shows its person as they are now", async (store) => {
      await store.commit(userChange(newUser(1)));
      await store.commit(begin(sessionOf(1, 1)));
      await store.commit(userChange(newUser(1, { version: 2, role: "viewer" })));
      assert.equal((await store.session(hexDigest(1)))?.user.role, "viewer");
    });

    eachTest("entries are numbered without a gap, and come from either end", async (store) => {
      for (let number = 1; number <= 6; number += 2) {
        const events = [
          action({ detail: `entry ${number}` }),
          action({ detail: `entry ${number + 1}` }),
        ] as const;
        assert.deepEqual(await store.commit({ at: laterBy(start, number), events: [...events] }), {
          outcome: "committed",
          number,
        });
      }
      const details = async (rows: ReturnType<UserStore["auditAfter"]>) =>
        (await rows).map(entryOf).map(({ number, detail }) => [number, detail]);
      assert.deepEqual(await details(store.auditBefore(undefined, 2)), [
        [6, "entry 6"],
        [5, "entry 5"],
      ]);
      assert.deepEqual(await details(store.auditBefore(3, 5)), [
        [2, "entry 2"],
        [1, "entry 1"],
      ]);
      assert.deepEqual(await details(store.auditAfter(4, 5)), [
        [5, "entry 5"],
        [6, "entry 6"],
      ]);
      assert.deepEqual(await store.auditBefore(1, 5), []);
      assert.equal(await assertChain(store), 6);
    });

    eachTest("an entry is what was written down, whatever its characters", async (store) => {
      const detail = `"\\ \u0000 \u2028 é 漢 💳 \ud800 ${"x".repeat(400)}`;
      const written = action({
        actor: { kind: "user", id: userId(1), name: "o'Neil" },
        origin: "::1",
        action: "refund",
        target: "/v1/a?b",
        result: "started",
        completes: 12,
        detail,
      });
      await store.commit({
        at: start,
        events: [written, action({ actor: { kind: "anonymous" } })],
      });
      const [first, second] = (await store.auditAfter(0, 10)).map(entryOf);
      assert.deepEqual({ ...first, digest: "" }, { ...written, number: 1, at: start, digest: "" });
      assert.deepEqual(second?.actor, { kind: "anonymous" });
      assert.equal(await assertChain(store), 2);
    });

    eachTest("of changes that come at once each is whole, and the chain holds", async (store) => {
      await store.commit(userChange(newUser(1)));
      const tries = Array.from({ length: 40 }, (_, number) =>
        store.commit(
          userChange(newUser(1, { version: 2, failures: number }), {
            begins: sessionOf(number + 1, 1),
          }),
        ),
      );
      const outcomes = (await Promise.all(tries)).map(({ outcome }) => outcome);
      assert.equal(outcomes.filter((outcome) => outcome === "committed").length, 1);
      const winner = outcomes.indexOf("committed");
      assert.equal((await store.user(userId(1)))?.failures, winner);
      for (let number = 0; number < 40; number += 1) {
        assert.equal((await store.session(hexDigest(number + 1))) !== undefined, number === winner);
      }
      await Promise.all(
        Array.from({ length: 40 }, () => store.commit({ at: start, events: [action(), action()] })),
      );
      assert.equal(await assertChain(store), 82);
    });
  });
}
