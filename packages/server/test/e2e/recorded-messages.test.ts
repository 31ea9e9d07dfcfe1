import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

interface Sent {
  readonly outcome: string;
  readonly attempt: number;
  readonly url: string;
  readonly duration_ms: number | null;
  readonly request: { readonly headers: Headers; readonly body: string } | null;
  readonly response: {
    readonly status: number;
    readonly headers: Headers;
    readonly body: string;
    readonly truncated: boolean;
  } | null;
}

type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly notifications: readonly { readonly hash: string }[];
  readonly endpoints: readonly { readonly id: string; readonly secret: string }[];
  readonly payment_url_secret: string;
  readonly detail: {
    readonly number: number;
    readonly merchant_payment_code: string;
    readonly receivers: readonly {
      readonly endpoint: string;
      readonly url: string | null;
      readonly body: string;
      readonly attempts: readonly Sent[];
    }[];
    readonly sample: { readonly headers: Headers; readonly body: string } | null;
    readonly recorded_since: string | null;
  };
}

/** A receiver on loopback; returns its address. */
async function receiving(context: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}

async function shown(testServer: TestServer, number = 1): Promise<Answer> {
  const { body } = await testServer.postJson("/__cofre/notifications", {
    integration_key: integrationKey,
    number,
  });
  return body as unknown as Answer;
}

async function setReceivers(testServer: TestServer, urls: readonly string[]): Promise<void> {
  const { body } = await testServer.postJson("/__cofre/settings", {
    integration_key: integrationKey,
    settings: { notificationEndpoints: urls.map((url, place) => ({ id: `shop-${place}`, url })) },
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
}

/** The recorded attempts of the first receiver, once there are `count`. */
async function attempts(testServer: TestServer, count = 1): Promise<readonly Sent[]> {
  let sent: readonly Sent[] = [];
  await until("the attempt is recorded", async () => {
    const { detail } = await shown(testServer);
    sent = detail.receivers[0]?.attempts ?? [];
    return sent.length >= count;
  });
  return sent;
}

/** The `v1` signature as docs/concepts/notifications.md describes it. */
function signatureOf(headers: Headers, body: string, secret: string): string {
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
}

const card = testCard["card_number"] ?? "";

/** What a receiver may answer that must not be kept, and the text that is shown instead. */
const hostileBody = [
  `<script>alert(1)</script>`,
  `card ${card}`,
  `Authorization: Basic c2hvcDpwYXNz`,
  `{"token": "${"a1".repeat(20)}"}`,
].join("\n");

describe("a recorded message", () => {
  test("has headers and body as the receiver got them, the response and its duration", async (context) => {
    await using testServer = await startTestServer();
    const received: { headers: Headers; body: string }[] = [];
    const url = await receiving(context, (request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        received.push({ headers: request.headers as Headers, body });
        response.writeHead(200, { "Content-Type": "text/plain", "Set-Cookie": "id=1" });
        response.end("thanks");
      });
    });
    await setReceivers(testServer, [url.replace("//", "//shop:pass@")]);
    await testServer.postJson("/ws/direct", directBody("shown"));
    const [sent] = await attempts(testServer);
    const { detail, endpoints } = await shown(testServer);
    assert.equal(detail.merchant_payment_code, "shown");
    assert.equal(detail.receivers[0]?.url, url.replace("//", "//shop:***@"));

    assert.ok(sent !== undefined && sent.request !== null);
    const { headers, body } = sent.request;
    const [got] = received;
    assert.equal(body, got?.body);
    assert.equal(detail.receivers[0].body, body);
    const { Authorization: authorization, ...others } = headers;
    assert.equal(authorization, "Basic ***");
    assert.match(got?.headers["authorization"] ?? "", /^Basic \w+/, "control");
    for (const [name, value] of Object.entries(others))
      assert.equal(value, got?.headers[name.toLowerCase()], name);
    const signature = signatureOf(headers, body, endpoints[0]?.secret ?? "");
    assert.ok(String(headers["webhook-signature"]).split(" ").includes(signature));

    assert.deepEqual(
      [sent.response?.status, sent.response?.body, sent.response?.truncated],
      [200, "thanks", false],
    );
    assert.equal(sent.response?.headers["content-type"], "text/plain");
    assert.ok(!("set-cookie" in (sent.response?.headers ?? {})));
    assert.ok(typeof sent.duration_ms === "number" && sent.duration_ms >= 0);
    assert.ok(!JSON.stringify(detail).includes("pass@"));
  });

  test("has no card number, secret, password or token that the response repeats", async (context) => {
    await using testServer = await startTestServer();
    let secret = "";
    const url = await receiving(context, (_, response) => {
      response.writeHead(500, { Server: `me ${card} ${secret}`, Location: "http://a:b@c/" });
      response.end(`${hostileBody}\n${secret}\n${"x".repeat(20_000)}`);
    });
    await setReceivers(testServer, [url]);
    const { body: listed } = await testServer.postJson("/__cofre/notifications", {
      integration_key: integrationKey,
    });
    secret = (listed as unknown as Answer).endpoints[0]?.secret ?? "";
    assert.match(secret, /^whsec_./);
    await testServer.postJson("/ws/direct", directBody("hostile"));
    const [sent] = await attempts(testServer);
    assert.ok(sent !== undefined && sent.response !== null);
    const { status, body, truncated, headers } = sent.response;
    assert.equal(status, 500);
    assert.ok(body.startsWith("<script>alert(1)</script>"), "the text itself stays");
    assert.match(body, /card \d{6}x+\d{4}\n/);
    assert.match(body, /Authorization: Basic \*\*\*/);
    assert.match(body, /whsec_\*\*\*\n/);
    assert.deepEqual([truncated, body.length], [true, 3_072]);
    assert.equal(headers["location"], "http://a:***@c/");
    const all = JSON.stringify(sent);
    for (const hidden of [card, secret, "c2hvcDpwYXNz", "a1".repeat(20)])
      assert.ok(!all.includes(hidden), hidden);
  });

  test("has no response when the receiver redirects nowhere, hangs or closes the connection", async (context) => {
    // The time limit of a message is 20 seconds.
    const scheduler = {
      ...systemScheduler,
      after: (ms: number, work: () => void) => systemScheduler.after(ms === 20_000 ? 50 : ms, work),
    };
    await using testServer = await startTestServer({ ports: { scheduler } });
    const urls = [
      await receiving(
        context,
        (_, response) => void response.writeHead(302, { Location: "/x" }).end(),
      ),
      await receiving(context, () => undefined),
      await receiving(context, (request) => void request.socket.destroy()),
    ];
    await setReceivers(testServer, urls);
    await testServer.postJson("/ws/direct", directBody("unanswered"));
    let received: Answer["detail"]["receivers"] = [];
    await until("each receiver had an attempt", async () => {
      const { detail } = await shown(testServer);
      received = detail.receivers;
      return received.length === 3 && received.every(({ attempts: sent }) => sent.length > 0);
    });
    const firsts = received.map(({ attempts: [first] }) => first);
    assert.deepEqual(
      firsts.map((first) => first?.outcome),
      ["302", "failed_timeout", "failed_connection"],
    );
    assert.equal(firsts[0]?.response?.headers["location"], "/x");
    for (const first of firsts.slice(1)) {
      assert.equal(first?.response, null);
      assert.match(first?.request?.headers["webhook-signature"] ?? "", /^v1,/);
    }
  });

  test("is not kept without the request log, but its body is made again", async (context) => {
    await using testServer = await startTestServer({
      environment: { COFRE_REQUEST_LOG: "false" },
    });
    let messages = 0;
    const url = await receiving(context, (_, response) => {
      messages += 1;
      response.end();
    });
    await setReceivers(testServer, [url]);
    const made = await testServer.postJson("/ws/direct", directBody("unrecorded"));
    await until("the message arrives", () => Promise.resolve(messages > 0));
    const { detail, notifications } = await shown(testServer);
    const [receiver] = detail.receivers;
    assert.deepEqual(receiver?.attempts, []);
    assert.equal(detail.recorded_since, null);
    assert.ok(receiver.body.endsWith(`hash_codes=${notifications[0]?.hash}`));
    assert.match(JSON.stringify(made.body), new RegExp(String(notifications[0]?.hash)));
  });

  test("is shown as a sample, with valid signatures, when the account has no receiver", async () => {
    await using testServer = await startTestServer();
    await testServer.postJson("/ws/direct", directBody("inbox"));
    const { detail, payment_url_secret: secret } = await shown(testServer);
    assert.deepEqual(detail.receivers, []);
    assert.ok(detail.sample !== null);
    const { headers, body } = detail.sample;
    assert.match(body, /^operation=payment_status_change&notification_type=update&hash_codes=/);
    const signature = signatureOf(headers, body, secret);
    assert.ok(String(headers["webhook-signature"]).startsWith(signature));
    assert.equal(headers["X-Cofre-Sequence"], "1");
  });
});

