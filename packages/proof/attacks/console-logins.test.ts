import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { createLog } from "../../server/src/logging/log.ts";
import { temporaryFolder } from "../../server/test/command.ts";
import {
  ask,
  codeOf,
  type ConsoleUsers,
  cookieOf,
  type Headers,
  type Signed,
  startWithUsers,
} from "../../server/test/server-with-users.ts";
import { directBody, integrationKey, startTestServer, testCard } from "../../server/test/server.ts";

/*
 * Row 19 of the attack table: requests forged by another page, framing of the page, fixed sessions;
 * and other ways to take over a user: guessing, other users' links, data in logs and records.
 */

let users: ConsoleUsers;
let admin: Signed;
let operator: Signed;
let codes = 0;

before(async () => {
  users = await startWithUsers({ seed: "logins" });
  admin = await users.firstAdmin();
  operator = await users.invited(admin, "Olga", "operator");
});
after(() => users.server[Symbol.asyncDispose]());

async function held(): Promise<string> {
  const { body } = await users.server.postJson(
    "/ws/direct",
    directBody(`logins-${(codes += 1)}`, { creditcard: { ...testCard, auto_capture: false } }),
  );
  return (body["payment"] as { readonly hash: string }).hash;
}

async function wireStatus(hash: string): Promise<unknown> {
  const { body } = await users.server.get("/ws/query", { integration_key: integrationKey, hash });
  return (body["payment"] as Record<string, unknown>)["status"];
}

describe("a request that another page causes", () => {
  const own = (): Headers => ({ Cookie: operator.cookie, "X-Cofre-CSRF": operator.csrf });
  const tries: Readonly<Record<string, () => Headers>> = {
    "without the header": () => ({ Cookie: operator.cookie }),
    "with an empty header": () => ({ ...own(), "X-Cofre-CSRF": "" }),
    "with the header of another session": () => ({ ...own(), "X-Cofre-CSRF": admin.csrf }),
    "with the header and one letter more": () => ({
      ...own(),
      "X-Cofre-CSRF": `${operator.csrf}0`,
    }),
    "of another site": () => ({ ...own(), "Sec-Fetch-Site": "cross-site" }),
    "of another host of the same site": () => ({ ...own(), "Sec-Fetch-Site": "same-site" }),
    "that somebody typed": () => ({ ...own(), "Sec-Fetch-Site": "none" }),
    "of another origin": () => ({ ...own(), Origin: "https://shop.example" }),
    "of no origin that can be told": () => ({ ...own(), Origin: "null" }),
    "of another port": () => ({ ...own(), Origin: "http://127.0.0.1:1" }),
    "that says two things of where it comes from": () => ({
      ...own(),
      "Sec-Fetch-Site": ["same-origin", "cross-site"],
    }),
    "with two cookies": () => ({ ...own(), Cookie: `${operator.cookie}; ${admin.cookie}` }),
    "with the cookie of another session": () => ({ ...own(), Cookie: admin.cookie }),
  };
  for (const [name, headers] of Object.entries(tries)) {
    test(`${name} is refused, and nothing is done`, async () => {
      const hash = await held();
      for (const path of [
        "/ws/capture",
        "/__cofre/payments",
        "/__cofre/password",
        "/__cofre/users",
        "/__cofre/audit",
      ]) {
        const reply = await ask(users.server, path, { hash }, headers());
        assert.equal(codeOf(reply), "COFRE-112", path);
        assert.equal(reply.headers["access-control-allow-origin"], undefined);
      }
      assert.equal(await wireStatus(hash), "PE");
    });
  }

  test("control: of the page itself it is carried out, with what browsers say of it and without", async () => {
    for (const headers of [{}, { "Sec-Fetch-Site": "same-origin", Origin: users.server.url }]) {
      const hash = await held();
      assert.equal(codeOf(await operator.call("/ws/capture", { hash }, headers)), "SUCCESS");
      assert.equal(await wireStatus(hash), "CO");
    }
  });

  test("a link that captures does nothing with the cookie alone", async () => {
    const hash = await held();
    const reply = await ask(users.server, `/ws/capture?hash=${hash}`, undefined, {
      Cookie: operator.cookie,
    });
    assert.equal(codeOf(reply), "COFRE-112");
    assert.equal(await wireStatus(hash), "PE");
  });

  test("another page signs no user in or out and enrols none", async () => {
    const fields = {
      action: "sign_in",
      name: operator.name,
      password: operator.password,
      code: users.code(operator.secret),
    };
    for (const headers of [
      {},
      { "X-Cofre-CSRF": "none", Origin: "https://shop.example" },
      { "X-Cofre-CSRF": "none", "Sec-Fetch-Site": "cross-site" },
    ]) {
      for (const path of ["/__cofre/session", "/__cofre/enrolment"]) {
        const reply = await ask(users.server, path, fields, headers);
        assert.equal(codeOf(reply), "COFRE-112");
        assert.equal(cookieOf(reply), undefined);
      }
    }
    await ask(
      users.server,
      "/__cofre/session",
      { action: "sign_out" },
      { Cookie: operator.cookie },
    );
    assert.equal(codeOf(await operator.call("/__cofre/session", {})), "SUCCESS");
  });

  test("what is asked for by GET is not answered: an address would hold it", async () => {
    const query = new URLSearchParams({
      action: "sign_in",
      name: operator.name,
      password: operator.password,
    }).toString();
    for (const path of [
      "/__cofre/session",
      "/__cofre/enrolment",
      "/__cofre/password",
      "/__cofre/users",
      "/__cofre/audit",
    ]) {
      assert.equal(codeOf(await operator.call(`${path}?${query}`, undefined)), "COFRE-112", path);
    }
  });

  test("no other origin's page may ask whether it may ask", async () => {
    for (const path of ["/ws/capture", "/__cofre/session", "/ws/token"]) {
      const response = await fetch(`${users.server.url}${path}`, { method: "OPTIONS" });
      // Shops' pages call /ws/token, without the header that a session needs and without its
      // cookie.
      assert.doesNotMatch(response.headers.get("access-control-allow-headers") ?? "", /cofre|\*/i);
      assert.equal(response.headers.get("access-control-allow-credentials"), null);
    }
  });
});

