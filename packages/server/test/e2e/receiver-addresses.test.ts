import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";
import { until } from "../until.ts";

type Fields = Readonly<Record<string, unknown>>;

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

async function startReceiver(
  context: TestContext,
): Promise<{ readonly port: number; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    received.push({ path: url, headers });
    response.end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { port: (server.address() as AddressInfo).port, received };
}

const set = async (
  testServer: TestServer,
  settings: Fields,
  key = integrationKey,
): Promise<Fields> =>
  (await testServer.postJson("/__cofre/settings", { integration_key: key, settings })).body;
const endpointAt = (url: string): Fields => ({ notificationEndpoints: [{ id: "shop", url }] });
const newWorld = async (testServer: TestServer, settings: Fields = {}): Promise<Fields> =>
  (await testServer.postJson("/__cofre/worlds", { integration_key: integrationKey, settings }))
    .body;
const keyOf = (made: Fields): string =>
  (made["world"] as { readonly integration_key: string }).integration_key;

const unreachable: readonly (readonly [url: string, says: RegExp])[] = [
  ["http://10.0.0.5:3000/hook", /private or reserved network.*COFRE_NOTIFICATION_NETWORKS/],
  ["http://172.17.0.2/hook", /private or reserved/],
  ["https://192.168.1.1/", /private or reserved/],
  ["http://0.0.0.0:3000/hook", /private or reserved/],
  ["http://169.254.169.254/latest/meta-data", /private or reserved/],
  ["http://[fd00::1]:3000/", /private or reserved/],
  ["http://167772165/", /private or reserved/],
  ["http://93.184.215.14/", /must begin with https/],
  ["https://93.184.215.14:9000/", /must have port 443 or 8443/],
  ["http://shop:secret@127.0.0.1:9/hook", /a port of another protocol/],
  ["http://127.0.0.1:25/", /a port of another protocol/],
];

describe("an address that is never called", () => {
  for (const [url, says] of unreachable) {
    test(`is refused where it is given, with the reason: ${url}`, async () => {
      await using testServer = await startTestServer();
      for (const answer of [
        await set(testServer, endpointAt(url)),
        await set(testServer, { notificationUrl: url }),
        await newWorld(testServer, endpointAt(url)),
        await newWorld(testServer, { notificationUrl: url }),
      ]) {
        assert.equal(answer["status_code"], "COFRE-31", JSON.stringify(answer));
        assert.match(String(answer["status_message"]), says);
        assert.ok(!String(answer["status_message"]).includes(url));
      }
      const properties = { integration_key: integrationKey, url_status_change_notification: url };
      assert.equal(
        (await testServer.postJson("/ws/merchantIntegrationProperties/edit", properties)).body[
          "status_code"
        ],
        "COFRE-39",
      );
    });
  }

  test("of a payment gives way to the account's own, with a warning", async (context) => {
    await using testServer = await startTestServer();
    const { port, received } = await startReceiver(context);
    await set(testServer, endpointAt(`http://127.0.0.1:${port}/own`));
    const response = await fetch(`${testServer.url}/ws/direct`, {
      method: "POST",
      body: JSON.stringify(directBody("beside", { notification_url: "http://10.0.0.5:3000/hook" })),
    });
    assert.equal(((await response.json()) as Fields)["status"], "SUCCESS");
    assert.match(
      response.headers.get("x-cofre-warning") ?? "",
      /notification_url is ignored.*private or reserved/,
    );
    await until("the receiver is called", () => received.length === 1);
    assert.equal(received[0]?.path, "/own");
  });

  test("is called where its network is named", async () => {
    await using testServer = await startTestServer({
      environment: { COFRE_NOTIFICATION_NETWORKS: "172.16.0.0/12, 10.0.0.0/8" },
    });
    for (const url of ["http://10.0.0.5:3000/hook", "http://172.17.0.2/hook"]) {
      assert.equal((await set(testServer, endpointAt(url)))["status"], "SUCCESS");
      assert.equal((await newWorld(testServer, endpointAt(url)))["status"], "SUCCESS");
    }
    assert.equal(
      (await set(testServer, endpointAt("http://192.168.1.1/")))["status_code"],
      "COFRE-31",
      "control",
    );
  });

  test("that was let in before is let be when other settings change", async () => {
    await using testServer = await startTestServer();
    const names = ["http://shop.internal:3000/", "https://shop.example/"];
    for (const url of names)
      assert.equal(
        (await set(testServer, endpointAt(url)))["status"],
        "SUCCESS",
        "what a name leads to is seen when it is called",
      );
  });
});

/**
 * In this spelling this machine's own address counts as reachable from outside: the tests listen on
 * loopback only.
 */
const beyond = "::ffff:127.0.0.1";
/** A server that is reachable from outside accepts no short key. */
const longKey = "test_ik_of_receivers_beyond";

