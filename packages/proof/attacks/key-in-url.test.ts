import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../../server/src/logging/log.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
} from "../../server/test/server.ts";

/*
 * Row 3 of the attack table: client libraries capture, query and cancel by GET, with the key in the
 * URL. Logs, caches and prefetchers store and repeat URLs.
 */

test("a request with its key in the address leaves no key in the log, is not to be kept, and redirects nowhere", async () => {
  await using server = await startTestServer();
  const hash = await held(server, "by-address");
  for (const path of [
    "/ws/query",
    "/ws/capture",
    "/WS/Capture/",
    "/ws/unknown",
    "/elsewhere",
    "/__cofre/explain",
  ]) {
    const response = await fetch(
      `${server.url}${path}?integration_key=${integrationKey}&public_integration_key=${publicIntegrationKey}&hash=${hash}`,
      {
        redirect: "manual",
      },
    );
    assert.ok(response.status === 200 || response.status === 404, path);
    assert.equal(response.headers.get("cache-control"), "no-store", path);
    assert.equal(response.headers.get("location"), null);
  }
  const lines: string[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock: server.clock,
    destination: { write: (line) => void lines.push(line) },
  });
  for (const event of server.events) log.write(event);
  const text = lines.join("");
  assert.match(text, /"event":"request"/);
  for (const secret of [integrationKey, publicIntegrationKey, hash])
    assert.ok(!text.includes(secret));
});

test("a prefetch, a preflight and a method that only looks change nothing", async () => {
  await using server = await startTestServer();
  const hash = await held(server, "looked-at");
  const address = `${server.url}/ws/capture?integration_key=${integrationKey}&hash=${hash}`;
  for (const method of ["HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"]) {
    const response = await fetch(address, { method });
    await response.arrayBuffer();
    assert.equal(response.headers.get("location"), null);
  }
  const query = await server.get("/ws/query", { integration_key: integrationKey, hash });
  assert.equal((query.body["payment"] as { readonly status: string }).status, "PE");
  // The control: GET, which client libraries use for it, does capture.
  const captured = (await (await fetch(address)).json()) as {
    readonly payment: { readonly status: string };
  };
  assert.equal(captured.payment.status, "CO");
});

async function held(
  server: Awaited<ReturnType<typeof startTestServer>>,
  code: string,
): Promise<string> {
  const { body } = await server.postJson(
    "/ws/direct",
    directBody(code, { creditcard: { ...testCard, auto_capture: false } }),
  );
  return (body["payment"] as { readonly hash: string }).hash;
}
