import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { hour, minute } from "../../src/kernel/instant.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

/** The dates of a queried payment; as texts they sort like times. */
async function queried(server: TestServer, hash: string): Promise<Record<string, unknown>> {
  const { body } = await server.get("/ws/query", { integration_key: integrationKey, hash });
  return body["payment"] as Record<string, unknown>;
}

async function authorized(server: TestServer, code: string): Promise<string> {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
  );
  return String((body["payment"] as Record<string, unknown>)["hash"]);
}

describe("a clock that is set back", () => {
  // A shop that sorts or validates by these dates saw payments that had ended before they began.
  test("makes no payment end before it began, and no refund before its capture", async () => {
    await using server = await startTestServer();
    const hash = await authorized(server, "set-back");
    server.clock.advance(-hour);
    await server.get("/ws/capture", { integration_key: integrationKey, hash });
    const captured = await queried(server, hash);
    assert.equal(captured["status"], "CO");
    assert.equal(captured["status_date"], captured["open_date"]);
    assert.equal(captured["confirm_date"], captured["open_date"]);

    server.clock.advance(-hour);
    await server.get("/ws/refund", {
      integration_key: integrationKey,
      operation: "request",
      hash,
      amount: "10.00",
      description: "x",
    });
    const [refund] = (await queried(server, hash))["refunds"] as Record<string, unknown>[];
    assert.equal(refund?.["request_date"], captured["open_date"]);

    const explained = (
      await server.get("/__cofre/explain", { integration_key: integrationKey, hash })
    ).body;
    assert.ok(Array.isArray(explained["facts"]), "control: there is a history");
    const times = (explained["facts"] as { at: string }[]).map(({ at }) => at);
    assert.ok(times.length >= 4);
    assert.deepEqual(times, times.toSorted());
  });

  test("control: a clock that runs shows when things happened", async () => {
    await using server = await startTestServer();
    const hash = await authorized(server, "goes-on");
    server.clock.advance(minute);
    await server.get("/ws/capture", { integration_key: integrationKey, hash });
    const { open_date: opened, status_date: ended } = await queried(server, hash);
    assert.ok(String(ended) > String(opened));
  });
});
