import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { Client } from "./client.ts";
import { openLoop } from "./open-loop.ts";
import { closedLoop, sendAll, type Load } from "./window.ts";
import { createHistogram } from "node:perf_hooks";

const request = Buffer.from("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");

async function withServer(
  delayMs: number,
  use: (client: Client, requests: () => number) => Promise<void>,
): Promise<void> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    setTimeout(() => {
      response.writeHead(200, { "Content-Length": 2 });
      response.end("{}");
    }, delayMs);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  assert.ok(address !== null && typeof address === "object");
  const client = new Client([address.port]);
  try {
    await use(client, () => requests);
  } finally {
    client.close();
    server.close();
    server.closeAllConnections();
  }
}

function loadOf(limit: number): Load & { readonly answered: () => void; answers: number } {
  let left = limit;
  return {
    answers: 0,
    request: () => (left-- > 0 ? request : undefined),
    answered() {
      this.answers++;
    },
  };
}

test("an open loop sends what is due though nothing is answered, and counts the wait for a connection", async () => {
  await withServer(60, async (client, requests) => {
    await client.ensureOpen(2);
    const load = loadOf(1_000);
    const result = await openLoop(client, load, 100, 0, 300);
    assert.equal(requests(), 30);
    assert.equal(load.answers, 30);
    // Two connections with answers of 60 ms serve 33 a second: the last of 30 requests due within
    // 300 ms waits far longer than its own 60 ms.
    assert.ok(result.latency.max > 300_000, String(result.latency.max));
  });
});

test("a closed loop keeps to its number outstanding and ends with every request answered", async () => {
  await withServer(5, async (client, requests) => {
    await client.ensureOpen(8);
    const load = loadOf(1_000_000);
    // On a machine that stops for a whole window no answer arrives: then another window is run.
    for (let tries = 0, answers = 0; answers === 0; tries += 1) {
      const latency = createHistogram();
      const result = await closedLoop(client, load, {
        outstanding: 8,
        rampMs: 20,
        windowMs: 60,
        cpuMicros: () => undefined,
        latency,
      });
      answers = result.answers;
      assert.equal(load.answers, requests());
      assert.ok(answers < load.answers && tries < 5);
      assert.equal(latency.count, answers);
    }
  });
});

test("a load that runs dry ends the window", async () => {
  await withServer(1, async (client, requests) => {
    await client.ensureOpen(4);
    const plan = {
      outstanding: 4,
      rampMs: 0,
      windowMs: 60_000,
      cpuMicros: () => undefined,
      latency: createHistogram(),
    };
    await closedLoop(client, loadOf(40), plan);
    assert.equal(requests(), 40);
  });
});

test("sendAll sends exactly the given requests", async () => {
  await withServer(0, async (client, requests) => {
    await client.ensureOpen(4);
    await sendAll(client, loadOf(1_000), 101, 4);
    assert.equal(requests(), 101);
  });
});
