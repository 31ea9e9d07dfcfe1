import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { freePort } from "../../test/free-port.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { type HttpExchangesOptions, type HttpRequest, openExchanges } from "./exchange.ts";

/** A server that passes each request to `answer`, as text and with its connection. */
async function listening(
  context: TestContext,
  answer: (socket: Socket, request: string) => void,
  options: Partial<HttpExchangesOptions> = {},
) {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined).on("data", (data) => answer(socket, data.toString()));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const exchanges = openExchanges({
    scheduler: systemScheduler,
    protocol: "http:",
    keepsConnections: false,
    maxSockets: 4,
    ...options,
  });
  context.after(() => {
    exchanges.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const exchange = (change: Partial<HttpRequest> = {}) =>
    exchanges.exchange({
      method: "GET",
      url: new URL(`http://127.0.0.1:${address.port}/`),
      headers: {},
      body: undefined,
      leftMs: 30_000,
      largestAnswer: 10,
      ...change,
    });
  return { exchange, connections: () => sockets.size };
}

const whole = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

describe("an HTTP exchange", () => {
  test("sends the request once, as it is given, and resolves with the whole answer", async (context) => {
    const requests: string[] = [];
    const { exchange } = await listening(context, (socket, request) => {
      requests.push(request);
      socket.write(whole);
    });
    const outcome = await exchange({
      method: "POST",
      headers: ["Host", "shop.example", "Content-Length", "3"],
      body: Buffer.from("abc"),
    });
    assert.ok(outcome.kind === "answered");
    assert.deepEqual(
      [outcome.status, outcome.body.toString(), outcome.isFramed],
      [200, "{}", true],
    );
    assert.equal(requests.length, 1);
    assert.match(
      requests[0] ?? "",
      /^POST \/ HTTP\/1\.1\r\nHost: shop\.example\r\n[^]*\r\n\r\nabc$/,
    );
  });

  test("has its own connection, or uses one again, as its options say", async (context) => {
    const own = await listening(context, (socket) => socket.write(whole));
    for (let time = 0; time < 3; time += 1) assert.equal((await own.exchange()).kind, "answered");
    assert.equal(own.connections(), 3);

    const kept = await listening(context, (socket) => socket.write(whole), {
      keepsConnections: true,
    });
    for (let time = 0; time < 3; time += 1) {
      assert.equal((await kept.exchange()).kind, "answered");
      await new Promise(setImmediate);
    }
    assert.equal(kept.connections(), 1);
  });

  test("does not use a connection again whose answer is not complete", async (context) => {
    const { exchange, connections } = await listening(
      context,
      (socket) => socket.write("HTTP/1.1 500 No\r\ncontent-length: 4\r\n\r\noo"),
      { keepsConnections: true },
    );
    for (let time = 0; time < 2; time += 1) {
      const outcome = await exchange({ reads: (status) => status === 200 });
      assert.ok(outcome.kind === "answered");
      assert.deepEqual([outcome.status, outcome.body.length], [500, 0]);
      await new Promise(setImmediate);
    }
    assert.equal(connections(), 2);
  });

  const cut: Readonly<Record<string, readonly [answer: string, cause: string]>> = {
    "before its answer": ["", "connection"],
    "in its answer's headers": ["HTTP/1.1 200 OK\r\ncontent-le", "connection"],
    "in its answer's body": ["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab", "connection"],
    "after an answer that is too long": [
      "HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\nhello world",
      "too_long",
    ],
  };
  for (const [name, [answer, cause]] of Object.entries(cut)) {
    test(`that ends ${name} has failed after it was connected`, async (context) => {
      const { exchange } = await listening(context, (socket) => socket.end(answer));
      assert.deepEqual(await exchange(), { kind: "failed", cause, isConnected: true });
    });
  }

  test("says whether an answer may have been cut short", async (context) => {
    const { exchange } = await listening(context, (socket) =>
      socket.end("HTTP/1.1 200 OK\r\n\r\nhello"),
    );
    const outcome = await exchange();
    assert.ok(outcome.kind === "answered");
    assert.deepEqual([outcome.body.toString(), outcome.isFramed], ["hello", false]);
  });

  test("ends after its time, whether there is silence or a slow answer", async (context) => {
    for (const answer of ["", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"]) {
      const { exchange } = await listening(context, (socket) => void socket.write(answer));
      assert.deepEqual(await exchange({ leftMs: 50 }), {
        kind: "failed",
        cause: "timeout",
        isConnected: true,
      });
    }
  });

  test("was certainly not sent where nothing listens, or while it waited for a socket", async (context) => {
    const closed = new URL(`http://127.0.0.1:${await freePort()}/`);
    const { exchange } = await listening(context, () => undefined, { maxSockets: 1 });
    assert.deepEqual(await exchange({ url: closed }), {
      kind: "failed",
      cause: "refused",
      isConnected: false,
    });
    const first = exchange({ leftMs: 200 });
    assert.deepEqual(await exchange({ leftMs: 50 }), {
      kind: "failed",
      cause: "timeout",
      isConnected: false,
    });
    assert.equal((await first).kind, "failed");
  });
});
