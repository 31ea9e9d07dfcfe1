import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { systemClock } from "../../src/kernel/system-clock.ts";
import type { OpenApi } from "../../src/api-docs/types.ts";
import { Command, temporaryFolder } from "../command.ts";
import {
  ask,
  codeOf,
  ConsoleUsers,
  type Fields,
  type Reply,
  type Role,
  type Signed,
  startWithUsers,
} from "../server-with-users.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
} from "../server.ts";

let users: ConsoleUsers;
let staff: Readonly<Record<Role, Signed>>;
let codes = 0;

before(async () => {
  users = await startWithUsers({ seed: "people" });
  const admin = await users.firstAdmin();
  staff = {
    admin,
    operator: await users.invited(admin, "Olga", "operator"),
    viewer: await users.invited(admin, "Vera", "viewer"),
  };
});
after(() => users.server[Symbol.asyncDispose]());

const ranks: readonly Role[] = ["viewer", "operator", "admin"];

async function made(creditcard: Fields = testCard): Promise<string> {
  const { body } = await users.server.postJson(
    "/ws/direct",
    directBody(`people-${(codes += 1)}`, { creditcard }),
  );
  const { hash } = (body["payment"] ?? {}) as { readonly hash?: string };
  assert.ok(hash !== undefined, JSON.stringify(body));
  return hash;
}
const held = (): Promise<string> => made({ ...testCard, auto_capture: false });

interface Entry {
  readonly number: number;
  readonly actor: string;
  readonly action: string;
  readonly target: string | null;
  readonly result: string;
  readonly completes: number | null;
  readonly detail: string | null;
}

/** Oldest first. */
async function audit(): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for (let next: unknown = undefined; next !== null;) {
    const before = next === undefined ? {} : { before: next };
    const { body } = await staff.admin.call("/__cofre/audit", { limit: 200, ...before });
    assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
    entries.push(...(body["entries"] as readonly Entry[]));
    next = body["next"];
  }
  return entries.toReversed();
}

/**
 * By path and fields, the lowest role that may call it. Contains every endpoint that accepts a key,
 * and no other.
 */
