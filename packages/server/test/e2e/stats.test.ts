import assert from "node:assert/strict";
import { test } from "node:test";
import { directBody, integrationKey, publicIntegrationKey, startTestServer } from "../server.ts";

test("the store's counters tell that a charge takes two commits of its own", async () => {
  await using server = await startTestServer();
  const before = await server.get("/__cofre/stats", { integration_key: integrationKey });
  await server.postJson("/ws/direct", directBody("counted"));
  const after = await server.get("/__cofre/stats", { integration_key: integrationKey });

  const [was, is] = [before, after].map(
    ({ body }) => body["store"] as { readonly commits: number; readonly changes: number },
  );
  assert.ok(was !== undefined && is !== undefined);
  assert.equal(is.changes - was.changes, 2);
  assert.equal(is.commits - was.commits, 2);
});

test("a public key sees no counters", async () => {
  await using server = await startTestServer();
  const { body } = await server.get("/__cofre/stats", { integration_key: publicIntegrationKey });
  assert.equal(body["status_code"], "BP-SA-2");
});
