import assert from "node:assert/strict";
import { verify, X509Certificate } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { describe, test, type TestContext } from "node:test";
import { Webhook } from "standardwebhooks";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver on loopback that answers with the given statuses, then 200. */
async function startReceiver(
  context: TestContext,
  statuses: number[] = [],
): Promise<{ readonly url: string; readonly received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() });
      response.writeHead(statuses.shift() ?? 200).end("OK");
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return { url: `http://127.0.0.1:${address.port}/notify`, received };
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === "string" ? header : "";
}

function reported(
  testServer: TestServer,
  query: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  return testServer
    .get("/__cofre/notifications", { integration_key: integrationKey, ...query })
    .then(({ body }) => body);
}

interface ReportedDelivery {
  readonly attempts: number;
  readonly state: string;
}

async function deliveriesOf(testServer: TestServer): Promise<readonly ReportedDelivery[]> {
  const { notifications } = (await reported(testServer)) as {
    readonly notifications: readonly { readonly deliveries: readonly ReportedDelivery[] }[];
  };
  return notifications.flatMap(({ deliveries }) => deliveries);
}

describe("notifications of the whole server", () => {
  test("an endpoint that has answered 410 says so and since when, and receives what was kept once it is enabled", async (context) => {
    await using testServer = await startTestServer();
    const { url, received } = await startReceiver(context, [410]);
    const notificationEndpoints = [{ id: "shop", url }];
    await testServer.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: { notificationEndpoints },
    });
    const endpoint = async (
      query: Record<string, string> = {},
    ): Promise<Readonly<Record<string, unknown>>> => {
      const { endpoints } = (await reported(testServer, query)) as {
        readonly endpoints: readonly Readonly<Record<string, unknown>>[];
      };
      return endpoints[0] ?? {};
    };
    assert.equal((await endpoint())["state"], "enabled");
    await testServer.postJson("/ws/direct", directBody("kept"));
    await until("the receiver is gone", async () => (await endpoint())["state"] === "gone");
    assert.match(String((await endpoint())["gone_at"]), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    assert.equal((await endpoint())["enabled"], false);

    for (const wrong of [
      { enable: "nobody" },

      { enable: "shop", disable: "shop" },
      { disable: "shop", replay: "failed" },
    ])
      assert.equal(
        (await reported(testServer, wrong as Record<string, string>))["status_code"],
        "COFRE-145",
        JSON.stringify(wrong),
      );
    assert.equal((await endpoint())["state"], "gone");

    const off = await endpoint({ disable: "shop" });
    assert.equal(off["state"], "disabled");
    assert.match(String(off["disabled_at"]), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    testServer.clock.advance(60_000);
    const settings = await testServer.postJson("/__cofre/settings", {
      integration_key: integrationKey,
    });
    await testServer.postJson("/__cofre/settings", {
      integration_key: integrationKey,
      settings: settings.body["settings"],
    });
    assert.equal(
      (await endpoint())["disabled_at"],
      off["disabled_at"],
      "settings that are read and written back change nothing",
    );
    assert.equal(received.length, 1);
    const after = await endpoint({ enable: "shop" });
    assert.deepEqual(
      [after["state"], after["disabled_at"], after["gone_at"], after["enabled"]],
      ["enabled", undefined, undefined, true],
    );
    await until("the receiver is called twice", () => received.length === 2);
  });

  test("what is neither a number nor a hash is refused, and not ignored", async () => {
    await using testServer = await startTestServer();
    for (const [wrong, code] of [
      [{ after: "the last" }, "COFRE-85"],
      [{ after: "-1" }, "COFRE-85"],
      [{ hash: "order-1" }, "COFRE-85"],
      [{ replay: "failed", from: "first" }, "COFRE-48"],
      [{ replay: "range", from: "1", to: "1e3" }, "COFRE-48"],
      [{ replay: "payment", hash: "order-1" }, "COFRE-48"],
    ] as const)
      assert.equal((await reported(testServer, wrong))["status_code"], code, JSON.stringify(wrong));
    for (const right of [{ after: "0" }, { hash: "0".repeat(48) }, { replay: "failed" }])
      assert.equal((await reported(testServer, right))["status"], "SUCCESS", JSON.stringify(right));
  });

  test("reach the account's address, and both signatures verify", async (context) => {
    await using testServer = await startTestServer();
    const { url, received } = await startReceiver(context);
    await testServer.get("/__cofre/settings", {
      integration_key: integrationKey,
      "settings[notificationUrl]": url,
    });

    const { body } = await testServer.postJson("/ws/direct", directBody("told"));
    const { hash } = body["payment"] as { readonly hash: string };
    await until("the receiver is called", () => received.length === 1);
    const [first] = received;
    assert.ok(first !== undefined);
    assert.equal(
      first.body,
      `operation=payment_status_change&notification_type=update&hash_codes=${hash}`,
    );
    assert.equal(first.headers["x-cofre-sequence"], "1");

    const pem = await (await fetch(`${testServer.url}/__cofre/certificate.pem`)).text();
    const { publicKey } = new X509Certificate(pem);
    for (const name of ["x-signaturecontent", "x-signature-content"]) {
      const content: Buffer = Buffer.from(textOf(first.headers[name]), "base64");
      assert.ok(verify("RSA-SHA1", Buffer.from(first.body), publicKey, content), name);
      assert.ok(
        !verify("RSA-SHA1", Buffer.from(`${first.body}0`), publicKey, content),
        "a control: another body does not",
      );
    }
    // The receivers' library signs the same text with the secret that the account shows.
    const { endpoints } = (await reported(testServer)) as {
      readonly endpoints: readonly { readonly secret: string }[];
    };
    const receiver = new Webhook(endpoints[0]?.secret ?? "");
    const expected = receiver.sign(
      textOf(first.headers["webhook-id"]),
      new Date(testServer.clock.now()),
      first.body,
    );
    assert.ok(textOf(first.headers["webhook-signature"]).split(" ").includes(expected));
  });

  test("are not sent for what stays pending, and tell of the capture that follows, to the payment's own address", async (context) => {
    await using testServer = await startTestServer();
    const account = await startReceiver(context);
    const own = await startReceiver(context);
    await testServer.get("/__cofre/settings", {
      integration_key: integrationKey,
      "settings[notificationUrl]": account.url,
    });
    const changes = { creditcard: { ...testCard, auto_capture: false }, notification_url: own.url };
    await testServer.postJson("/ws/direct", directBody("held", changes));
    await testServer.get("/ws/capture", {
      integration_key: integrationKey,
      merchant_payment_code: "held",
    });
    await until("the receiver is called", () => own.received.length === 1);
    assert.deepEqual([own.received.length, account.received.length], [1, 0]);
  });

  test("are tried again after a failure under the same id, and can be asked for once more", async (context) => {
    await using testServer = await startTestServer();
    const { url, received } = await startReceiver(context, [500]);
    await testServer.get("/__cofre/settings", {
      integration_key: integrationKey,
      "settings[notificationUrl]": url,
    });
    await testServer.postJson("/ws/direct", directBody("again"));
    // The result and the time of the next attempt are stored a moment after the receiver's answer.
    await until(
      "attempt 1 is stored",
      async () => (await deliveriesOf(testServer))[0]?.attempts === 1,
    );
    // The second attempt is due five seconds later, plus at most a tenth.
    testServer.clock.advance(6_000);
    await until("the receiver is called twice", () => received.length === 2);
    assert.equal(received[0]?.headers["webhook-id"], received[1]?.headers["webhook-id"]);
    // Until this result is stored too, the delivery still waits, and waiting deliveries are not
    // queued again.
    await until(
      "the delivery is stored",
      async () => (await deliveriesOf(testServer))[0]?.state === "delivered",
    );

    assert.equal(
      (await reported(testServer, { replay: "range", from: "1", to: "1" }))["deliveries"],
      1,
    );
    await until("the receiver is called 3 times", () => received.length === 3);
    assert.equal(received[2]?.headers["webhook-id"], received[0]?.headers["webhook-id"]);
    assert.equal((await deliveriesOf(testServer)).length, 1);
  });

  test("of several payments come in one message where the endpoint takes that, which verifies, and show which went together", async (context) => {
    await using testServer = await startTestServer();
    const { url, received } = await startReceiver(context, [200, 500]);
    const set = async (over: Record<string, unknown>): Promise<string> => {
      const settings = { notificationEndpoints: [{ id: "shop", url, ...over }] };
      return String(
        (
          await testServer.postJson("/__cofre/settings", {
            integration_key: integrationKey,
            settings,
          })
        ).body["status"],
      );
    };
    assert.equal(await set({ hashesPerCall: 101 }), "ERROR");
    // While the endpoint is disabled its notifications are kept.
    assert.equal(await set({ hashesPerCall: 3, enabled: false }), "SUCCESS");
    const hashes: string[] = [];
    for (const code of ["one", "two", "three", "four", "five"]) {
      const { body } = await testServer.postJson("/ws/direct", directBody(code));
      hashes.push((body["payment"] as { readonly hash: string }).hash);
    }
    assert.equal(await set({ hashesPerCall: 3, signatures: ["hmac"] }), "SUCCESS");
    await until("the receiver is called twice", () => received.length === 2);
    assert.deepEqual(
      received.map(({ body, headers }) => [
        new URLSearchParams(body).get("hash_codes"),
        headers["x-cofre-sequence"],
      ]),
      [
        [hashes.slice(0, 3).join(), "1,2,3"],
        [hashes.slice(3).join(), "4,5"],
      ],
    );
    const [first, second] = received;
    assert.ok(first !== undefined && second !== undefined);
    assert.ok(!("x-signaturecontent" in first.headers));
    const { endpoints } = (await reported(testServer)) as {
      readonly endpoints: readonly { readonly secret: string }[];
    };
    const expected = new Webhook(endpoints[0]?.secret ?? "").sign(
      textOf(first.headers["webhook-id"]),
      new Date(Number(first.headers["webhook-timestamp"]) * 1_000),
      first.body,
    );
    assert.equal(first.headers["webhook-signature"], expected);

    // The endpoint takes one payment per message from now on: messages that were sent keep their
    // content.
    assert.equal(await set({ signatures: ["hmac"] }), "SUCCESS");
    await until(
      "attempt 1 is stored",
      async () => (await deliveriesOf(testServer))[4]?.attempts === 1,
    );
    testServer.clock.advance(6_000);
    await until("the receiver is called 3 times", () => received.length === 3);
    assert.deepEqual(
      [received[2]?.body, received[2]?.headers["webhook-id"]],
      [second.body, second.headers["webhook-id"]],
    );
    await until(
      "attempt 2 is stored",
      async () => (await deliveriesOf(testServer))[4]?.attempts === 2,
    );
    const { notifications } = (await reported(testServer)) as {
      readonly notifications: readonly {
        readonly deliveries: readonly { readonly state: string; readonly message: number }[];
      }[];
    };
    assert.deepEqual(
      notifications
        .flatMap(({ deliveries }) => deliveries)
        .map(({ state, message }) => `${state} ${message}`),
      ["delivered 1", "delivered 1", "delivered 1", "delivered 4", "delivered 4"],
    );

    // The second payment again: its whole message, and no other.
    assert.equal(
      (await reported(testServer, { replay: "payment", hash: hashes[1] ?? "" }))["deliveries"],
      3,
    );
    await until("the receiver is called 4 times", () => received.length === 4);
    assert.deepEqual(
      [received[3]?.body, received[3]?.headers["webhook-id"]],
      [first.body, first.headers["webhook-id"]],
    );
  });

  test("tell of refunds as they go", async (context) => {
    await using testServer = await startTestServer();
    const { url, received } = await startReceiver(context);
    await testServer.get("/__cofre/settings", {
      integration_key: integrationKey,
      "settings[notificationUrl]": url,
    });
    await testServer.postJson("/ws/direct", directBody("refunded"));
    const refund = {
      integration_key: integrationKey,
      operation: "request",
      merchant_payment_code: "refunded",
      amount: "1.00",
      description: "x",
    };
    await testServer.postJson("/ws/refund", refund);
    for (let step = 0; step < 2; step += 1) {
      testServer.clock.advance(61_000);
      await until("the receiver is called for this step", () => received.length === step + 2);
    }
    const kinds = received.map(({ body }) => new URLSearchParams(body).get("notification_type"));
    assert.deepEqual(kinds, ["update", "refund", "refund"]);
    assert.deepEqual(
      received.map(({ headers }) => headers["x-cofre-sequence"]),
      ["1", "2", "3"],
    );
  });
});
