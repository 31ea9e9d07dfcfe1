import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import { describe, test, type TestContext } from "node:test";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";

/**
 * A receiver that records notifications and answers with the status that `answer` resolves with.
 */
async function startReceiver(
  context: TestContext,
  received: string[],
  answer: () => Promise<number>,
): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => {
      received.push("notification");
      void answer().then((status) => response.writeHead(status).end());
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return `http://127.0.0.1:${address.port}/hook`;
}

async function configure(testServer: TestServer, url: string, beforeAnswer: number): Promise<void> {
  const settings = {
    notificationEndpoints: [{ id: "shop", url }],
    notificationChaos: { beforeAnswer },
  };
  assert.equal(
    (await testServer.postJson("/__cofre/settings", { integration_key: integrationKey, settings }))
      .body["status"],
    "SUCCESS",
  );
}

describe("chaos: a notification before the API's answer", () => {
  for (const [title, beforeAnswer, order] of [
    [
      "the receiver has heard and answered before the client has its answer",
      1_000,
      ["notification", "receiver answers", "answer"],
    ],
    [
      "without the setting the client does not wait for a receiver",
      0,
      ["answer", "receiver answers"],
    ],
  ] as const) {
    test(title, async (context) => {
      await using testServer = await startTestServer();
      const seen: string[] = [];
      // Without the setting the receiver answers only after the client has its answer: the control
      // needs no clock.
      const answered = Promise.withResolvers<void>();
      const url = await startReceiver(context, seen, async () => {
        if (beforeAnswer === 0) await answered.promise;
        seen.push("receiver answers");
        return 200;
      });
      await configure(testServer, url, beforeAnswer);
      const { body } = await testServer.postJson("/ws/direct", directBody("ordered"));
      seen.push("answer");
      answered.resolve();
      assert.equal((body["payment"] as { readonly status: string }).status, "CO");
      for (
        let look = 0;
        look < 1_500 && !(seen.includes("receiver answers") && seen.includes("answer"));
        look += 1
      ) {
        await new Promise((resolve) => void setTimeout(resolve, 20));
      }
      // If the client does not wait, the notification may come before or after.
      assert.deepEqual(
        beforeAnswer === 0 ? seen.filter((each) => each !== "notification") : seen,
        order,
      );
    });
  }

  test("a receiver that fails does not prolong the wait, and the payment is what it is", async (context) => {
    await using testServer = await startTestServer();
    const seen: string[] = [];
    await configure(testServer, await startReceiver(context, seen, async () => 500), 1_000);
    const { body } = await testServer.postJson("/ws/direct", directBody("failing"));
    assert.deepEqual([seen, body["status"]], [["notification"], "SUCCESS"]);
  });

  test("an answer that waits for a receiver has no place among the requests that are carried out", async (context) => {
    await using testServer = await startTestServer({ environment: { COFRE_MAX_IN_FLIGHT: "1" } });
    const seen: string[] = [];
    const notified = Promise.withResolvers<void>();
    const requested = Promise.withResolvers<void>();
    const url = await startReceiver(context, seen, async () => {
      notified.resolve();
      await requested.promise;
      return 200;
    });
    await configure(testServer, url, 1_000);
    const waiting = testServer.postJson("/ws/direct", directBody("waiting")).then(({ body }) => {
      seen.push("answer");
      return body["status"];
    });
    await notified.promise;
    const other = await testServer.postJson("/ws/query", {
      integration_key: integrationKey,
      merchant_payment_code: "waiting",
    });
    assert.deepEqual(
      [other.status, other.body["status"], seen],
      [200, "SUCCESS", ["notification"]],
    );
    requested.resolve();
    assert.equal(await waiting, "SUCCESS");
  });

  test("a receiver that never answers does not hang the API", async (context) => {
    await using testServer = await startTestServer();
    const seen: string[] = [];
    await configure(
      testServer,
      await startReceiver(context, seen, () => new Promise(() => undefined)),
      1_000,
    );
    // The receiver's timeout is 20 seconds, but the client does not wait for it.
    const answer = await Promise.race([
      testServer.postJson("/ws/direct", directBody("hanging")).then(({ body }) => body["status"]),
      new Promise((resolve) => void setTimeout(() => resolve("no answer"), 15_000).unref()),
    ]);
    assert.deepEqual([seen, answer], [["notification"], "SUCCESS"]);
  });
});
