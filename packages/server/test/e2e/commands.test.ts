import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { text } from "node:stream/consumers";
import { describe, test, type TestContext } from "node:test";
import { Command } from "../command.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

/** Runs a command of the program for this server, to its end. */
async function run(
  context: TestContext,
  { port }: Pick<TestServer, "port">,
  ...args: readonly string[]
): Promise<Command> {
  const command = Command.cofre(context, args, {
    COFRE_PORT: String(port),
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
  });
  await command.code();
  return command;
}

async function pay(
  testServer: TestServer,
  code: string,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const { body } = await testServer.postJson("/ws/direct", directBody(code, changes));
  return (body["payment"] as { readonly hash: string }).hash;
}

/** Answers with the given status, and counts. */
async function startReceiver(
  context: TestContext,
  delayMs = 0,
): Promise<{ readonly url: string; status: number; received: number }> {
  const receiver = { url: "", status: 200, received: 0 };
  const server = createServer((request, response) => {
    receiver.received += 1;
    request.resume();
    setTimeout(() => response.writeHead(receiver.status).end(), delayMs);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return receiver;
}

/** Whether no delivery waits: a received message is stored as delivered a moment later. */
async function isDelivered(testServer: TestServer): Promise<boolean> {
  const { body } = await testServer.get("/__cofre/notifications", {
    integration_key: integrationKey,
  });
  const reported = body["notifications"] as readonly {
    readonly deliveries: readonly { readonly state: string }[];
  }[];
  return reported.every(({ deliveries }) => deliveries.every(({ state }) => state !== "waiting"));
}

describe("cofre payment", () => {
  test("shows state, money and timeline by code or hash, as text or as the admin call's JSON", async (context) => {
    await using testServer = await startTestServer();
    const hash = await pay(testServer, "order-1", {
      creditcard: { ...testCard, auto_capture: false },
    });
    await testServer.get("/ws/capture", { integration_key: integrationKey, hash });

    const { child, stdout, stderr } = await run(context, testServer, "payment", "order-1");
    assert.equal(child.exitCode, 0, stderr);
    const [title, ...lines] = stdout.trimEnd().split("\n");
    assert.equal(title, `${hash}  captured`);
    assert.ok(
      lines.some((line) => /^ {4}USD {2}held 0\.00 {2}captured 100\.00 {2}/.test(line)),
      stdout,
    );
    const facts = lines.flatMap((line) => / v\d+ {2}(\w+)/.exec(line)?.[1] ?? []);
    assert.deepEqual(
      ["authorization_sent", "authorization_approved", "capture_sent", "capture_approved"].filter(
        (fact) => facts.includes(fact),
      ).length,
      4,
      stdout,
    );

    const asJson = await run(context, testServer, "payment", "--json", hash, "order-1");
    const [one = "", two] = asJson.stdout.trimEnd().split("\n");
    assert.equal(one, two);
    const { body } = await testServer.get("/__cofre/explain", {
      integration_key: integrationKey,
      hash,
    });
    assert.deepEqual(JSON.parse(one), body);
  });

  test("prints the timeline of a payment, as text or as the admin call's JSON", async (context) => {
    await using testServer = await startTestServer();
    const hash = await pay(testServer, "order-1");

    const { child, stdout, stderr } = await run(
      context,
      testServer,
      "payment",
      "timeline",
      "order-1",
    );
    assert.equal(child.exitCode, 0, stderr);
    const [title, ...lines] = stdout.trimEnd().split("\n");
    assert.equal(title, `${hash}  captured`);
    assert.deepEqual(
      lines.map(
        (line) =>
          /^ {2}\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z {2}(\w+) +[A-Z].*\.$/.exec(line)?.[1],
      ),
      ["request", "fact", "call", "fact", "notification"],
      stdout,
    );
    assert.match(lines[3] ?? "", /booked: capture of 100\.00 USD \(585\.22 BRL\)\.$/);

    const asJson = await run(context, testServer, "payment", "timeline", hash, "--json");
    const { body } = await testServer.get("/__cofre/timeline", {
      integration_key: integrationKey,
      hash,
    });
    assert.deepEqual(JSON.parse(asJson.stdout), body);

    await pay(testServer, "timeline");
    assert.match(
      (await run(context, testServer, "payment", "timeline")).stdout,
      /captured\n {2}money/,
      "alone it is a code",
    );
    assert.match(
      (await run(context, testServer, "payment", "timeline", "nowhere")).stderr,
      /nowhere: .*BP-QRY-2/,
    );
  });

  test("says which payment is not there, and ends with 1", async (context) => {
    await using testServer = await startTestServer();
    const { child, stdout, stderr } = await run(context, testServer, "payment", "nowhere");
    assert.equal(child.exitCode, 1);
    assert.equal(stdout, "");
    assert.match(
      stderr,
      /^nowhere: Cofre refused: BP-QRY-2 .*\. A payment is named by your merchant_payment_code or its hash/,
    );
  });
});

describe("cofre world", () => {
  test("makes one with its seed, time, keys and switches; saves, restores, resets and deletes it", async (context) => {
    await using testServer = await startTestServer();
    const settings = JSON.stringify({ country: "mx", partialCapture: true });
    const key = "test_ik_of_a_world";
    const flags = [
      "--seed",
      "7",
      "--clock",
      "2026-01-31",
      "--key",
      key,
      "--name",
      "shop",
      "--settings",
      settings,
    ];
    const { stdout, stderr } = await run(
      context,
      testServer,
      "world",
      "create",
      ...flags,
      "--json",
    );
    assert.equal(stderr, "");
    const made = JSON.parse(stdout) as { readonly id: string; readonly clock: unknown };
    assert.deepEqual(made.clock, { now: "2026-01-31T00:00:00.000Z", running: false });
    const { body } = await testServer.get("/__cofre/settings", { integration_key: key });
    const { country, partialCapture } = body["settings"] as Readonly<Record<string, unknown>>;
    assert.deepEqual([country, partialCapture], ["mx", true]);

    const of = async (...args: readonly string[]): Promise<string> => {
      const {
        child,
        stdout: said,
        stderr: wrong,
      } = await run(context, testServer, "world", ...args, "--key", key);
      assert.equal(child.exitCode, 0, wrong);
      return said;
    };
    await testServer.postJson("/ws/direct", { ...directBody("order-1"), integration_key: key });
    assert.match(
      await of("snapshot", "--name", "paid"),
      /payments {16}1\n {2}snapshots {15}paid\n/,
    );
    assert.match(await of("reset"), /payments {16}0\n/);
    assert.match(await of("restore", "--name", "paid"), /payments {16}1\n/);
    assert.match(await of("list"), new RegExp(`^${made.id} .* payments 1 .*${key}`));
    await of("delete");
    assert.equal(
      (await testServer.get("/__cofre/world", { integration_key: key })).body["status"],
      "ERROR",
    );
  });

  test("refuses settings that are not an object, and says which one is none", async (context) => {
    await using testServer = await startTestServer();
    for (const wrong of ["mx", "[1]", "{country:mx}"]) {
      const { child, stderr } = await run(
        context,
        testServer,
        "world",
        "create",
        "--settings",
        wrong,
      );
      assert.equal(child.exitCode, 2, wrong);
      assert.match(stderr, /^--settings must be an object in JSON, such as '\{"country":"mx"\}'\./);
    }
    const { child, stderr } = await run(
      context,
      testServer,
      "world",
      "create",
      "--settings",
      '{"partialCaptures":true}',
    );
    assert.equal(child.exitCode, 1);
    assert.match(stderr, /^Cofre refused: COFRE-31 .*partialCapture/);
  });
});

describe("cofre clock", () => {
  test("says where the time is for as long as the way takes", async (context) => {
    await using testServer = await startTestServer();
    const receiver = await startReceiver(context, 2_800);
    const { body } = await testServer.postJson("/__cofre/worlds", {
      seed: "slow receiver",
      settings: { notificationEndpoints: [{ id: "shop", url: receiver.url }] },
    });
    const { integration_key: key } = body["world"] as { readonly integration_key: string };
    await testServer.postJson("/__cofre/simulator", { integration_key: key, next: "lose_answer" });
    await testServer.postJson("/ws/direct", { ...directBody("order-1"), integration_key: key });
    const { child, stdout, stderr } = await run(
      context,
      testServer,
      "clock",
      "--advance",
      "1d",
      "--key",
      key,
    );
    assert.equal(child.exitCode, 0, stderr);
    assert.match(stderr, /^(?:on the way: 2026-01-01T00:00:\d\d\.000Z\n)+$/);
    assert.match(
      stdout,
      /^2026-01-02T00:00:00\.000Z paused\n {2}processed {1}payments \d+, deliveries 1, cards 0\n$/,
    );

    const quick = await run(context, testServer, "clock", "--advance", "1d", "--key", key);
    assert.equal(quick.stderr, "", "who waits for nothing is told nothing");
  });

  test("continues when one call does not process all that is due, and ends where it gets no further", async (context) => {
    const requests: Record<string, unknown>[] = [];
    const times = ["2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01", "2026-05-01"];
    const server = createServer((request, response) => {
      void text(request).then((sent) => {
        const fields = JSON.parse(sent) as Record<string, unknown>;
        requests.push(fields);
        const now = `${times[requests.length - 1]}T00:00:00.000Z`;
        const to = "2027-01-01T00:00:00.000Z";
        const left = requests.length === 3 ? { complete: true } : { complete: false, target: to };
        response.end(
          JSON.stringify({
            status: "SUCCESS",
            clock: { now, running: false, next_due: null },
            processed: { payments: 1, deliveries: 2, cards: 0 },
            ...left,
          }),
        );
      });
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    context.after(() => server.close());
    const { port } = server.address() as AddressInfo;
    const first = await run(context, { port }, "clock", "--advance", "12months", "--json");
    assert.deepEqual(JSON.parse(first.stdout), {
      clock: { now: "2026-04-01T00:00:00.000Z", running: false, next_due: null },
      processed: { payments: 3, deliveries: 6, cards: 0 },
      complete: true,
    });
    const to = "2027-01-01T00:00:00.000Z";
    assert.deepEqual(
      requests.map(({ advance, set }) => advance ?? set),
      ["12months", to, to],
    );
    const second = await run(context, { port }, "clock", "--set", to);
    assert.match(
      second.stdout,
      /^2026-05-01T00:00:00\.000Z paused\n {2}processed {1}payments 2, deliveries 4, cards 0\n$/,
    );
    assert.match(
      second.stderr,
      /^The due work is not complete after a minute: `cofre clock --set 2027-01-01T00:00:00\.000Z` continues\.\n$/,
    );
  });
});

describe("cofre notification", () => {
  test("lists each with its deliveries, and has the failed ones, a payment's or a range made again", async (context) => {
    await using testServer = await startTestServer();
    const receiver = await startReceiver(context);
    const notificationEndpoints = [{ id: "shop", url: receiver.url }];
    await testServer.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { notificationEndpoints },
    });
    const first = await pay(testServer, "order-1");
    await pay(testServer, "order-2");
    await until(
      "2 messages are delivered",
      async () => receiver.received === 2 && (await isDelivered(testServer)),
    );

    const listed = await run(context, testServer, "notification", "list");
    assert.equal(listed.child.exitCode, 0, listed.stderr);
    const lines = listed.stdout.trimEnd().split("\n");
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? "", new RegExp(`#1  update      ${first}  shop: `));
    // Without a subcommand it lists.
    const json = await run(context, testServer, "notification", "--after", "1", "--json");
    const rows = json.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      rows.map(({ number }) => number),
      [2],
    );

    const resent = await run(context, testServer, "notification", "resend", "--payment", first);
    assert.match(resent.stdout, /^1 deliveries will be made again\.\n$/);
    await until(
      "3 messages are delivered",
      async () => receiver.received === 3 && (await isDelivered(testServer)),
    );
    const range = await run(
      context,
      testServer,
      "notification",
      "resend",
      "--from",
      "1",
      "--to",
      "2",
      "--json",
    );
    assert.deepEqual(JSON.parse(range.stdout), { deliveries: 2 });
    await until(
      "5 messages are delivered",
      async () => receiver.received === 5 && (await isDelivered(testServer)),
    );
    const failed = await run(context, testServer, "notification", "resend", "--failed");
    assert.match(
      failed.stdout,
      /^0 deliveries will be made again\. `cofre notification list` lists the notifications\.\n$/,
    );
  });

  test("lists each with all of its deliveries, also where there are more than one call returns", async (context) => {
    await using testServer = await startTestServer();
    // Disabled: deliveries wait.
    const notificationEndpoints = ["one", "two"].map((id) => ({
      id,
      url: "http://127.0.0.1:3/",
      enabled: false,
    }));
    await testServer.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { notificationEndpoints },
    });
    for (let batch = 0; batch < 13; batch += 1) {
      await Promise.all(
        Array.from({ length: 20 }, (_, index) => pay(testServer, `order-${batch}-${index}`)),
      );
    }
    const { stdout, stderr } = await run(context, testServer, "notification", "list", "--json");
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map(
        (line) =>
          JSON.parse(line) as { readonly number: number; readonly deliveries: readonly unknown[] },
      );
    assert.deepEqual(
      rows.map(({ number, deliveries }) => [number, deliveries.length]),
      Array.from({ length: 260 }, (_, index) => [index + 1, 2]),
      stderr,
    );
  });

  const refused: readonly (readonly [args: readonly string[], says: RegExp])[] = [
    [["resend"], /^Select notifications with --failed/],
    [["resend", "--from", "1"], /^Select notifications/],
    [["resend", "--failed", "--payment", "x"], /^Select notifications/],
    [["resend", "--from", "one", "--to", "2"], /^--from must be a notification's number/],
    [["resend", "--after", "1"], /^--after is for `cofre notification list`/],
    [["list", "--failed"], /^--failed is for `cofre notification resend`/],
  ];
  for (const [args, says] of refused) {
    test(`refuses: ${args.join(" ")}`, async (context) => {
      const command = Command.cofre(context, ["notification", ...args], {
        COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_key",
      });
      assert.equal(await command.code(), 2);
      assert.match(command.stderr, says);
    });
  }

  test("says what to do where nothing answers, and ends with 1", async (context) => {
    const command = Command.cofre(context, ["notification"], {
      COFRE_PORT: "1",
      COFRE_SANDBOX_INTEGRATION_KEY: "test_ik_key",
    });
    assert.equal(await command.code(), 1);
    assert.match(
      command.stderr,
      /^Nothing answers at http:\/\/127\.0\.0\.1:1\. Is Cofre running\? `cofre start` starts it/,
    );
  });
});

