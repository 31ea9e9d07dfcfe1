import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import {
  type Answer,
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { until } from "../until.ts";

interface Entry {
  readonly at: string;
  readonly kind: string;
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Timeline {
  readonly hash: string;
  readonly state: string;
  readonly recording: {
    readonly since: string;
    readonly complete: boolean;
    readonly omitted: number;
  };
  readonly entries: readonly Entry[];
  readonly payment: Readonly<Record<string, unknown>>;
}

async function timeline(
  testServer: TestServer,
  of: Readonly<Record<string, string>>,
): Promise<Timeline> {
  const { body } = await testServer.get("/__cofre/timeline", {
    integration_key: integrationKey,
    ...of,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body as object as Timeline;
}

function succeeded({ body }: Answer): Readonly<Record<string, unknown>> {
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body;
}

/** A receiver on loopback that answers with these statuses, then 200. */
async function startReceiver(context: TestContext, ...statuses: number[]): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(statuses.shift() ?? 200).end();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/notify`;
}

/**
 * The timeline, once it has the wanted content. The clock is paused in between, because advancing
 * it while a message is in flight would make the message late.
 */
async function timelineWith(
  testServer: TestServer,
  hash: string,
  isReached: (entry: Entry) => boolean,
): Promise<Timeline> {
  let now = await timeline(testServer, { hash });
  await until("the timeline has the entry", async () =>
    (now = await timeline(testServer, { hash })).entries.some(isReached),
  ).catch((error: unknown) =>
    assert.fail(`${String(error)}: ${JSON.stringify(now.entries, undefined, 1)}`),
  );
  return now;
}

const isFact = (fact: string) => (entry: Entry) =>
  entry.kind === "fact" && entry.data["fact"] === fact;
const isDelivered = (number: number) => (entry: Entry) =>
  entry.kind === "attempt" &&
  entry.data["number"] === number &&
  entry.data["verdict"] === "delivered";

/** The kind of an entry, in one word. */
function nameOf({ kind, data }: Entry): string {
  switch (kind) {
    case "request":
      return `request ${String(data["path"])}`;
    case "fact":
      return `fact ${String(data["fact"])}`;
    case "call":
      return `call ${String(data["kind"])} ${String((data["outcome"] as { readonly kind: string } | null)?.kind)}`;
    case "notification":
      return `notification ${String(data["number"])} ${String(data["notification_type"])}`;
    default:
      return `attempt ${String(data["attempt"])} of ${String(data["number"])} ${String(data["outcome"])}`;
  }
}

describe("the timeline of a payment", () => {
  test("shows all of it in order: token, charge without an answer, recovery, capture, refund, notifications and their attempts", async (context) => {
    await using testServer = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    const url = await startReceiver(context, 503);
    succeeded(
      await testServer.get("/__cofre/settings", {
        integration_key: integrationKey,
        "settings[notificationUrl]": url,
      }),
    );

    const stored = {
      public_integration_key: publicIntegrationKey,
      country: "br",
      payment_type_code: "creditcard",
      creditcard: testCard,
    };
    const { token } = succeeded(await testServer.postJson("/ws/token", stored)) as {
      readonly token: string;
    };
    succeeded(
      await testServer.postJson("/__cofre/simulator", {
        integration_key: integrationKey,
        next: "lose_answer",
        message: "authorize",
      }),
    );
    const paid = directBody("order-1", {
      creditcard: { token, card_cvv: "123", auto_capture: false },
    });
    const { hash } = succeeded(await testServer.postJson("/ws/direct", paid))["payment"] as {
      readonly hash: string;
    };
    testServer.clock.advance(600_000);
    await timelineWith(testServer, hash, isFact("authorization_approved"));
    await timelineWith(testServer, hash, (entry) => nameOf(entry) === "attempt 1 of 1 503");
    testServer.clock.advance(6_000);
    await timelineWith(testServer, hash, isDelivered(1));
    succeeded(await testServer.get("/ws/capture", { integration_key: integrationKey, hash }));
    await timelineWith(testServer, hash, isDelivered(2));
    const refund = {
      integration_key: integrationKey,
      operation: "request",
      hash,
      amount: "40.00",
      description: "one of two",
    };
    succeeded(await testServer.postJson("/ws/refund", refund));
    testServer.clock.advance(61_000);
    await timelineWith(testServer, hash, isDelivered(3));
    testServer.clock.advance(61_000);
    const { entries, recording, state, payment } = await timelineWith(
      testServer,
      hash,
      isDelivered(4),
    );

    const names = entries.map(nameOf);
    assert.deepEqual(names, [
      "request /ws/token",
      "request /ws/direct",
      "fact authorization_sent",
      "call authorize unknown",
      "fact attempt_unanswered",
      "call inquire found",
      "fact authorization_approved",
      "notification 1 update",
      "attempt 1 of 1 503",
      "attempt 2 of 1 200",
      "request /ws/capture",
      "fact capture_sent",
      "call capture approved",
      "fact capture_approved",
      "notification 2 update",
      "attempt 1 of 2 200",
      "request /ws/refund",
      "fact refund_requested",
      "fact refund_queued",
      "notification 3 refund",
      "attempt 1 of 3 200",
      "fact refund_sent",
      "call refund approved",
      "fact refund_approved",
      "notification 4 refund",
      "attempt 1 of 4 200",
    ]);
    assert.deepEqual(
      [state, payment["status"], recording.complete, recording.omitted],
      ["captured", "CO", true, 0],
    );
    const times = entries.map(({ at }) => at);
    assert.deepEqual(times, times.toSorted());
    for (const { at } of entries) assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    for (const { text } of entries) assert.match(text, /^[A-Z][^\n]+\.$/);

    const [direct, lost, captured, refunded, failed] = [
      entries.find((entry) => nameOf(entry) === "request /ws/direct"),
      entries.find((entry) => nameOf(entry) === "call authorize unknown"),
      entries.find(isFact("capture_approved")),
      entries.find(isFact("refund_approved")),
      entries.find((entry) => nameOf(entry) === "attempt 1 of 1 503"),
    ];
    const parameters = direct?.data["parameters"] as {
      readonly payment: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(parameters.payment["creditcard"], {
      token: `${token.slice(0, 8)}…`,
      auto_capture: "false",
    });
    assert.deepEqual(
      [direct?.data["method"], direct?.data["key"], direct?.data["http_status"]],
      ["POST", "secret", 200],
    );
    const answer = direct?.data["response"] as { readonly payment: { readonly hash: string } };
    assert.equal(answer.payment.hash, hash);
    assert.match(
      lost?.text ?? "",
      /was asked to authorize 100\.00 USD: unknown, because no answer came in time, after/,
    );
    assert.deepEqual(
      [lost?.data["connector"], lost?.data["reference"], lost?.data["outcome"]],
      ["simulator", `${hash}-1`, { kind: "unknown", cause: "timeout" }],
    );
    assert.match(captured?.text ?? "", /; booked: capture of 100\.00 USD \(585\.22 BRL\)\.$/);
    const postings = captured?.data["postings"] as readonly Readonly<Record<string, unknown>>[];
    assert.deepEqual(new Set(postings.map(({ currency }) => currency)), new Set(["USD", "BRL"]));
    assert.match(
      refunded?.text ?? "",
      /^The acquirer gave the money back, .*booked: refund of 40\.00 USD \(234\.09 BRL\)\.$/,
    );
    assert.deepEqual([failed?.data["url"], failed?.data["verdict"]], [url, "retry"]);

    // It contains every posting of the books once.
    const explained = succeeded(
      await testServer.get("/__cofre/explain", { integration_key: integrationKey, hash }),
    );
    const reported = entries.flatMap(({ data }) => (data["postings"] ?? []) as readonly unknown[]);
    assert.equal(reported.length, (explained["postings"] as readonly unknown[]).length);
  });
});
