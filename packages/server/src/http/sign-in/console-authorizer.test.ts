import type { Caller } from "../../wire/endpoint.ts";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { newAccount } from "../../../test/contract/store-fixtures.ts";
import { keyedEndpoint } from "../../../test/keyed-endpoints.ts";
import { addUser, type EnrolledUser, openUserFixture } from "../../../test/console-users.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { minute, second } from "../../kernel/instant.ts";
import { ServiceError } from "../../payment/service-error.ts";
import type { LogEvent } from "../../logging/log-event.ts";
import type { AuditEvent } from "../../user/audit.ts";
import type { Role } from "../../user/user.ts";
import { errorAnswer, type WireResponse } from "../../wire/answers/answer.ts";
import { readErrors, wireErrorOf } from "../../wire/answers/errors.ts";
import {
  type Authorized,
  fromOwnPage,
  ConsoleAuthorizer,
  type ConsoleAuthorizerParts,
  sessionHeaders,
} from "./console-authorizer.ts";

const auditPath = "/__cofre/audit";
const first = "0a0b0c0d" as MerchantId;
const other = "1a1b1c1d" as MerchantId;
const hash = "0".repeat(48);
const refund = { method: "POST", params: { hash, amount: "1.50" } } as const;
const nothing = { method: "GET", params: {} } as const;
const done: WireResponse = { status: 200, body: "{}" };

/**
 * A gate with stored users and a signed-in operator; `fail` makes audit writes fail from then on.
 */
async function openGate({ role = "operator" }: { readonly role?: Role } = {}) {
  const fixture = await openUserFixture();
  const { users, clock } = fixture;
  const joined = await addUser(fixture, "Olga", role);
  const log: LogEvent[] = [];
  let failure: Error | undefined;
  let recorded = 0;
  const record = (action: AuditEvent): Promise<number> => {
    recorded += 1;
    return failure === undefined ? users.record(action) : Promise.reject(failure);
  };
  const accounts = new Map([first, other].map((id) => [id as string, newAccount(id)]));
  const parts: ConsoleAuthorizerParts = {
    users: { resume: users.resume.bind(users), record },
    accountOf: async (id) => accounts.get(id ?? first),
    clock,
    log: { write: (event) => void log.push(event) },
  };
  const callerOf = ({ session, signedIn }: EnrolledUser, over: Partial<Caller> = {}): Caller => ({
    address: "198.51.100.7",
    isSecure: false,
    session,
    deviceCookies: [],
    csrf: signedIn.csrf,
    account: undefined,
    isBackground: false,
    isSameOrigin: true,
    ...over,
  });
  const since = (await users.audit(undefined, 1_000)).length;
  return {
    ...fixture,
    authorizer: new ConsoleAuthorizer(parts),
    joined,
    log,
    caller: (over: Partial<Caller> = {}) => callerOf(joined, over),
    callerOf,
    fail: (error: Error | undefined) => void (failure = error),
    /** New audit entries: action, target, result, the entry that they end, and detail. */
    written: async () => {
      const entries = (await users.audit(undefined, 1_000)).toReversed().slice(since);
      return entries.map(({ action, target, result, completes, detail }) => [
        action,
        target,
        result,
        completes,
        detail,
      ]);
    },
    since,
    recorded: () => recorded,
  };
}

function admittedBy(admitted: Authorized | undefined): Authorized {
  assert.ok(admitted !== undefined);
  return admitted;
}

const refusedWith = (statusCode: string) => ({ name: "WireError", statusCode });

