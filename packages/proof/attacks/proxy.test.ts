import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { openConnectProxy } from "../../server/src/cli/connect-proxy.ts";
import { sendRaw } from "../../server/test/support/trivial-server.ts";
import { until } from "../../server/test/until.ts";

/*
 * `cofre proxy` forwards to one server only, by the interface's host names, whatever the client
 * requests in whatever spelling; and its messages contain no secret of a client.
 */

const target = "sandbox.ebanx.com:443";

/** A server that counts connections: the proxy's target, or one that it must not reach. */
async function startCounter(
  context: TestContext,
): Promise<{ readonly port: number; readonly count: () => number }> {
  let count = 0;
  const server = createServer((socket) => {
    count += 1;
    socket.on("error", () => undefined).end("reached");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => void server.close());
  return { port: (server.address() as AddressInfo).port, count: () => count };
}

async function startProxy(context: TestContext) {
  const [cofre, elsewhere] = [await startCounter(context), await startCounter(context)];
  const said: string[] = [];
  const proxy = await openConnectProxy(0, {
    targets: [target],
    to: { host: "127.0.0.1", port: cofre.port },
    say: (line) => void said.push(line),
  });
  context.after(() => proxy.close());
  const ask = (request: string): Promise<string> =>
    sendRaw(proxy.port, Buffer.from(request, "latin1"));
  return { cofre, elsewhere, said, ask, port: proxy.port };
}

describe("the proxy", () => {
  test("is not an open relay, in any spelling of another host", async (context) => {
    const { cofre, elsewhere, ask } = await startProxy(context);
    const { port } = elsewhere;
    const spellings = [
      `127.0.0.1:${port}`,
      `localhost:${port}`,
      `[::1]:${port}`,
      `[::ffff:127.0.0.1]:${port}`,
      `0x7f.1:${port}`,
      `2130706433:${port}`,
      `sandbox.ebanx.com:${port}`,
      `sandbox.ebanx.com:443@127.0.0.1:${port}`,
      `someone@sandbox.ebanx.com:443`,
      `127.0.0.1:${port}#sandbox.ebanx.com:443`,
      `sandbox.ebanx.com:443.localhost:${port}`,
      "sandbox.ebanx.com..:443",
      "sandbox.ebanx.com:0443",
      "sandbox.ebanx.com",
      "sandbox.ebanx.com:443/",
      "*:443",
      ":443",
      "",
      `http://127.0.0.1:${port}/`,
    ];
    for (const spelling of spellings) {
      assert.match(
        await ask(`CONNECT ${spelling} HTTP/1.1\r\nHost: ${target}\r\n\r\n`),
        /^HTTP\/1\.1 40[03] /,
        spelling,
      );
    }
    for (const request of [
      `GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: ${target}\r\n\r\n`,
      `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
      `POST https://sandbox.ebanx.com/ HTTP/1.1\r\nHost: ${target}\r\nContent-Length: 1\r\n\r\na`,
    ]) {
      assert.match(await ask(request), /^HTTP\/1\.1 405 /, request);
    }
    assert.deepEqual([cofre.count(), elsewhere.count()], [0, 0]);
    for (const spelling of [target, "SANDBOX.EBANX.COM:443", "sandbox.ebanx.com.:443"]) {
      assert.match(
        await ask(`CONNECT ${spelling} HTTP/1.1\r\nHost: x\r\n\r\n`),
        /^HTTP\/1\.1 200 .*\r\n\r\nreached$/s,
        spelling,
      );
    }
    assert.deepEqual(
      [cofre.count(), elsewhere.count()],
      [3, 0],
      "control: its own hosts lead to Cofre",
    );
  });

  test("closes a refused connection and keeps its own side open", async (context) => {
    const { port } = await startProxy(context);
    const client = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let received = "";
    client
      .on("error", () => undefined)
      .on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
    client.write("CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    // The client sends data all the time, and never closes.
    await until("the proxy has ended the connection", () => {
      if (client.writable) client.write("x");
      return !client.writable;
    });
    assert.match(received, /^HTTP\/1\.1 403 /);
  });

  test("reports the refused target, and no name, password, path or query", async (context) => {
    const { said, ask } = await startProxy(context);
    for (const request of [
      "CONNECT someone:secret@shop.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET http://someone:secret@shop.example.com/secret?integration_key=secret HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /tokens/secret/4111111111111111 HTTP/1.1\r\nHost: x\r\n\r\n",
      "CONNECT 4111111111111111.example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    ]) {
      await ask(request);
    }
    assert.deepEqual(said, [
      "refused: shop.example.com:443, which is not a host of this interface",
      "refused: GET shop.example.com",
      "refused: GET a path",
      "refused: [digits].example.com:443, which is not a host of this interface",
    ]);
  });
});