describe("a notification that is sent again", () => {
  test("goes to one receiver when the request names it", async (context) => {
    await using testServer = await startTestServer();
    const counts = [0, 0];
    const urls = await Promise.all(
      counts.map((_, place) =>
        receiving(context, (__, response) => {
          counts[place] = (counts[place] ?? 0) + 1;
          response.end();
        }),
      ),
    );
    await setReceivers(testServer, urls);
    await testServer.postJson("/ws/direct", directBody("one of two"));
    await until("both receivers have the message", () =>
      Promise.resolve(counts.every((count) => count === 1)),
    );
    await until("both deliveries are stored", async () => {
      const { detail } = await shown(testServer);
      return detail.receivers.every(({ attempts: sent }) => sent.length === 1);
    });
    const again = async (endpoint: string): Promise<unknown> => {
      const { body } = await testServer.postJson("/__cofre/notifications", {
        integration_key: integrationKey,
        replay: "range",
        from: 1,
        to: 1,
        endpoint,
      });
      return body["deliveries"];
    };
    assert.equal(await again("shop-9"), 0);
    assert.equal(await again("shop-1"), 1);
    await until("the message arrives again", () => Promise.resolve(counts[1] === 2));
    assert.equal(counts[0], 1);
  });
});

describe("the list of notifications", () => {
  test("has the payments' codes, newest first", async () => {
    await using testServer = await startTestServer();
    for (const code of ["first", "second"])
      await testServer.postJson("/ws/direct", directBody(code));
    const { body } = await testServer.postJson("/__cofre/notifications", {
      integration_key: integrationKey,
      order: "newest",
    });
    const { notifications } = body as unknown as {
      readonly notifications: readonly { readonly merchant_payment_code: string }[];
    };
    assert.deepEqual(
      notifications.map(({ merchant_payment_code: code }) => code),
      ["second", "first"],
    );
  });
});
