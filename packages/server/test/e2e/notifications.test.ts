import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { directBody, integrationKey, startWorld } from "../world.ts";

test("a payment's own address hears of its payment, which then reads as it was told", async (context) => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      bodies.push(body);
      response.end("OK");
      server.emit("heard");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  await using world = await startWorld();
  const heard = once(server, "heard");
  const notification_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const { body } = await world.postJson("/ws/direct", directBody("told-1", { notification_url }));
  await heard;

  const { hash } = body["payment"] as { readonly hash: string };
  assert.deepEqual(bodies, [`operation=payment_status_change&notification_type=update&hash_codes=${hash}`]);
});

test("an account's endpoints hear of its payments, and one that answers 410 is shown as gone", async (context) => {
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      response.writeHead(request.url === "/gone" ? 410 : 204).end();
      server.emit(`heard ${request.url ?? ""}`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  await using world = await startWorld();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const endpoints = [
    { id: "shop", url: `${url}/shop` },
    { id: "gone", url: `${url}/gone` },
  ];
  await world.postJson("/__cofre/settings", { integration_key: integrationKey, settings: { notificationEndpoints: endpoints } });
  const heard = Promise.all([once(server, "heard /shop"), once(server, "heard /gone")]);
  await world.postJson("/ws/direct", directBody("told-2"));
  await heard;

  const shown = async (): Promise<readonly Record<string, unknown>[]> => {
    const { body } = await world.get("/__cofre/settings", { integration_key: integrationKey });
    return (body["settings"] as { readonly notificationEndpoints: readonly Record<string, unknown>[] }).notificationEndpoints;
  };
  while ((await shown())[1]?.["goneAt"] === undefined) await systemScheduler.sleep(5);
  assert.deepEqual(
    (await shown()).map(({ id, enabled, goneAt }) => [id, enabled, goneAt]),
    [
      ["shop", true, undefined],
      ["gone", true, world.clock.now()],
    ],
  );
});
