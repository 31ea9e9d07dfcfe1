import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { directBody, startWorld } from "../world.ts";

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