describe("who is let in without a key", () => {
  test("a request without a session is not admitted: it needs a key", async () => {
    const { authorizer, caller, written } = await openGate();
    assert.equal(
      await authorizer.admit(
        keyedEndpoint("/ws/refund"),
        refund,
        caller({ session: undefined, csrf: undefined }),
      ),
      undefined,
    );
    assert.deepEqual(await written(), []);
  });

  test("a request without a session, without the page's header, or from another page is refused", async () => {
    const { authorizer, caller, joined, written } = await openGate();
    const { csrf } = joined.signedIn;
    const rows: readonly (readonly [code: string, over: Partial<Caller>])[] = [
      ["COFRE-110", { session: undefined }],
      ["COFRE-110", { session: "x".repeat(43) }],
      ["COFRE-112", { csrf: undefined }],
      ["COFRE-112", { csrf: "" }],
      ["COFRE-112", { csrf: `${csrf}x` }],
      ["COFRE-112", { csrf: csrf.replace(/^./, (letter) => (letter === "x" ? "y" : "x")) }],
      ["COFRE-112", { isSameOrigin: false }],
    ];
    for (const [code, over] of rows) {
      await assert.rejects(
        authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller(over)),
        refusedWith(code),
      );
      await assert.rejects(authorizer.admin("/__cofre/users", caller(over)));
    }
    assert.deepEqual(await written(), []);
  });

  test("of another page nothing is read, whatever it says", async () => {
    const { caller } = await openGate();
    const refused = refusedWith("COFRE-112");
    assert.throws(() => fromOwnPage(caller({ isSameOrigin: false })), refused);
    assert.throws(() => fromOwnPage(caller({ csrf: undefined })), refused);
    fromOwnPage(caller({ csrf: "" }));
  });

  test("an idle page keeps no session alive", async () => {
    const { authorizer, caller, clock } = await openGate();
    for (let minutes = 0; minutes < 14; minutes += 1) {
      clock.advance(1 * minute);
      await authorizer.admit(
        keyedEndpoint("/__cofre/stats"),
        nothing,
        caller({ isBackground: true }),
      );
    }
    clock.advance(1 * minute);
    await assert.rejects(
      authorizer.admit(keyedEndpoint("/__cofre/stats"), nothing, caller()),
      refusedWith("COFRE-110"),
    );
  });

  test("a person that does something keeps it alive", async () => {
    const { authorizer, caller, clock } = await openGate();
    for (let minutes = 0; minutes < 30; minutes += 5) {
      clock.advance(5 * minute);
      admittedBy(await authorizer.admit(keyedEndpoint("/__cofre/stats"), nothing, caller()));
    }
  });

  test("an error that is not a refusal does not become one", async () => {
    const { authorizer, caller, clock } = await openGate();
    const broken = new ConsoleAuthorizer({
      users: { resume: () => Promise.reject(new TypeError("a fault")), record: async () => 1 },
      accountOf: async () => undefined,
      clock,
      log: { write: () => undefined },
    });
    await assert.rejects(
      broken.admit(keyedEndpoint("/__cofre/stats"), nothing, caller()),
      TypeError,
    );
    admittedBy(await authorizer.admit(keyedEndpoint("/__cofre/stats"), nothing, caller()));
  });
});

describe("what a person does", () => {
  test("is recorded before it is done, with its details, and completed with its result", async () => {
    const { authorizer, caller, written, since, joined, users } = await openGate();
    const admitted = admittedBy(
      await authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller()),
    );
    assert.deepEqual([admitted.account.id, admitted.user.id], [first, joined.signedIn.user.id]);
    const requested = ["refund", hash, "started", undefined, `account ${first}, amount 1.50`];
    assert.deepEqual(await written(), [requested]);
    await admitted.end(done);
    assert.deepEqual(await written(), [
      requested,
      ["refund", hash, "done", since + 1, `account ${first}, status 200`],
    ]);
    for (const { actor, origin } of await users.audit(undefined, 2)) {
      assert.deepEqual(
        [actor, origin],
        [{ kind: "user", id: joined.signedIn.user.id, name: "Olga" }, "198.51.100.7"],
      );
    }
  });

  test("has succeeded, failed, or ended in an unknown way", async () => {
    const { authorizer, caller, written, since } = await openGate();
    const made = "f".repeat(48);
    const rows: readonly (readonly [
      answer: WireResponse,
      result: string,
      target: string,
      detail: string,
    ])[] = [
      [
        { status: 200, body: `{"payment":{"hash":"${made}","merchant_payment_code":"a"}}` },
        "done",
        made,
        "status 200",
      ],
      [{ status: 502, body: "" }, "unknown", hash, "status 502"],
      [errorAnswer("BP-R-3", "No"), "refused", hash, "status 200, BP-R-3"],
      [errorAnswer("COFRE-14", "Nobody knows"), "unknown", hash, "status 200, COFRE-14"],
      [errorAnswer("COFRE-22", "Nobody knows", 503), "unknown", hash, "status 503, COFRE-22"],
      [errorAnswer("BP-DR-119", "Nobody knows"), "unknown", hash, "status 200, BP-DR-119"],
    ];
    for (const [answer] of rows)
      await admittedBy(await authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller())).end(
        answer,
      );
    const ends = (await written()).filter((_, index) => index % 2 === 1);
    assert.deepEqual(
      ends,
      rows.map(([, result, target, detail], index) => [
        "refund",
        target,
        result,
        since + 2 * index + 1,
        `account ${first}, ${detail}`,
      ]),
    );
  });

  test("is not done when it cannot be recorded; a full disk is not reported again", async () => {
    const { authorizer, caller, fail, log } = await openGate();
    const { statusCode } = wireErrorOf(new ServiceError("store_unavailable"), readErrors);
    fail(new ServiceError("store_unavailable"));
    await assert.rejects(
      authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller()),
      refusedWith(statusCode),
    );
    assert.equal(log.length, 0);
    fail(new TypeError("a fault"));
    await assert.rejects(
      authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller()),
      refusedWith(statusCode),
    );
    assert.deepEqual(
      log.map((event) => [event.event, "errorName" in event && event.errorName]),
      [["audit_failed", "TypeError"]],
    );
  });

  test("has happened although its end could not be recorded: the log reports it", async () => {
    const { authorizer, caller, fail, log, written } = await openGate();
    const admitted = admittedBy(
      await authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller()),
    );
    fail(new ServiceError("store_unavailable"));
    assert.equal((await admitted.end(done)).status, 200);
    assert.deepEqual(
      log.map(({ event }) => event),
      ["audit_completion_failed"],
    );
    assert.equal((await written()).length, 1);
  });

  test("is answered with how long the session lasts, behind the headers that there are", async () => {
    const { authorizer, caller } = await openGate();
    const admitted = admittedBy(
      await authorizer.admit(keyedEndpoint("/__cofre/stats"), nothing, caller()),
    );
    const answered = await admitted.end({ ...done, headers: [["X-Other", "1"]] });
    assert.deepEqual(answered.headers, [
      ["X-Other", "1"],
      ["X-Cofre-Session-Seconds", "870"],
      ["X-Cofre-Role", "operator"],
    ]);
    assert.deepEqual((await admitted.end(done)).headers?.length, 2);
  });

  test("is of the account that is meant, of the first when none is, and of none that is not there", async () => {
    const { authorizer, caller, written } = await openGate();
    assert.equal(
      admittedBy(
        await authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller({ account: other })),
      ).account.id,
      other,
    );
    await assert.rejects(
      authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller({ account: "ffffffff" })),
      refusedWith("COFRE-119"),
    );
    // The list of worlds belongs to the server, whichever account is selected.
    const list = { method: "GET", params: {} } as const;
    assert.equal(
      admittedBy(
        await authorizer.admit(
          keyedEndpoint("/__cofre/worlds"),
          list,
          caller({ account: "ffffffff" }),
        ),
      ).account.id,
      first,
    );
    assert.equal((await written()).length, 1);
  });
});