describe("a command that speaks with something else", () => {
  /** Runs a command beside a server that writes this to every connection and closes it. */
  async function beside(
    context: TestContext,
    written: string,
    ...args: readonly string[]
  ): Promise<Command> {
    const server = createTcpServer(
      (socket) => void socket.on("error", () => undefined).once("data", () => socket.end(written)),
    );
    await once(server.listen(0, "127.0.0.1"), "listening");
    context.after(() => server.close());
    return run(context, { port: (server.address() as AddressInfo).port }, ...args);
  }

  test("says so where a connection is cut, and not that nothing answers", async (context) => {
    for (const written of [
      "",
      "-ERR unknown command\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{",
    ]) {
      const { stderr, child } = await beside(context, written, "payment", "order-1");
      assert.match(
        stderr,
        /^order-1: The connection to http:\/\/127\.0\.0\.1:\d+ ended without a complete HTTP response: another program [^\n]*\n$/,
      );
      assert.equal(child.exitCode, 1);
    }
  });

  test("takes an answer without what it is about for another version's", async (context) => {
    const empty = '{"status":"SUCCESS"}';
    const written = `HTTP/1.1 200 OK\r\nContent-Length: ${empty.length}\r\nConnection: close\r\n\r\n${empty}`;
    for (const args of [
      ["payment", "order-1"],
      ["payment", "timeline", "order-1"],
      ["clock"],
      ["world", "list"],
      ["fault", "list"],
    ]) {
      const { stdout, stderr, child } = await beside(context, written, ...args);
      assert.deepEqual([child.exitCode, stdout], [1, ""], args.join(" "));
      assert.match(stderr, /is of another version: use the command that came with it\.\n$/);
    }
  });
});