const requested: readonly (readonly [path: string, fields: Fields | undefined, role: Role])[] = [
  ["/ws/query", {}, "viewer"],
  ["/ws/exchange", {}, "viewer"],
  ["/ws/exchange/getCurrencyRates", { currency_codes: "USD" }, "viewer"],
  ["/ws/zipcode", {}, "viewer"],
  ["/ws/documentbalance", {}, "viewer"],
  ["/ws/merchantIntegrationProperties/get", {}, "viewer"],
  ["/ws/merchantIntegrationProperties/edit", {}, "admin"],
  ["/ws/token", {}, "operator"],
  ["/ws/token/setCVV", {}, "operator"],
  ["/ws/verifycard", {}, "operator"],
  ["/ws/cardverify", {}, "operator"],
  ["/ws/direct", {}, "operator"],
  ["/ws/request", {}, "operator"],
  ["/ws/threedsecureserver-generateToken", {}, "viewer"],
  ["/ws/threedsecureserver-authentications", {}, "operator"],
  ["/ws/threedsecureserver-authentication-results", {}, "viewer"],
  ["/ws/threedsecureserver-record", {}, "viewer"],
  ["/ws/capture", {}, "operator"],
  ["/ws/cancel", {}, "operator"],
  ["/ws/refund", {}, "operator"],
  ["/ws/refundOrCancel", {}, "operator"],
  ["/ws/everest/resendNotification", {}, "operator"],
  ["/__cofre/explain", {}, "viewer"],
  ["/__cofre/timeline", {}, "viewer"],
  ["/__cofre/requests", {}, "viewer"],
  ["/__cofre/payments", {}, "viewer"],
  ["/__cofre/tokens", {}, "viewer"],
  ["/__cofre/views", {}, "viewer"],
  ["/__cofre/views", { save: [] }, "operator"],
  ["/__cofre/views", { rename: [] }, "operator"],
  ["/__cofre/views", { delete: [] }, "operator"],
  ["/__cofre/figures", {}, "viewer"],
  ["/__cofre/stats", {}, "viewer"],
  ["/__cofre/notifications", {}, "viewer"],
  ["/__cofre/notifications", { replay: "failed" }, "operator"],
  ["/__cofre/notifications", { replay: ["failed"] }, "operator"],
  ["/__cofre/notifications", { enable: "shop" }, "admin"],
  ["/__cofre/notifications", { disable: ["shop"] }, "admin"],
  ["/__cofre/notifications", { secrets: true }, "admin"],
  ["/__cofre/payment", {}, "operator"],
  ["/__cofre/countries", {}, "viewer"],
  ["/__cofre/test-cards", {}, "viewer"],
  ["/__cofre/settings", {}, "viewer"],
  ["/__cofre/settings", { settings: {} }, "admin"],
  ["/__cofre/simulator", {}, "admin"],
  ["/__cofre/faults", {}, "viewer"],
  ["/__cofre/faults", { add: {} }, "admin"],
  ["/__cofre/faults", { clear: "all" }, "admin"],
  ["/__cofre/worlds", undefined, "viewer"],
  ["/__cofre/worlds", { colour: "none" }, "admin"],
  ["/__cofre/world", {}, "viewer"],
  ["/__cofre/world", { action: "reset" }, "admin"],
  ["/__cofre/clock", {}, "viewer"],
  ["/__cofre/clock", { advance: "1d" }, "admin"],
  ["/__cofre/clock", { set: "2030-01-01" }, "admin"],
  ["/__cofre/clock", { run: "false" }, "admin"],
  ["/__cofre/users", {}, "admin"],
  ["/__cofre/users", { action: "invite" }, "admin"],
  ["/__cofre/audit", {}, "admin"],
  ["/__cofre/audit", { verify: true }, "admin"],
];

