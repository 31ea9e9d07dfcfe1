import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { describe, test, type TestContext } from "node:test";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { Command } from "../command.ts";
import { freePort } from "../free-port.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

/** Signatures contain the time, and the command that verifies them uses the system's clock. */
const startCofre = (): Promise<TestServer> => startTestServer({ ports: { clock: systemClock } });

/** A command of the program, as a user runs it beside a Cofre with the same settings. */
function commandOf(
  context: TestContext,
  testServer: Pick<TestServer, "port">,
  args: readonly string[],
  key: string | null = integrationKey,
): Command {
  return Command.cofre(context, args, {
    COFRE_PORT: String(testServer.port),
    ...(key === null ? {} : { COFRE_SANDBOX_INTEGRATION_KEY: key }),
  });
}

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** The local program: answers with the given statuses, then 200. */
async function startProgram(
  context: TestContext,
  statuses: number[] = [],
): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("latin1").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      response.writeHead(statuses.shift() ?? 200).end("OK");
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${portOf(server.address())}/hook?shop=1`, received };
}

function portOf(address: ReturnType<ReturnType<typeof createServer>["address"]>): number {
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

interface Shown {
  readonly settings: {
    readonly notificationEndpoints: readonly { readonly id: string }[];
    readonly notificationChaos: unknown;
  };
}

async function settingsOf(testServer: TestServer): Promise<Shown["settings"]> {
  return (await testServer.get("/__cofre/settings", { integration_key: integrationKey })).body[
    "settings"
  ] as Shown["settings"];
}

async function endpointsOf(testServer: TestServer): Promise<string[]> {
  return (await settingsOf(testServer)).notificationEndpoints.map(({ id }) => id);
}

function setSettings(
  testServer: TestServer,
  settings: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  return testServer.postJson("/__cofre/settings", { integration_key: integrationKey, settings });
}

async function pay(testServer: TestServer, code: string): Promise<string> {
  const { body } = await testServer.postJson("/ws/direct", directBody(code));
  return (body["payment"] as { readonly hash: string }).hash;
}

async function outcomes(testServer: TestServer): Promise<(string | null)[]> {
  const { body } = await testServer.get("/__cofre/notifications", {
    integration_key: integrationKey,
  });
  const reported = body["notifications"] as {
    readonly deliveries: readonly { readonly outcome?: string }[];
  }[];
  return reported.flatMap(({ deliveries }) => deliveries.map(({ outcome = null }) => outcome));
}

// Each test has its own server, and most of its time is the start of commands.
describe("cofre listen", { concurrency: 3 }, () => {
  test("verifies, shows and passes on the same bytes, and is gone from the account after Ctrl-C", async (context) => {
    await using testServer = await startCofre();
    const { url, received } = await startProgram(context);
    await setSettings(testServer, { notificationEndpoints: [{ id: "shop", url, enabled: false }] });
    const listening = commandOf(context, testServer, ["listen", "--forward-to", url]);
    await listening.stderrMatch(/Ctrl-C stops it/);
    const [, port = ""] = /on port (\d+)/.exec(listening.stderr) ?? [];
    assert.deepEqual(await endpointsOf(testServer), ["shop", `listen-${port}`]);

    const hash = await pay(testServer, "one");
    const [line = ""] = await listening.lines(1);
    const shown = new RegExp(
      `^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d  #1  update      ${hash} CO  attempt 1  verified  answered 200 \\(by the program\\)$`,
    );
    assert.match(line, shown);
    assert.equal(received.length, 1);
    assert.equal(
      received[0]?.body,
      `operation=payment_status_change&notification_type=update&hash_codes=${hash}`,
    );
    const { headers } = received[0] ?? { headers: {} };
    assert.equal(headers["content-type"], "application/x-www-form-urlencoded");
    const passedOn = [
      "webhook-id",
      "webhook-timestamp",
      "webhook-signature",
      "x-signaturecontent",
      "x-signature-content",
      "x-cofre-sequence",
    ];
    for (const name of passedOn) assert.ok(headers[name] !== undefined, name);
    assert.equal(headers.host, new URL(url).host);

    listening.child.kill("SIGINT");
    assert.equal(await listening.code(), 0);
    assert.deepEqual(await endpointsOf(testServer), ["shop"]);
    const said = listening.stdout + listening.stderr;
    assert.equal(
      /whsec_|whpk_/.test(said) || said.includes(integrationKey),
      false,
      "no key and no secret is shown",
    );
  });

  test("verifies a world's messages by the world's time, also while it is moved, and refuses what is older by it", async (context) => {
    await using server = await startCofre();
    const key = "ik-of-the-world";
    const { body } = await server.postJson("/__cofre/worlds", {
      new_integration_key: key,
      seed: "listen",
      settings: { captureWindowDays: 2 },
    });
    assert.equal(body["status"], "SUCCESS");
    const { url, received } = await startProgram(context);
    const listening = commandOf(context, server, ["listen", "--forward-to", url], key);
    await listening.stderrMatch(/Ctrl-C stops it/);
    const order = { ...directBody("one"), integration_key: key };
    await server.postJson("/ws/direct", order);
    await listening.lines(1);
    const hold = {
      ...directBody("two", { creditcard: { ...testCard, auto_capture: false } }),
      integration_key: key,
    };
    await server.postJson("/ws/direct", hold);
    await server.postJson("/__cofre/clock", { integration_key: key, advance: "10d" });
    const lines = await listening.lines(2);
    assert.deepEqual(
      lines.map((line) => /verified|NOT VERIFIED/.exec(line)?.[0]),
      ["verified", "verified"],
      lines.join("\n"),
    );

    // A replay of the first message.
    const [first] = received;
    assert.ok(first !== undefined);
    const [, port = ""] = /on port (\d+)/.exec(listening.stderr) ?? [];
    const headers = Object.entries(first.headers).filter(([name]) =>
      /^(?:webhook|x|content-type)/.test(name),
    );
    await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: headers as [string, string][],
      body: first.body,
    });
    assert.match(
      (await listening.lines(3))[2] ?? "",
      /NOT VERIFIED \(webhook: the timestamp is more than five minutes off\)/,
    );
  });

  test("answers Cofre as the program does, and 502 when there is none", async (context) => {
    await using testServer = await startCofre();
    const { url } = await startProgram(context, [503]);
    const listening = commandOf(context, testServer, ["listen", "--forward-to", url, "--json"]);
    await listening.stderrMatch(/Ctrl-C stops it/);
    await pay(testServer, "refused");
    const [line = ""] = await listening.lines(1);
    const shown = JSON.parse(line) as Record<string, unknown>;
    assert.deepEqual(
      [shown["answered"], shown["forwarded"], shown["verified"]],
      [503, "answered", true],
    );
    await until("a delivery has the outcome 503", async () =>
      (await outcomes(testServer)).includes("503"),
    );
    listening.child.kill("SIGTERM");
    await listening.exited;

    const alone = commandOf(context, testServer, [
      "listen",
      "--forward-to",
      `localhost:${await freePort()}`,
    ]);
    await alone.stderrMatch(/Ctrl-C stops it/);
    await pay(testServer, "unreachable");
    assert.match(
      (await alone.lines(1))[0] ?? "",
      /verified {2}answered 502 \(the program does not listen\)/,
    );
    await until("a delivery has the outcome 502", async () =>
      (await outcomes(testServer)).includes("502"),
    );
  });

  test("reports what does not verify, what is repeated and what is missing", async (context) => {
    await using testServer = await startCofre();
    await setSettings(testServer, { notificationChaos: { double: 1_000 } });
    const listening = commandOf(context, testServer, ["listen", "--json"]);
    await listening.stderrMatch(/Ctrl-C stops it/);
    await pay(testServer, "twice");
    const twice = (await listening.lines(2)).map(
      (line) => JSON.parse(line) as Record<string, unknown>,
    );
    assert.deepEqual(
      twice.map(({ repeat }) => repeat),
      [false, true],
    );
    assert.deepEqual(
      twice.map(({ verified, answered }) => [verified, answered]),
      [
        [true, 200],
        [true, 200],
      ],
    );

    await setSettings(testServer, { notificationChaos: { double: 0, drop: 1_000 } });
    await pay(testServer, "dropped");
    await until("a delivery has the outcome dropped", async () =>
      (await outcomes(testServer)).includes("dropped"),
    );
    await setSettings(testServer, { notificationChaos: { drop: 0 } });
    await pay(testServer, "after");
    const after = JSON.parse((await listening.lines(3))[2] ?? "") as Record<string, unknown>;
    assert.deepEqual([after["sequence"], after["gap"]], [3, [2, 2]]);

    await setSettings(testServer, { notificationChaos: { breakSignature: 1_000 } });
    await pay(testServer, "forged");
    const forged = JSON.parse((await listening.lines(4))[3] ?? "") as Record<string, unknown>;
    assert.deepEqual(
      [forged["verified"], forged["answered"], forged["payments"]],
      [false, 401, []],
    );
    const problems = [
      "rsa: the signature does not match",
      "webhook: no HMAC matches",
      "webhook: no Ed25519 signature matches",
    ];
    assert.deepEqual(forged["problems"], problems);
  });

  test("that was killed is cleared away by the next one, and one that lives is not", async (context) => {
    await using testServer = await startCofre();
    const killed = commandOf(context, testServer, ["listen"]);
    await killed.stderrMatch(/Ctrl-C stops it/);
    killed.child.kill("SIGKILL");
    await killed.exited;
    const [left] = await endpointsOf(testServer);
    assert.match(left ?? "", /^listen-\d+$/, "a control: it was killed before it could leave");

    const second = commandOf(context, testServer, ["listen"]);
    await second.stderrMatch(/Ctrl-C stops it/);
    const [alive = ""] = await endpointsOf(testServer);
    assert.notEqual(alive, left);
    const third = commandOf(context, testServer, ["listen"]);
    await third.stderrMatch(/Ctrl-C stops it/);
    const both = await endpointsOf(testServer);
    assert.equal(both.length, 2);
    assert.equal(both[0], alive);
  });

  test("receives on the same port, verified, what came after it was killed", async (context) => {
    await using testServer = await startCofre();
    const port = String(await freePort());
    const killed = commandOf(context, testServer, ["listen", "--port", port]);
    await killed.stderrMatch(/Ctrl-C stops it/);
    killed.child.kill("SIGKILL");
    await killed.exited;
    await pay(testServer, "unheard");
    await until("a delivery has the outcome failed_connection", async () =>
      (await outcomes(testServer)).includes("failed_connection"),
    );

    const again = commandOf(context, testServer, ["listen", "--port", port]);
    await again.stderrMatch(/Ctrl-C stops it/);
    // The second attempt is due five seconds after the first.
    assert.match(
      (await again.lines(1))[0] ?? "",
      /#1 {2}update .* CO {2}attempt 2 {2}verified {2}answered 200$/,
    );
  });

  test("enters itself again when the account has forgotten it", async (context) => {
    await using testServer = await startCofre();
    const listening = commandOf(context, testServer, ["listen"]);
    await listening.stderrMatch(/Ctrl-C stops it/);
    await setSettings(testServer, { notificationEndpoints: [] });
    await listening.stderrMatch(/registered again/);
    assert.equal((await endpointsOf(testServer)).length, 1);
  });

  test("ends when its output is closed", async (context) => {
    await using testServer = await startCofre();
    const listening = commandOf(context, testServer, ["listen"]);
    await listening.stderrMatch(/Ctrl-C stops it/);
    listening.child.stdout?.destroy();
    await pay(testServer, "unread");
    assert.equal(await listening.code(), 0);
    assert.deepEqual(await endpointsOf(testServer), []);
  });

  test("says what is wrong in words", async (context) => {
    await using testServer = await startCofre();
    const taken = createServer();
    await once(taken.listen(0, "127.0.0.1"), "listening");
    context.after(() => taken.close());
    const busy = String(portOf(taken.address()));
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const wrong: readonly (readonly [string[], string | null, number, RegExp])[] = [
      [
        ["--url", nowhere],
        integrationKey,
        1,
        /^Nothing answers at http:\/\/127\.0\.0\.1:\d+\. Is Cofre running\?/,
      ],
      [
        ["--url", `http://127.0.0.1:${busy}`, "--json"],
        integrationKey,
        1,
        /has not answered|is not Cofre|Nothing answers/,
      ],
      [
        [],
        publicIntegrationKey,
        1,
        /does not accept this key\. It must be the account's secret integration key/,
      ],
      [[], null, 2, /^The key is missing/],
      [["--port", busy], integrationKey, 1, /^Port \d+ is in use/],
      [["--port", "70000"], integrationKey, 2, /^--port must be/],
      [
        ["--forward-to", "http://192.0.2.1/hook"],
        integrationKey,
        2,
        /^--forward-to must be an http:\/\/ address of this machine/,
      ],
      [["--forward-to", "https://127.0.0.1/hook"], integrationKey, 2, /^--forward-to must be/],
      [["--url", "http://192.0.2.1:8787"], integrationKey, 2, /^--url cannot be used/],
      [
        ["--forwad-to", "x"],
        integrationKey,
        2,
        /^Unknown option --forwad-to\. Did you mean --forward-to\?/,
      ],
      [["--host", "x"], integrationKey, 2, /^listen has no option --host/],
    ];
    taken.on("request", (_request, response) => void response.end("hello"));
    for (const [args, key, code, pattern] of wrong) {
      const running = commandOf(context, testServer, ["listen", ...args], key);
      assert.equal(await running.code(), code, args.join(" "));
      assert.match(running.stderr, pattern);
      assert.equal(running.stdout, "");
      assert.equal(key !== null && running.stderr.includes(key), false);
    }
    assert.deepEqual(await endpointsOf(testServer), []);
  });
});

