/**
 * An endpoint's secret is rotated while messages are being sent. During the overlap messages carry
 * one signature per secret, so a receiver that has either secret can verify them; then the old
 * secret ends.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { say, Shop } from "./shop.ts";

const signatures: string[] = [];
const server = createServer((request, response) => {
  signatures.push(String(request.headers["webhook-signature"]));
  request.resume();
  response.writeHead(204).end();
});
await once(server.listen(0, "127.0.0.1"), "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
await using shop = await Shop.open({ settings: { notificationEndpoints: [{ id: "shop", url }] } });

const symmetric = (header: string | undefined): number =>
  (header ?? "").split(" ").filter((each) => each.startsWith("v1,")).length;
const capture = async (code: string): Promise<void> => {
  const { hash } = await shop.pay(code, { auto_capture: false });
  await shop.payment("/ws/capture", { hash });
  await shop.world.clock.advance("1s");
};
await capture("before");
const rotated = {
  id: "shop",
  url,
  secretVersion: 2,
  previousSecretUntil: (await shop.world.clock.now()).getTime() + 86_400_000,
};
await shop.world.settings.set({ notificationEndpoints: [rotated] });
await capture("meanwhile");
await shop.world.clock.advance("2d");
await capture("after");
assert.deepEqual(signatures.map(symmetric), [1, 2, 1]);
say("one signature before, two for a day, one after");
server.closeAllConnections();
server.close();