describe("what each role may", () => {
  test("is said of every path that takes a key", async () => {
    const { paths } = (await (await fetch(`${users.server.url}/openapi.json`)).json()) as OpenApi;
    const keyed = Object.entries(paths).flatMap(([path, { post }]) =>
      post?.security.some((each) => "secret" in each || "public" in each) === true ? [path] : [],
    );
    assert.ok(keyed.length > 25);
    const said = new Set(
      requested
        .map(([path]) => path)
        .filter((path) => path !== "/__cofre/users" && path !== "/__cofre/audit"),
    );
    assert.deepEqual(keyed.toSorted(), [...said].toSorted());
  });

  for (const [path, fields, needed] of requested) {
    test(`${path} ${fields === undefined ? "by GET" : JSON.stringify(fields)}: ${needed} and above`, async () => {
      for (const role of ranks) {
        const reply = await staff[role].call(path, fields);
        const isAllowed = ranks.indexOf(role) >= ranks.indexOf(needed);
        assert.equal(
          codeOf(reply) === "COFRE-113",
          !isAllowed,
          `${role}: ${JSON.stringify(reply.body)}`,
        );
        assert.ok(
          !["COFRE-110", "COFRE-112", "BP-SA-1", "BP-SA-2", "DA-1"].includes(String(codeOf(reply))),
          JSON.stringify(reply.body),
        );
      }
    });
  }

  test("changes with the role at once, and ends when the person is disabled", async () => {
    const paula = await users.invited(staff.admin, "Paula", "viewer");
    assert.equal(
      codeOf(await paula.call("/__cofre/notifications", { replay: "failed" })),
      "COFRE-113",
    );
    assert.equal(
      codeOf(
        await staff.admin.call("/__cofre/users", {
          action: "set_role",
          id: paula.id,
          role: "operator",
        }),
      ),
      "SUCCESS",
    );
    assert.equal(
      codeOf(await paula.call("/__cofre/notifications", { replay: "failed" })),
      "SUCCESS",
    );
    assert.equal(
      codeOf(await staff.admin.call("/__cofre/users", { action: "disable", id: paula.id })),
      "SUCCESS",
    );
    assert.equal(codeOf(await paula.call("/__cofre/notifications", {})), "COFRE-110");
  });

  test("leaves one active admin, and says what is wrong with what was asked", async () => {
    const { admin } = staff;
    const own = { id: admin.id };
    assert.equal(
      codeOf(await admin.call("/__cofre/users", { action: "disable", ...own })),
      "COFRE-118",
    );
    assert.equal(
      codeOf(await admin.call("/__cofre/users", { action: "set_role", role: "viewer", ...own })),
      "COFRE-118",
    );
    for (const [fields, said] of [
      [{ action: "explode" }, "Parameter id is invalid"],
      [{ action: "explode", ...own }, "Parameter action is invalid"],
      [{ action: "set_role", role: "emperor", ...own }, "Parameter role is invalid"],
      [{ action: "unlock", id: "0000000000000000" }, "Parameter id is invalid"],
      [
        { action: "invite", name: "olga", role: "viewer" },
        "A name must have 3 to 64 letters, digits or . _ @ + - and must not be in use",
      ],
      [
        { action: "invite", name: "", role: "viewer" },
        "A name must have 3 to 64 letters, digits or . _ @ + - and must not be in use",
      ],
    ] as const) {
      assert.equal((await admin.call("/__cofre/users", fields)).body["status_message"], said);
    }
    assert.equal(
      codeOf(
        await admin.call("/__cofre/users", { action: "invite", name: "olga", role: "viewer" }),
      ),
      "COFRE-117",
    );
    for (const fields of [{ limit: 0 }, { limit: 201 }, { before: "last" }]) {
      assert.equal(codeOf(await admin.call("/__cofre/audit", fields)), "COFRE-119");
    }
    assert.equal(codeOf(await admin.call("/__cofre/session", { action: "dance" })), "COFRE-119");
  });

  test("is not taken on with six digits that are wrong, and is with the right ones by the same invitation", async () => {
    const { body } = await staff.admin.call("/__cofre/users", {
      action: "invite",
      name: "Wanda",
      role: "viewer",
    });
    const invitation = String(body["invitation"]);
    const shown = await ask(
      users.server,
      "/__cofre/enrolment",
      { invitation },
      { "X-Cofre-CSRF": "none" },
    );
    const right = users.code(String(shown.body["secret"]));
    const code = right === "000000" ? "000001" : "000000";
    const fields = { invitation, password: "correct horse of Wanda", code };
    assert.equal(
      codeOf(await ask(users.server, "/__cofre/enrolment", fields, { "X-Cofre-CSRF": "none" })),
      "COFRE-116",
    );
    assert.equal((await users.accept(invitation)).name, "Wanda");
  });

  test("takes a better password, with the one before and a code, and ends the other sessions", async () => {
    const rita = await users.invited(staff.admin, "Rita", "viewer");
    const other = await users.signIn(rita);
    const change = async (fields: Fields): Promise<unknown> => {
      users.server.clock.advance(30_000);
      const given = {
        password: rita.password,
        code: users.code(rita.secret),
        new_password: "quite another one",
      };
      return codeOf(await rita.call("/__cofre/password", { ...given, ...fields }));
    };
    assert.equal(await change({ new_password: "short" }), "COFRE-115");
    assert.equal(await change({ new_password: rita.password }), "COFRE-115");
    assert.equal(codeOf(await other.call("/__cofre/payments", {})), "SUCCESS");
    assert.equal(await change({}), "SUCCESS");
    assert.equal(codeOf(await other.call("/__cofre/payments", {})), "COFRE-110");
    assert.equal(codeOf(await rita.call("/__cofre/payments", {})), "SUCCESS");
    await users.signIn({ ...rita, password: "quite another one" });
  });
});