describe("what a program does with a key", () => {
  const account = newAccount(first);
  const settings = { method: "POST", params: { chaos: "{}" } } as const;

  test("is not recorded when it is a payment, and its client is not read from the request", async () => {
    const { authorizer, caller, written } = await openGate();
    let read = 0;
    const callerOf = () => {
      read += 1;
      return caller();
    };
    for (const path of ["/ws/direct", "/ws/capture", "/ws/refund", "/ws/token", "/ws/query"])
      assert.equal(
        authorizer.byKey(keyedEndpoint(path), refund, account, callerOf),
        undefined,
        path,
      );
    assert.equal(read, 0);
    assert.deepEqual(await written(), []);
  });

  test("is recorded with its client and its result when it changes how the server behaves", async () => {
    const { authorizer, caller, users, written } = await openGate();
    const end = await authorizer.byKey(
      keyedEndpoint("/ws/merchantIntegrationProperties/edit"),
      settings,
      account,
      () => caller(),
    );
    assert.ok(end !== undefined);
    assert.deepEqual(await end(done), done);
    assert.deepEqual(
      (await written()).map(([action, , result]) => [action, result]),
      [
        ["settings_changed", "started"],
        ["settings_changed", "done"],
      ],
    );
    assert.equal((await users.audit(undefined, 1_000))[0]?.origin, "198.51.100.7");
  });
});

describe("what a role does not allow", () => {
  test("is refused, and recorded once in ten minutes for each kind of action", async () => {
    const { authorizer, caller, written, clock } = await openGate({ role: "viewer" });
    const tries = async (): Promise<void> => {
      await assert.rejects(
        authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller()),
        refusedWith("COFRE-113"),
      );
      await assert.rejects(
        authorizer.admit(keyedEndpoint("/ws/capture"), refund, caller()),
        refusedWith("COFRE-113"),
      );
    };
    await tries();
    await tries();
    const once = [
      ["refund", hash, "refused", undefined, "role viewer"],
      ["capture", hash, "refused", undefined, "role viewer"],
    ];
    assert.deepEqual(await written(), once);
    clock.advance(10 * minute);
    await tries();
    assert.deepEqual(await written(), [...once, ...once]);
  });

  test("is people and their audit log, for all but admins", async () => {
    const { authorizer, caller, callerOf, admin, written } = await openGate();
    await assert.rejects(authorizer.admin(auditPath, caller()), refusedWith("COFRE-113"));
    assert.equal((await authorizer.admin("/__cofre/users", callerOf(admin))).user.name, admin.name);
    assert.deepEqual(await written(), [
      ["request", auditPath, "refused", undefined, "role operator"],
    ]);
    await authorizer.admin(auditPath, callerOf(admin), { isView: true });
    assert.deepEqual((await written()).slice(1), [
      ["viewed", auditPath, "done", undefined, undefined],
    ]);
  });
});

