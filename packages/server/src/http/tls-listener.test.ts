import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { makeAuthority, makeServerCertificate } from "../tls/local-authority.ts";
import { createHttpServer, defaultHttpLimits, type HttpServer } from "./server.ts";

const making = { now: systemClock.now(), random: new SeededRandom("tls-listener") };
const authority = await makeAuthority(making);

async function credentials(): Promise<{ readonly key: string; readonly cert: string }> {
  const { key, certificate } = await makeServerCertificate(authority, making);
  return { key: key.export({ type: "pkcs8", format: "pem" }), cert: certificate.toString() };
}

async function start(context: TestContext): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const server = createHttpServer({
    endpoints: [],
    resolveKey: async () => undefined,
    clock: systemClock,
    log: { write: () => undefined },
    health: { state: () => "ready" },
    limits: defaultHttpLimits,
  });
  await server.listen(0, "127.0.0.1");
  const { port } = await server.listenTls(0, "127.0.0.1", await credentials());
  context.after(async () => {
    server.closeAllConnections();
    await server.close();
  });
  return { server, port };
}

async function connected(port: number): Promise<TLSSocket> {
  const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca: authority.certificate.toString() });
  await once(socket, "secureConnect");
  return socket;
}

async function ask(socket: TLSSocket): Promise<string> {
  socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return String((await once(socket, "data"))[0]);
}

describe("a server that listens with TLS too", () => {
  test("answers request after request on one connection, and tells that it speaks HTTP/1.1", async (context) => {
    const { port } = await start(context);
    const socket = connect({
      port,
      host: "127.0.0.1",
      servername: "localhost",
      ca: authority.certificate.toString(),
      ALPNProtocols: ["h2", "http/1.1"],
    });
    await once(socket, "secureConnect");
    assert.equal(socket.alpnProtocol, "http/1.1");
    for (let time = 0; time < 3; time += 1) assert.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n[^]*\{"status":"ok"\}$/);
    socket.destroy();
  });

  test("ends whoever speaks no TLS there, or no HTTP inside of it, and goes on", async (context) => {
    const { port } = await start(context);
    const plain = connectPlain(port, "127.0.0.1");
    plain.on("error", () => undefined).resume();
    plain.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(plain, "close");
    const noHttp = await connected(port);
    noHttp.write("sausage\r\n\r\n");
    assert.match(String((await once(noHttp, "data"))[0]), /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(await ask(await connected(port)), /200 OK/);
  });

  test("shows the renewed certificate to the next connection, and keeps those that stand", async (context) => {
    const { server, port } = await start(context);
    const first = await connected(port);
    server.renewTls(await credentials());
    const second = await connected(port);
    assert.notEqual(first.getPeerCertificate().serialNumber, second.getPeerCertificate().serialNumber);
    assert.match(await ask(first), /200 OK/);
    assert.match(await ask(second), /200 OK/);
  });

  test("stops although a connection is idle and a handshake is not done", async (context) => {
    const { server, port } = await start(context);
    const idle = await connected(port);
    await ask(idle);
    const silent = connectPlain(port, "127.0.0.1");
    silent.on("error", () => undefined);
    await once(silent, "connect");
    // Connections are accepted in turn: once this one is served, the silent one is known.
    await ask(await connected(port));
    const closed = [idle, silent].map((socket) => once(socket.resume(), "close"));
    await server.close();
    await Promise.all(closed);
  });
});