describe("cofre chaos", () => {
  test("shows, sets and switches off", async (context) => {
    await using testServer = await startCofre();
    const run = async (...args: string[]): Promise<Command> => {
      const running = commandOf(context, testServer, ["chaos", ...args]);
      await running.exited;
      return running;
    };
    assert.match((await run()).stdout, /^drop +0% +how often a notification is not sent/);
    const set = await run(
      "--drop",
      "30%",
      "--break-signature=100%",
      "--delay-ms",
      "50",
      "--before-answer",
      "0.5%",
      "--json",
    );
    assert.equal(set.child.exitCode, 0, set.stderr);
    const expected = {
      seed: "cofre",
      drop: 300,
      delay: 0,
      reorder: 0,
      delayMs: 50,
      double: 0,
      breakSignature: 1_000,
      beforeAnswer: 5,
    };
    assert.deepEqual(JSON.parse(set.stdout), expected);
    assert.deepEqual((await settingsOf(testServer)).notificationChaos, expected);

    assert.match(
      (await run()).stdout,
      /^drop +30% .*\ndelay +0% .*\n(?:.*\n)+before-answer +0\.5% /,
    );

    // A number alone could be a share, a percentage or thousandths.
    for (const drop of ["30", "0.3", "100.1%", "0.25%"]) {
      const refused = await run("--drop", drop);
      assert.deepEqual(
        [
          refused.child.exitCode,
          refused.stderr.includes("from 0% to 100% in steps of 0.1%, such as 30%"),
        ],
        [2, true],
        drop,
      );
    }
    for (const args of [["--delay-ms", "9999999"], ["off", "--drop", "100%"], ["of"]]) {
      const refused = await run(...args);
      assert.equal(refused.child.exitCode, 2, args.join(" "));
    }
    assert.deepEqual(
      (await settingsOf(testServer)).notificationChaos,
      expected,
      "what is refused changes nothing",
    );
    await run("off");
    const off = { ...expected, drop: 0, breakSignature: 0, beforeAnswer: 0, delayMs: 10_000 };
    assert.deepEqual((await settingsOf(testServer)).notificationChaos, off);
  });
});