describe("a look", () => {
  const look = (account: MerchantId = first): unknown[] => [
    "viewed",
    hash,
    "done",
    undefined,
    `account ${account}`,
  ];

  test("is recorded once in ten minutes for each user, account and payment", async () => {
    const fixture = await openGate({ role: "viewer" });
    const { authorizer, caller, callerOf, admin, written, clock } = fixture;
    const requested = { method: "GET", params: { hash } } as const;
    const seen = async (over: Partial<Caller> = {}): Promise<void> =>
      void (await authorizer.admit(keyedEndpoint("/ws/query"), requested, caller(over)));
    await Promise.all([seen(), seen(), seen()]);
    assert.deepEqual(await written(), [look()]);
    clock.advance(10 * minute - 1);
    await seen();
    assert.equal((await written()).length, 1);
    clock.advance(1);
    await seen();
    assert.equal((await written()).length, 2);
    await seen({ account: other });
    assert.deepEqual((await written()).slice(2), [look(other)]);
    await authorizer.admit(keyedEndpoint("/ws/query"), requested, callerOf(admin));
    assert.equal((await written()).length, 4);
    await authorizer.admit(keyedEndpoint("/ws/query"), { method: "GET", params: {} }, caller());
    assert.deepEqual((await written()).slice(4), [
      ["viewed", "/ws/query", "done", undefined, `account ${first}`],
    ]);
    // A clock that was set back does not prevent the entry.
    clock.advance(-1 * minute);
    await seen();
    assert.equal((await written()).length, 6);
  });

  test("that could not be recorded is not answered, and is recorded when the request is repeated", async () => {
    const { authorizer, caller, fail, written } = await openGate();
    const requested = { method: "GET", params: { hash } } as const;
    fail(new ServiceError("store_unavailable"));
    await assert.rejects(authorizer.admit(keyedEndpoint("/ws/query"), requested, caller()), {
      name: "WireError",
    });
    fail(undefined);
    await authorizer.admit(keyedEndpoint("/ws/query"), requested, caller());
    assert.deepEqual(await written(), [look()]);
  });

  test("that shows no data of an account is not recorded, and ends no session", async () => {
    const { authorizer, caller, written } = await openGate();
    await admittedBy(
      await authorizer.admit(keyedEndpoint("/__cofre/stats"), nothing, caller()),
    ).end(done);
    assert.deepEqual(await written(), []);
  });

  test("of the ten thousand last ones is remembered", async () => {
    const { authorizer, caller, recorded, clock } = await openGate();
    /** Views this payment; returns whether that was recorded. */
    const isNew = async (number: number): Promise<boolean> => {
      const before = recorded();
      const params = { hash: number.toString(16).padStart(48, "0") };
      await authorizer.admit(keyedEndpoint("/ws/query"), { method: "GET", params }, caller());
      return recorded() > before;
    };
    assert.ok(await isNew(0));
    clock.advance(10 * minute);
    for (let number = 1; number < 10_000; number += 1) assert.ok(await isNew(number));
    assert.ok(await isNew(0), "seen again, it is the newest");
    assert.ok(await isNew(10_000));
    assert.ok(!(await isNew(0)));
    assert.ok(!(await isNew(2)));
    assert.ok(await isNew(1), "it made room");
  });
});

test("an account that this node does not have is refused, and the list of worlds is read without an account", async () => {
  const { authorizer, caller } = await openGate({ role: "admin" });
  const refused = { ...refusedWith("COFRE-119"), message: "Header X-Cofre-Account is invalid" };
  await assert.rejects(
    authorizer.admit(keyedEndpoint("/ws/refund"), refund, caller({ account: "ffffffff" })),
    refused,
  );
  const { account } = admittedBy(
    await authorizer.admit(
      keyedEndpoint("/__cofre/worlds"),
      nothing,
      caller({ account: "ffffffff" }),
    ),
  );
  assert.equal(account.id, first);
});

test("the rest of a session is reported in whole seconds, down, until the first of its ends", async () => {
  const { joined, clock } = await openGate();
  const now = clock.now();
  const at = (idleMs: number, endMs: number) =>
    sessionHeaders(
      {
        ...joined.signedIn,
        idleUntil: (now + idleMs) as typeof now,
        endsAt: (now + endMs) as typeof now,
      },
      clock,
    )[0]?.[1];
  assert.equal(at(2 * second - 1, 9 * second), "1");
  assert.equal(at(9 * second, 2 * second), "2");
  assert.equal(at(-1, 9 * second), "0");
});
