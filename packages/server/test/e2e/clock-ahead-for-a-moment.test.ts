import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hour, minute, second } from "../../src/kernel/instant.ts";
import {
  directBody,
  integrationKey,
  ManualClock,
  startTestServer,
  testCard,
  type TestServer,
  testEpoch,
} from "../server.ts";
import { until } from "../until.ts";

/** A receiver that is down until the test starts it. */
async function startReceiver(context: TestContext) {
  const receiver = { isUp: false, taken: [] as string[], url: "" };
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      if (receiver.isUp) receiver.taken.push(body);
      response.writeHead(receiver.isUp ? 200 : 500).end();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/notify`;
  return receiver;
}

/**
 * The event follows the commit, which sets the time of the next attempt. The receiver sees the
 * attempt before that.
 */
const hasFailed = (testServer: TestServer): boolean =>
  testServer.events.some(({ event }) => event === "notification_failed");

async function authorized(testServer: TestServer, code: string, url: string): Promise<string> {
  const { body } = await testServer.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { ...testCard, auto_capture: false }, notification_url: url }),
  );
  return String((body["payment"] as Record<string, unknown>)["hash"]);
}

async function statusOf(testServer: TestServer, hash: string): Promise<unknown> {
  const { body } = await testServer.get("/ws/query", { integration_key: integrationKey, hash });
  return (body["payment"] as Record<string, unknown>)["status"];
}

describe("a clock that is ahead for a moment and is set back", () => {
  for (const aheadMs of [2 * hour, 90 * hour]) {
    test(`by ${aheadMs / hour} hours: what was to be notified then is sent, and so is what follows of the same payment`, async (context) => {
      const receiver = await startReceiver(context);
      await using testServer = await startTestServer();
      const hash = await authorized(testServer, "told", receiver.url);
      testServer.clock.advance(aheadMs);
      await testServer.get("/ws/capture", { integration_key: integrationKey, hash });
      await until("the failed attempt is stored", () => hasFailed(testServer));
      testServer.clock.advance(-aheadMs);
      await testServer.get("/ws/refund", {
        integration_key: integrationKey,
        operation: "request",
        hash,
        amount: "10.00",
        description: "x",
      });

      receiver.isUp = true;
      await until("the capture is told", () => receiver.taken.length >= 1);
      // A refund is notified when it is pending. Its payment was captured at a time in the future,
      // so its notifications have future times too.
      testServer.clock.advance(90 * second);
      await until("the refund is told", () => receiver.taken.length >= 2);
      assert.ok(testServer.events.some(({ event }) => event === "clock_set_back"));
    });
  }

  test("a payment without an answer is recovered without a restart", async () => {
    await using testServer = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "200" },
    });
    testServer.clock.advance(2 * hour);
    const requested = await testServer.postJson("/__cofre/simulator", {
      integration_key: integrationKey,
      next: "lose_answer",
      times: 1,
      message: "authorize",
    });
    assert.equal(requested.body["status"], "SUCCESS", JSON.stringify(requested.body));
    const { body } = await testServer.postJson("/ws/direct", directBody("lost"));
    const hash = String((body["payment"] as Record<string, unknown>)["hash"]);
    assert.equal(await statusOf(testServer, hash), "PE");
    testServer.clock.advance(-2 * hour);
    await until("it is due again", () =>
      testServer.events.some((event) => event.event === "clock_set_back" && event.payments === 1),
    );
    testServer.clock.advance(minute);
    await until("it is recovered", async () => (await statusOf(testServer, hash)) === "CO");
  });

  test("a restart after the clock was set back sends what was stamped before", async (context) => {
    const receiver = await startReceiver(context);
    const folder = mkdtempSync(join(tmpdir(), "cofre-ahead-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const environment = { COFRE_DATA_DIR: join(folder, "data") };
    const ahead = new ManualClock(testEpoch + 2 * hour);
    {
      await using testServer = await startTestServer({ environment, ports: { clock: ahead } });
      const hash = await authorized(testServer, "told", receiver.url);
      await testServer.get("/ws/capture", { integration_key: integrationKey, hash });
      await until("the failed attempt is stored", () => hasFailed(testServer));
    }
    receiver.isUp = true;
    await using again = await startTestServer({ environment });
    await until("it is sent", () => receiver.taken.length > 0);
    assert.ok(again.events.some(({ event }) => event === "clock_set_back"));
  });

  test("control: with a clock that is right a retry waits for its time", async (context) => {
    const receiver = await startReceiver(context);
    await using testServer = await startTestServer();
    const hash = await authorized(testServer, "told", receiver.url);
    await testServer.get("/ws/capture", { integration_key: integrationKey, hash });
    await until("the failed attempt is stored", () => hasFailed(testServer));
    receiver.isUp = true;
    await sleep(2 * second);
    assert.deepEqual(receiver.taken, []);
    testServer.clock.advance(6 * second);
    await until("it is sent", () => receiver.taken.length > 0);
  });
});