describe("programs with keys", () => {
  test("are served as ever, also with a user's cookie beside", async () => {
    const hash = await held();
    for (const headers of [{}, { Cookie: staff.viewer.cookie }]) {
      const reply = await ask(
        users.server,
        "/ws/query",
        { integration_key: integrationKey, hash },
        headers,
      );
      assert.equal(codeOf(reply), "SUCCESS");
      assert.equal(reply.headers["x-cofre-session-seconds"], undefined);
    }
    assert.equal(codeOf(await users.server.postJson("/ws/query", { hash })), "BP-SA-1");
    assert.equal(
      codeOf(await users.server.postJson("/ws/capture", { integration_key: "wrong", hash })),
      "BP-SA-2",
    );
    assert.equal(
      codeOf(
        await ask(
          users.server,
          "/ws/capture",
          { integration_key: "wrong", hash },
          { Cookie: staff.admin.cookie },
        ),
      ),
      "BP-SA-2",
    );
  });

  test("need a secret key of the server's own accounts to see and make worlds", async () => {
    assert.equal(codeOf(await users.server.postJson("/__cofre/worlds", { seed: "7" })), "BP-SA-1");
    assert.equal(codeOf(await users.server.get("/__cofre/worlds")), "BP-SA-1");
    assert.equal(
      codeOf(await users.server.get("/__cofre/worlds", { integration_key: publicIntegrationKey })),
      "BP-SA-2",
    );
    const { body } = await users.server.postJson("/__cofre/worlds", {
      integration_key: integrationKey,
      seed: "7",
    });
    const { integration_key: key = "" } = body["world"] as { readonly integration_key?: string };
    assert.match(key, /^test_ik_/);
    assert.equal(
      codeOf(await users.server.get("/__cofre/worlds", { integration_key: key })),
      "BP-SA-2",
    );
    assert.equal(
      codeOf(await users.server.get("/__cofre/world", { integration_key: key })),
      "SUCCESS",
    );
    assert.equal(
      codeOf(await users.server.get("/__cofre/worlds", { integration_key: integrationKey })),
      "SUCCESS",
    );
  });
});