describe("a world that anybody may make", () => {
  test("has no receivers on the machine itself where the server listens beyond it, unless they are named", async (context) => {
    const { port, received } = await startReceiver(context);
    const url = `http://127.0.0.1:${port}/hook`;
    for (const [environment, reached] of [
      [{ COFRE_HOST: beyond }, false],
      [{ COFRE_HOST: beyond, COFRE_NOTIFICATION_NETWORKS: "127.0.0.0/8" }, true],
      [{ COFRE_HOST: "127.0.0.1" }, true],
    ] as const) {
      await using testServer = await startTestServer({
        environment: { ...environment, COFRE_SANDBOX_INTEGRATION_KEY: longKey },
      });
      assert.equal(
        (await newWorld(testServer, endpointAt(url)))["status"],
        reached ? "SUCCESS" : "ERROR",
        JSON.stringify(environment),
      );
      const key = keyOf(await newWorld(testServer));
      assert.equal(
        (await set(testServer, endpointAt(url), key))["status"],
        reached ? "SUCCESS" : "ERROR",
      );
      const before = received.length;
      const sale = await testServer.postJson("/ws/direct", {
        ...directBody("told", { notification_url: url }),
        integration_key: key,
      });
      assert.equal(sale.body["status"], "SUCCESS");
      if (reached) await until("the receiver is called", () => received.length > before);
      assert.equal(
        (await set(testServer, endpointAt(url), longKey))["status"],
        "SUCCESS",
        "control: the server's own account has its key",
      );
    }
  });

  test("has no name that leads to the machine itself there either", async (context) => {
    const { port, received } = await startReceiver(context);
    await using testServer = await startTestServer({
      environment: { COFRE_HOST: beyond, COFRE_SANDBOX_INTEGRATION_KEY: longKey },
    });
    const key = keyOf(await newWorld(testServer));
    assert.equal(
      (await set(testServer, endpointAt(`http://localhost:${port}/`), key))["status"],
      "ERROR",
    );
    assert.equal(
      (await set(testServer, endpointAt("https://localhost/"), key))["status"],
      "SUCCESS",
    );
    await testServer.postJson("/ws/direct", { ...directBody("told"), integration_key: key });
    await until("the address is refused", async () => {
      const { body } = await testServer.postJson("/__cofre/notifications", {
        integration_key: key,
        order: "newest",
        limit: 5,
      });
      const outcome = (
        body["notifications"] as readonly {
          readonly deliveries: readonly { readonly outcome?: string }[];
        }[]
      )[0]?.deliveries[0]?.outcome;
      assert.ok(
        outcome === undefined || outcome === "nothing" || outcome === "refused_address",
        String(outcome),
      );
      return outcome === "refused_address";
    });
    assert.equal(received.length, 0);
  });
});

describe("an address with a password", () => {
  test("is called with it, and shown without it in every list", async (context) => {
    await using testServer = await startTestServer();
    const { port, received } = await startReceiver(context);
    const shown = `http://shop:***@127.0.0.1:${port}/hook`;
    const url = shown.replace("***", "s3cret-word");
    assert.equal(
      (await set(testServer, { ...endpointAt(url), notificationUrl: `${url}?account` }))["status"],
      "SUCCESS",
    );
    await testServer.postJson("/ws/direct", directBody("account"));
    await testServer.postJson("/ws/direct", directBody("own", { notification_url: `${url}?own` }));
    // The timeline contains an attempt once its result is stored, which the receiver cannot
    // observe.
    await until(
      "three notifications are delivered",
      () =>
        testServer.events.filter(({ event }) => event === "notification_delivered").length === 3,
    );
    const basic = `Basic ${Buffer.from("shop:s3cret-word").toString("base64")}`;
    assert.deepEqual(
      received.map(({ headers }) => headers.authorization),
      [basic, basic, basic],
    );
    const answers = [
      await set(testServer, {}),
      (await testServer.postJson("/__cofre/notifications", { integration_key: integrationKey }))
        .body,
      (
        await testServer.postJson("/ws/merchantIntegrationProperties/get", {
          integration_key: integrationKey,
        })
      ).body,
      (await testServer.postJson("/__cofre/requests", { integration_key: integrationKey })).body,
      (
        await testServer.postJson("/__cofre/timeline", {
          integration_key: integrationKey,
          merchant_payment_code: "account",
        })
      ).body,
      (
        await testServer.postJson("/__cofre/timeline", {
          integration_key: integrationKey,
          merchant_payment_code: "own",
        })
      ).body,
      (
        await testServer.postJson("/ws/query", {
          integration_key: integrationKey,
          merchant_payment_code: "own",
        })
      ).body,
      testServer.events,
    ].map((answer) => JSON.stringify(answer));
    for (const answer of answers) assert.ok(!answer.includes("s3cret-word"), answer);
    assert.ok(
      answers.slice(0, 6).every((answer) => answer.includes("shop:***@")),
      "control: the addresses are in them",
    );
  });

  test("is kept when settings are read and written back, and refused when its password is missing", async (context) => {
    await using testServer = await startTestServer();
    const { port, received } = await startReceiver(context);
    const url = `http://shop:s3cret-word@127.0.0.1:${port}/hook`;
    await set(testServer, { ...endpointAt(url), notificationUrl: url });
    const { settings } = (await set(testServer, {})) as { readonly settings: Fields };
    const { notificationUrl, notificationEndpoints } = settings;
    assert.equal(
      (await set(testServer, { notificationUrl, notificationEndpoints }))["status"],
      "SUCCESS",
    );
    const property = {
      integration_key: integrationKey,
      url_status_change_notification: notificationUrl,
    };
    assert.equal(
      (await testServer.postJson("/ws/merchantIntegrationProperties/edit", property)).body[
        "status"
      ],
      "SUCCESS",
    );
    await testServer.postJson("/ws/direct", directBody("kept"));
    await until("the receiver is called twice", () => received.length === 2);
    assert.ok(
      received.every(({ headers }) => headers.authorization?.startsWith("Basic ") === true),
    );
    const other = endpointAt(`http://shop:***@127.0.0.1:${port}/other`);
    assert.match(
      String((await set(testServer, other))["status_message"]),
      /has \*\*\* for its password/,
    );
  });
});