describe("cofre fault", () => {
  test("adds, lists and clears, as text or as JSON", async (context) => {
    await using testServer = await startTestServer();
    const empty = await run(context, testServer, "fault");
    assert.deepEqual([empty.child.exitCode, empty.stdout], [0, ""]);
    assert.match(empty.stderr, /^There are no active faults\. `cofre help fault`/);

    const options = ["--path", "/ws/direct", "--code", "order-1", "--delay", "10", "--times", "2"];
    const added = await run(context, testServer, "fault", "add", "late_answer", ...options);
    assert.equal(
      added.stdout,
      "f1  late_answer                affected 0 of 2  only /ws/direct, payment order-1, 10 ms\n",
      added.stderr,
    );
    const json = await run(
      context,
      testServer,
      "fault",
      "add",
      "decline",
      "--reason",
      "high_risk",
      "--times",
      "0",
      "--json",
    );
    assert.deepEqual(JSON.parse(json.stdout), {
      id: "f2",
      kind: "decline",
      times: 0,
      injected: 0,
      reason: "high_risk",
    });
    await pay(testServer, "order-1");
    const listed = (await run(context, testServer, "fault", "list")).stdout.trimEnd().split("\n");
    assert.match(listed[0] ?? "", /^f1 {2}late_answer +affected 1 of 2 /);
    assert.match(listed[1] ?? "", /^f2 {2}decline +affected 0, until it is cleared {2}high_risk$/);

    assert.equal(
      (await run(context, testServer, "fault", "clear", "f1")).stdout,
      "1 fault was cleared.\n",
    );
    assert.deepEqual(
      JSON.parse((await run(context, testServer, "fault", "clear", "--json")).stdout),
      {
        cleared: 1,
      },
    );
    assert.equal((await run(context, testServer, "fault", "list", "--json")).stdout, "");
  });

  test("says what cannot be, and ends with 1; with 2 where the command line is wrong", async (context) => {
    await using testServer = await startTestServer();
    const unknown = await run(context, testServer, "fault", "add", "explode");
    assert.deepEqual([unknown.child.exitCode, unknown.stdout], [1, ""]);
    assert.match(
      unknown.stderr,
      /^Cofre refused: COFRE-90 .*fail_before_commit, unavailable.*, result_forged\n$/,
    );
    assert.match(
      (await run(context, testServer, "fault", "clear", "f9")).stderr,
      /^Cofre refused: COFRE-97 /,
    );
    const misplaced = await run(context, testServer, "fault", "list", "--times", "2");
    assert.equal(misplaced.child.exitCode, 2);
    assert.match(misplaced.stderr, /^--times is for `cofre fault add`, not for list\./);
  });
});

test("a wrong command line shows the help of the command that was meant, and nothing else", async (context) => {
  const command = Command.cofre(context, ["config", "now"]);
  assert.equal(await command.code(), 2);
  assert.match(
    command.stderr,
    /^config takes no arguments, but was given: now\n\ncofre config \[options\]\n/,
  );
  assert.ok(
    !command.stderr.includes("cofre listen") && !command.stderr.includes("COFRE_"),
    command.stderr,
  );
});

test("an unknown name is reported by the admin call", async () => {
  await using testServer = await startTestServer();
  const { body } = await testServer.get("/__cofre/settings", {
    integration_key: integrationKey,
    "settings[partialCaptures]": "true",
  });
  assert.equal(body["status_code"], "COFRE-31");
  assert.equal(
    body["status_message"],
    "partialCaptures is not a setting. Did you mean partialCapture?",
  );
});