test("`cofre world` makes and lists worlds with the key of COFRE_SANDBOX_INTEGRATION_KEY", async (context) => {
  const run = async (
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
  ): Promise<Command> => {
    const command = Command.cofre(
      context,
      ["world", ...args, "--url", users.server.url, "--json"],
      environment,
    );
    await command.exited;
    return command;
  };
  const made = await run(["create", "--name", "by-command"], {
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
  });
  assert.match(made.stdout, /"integration_key":"test_ik_/, made.stderr);
  assert.match(
    (await run(["list"], { COFRE_SANDBOX_INTEGRATION_KEY: integrationKey })).stdout,
    /"name":"by-command"/,
  );
  const without = await run(["list"], {});
  assert.equal(without.stdout, "");
  assert.match(without.stderr, /BP-SA-1/);
});

describe("accounts of people", () => {
  test("are the first one, or the one that is named, a world's too; none of its keys and secrets is shown", async () => {
    const { admin, operator, viewer } = staff;
    const { body } = await admin.call("/__cofre/worlds", { name: "theirs", seed: "8" });
    const { id } = body["world"] as { readonly id: string };
    const inWorld = { "X-Cofre-Account": id };
    const byKey = await operator.call("/ws/direct", directBody("by-the-key"), inWorld);
    assert.equal(codeOf(byKey), "SUCCESS");
    const { integration_key: _, ...fields } = directBody("in-a-world");
    assert.equal(codeOf(await operator.call("/ws/direct", fields, inWorld)), "SUCCESS");
    const listed = async (headers: Readonly<Record<string, string>>): Promise<string> =>
      JSON.stringify((await viewer.call("/__cofre/payments", {}, headers)).body);
    assert.ok((await listed(inWorld)).includes('"in-a-world"'));
    assert.ok(!(await listed({})).includes('"in-a-world"'));
    assert.ok(
      (await listed({})).includes('"by-the-key"') &&
        !(await listed(inWorld)).includes('"by-the-key"'),
      "a key says itself whose it is",
    );
    for (const account of ["00000000", "", "x".repeat(200)]) {
      const reply = await viewer.call("/__cofre/payments", {}, { "X-Cofre-Account": account });
      assert.equal(reply.body["status_message"], "Header X-Cofre-Account is invalid");
    }
    const seen = [
      await viewer.call("/__cofre/worlds", undefined),
      await viewer.call("/__cofre/world", {}, inWorld),
      await admin.call("/__cofre/worlds", {}),
      await admin.call("/__cofre/notifications", {}, inWorld),
    ];
    for (const reply of seen) {
      assert.equal(codeOf(reply), "SUCCESS");
      assert.doesNotMatch(JSON.stringify(reply.body), /test_[ip]k_|secret/);
    }
    const secrets = await admin.call("/__cofre/notifications", { secrets: true }, inWorld);
    assert.match(String(secrets.body["payment_url_secret"]), /^whsec_./);
    // Another action beside it, which an operator may do, does not show them.
    for (const replay of ["", [], {}, "failed"]) {
      const beside = { secrets: true, replay };
      const reply = await operator.call("/__cofre/notifications", beside, inWorld);
      assert.doesNotMatch(JSON.stringify(reply.body), /secret/, JSON.stringify(replay));
    }
    assert.equal(codeOf(await admin.call("/__cofre/clock", { advance: "1d" }, inWorld)), "SUCCESS");
    assert.equal(
      codeOf(await admin.call("/__cofre/world", { action: "delete" }, inWorld)),
      "SUCCESS",
    );
  });
});

describe("the audit log", () => {
  test("has what is to change something before it begins and when it has ended, and what came of it", async () => {
    const hash = await held();
    const before = (await audit()).at(-1)?.number ?? 0;
    assert.equal(
      codeOf(await staff.operator.call("/ws/capture", { hash, amount: "100.00" })),
      "SUCCESS",
    );
    assert.equal(codeOf(await staff.operator.call("/ws/capture", { hash })), "BP-CAP-4");
    await staff.admin.call("/__cofre/settings", {
      settings: { partialCapture: true, nonsense: 1 },
    });
    const entries = (await audit()).filter(({ number }) => number > before);
    const account = /^account [0-9a-f]{8}/.exec(entries[0]?.detail ?? "")?.[0] ?? "";
    assert.match(account, /^account /);
    const [started1 = 0, , started2 = 0, , started3 = 0] = entries.map(({ number }) => number);
    assert.deepEqual(
      entries
        .slice(0, 6)
        .map(({ actor, action, target, result, completes, detail }) => [
          actor,
          action,
          target,
          result,
          completes,
          detail,
        ]),
      [
        ["Olga", "capture", hash, "started", null, `${account}, amount 100.00`],
        ["Olga", "capture", hash, "done", started1, `${account}, status 200`],
        ["Olga", "capture", hash, "started", null, account],
        ["Olga", "capture", hash, "refused", started2, `${account}, status 200, BP-CAP-4`],
        [
          staff.admin.name,
          "settings_changed",
          "/__cofre/settings",
          "started",
          null,
          `${account}, partialCapture`,
        ],
        [
          staff.admin.name,
          "settings_changed",
          "/__cofre/settings",
          "refused",
          started3,
          `${account}, status 200, COFRE-31`,
        ],
      ],
    );
  });

  test("names a new payment when it is there, and calls unknown what may have been done", async () => {
    const { integration_key: _, ...fields } = directBody(`people-${(codes += 1)}`);
    const { body } = await staff.operator.call("/ws/direct", fields);
    const { hash } = body["payment"] as { readonly hash: string };
    const ended = (await audit()).at(-1);
    assert.deepEqual(
      [ended?.action, ended?.target, ended?.result],
      ["payment_created", hash, "done"],
    );
    const lost = await held();
    const fault = { kind: "error_after_commit", path: "/ws/capture" };
    assert.equal(codeOf(await staff.admin.call("/__cofre/faults", { add: fault })), "SUCCESS");
    assert.equal(codeOf(await staff.operator.call("/ws/capture", { hash: lost })), "COFRE-14");
    assert.deepEqual(
      [(await audit()).at(-1)?.target, (await audit()).at(-1)?.result],
      [lost, "unknown"],
    );
  });

  test("a view of the same payment or list is recorded once in ten minutes of each session, and a search is not", async () => {
    const vera = await users.signIn(staff.viewer);
    const looks = async (): Promise<readonly (string | null)[]> =>
      (await audit())
        .filter(({ action, actor }) => action === "viewed" && actor === "Vera")
        .map(({ target }) => target);
    const known = (await looks()).length;
    const hash = await made();
    const look = async (): Promise<void> => {
      await vera.call("/__cofre/payments", { search: "ana.lima@example.com" });
      await vera.call("/__cofre/payments", { search: "somebody else" });
      await vera.call("/__cofre/payments", { search: hash });
      await vera.call("/__cofre/timeline", { hash });
      await vera.call("/__cofre/notifications", { hash });
      await vera.call("/__cofre/tokens", {});
      await vera.call("/__cofre/settings", {});
    };
    await look();
    await look();
    const once = ["/__cofre/payments", hash, "/__cofre/tokens"];
    assert.deepEqual((await looks()).slice(known), once);
    users.server.clock.advance(9 * 60_000);
    await look();
    assert.deepEqual((await looks()).slice(known), once);
    users.server.clock.advance(60_000);
    await look();
    assert.deepEqual((await looks()).slice(known), [...once, ...once]);
    assert.ok(!JSON.stringify(await audit()).includes("ana.lima"));
    // A payment's page sends three requests about it at once.
    const another = await made();
    await Promise.all(
      ["/__cofre/timeline", "/__cofre/notifications", "/ws/query"].map((path) =>
        vera.call(path, { hash: another }),
      ),
    );
    assert.deepEqual((await looks()).slice(known + 2 * once.length), [another]);
  });

  test("has who tried what their role does not allow, once in ten minutes", async () => {
    const admin = await users.signIn(staff.admin);
    staff = { ...staff, admin };
    const vera = await users.signIn(staff.viewer);
    const refused = async (): Promise<readonly unknown[]> =>
      (await audit())
        .filter(
          ({ result, actor, action }) =>
            result === "refused" && actor === "Vera" && action !== "sign_in",
        )
        .map(({ action, target, detail }) => [action, target, detail]);
    const known = (await refused()).length;
    const hash = await held();
    for (let times = 0; times < 3; times += 1) {
      await vera.call("/ws/refund", { hash, operation: "request", amount: "1" });
      await vera.call("/__cofre/audit", {});
    }
    assert.deepEqual((await refused()).slice(known), [
      ["refund", hash, "role viewer"],
      ["request", "/__cofre/audit", "role viewer"],
    ]);
  });

  test("is paged from the newest down, and says whether it is whole", async () => {
    const first = await staff.admin.call("/__cofre/audit", { limit: 3 });
    const entries = first.body["entries"] as readonly Entry[];
    assert.equal(entries.length, 3);
    assert.equal(first.body["next"], entries.at(-1)?.number);
    const second = await staff.admin.call("/__cofre/audit", {
      limit: 3,
      before: first.body["next"],
    });
    assert.equal(
      (second.body["entries"] as readonly Entry[])[0]?.number,
      (entries.at(-1)?.number ?? 0) - 1,
    );
    const { body } = await staff.admin.call("/__cofre/audit", { verify: true });
    const verified = body["verified"] as {
      readonly entries: number;
      readonly first_invalid: number | null;
      readonly head: string;
    };
    const { entries: count, first_invalid: bad } = verified;
    assert.equal(bad, null);
    assert.ok(count >= (entries[0]?.number ?? 0));
    const newest = await staff.admin.call("/__cofre/audit", { limit: 1, before: count + 1 });
    const [last] = newest.body["entries"] as readonly { readonly digest: string }[];
    assert.equal(verified.head, `${count}:${last?.digest}`);
  });
});

describe("the link for an admin", () => {
  test("is printed beside the first keys, and is in no line of the log", async (context) => {
    const environment = {
      COFRE_CONSOLE: "login",
      COFRE_PORT: "0",
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
      COFRE_LOG_FORMAT: "json",
    };
    const process = Command.cofre(context, ["start"], environment);
    const [, port, invitation = ""] = await process.stderrMatch(
      /http:\/\/127\.0\.0\.1:(\d+)\/#invite=(\S+)\n/,
    );
    assert.match(process.stderr, /These keys are shown only now/);
    assert.ok(!process.stderr.includes("#key="), "no key opens the page");
    const response = await fetch(`http://127.0.0.1:${port}/__cofre/enrolment`, {
      method: "POST",
      headers: { "X-Cofre-CSRF": "none" },
      body: JSON.stringify({ invitation }),
    });
    const { name, role, status } = (await response.json()) as Record<string, unknown>;
    assert.deepEqual({ name, role, status }, { name: "admin", role: "admin", status: "SUCCESS" });
    await process.event("request");
    process.child.kill("SIGTERM");
    await process.exited;
    assert.ok(!process.stdout.includes(invitation));
    assert.ok(invitation.length >= 20);
  });

  test("is another at each start until there is an admin who can sign in, and then only when it is asked for", async (context) => {
    const environment = {
      COFRE_CONSOLE: "login",
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
    };
    const linkOf = async (
      more: Readonly<Record<string, string>>,
      work: (users: ConsoleUsers) => Promise<void> = async () => undefined,
    ) => {
      await using server = await startTestServer({ environment: { ...environment, ...more } });
      await work(new ConsoleUsers(server));
      return server.cofre.consoleInvitation?.reveal();
    };
    const first = await linkOf({});
    let admin: Signed | undefined;
    const second = await linkOf({}, async (there) => {
      const before = await ask(
        there.server,
        "/__cofre/enrolment",
        { invitation: first },
        { "X-Cofre-CSRF": "none" },
      );
      assert.equal(codeOf(before), "COFRE-114", "the one before is over");
      admin = await there.firstAdmin();
    });
    assert.ok(first !== undefined && second !== undefined && first !== second);
    const third = await linkOf({}, async (there) => {
      assert.ok(admin !== undefined);
      await there.signIn(admin);
    });
    assert.equal(third, undefined);
    assert.equal(
      await linkOf({ COFRE_CONSOLE: "key", COFRE_CONSOLE_RECOVER_ADMIN: "true" }),
      undefined,
    );
    assert.notEqual(await linkOf({ COFRE_CONSOLE_RECOVER_ADMIN: "true" }), undefined);
  });
});

const noServer =
  testUrl === undefined ? "needs a PostgreSQL server: COFRE_TEST_POSTGRES_URL" : false;

test(
  "on two nodes with one database a session is one, its person's role and the log are one",
  { skip: noServer },
  async (context) => {
    const databases = new TestDatabases(testUrl ?? "");
    context.after(() => databases.drop());
    const environment = {
      COFRE_DATABASE_URL: await databases.create(),
      COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
    };
    // A database whose clock differs from the server's is refused.
    const ports = { clock: systemClock };
    const one = await startWithUsers({ environment, ports });
    await using first = one.server;
    const admin = await one.firstAdmin();
    const operator = await one.invited(admin, "Olga", "operator");
    await using second = await startTestServer({
      environment: { ...environment, COFRE_CONSOLE: "login" },
      ports,
    });
    assert.equal(second.cofre.consoleInvitation, undefined);
    const there = (path: string, fields: Fields): Promise<Reply> =>
      ask(second, path, fields, { Cookie: operator.cookie, "X-Cofre-CSRF": operator.csrf });
    const { integration_key: _, ...payment } = directBody("on-two-nodes");
    const { body } = await there("/ws/direct", payment);
    const { hash } = body["payment"] as { readonly hash: string };
    assert.equal(codeOf(await operator.call("/ws/query", { hash })), "SUCCESS");
    assert.equal(
      codeOf(
        await admin.call("/__cofre/users", { action: "set_role", id: operator.id, role: "viewer" }),
      ),
      "SUCCESS",
    );
    assert.equal(
      codeOf(await there("/ws/refund", { hash, operation: "request", amount: "1" })),
      "COFRE-113",
    );
    const log = await admin.call("/__cofre/audit", {});
    assert.ok(
      (log.body["entries"] as readonly Entry[]).some(
        ({ target, result }) => target === hash && result === "done",
      ),
    );
    const { verified } = (await admin.call("/__cofre/audit", { verify: true })).body as {
      readonly verified: { readonly first_invalid: unknown };
    };
    assert.equal(verified.first_invalid, null);
    assert.equal(
      first.cofre.consoleInvitation === undefined,
      false,
      "control: the first start had nobody",
    );
  },
);

test("an action that cannot be recorded is not done, and a done action is answered though its result cannot be recorded", async (context) => {
  const folder = join(temporaryFolder(context), "data");
  const there = await startWithUsers({ environment: { COFRE_DATA_DIR: folder } });
  await using server = there.server;
  const admin = await there.firstAdmin();
  const operator = await there.invited(admin, "Olga", "operator");
  const hold = async (code: string): Promise<string> => {
    const { body } = await server.postJson(
      "/ws/direct",
      directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
    );
    return (body["payment"] as { readonly hash: string }).hash;
  };
  const [first, second] = [await hold("not-written"), await hold("half-written")];
  const statusOf = async (hash: string): Promise<unknown> =>
    (
      (await server.postJson("/ws/query", { integration_key: integrationKey, hash })).body[
        "payment"
      ] as Record<string, unknown>
    )["status"];
  using database = new DatabaseSync(join(folder, "cofre.db"));
  const refuse = (what: string): void =>
    database.exec(
      `CREATE TRIGGER refused BEFORE INSERT ON audit_entry WHEN ${what} BEGIN SELECT RAISE(ABORT, 'no'); END`,
    );

  refuse("true");
  for (const [path, fields] of [
    ["/ws/capture", { hash: first }],
    ["/__cofre/timeline", { hash: first }],
  ] as const) {
    const reply = await operator.call(path, fields);
    assert.deepEqual([reply.status, codeOf(reply)], [503, "COFRE-21"], path);
  }
  assert.notEqual(
    codeOf(
      await admin.call("/__cofre/users", { action: "set_role", id: operator.id, role: "viewer" }),
    ),
    "SUCCESS",
  );
  assert.equal(await statusOf(first), "PE");
  assert.ok(server.events.some(({ event }) => event === "audit_failed"));
  database.exec("DROP TRIGGER refused");
  assert.equal(
    codeOf(await operator.call("/ws/capture", { hash: first })),
    "SUCCESS",
    "the role is what it was",
  );

  refuse(`instr(NEW.body, '"asked"') = 0`);
  assert.equal(codeOf(await operator.call("/ws/capture", { hash: second })), "SUCCESS");
  assert.equal(await statusOf(second), "CO");
  assert.ok(server.events.some(({ event }) => event === "audit_completion_failed"));
  database.exec("DROP TRIGGER refused");
});