describe("a role that was changed", () => {
  test("is in the head of the next answer, beside what the session has left, and refuses at once", async () => {
    const nina = await users.invited(await users.signIn(admin), "Nina", "operator");
    assert.equal((await nina.call("/__cofre/payments", {})).headers["x-cofre-role"], "operator");
    await (
      await users.signIn(admin)
    ).call("/__cofre/users", { action: "set_role", id: nina.id, role: "viewer" });
    assert.equal(codeOf(await nina.call("/ws/capture", { hash: await held() })), "COFRE-113");
    for (const path of ["/__cofre/session", "/__cofre/payments"]) {
      const { headers } = await nina.call(path, {});
      assert.equal(headers["x-cofre-role"], "viewer", path);
    }
    // A request without a session, or with a key, gets no information about roles.
    const byKey = await ask(
      users.server,
      "/ws/query",
      { integration_key: integrationKey },
      { Cookie: nina.cookie },
    );
    assert.equal(byKey.headers["x-cofre-role"], undefined);
    assert.equal(
      (await ask(users.server, "/__cofre/session", {}, { "X-Cofre-CSRF": "none" })).headers[
        "x-cofre-role"
      ],
      undefined,
    );
  });
});

describe("a session", () => {
  test("is in a cookie that no script and no other site's request has, and that ends with the browser", async () => {
    const again = await users.signIn(operator);
    users.server.clock.advance(30_000);
    const fields = {
      action: "sign_in",
      name: again.name,
      password: again.password,
      code: users.code(again.secret),
    };
    const plain = await ask(users.server, "/__cofre/session", fields, { "X-Cofre-CSRF": "none" });
    assert.match(
      plain.headers["set-cookie"]?.[0] ?? "",
      /^cofre_session=[\x21-\x3a\x3c-\x7e]{20,}; Path=\/; HttpOnly; SameSite=Strict$/,
    );
    users.server.clock.advance(30_000);
    // As a proxy that terminates TLS forwards it.
    const { port } = users.server;
    const proxied = await ask(
      users.server,
      "/__cofre/session",
      { ...fields, code: users.code(again.secret) },
      { "X-Cofre-CSRF": "none", Origin: `https://127.0.0.1:${port}` },
    );
    assert.match(
      proxied.headers["set-cookie"]?.[0] ?? "",
      /^__Host-cofre_session=[^;]{20,}; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
  });

  test("by TLS is in a cookie that no other host can set, and no other name is read there", async (context) => {
    const environment = {
      COFRE_TLS: "true",
      COFRE_TLS_PORT: "0",
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
    };
    const others = await startWithUsers({ environment });
    await using server = others.server;
    const first = await others.firstAdmin();
    const ca = readFileSync(join(environment.COFRE_DATA_DIR, "tls", "authority.pem"));
    const byTls = async (
      fields: object,
      headers: Record<string, string>,
    ): Promise<{ code: unknown; cookie: string | undefined }> => {
      const { port = 0 } = server.cofre.tlsAddress ?? {};
      const sent = httpsRequest({
        host: "127.0.0.1",
        port,
        path: "/__cofre/session",
        method: "POST",
        headers,
        ca,
        rejectUnauthorized: false,
        agent: false,
      });
      sent.end(JSON.stringify(fields));
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      let text = "";
      for await (const piece of response.setEncoding("utf8")) text += String(piece);
      return {
        code: codeOf({ body: JSON.parse(text) as Record<string, unknown> }),
        cookie: response.headers["set-cookie"]?.[0],
      };
    };
    server.clock.advance(30_000);
    const { name, password } = first;
    const { cookie = "" } = await byTls(
      { action: "sign_in", name, password, code: others.code(first.secret) },
      { "X-Cofre-CSRF": "none" },
    );
    assert.match(
      cookie,
      /^__Host-cofre_session=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Secure$/,
    );
    const value = cookie.split(";")[0] ?? "";
    assert.equal((await byTls({}, { Cookie: value, "X-Cofre-CSRF": "none" })).code, "SUCCESS");
    assert.equal(
      (await byTls({}, { Cookie: value.replace("__Host-", ""), "X-Cofre-CSRF": "none" })).code,
      "COFRE-110",
    );
  });

  test("that was there before its person is not taken over, and the one before ends", async () => {
    const planted = "cofre_session=planted-by-somebody-else-0123456789abcdef";
    const signed = await users.signIn(operator, { Cookie: planted });
    assert.notEqual(signed.cookie, planted);
    assert.equal(
      codeOf(
        await ask(
          users.server,
          "/__cofre/session",
          {},
          { Cookie: planted, "X-Cofre-CSRF": "none" },
        ),
      ),
      "COFRE-110",
    );
    const next = await users.signIn(operator, { Cookie: signed.cookie });
    assert.notEqual(next.cookie, signed.cookie);
    assert.notEqual(next.csrf, signed.csrf);
    assert.equal(codeOf(await signed.call("/__cofre/payments", {})), "COFRE-110");
    assert.equal(codeOf(await next.call("/__cofre/payments", {})), "SUCCESS");
  });

  test("opens nothing after it was signed out of", async () => {
    const signed = await users.signIn(operator);
    const reply = await signed.call("/__cofre/session", { action: "sign_out" });
    assert.match(reply.headers["set-cookie"]?.[0] ?? "", /^cofre_session=; .*Max-Age=0$/);
    for (const path of ["/__cofre/session", "/__cofre/payments", "/ws/query"]) {
      assert.equal(codeOf(await signed.call(path, {})), "COFRE-110", path);
    }
  });

  test("ends when its user has done nothing for a quarter of an hour, however often the page asks by itself", async () => {
    const signed = await users.signIn(operator);
    const minute = 60_000;
    for (let minutes = 0; minutes < 14; minutes += 1) {
      users.server.clock.advance(minute);
      const reply = await signed.call("/__cofre/payments", {}, { "X-Cofre-Background": "yes" });
      assert.equal(codeOf(reply), "SUCCESS", `${minutes}`);
      assert.equal(reply.headers["x-cofre-session-seconds"], String((14 - minutes) * 60));
    }
    users.server.clock.advance(2 * minute);
    assert.equal(
      codeOf(await signed.call("/__cofre/payments", {}, { "X-Cofre-Background": "yes" })),
      "COFRE-110",
    );
    // Control: activity extends the session.
    const busy = await users.signIn(operator);
    for (let minutes = 0; minutes < 40; minutes += 10) {
      users.server.clock.advance(10 * minute);
      assert.equal(codeOf(await busy.call("/__cofre/payments", {})), "SUCCESS");
    }
  });
});

describe("a client that guesses", () => {
  test("is locked out after too many wrong tries, also with what is right, until an admin says otherwise", async () => {
    const target = await users.invited(await users.signIn(admin), "Vera", "viewer");
    for (let tries = 0; tries < 11; tries += 1) {
      users.server.clock.advance(30_000);
      const fields = {
        action: "sign_in",
        name: target.name,
        password: `wrong password ${tries}`,
        code: users.code(target.secret),
      };
      assert.equal(
        codeOf(await ask(users.server, "/__cofre/session", fields, { "X-Cofre-CSRF": "none" })),
        "COFRE-111",
      );
    }
    users.server.clock.advance(30_000);
    const right = {
      action: "sign_in",
      name: target.name,
      password: target.password,
      code: users.code(target.secret),
    };
    assert.equal(
      codeOf(await ask(users.server, "/__cofre/session", right, { "X-Cofre-CSRF": "none" })),
      "COFRE-111",
    );
    const keeper = await users.signIn(admin);
    const { body } = await keeper.call("/__cofre/users", {});
    const locked = (
      body["users"] as readonly { readonly id: string; readonly locked_until: string | null }[]
    ).find(({ id }) => id === target.id);
    assert.equal(typeof locked?.locked_until, "string");
    assert.equal(
      codeOf(await keeper.call("/__cofre/users", { action: "unlock", id: target.id })),
      "SUCCESS",
    );
    await users.signIn(target);
  });

  test("gets the same answer for a wrong name, a wrong password and a wrong code", async () => {
    const { name, password, secret } = operator;
    const code = (): string => users.code(secret);
    const answers = new Set<string>();
    for (const given of [
      { name: "Nobody" },
      { password: "not it, but long" },
      { code: "000000" },
      { code: "" },
      { name: "x".repeat(300) },
    ]) {
      users.server.clock.advance(30_000);
      const fields = { action: "sign_in", name, password, code: code(), ...given };
      answers.add(
        JSON.stringify(
          (await ask(users.server, "/__cofre/session", fields, { "X-Cofre-CSRF": "none" })).body,
        ),
      );
    }
    assert.equal(answers.size, 1, [...answers].join(" "));
    await users.signIn(operator);
  });

  test("gets nothing from an invitation that was used", async () => {
    const invitation = users.server.cofre.consoleInvitation?.reveal() ?? "";
    for (const fields of [
      { invitation },
      { invitation, password: "another password", code: "123456" },
      { invitation: "0".repeat(64) },
      {},
    ]) {
      assert.equal(
        codeOf(await ask(users.server, "/__cofre/enrolment", fields, { "X-Cofre-CSRF": "none" })),
        "COFRE-114",
      );
    }
  });
});

describe("a client that tries without end", () => {
  const guess = (at: ConsoleUsers, name: string, headers: Headers = {}) =>
    ask(
      at.server,
      "/__cofre/session",
      { action: "sign_in", name, password: "none of anybody's", code: "000000" },
      { "X-Cofre-CSRF": "none", ...headers },
    );
  const entriesOf = async (by: Signed): Promise<readonly Readonly<Record<string, unknown>>[]> =>
    (await by.call("/__cofre/audit", { limit: 200 })).body["entries"] as readonly Readonly<
      Record<string, unknown>
    >[];

  test("is rate-limited with a status and a time, alike for every name; a user who signed in before is not limited", async () => {
    const own = await startWithUsers();
    await using server = own.server;
    const first = await own.firstAdmin();
    const answers = await Promise.all(
      Array.from({ length: 18 }, (_, number) =>
        guess(own, number % 2 === 0 ? first.name : "nobody"),
      ),
    );
    assert.deepEqual(new Set(answers.map(codeOf)), new Set(["COFRE-111"]));
    for (let tries = 0; tries < 2; tries += 1) await guess(own, "nobody");
    const held = [
      await guess(own, first.name),
      await guess(own, "nobody"),
      await guess(own, "x".repeat(300)),
    ];
    for (const { status, headers, body } of held) {
      assert.deepEqual([status, headers["retry-after"]], [429, "30"]);
      assert.equal(headers["set-cookie"], undefined);
      assert.deepEqual(body, held[0]?.body);
      assert.equal(body["status_code"], "COFRE-123");
    }
    // A request's origin is not taken from a header that any client can write.
    assert.equal(
      codeOf(
        await guess(own, "nobody", { "X-Forwarded-For": "192.0.2.1", Forwarded: "for=192.0.2.1" }),
      ),
      "COFRE-123",
    );
    assert.equal(
      (await entriesOf(first)).filter(({ detail }) => String(detail).startsWith("rate_limited"))
        .length,
      1,
    );

    const fields = () => ({
      action: "sign_in",
      name: first.name,
      password: first.password,
      code: own.code(first.secret),
    });
    // Less than the time until a network may make another attempt.
    server.clock.advance(29_000);
    const known = await ask(server, "/__cofre/session", fields(), {
      "X-Cofre-CSRF": "none",
      Cookie: String(first.browser),
    });
    assert.equal(codeOf(known), "SUCCESS");
    assert.equal(
      codeOf(await ask(server, "/__cofre/session", fields(), { "X-Cofre-CSRF": "none" })),
      "COFRE-123",
    );
  });

  test("from ever new addresses behind a proxy writes no more than so much", async () => {
    const own = await startWithUsers({
      environment: { COFRE_CLIENT_IP_HEADER: "X-Forwarded-For" },
    });
    await using _ = own.server;
    const first = await own.firstAdmin();
    const codesOfTries = new Map<unknown, number>();
    for (let tries = 0; tries < 130; tries += 1) {
      // Addresses that the client has written itself come before the one that its proxy adds.
      const reply = await guess(own, "nobody", {
        "X-Forwarded-For": `192.0.2.1, 2001:db8::${tries.toString(16)}:0:0:0:1`,
      });
      codesOfTries.set(codeOf(reply), (codesOfTries.get(codeOf(reply)) ?? 0) + 1);
    }
    assert.deepEqual(Object.fromEntries(codesOfTries), { "COFRE-111": 100, "COFRE-123": 30 });
    const entries = (await entriesOf(first)).filter(({ actor }) => actor === "anonymous");
    assert.equal(entries.length, 101);
    assert.equal(entries[100]?.["origin"], "2001:db8::0:0:0:0:1");
  });

  test("behind a proxy is one address each, the last one of the last header, and the connection's where there is none", async () => {
    const own = await startWithUsers({
      environment: { COFRE_CLIENT_IP_HEADER: "x-forwarded-for" },
    });
    await using _ = own.server;
    const first = await own.firstAdmin();
    const given: readonly Headers[] = [
      { "X-Forwarded-For": "198.51.100.7" },
      { "x-forwarded-for": ["198.51.100.1", "198.51.100.2,  203.0.113.9 "] },
      { "X-Forwarded-For": "198.51.100.7, unknown" },
      { "X-Forwarded-For": "198.51.100.7," },
      { "X-Forwarded-For": "4111111111111111" },
      { "X-Real-IP": "198.51.100.7" },
    ];
    for (const headers of given) await guess(own, "nobody", headers);
    const origins = (await entriesOf(first))
      .filter(({ actor }) => actor === "anonymous")
      .map(({ origin }) => origin);
    assert.deepEqual(origins.toReversed(), [
      "198.51.100.7",
      "203.0.113.9",
      "127.0.0.1",
      "127.0.0.1",
      "127.0.0.1",
      "127.0.0.1",
    ]);
  });

  test("of many attempts at once, two are checked, sixteen wait, and the rest are refused", async () => {
    const own = await startWithUsers({
      environment: { COFRE_CLIENT_IP_HEADER: "X-Forwarded-For" },
    });
    await using _ = own.server;
    await own.firstAdmin();
    const replies = await Promise.all(
      Array.from({ length: 60 }, (_each, number) =>
        guess(own, "nobody", { "X-Forwarded-For": `192.0.2.${number}` }),
      ),
    );
    const turnedAway = replies.filter((reply) => codeOf(reply) === "COFRE-12");
    assert.ok(turnedAway.length > 0, JSON.stringify(replies.map(codeOf)));
    for (const { status, headers } of turnedAway)
      assert.deepEqual([status, headers["retry-after"]], [503, "1"]);
    assert.ok(replies.every((reply) => ["COFRE-12", "COFRE-111"].includes(String(codeOf(reply)))));
  });

  test("finds nothing in a browser's mark: no script reads it, it opens nothing, and those of others who use the browser stay", async () => {
    const own = await startWithUsers();
    await using server = own.server;
    const first = await own.firstAdmin();
    const second = await own.invited(first, "Bea", "viewer");
    const mark = String(first.browser);
    assert.match(mark, /^cofre_browser=[0-9a-f]{16}\.[0-9a-f]{24}\.\d+\.[\w-]{43}$/);
    assert.equal(
      codeOf(await ask(server, "/__cofre/session", {}, { "X-Cofre-CSRF": "none", Cookie: mark })),
      "COFRE-110",
    );
    server.clock.advance(30_000);
    const fields = {
      action: "sign_in",
      name: second.name,
      password: second.password,
      code: own.code(second.secret),
    };
    const both = await ask(server, "/__cofre/session", fields, {
      "X-Cofre-CSRF": "none",
      Cookie: mark,
    });
    const given = both.headers["set-cookie"]?.[1] ?? "";
    assert.match(
      given,
      /^cofre_browser=[^;]+; Path=\/; HttpOnly; SameSite=Strict; Max-Age=7776000$/,
    );
    assert.deepEqual(
      given
        .slice("cofre_browser=".length, given.indexOf(";"))
        .split("~")
        .map((each) => each.slice(0, 16)),
      [second.id, first.id],
    );
    // Longer than the limit, or more of them than are kept.
    const many = Array.from(
      { length: 5 },
      (_each, number) => `${String(number).repeat(16)}.x`,
    ).join("~");
    for (const odd of [
      `cofre_browser=${"~".repeat(400)}`,
      `cofre_browser=${"x".repeat(3_000)}`,
      `cofre_browser=${many}`,
    ]) {
      server.clock.advance(30_000);
      const again = { ...fields, code: own.code(second.secret) };
      assert.equal(
        codeOf(
          await ask(server, "/__cofre/session", again, { "X-Cofre-CSRF": "none", Cookie: odd }),
        ),
        "SUCCESS",
        odd.slice(0, 40),
      );
    }
  });
});

test("no password, code, invitation, cookie or header of a session is in a log, a record, a timeline or the audit log", async () => {
  const keeper = await users.signIn(admin);
  const { body: invitedBody } = await keeper.call("/__cofre/users", {
    action: "invite",
    name: "Ines",
    role: "operator",
  });
  const ines = await users.accept(String(invitedBody["invitation"]));
  const hash = await held();
  assert.equal(codeOf(await ines.call("/ws/capture", { hash })), "SUCCESS");
  await ines.call("/__cofre/password", {
    password: ines.password,
    code: "000000",
    new_password: "a new password of hers",
  });
  users.server.clock.advance(30_000);
  const code = users.code(ines.secret);
  assert.equal(
    codeOf(
      await ines.call("/__cofre/password", {
        password: ines.password,
        code,
        new_password: "a new password of hers",
      }),
    ),
    "SUCCESS",
  );
  const lines: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock: users.server.clock,
    destination: { write: (line) => void lines.push(line) },
  });
  for (const event of users.server.events) log.write(event);
  const kept = [
    lines.join(""),
    ...(await Promise.all(
      ["/__cofre/requests", "/__cofre/timeline", "/__cofre/audit", "/__cofre/users"].map(
        async (path) =>
          JSON.stringify((await keeper.call(path, path.endsWith("timeline") ? { hash } : {})).body),
      ),
    )),
  ].join("\n");
  assert.ok(
    kept.includes("/__cofre/session") && kept.includes(hash) && kept.includes("Ines"),
    "control: it is about them",
  );
  const { cookie, csrf, password, secret } = ines;
  const values = [
    cookie.slice(cookie.indexOf("=") + 1),
    csrf,
    password,
    secret,
    "a new password of hers",
    String(invitedBody["invitation"]),
  ];
  for (const [place, value] of values.entries())
    assert.ok(!kept.includes(value), `value ${place} is kept`);
  assert.doesNotMatch(kept, /"(?:password|new_password|invitation|csrf)":/);
});

describe("the page", () => {
  test("where people sign in has no page around it, says so in its head, and takes no key", async () => {
    const response = await fetch(`${users.server.url}/`);
    assert.match(response.headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
    assert.match(await response.text(), /<meta name="cofre-console" content="login" \/>/);
  });

  test("is not there where it is off, and there are no users where it takes a key", async () => {
    await using off = await startTestServer({ environment: { COFRE_CONSOLE: "off" } });
    assert.equal((await fetch(`${off.url}/`)).status, 404);
    await using keyed = await startTestServer();
    assert.match(
      await (await fetch(`${keyed.url}/`)).text(),
      /<meta name="cofre-console" content="key" \/>/,
    );
    for (const server of [off, keyed]) {
      assert.equal(server.cofre.consoleInvitation, undefined);
      for (const path of ["/__cofre/session", "/__cofre/users"])
        assert.equal((await server.postJson(path, {})).status, 404);
    }
  });
});
