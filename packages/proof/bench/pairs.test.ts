import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Client } from "./client.ts";
import { runPairs, type Arm } from "./pairs.ts";

const request = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

/** An arm on its own server, and the largest number of concurrent requests there. */
async function countingArm(): Promise<{
  readonly arm: Arm;
  readonly most: () => number;
  readonly close: () => void;
}> {
  let [atOnce, most] = [0, 0];
  const server = createServer((_, response) => {
    atOnce++;
    most = Math.max(most, atOnce);
    setTimeout(() => {
      atOnce--;
      response.writeHead(200, { "Content-Length": 2 });
      response.end("{}");
    }, 10);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const client = new Client([address.port]);
  const load = { request: () => request, answered: () => undefined };
  const bare = {
    ports: [address.port],
    cpuMicros: () => undefined,
    rssBytes: () => undefined,
    stop: async () => undefined,
  };
  return {
    arm: { server: bare, client, load },
    most: () => most,
    close: () => {
      client.close();
      server.close();
      server.closeAllConnections();
    },
  };
}

test("the first arm has as many outstanding as the plan says of it, the second as many as the result is of", async () => {
  const [floor, product] = [await countingArm(), await countingArm()];
  try {
    const plan = {
      outstanding: 8,
      floorOutstanding: 2,
      pairs: 2,
      discarded: 0,
      warmUp: 0,
      coldPairs: 0,
      rampMs: 20,
      windowMs: 60,
    };
    const result = await runPairs(floor.arm, product.arm, plan);
    assert.equal(result.outstanding, 8);
    assert.deepEqual([floor.most(), product.most()], [2, 8]);
  } finally {
    floor.close();
    product.close();
  }
});
