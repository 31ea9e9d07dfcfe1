import { reading } from "../wire/permission.ts";
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect as connectPlain } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { connect, type TLSSocket } from "node:tls";
import { SeededRandom } from "../kernel/seeded-random.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import type { Account } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { LogEvent } from "../logging/log-event.ts";
import { certifiedHosts, namedHosts } from "../certificates/hosts.ts";
import { makeAuthority, makeServerCertificate } from "../certificates/local-authority.ts";
import { FaultQueue } from "./faults/fault-queue.ts";
import { FaultInjector } from "./faults/fault-injector.ts";
import { errorTable } from "../wire/errors/error-table.ts";
import { framingErrors } from "../wire/decode/framing-errors.ts";
import {
  createHttpServer,
  defaultHttpLimits,
  type HttpServer,
  type HttpServerOptions,
} from "./server.ts";

const making = { now: systemClock.now(), random: new SeededRandom("tls-listener") };
const authority = await makeAuthority(making);

const credentials = (): ReturnType<typeof keyAndCertificate> => keyAndCertificate(certifiedHosts);

async function keyAndCertificate(
  hosts: typeof certifiedHosts,
): Promise<{ readonly key: string; readonly cert: string }> {
  const { key, certificate } = await makeServerCertificate(authority, hosts, making);
  return { key: key.export({ type: "pkcs8", format: "pem" }), cert: certificate.toString() };
}

async function start(
  context: TestContext,
  faulty: Pick<HttpServerOptions, "endpoints" | "resolveKey" | "faults"> = {
    endpoints: [],
    resolveKey: async () => undefined,
  },
  events: LogEvent[] = [],
): Promise<{ readonly server: HttpServer; readonly port: number }> {
  const server = createHttpServer({
    ...faulty,
    clock: systemClock,
    log: {
      write: (event) =>
        void (
          event.event === "request" &&
          event.path === "unknown" &&
          events.push({ ...event, durationMs: 0 })
        ),
    },
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
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: authority.certificate.toString(),
  });
  await once(socket, "secureConnect");
  return socket;
}

async function ask(socket: TLSSocket): Promise<string> {
  socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return String((await once(socket, "data"))[0]);
}

describe("a server that listens with TLS too", () => {
  const speaking = (port: number, ciphers: string, servername: string): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect({
        port,
        host: "127.0.0.1",
        servername,
        ca: authority.certificate.toString(),
        maxVersion: "TLSv1.2",
        ciphers,
      });
      socket.on("secureConnect", () => {
        resolve(socket.getCipher().name);
        socket.destroy();
      });
      socket.on("error", () => resolve("refused"));
    });

  for (const servername of ["localhost", ""]) {
    test(`speaks no suite of TLS 1.2 with CBC or without keys of its own, ${servername === "" ? "without" : "with"} a name`, async (context) => {
      const { server, port } = await start(context);
      for (let round = 0; round < 2; round += 1) {
        for (const suite of [
          "ECDHE-ECDSA-AES128-SHA256",
          "ECDHE-ECDSA-AES256-SHA384",
          "ECDHE-ECDSA-AES128-SHA",
          "ECDHE-RSA-AES128-SHA256",
          "AES128-GCM-SHA256",
        ])
          assert.equal(await speaking(port, suite, servername), "refused", suite);
        for (const suite of ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"])
          assert.equal(await speaking(port, suite, servername), suite, "control");
        server.renewTls(await credentials());
      }
    });
  }

  test("shows a client that sends a name a certificate without addresses, and one that sends none a certificate with them", async (context) => {
    // BoringSSL (Bun, Mono, Chromium) refuses every certificate with an address under an authority
    // that is constrained to addresses.
    const { server, port } = await start(context);
    const shown = async (servername: string): Promise<string | undefined> => {
      const socket = connect({
        port,
        host: "127.0.0.1",
        servername,
        ca: authority.certificate.toString(),
      });
      await once(socket, "secureConnect");
      const names = socket.getPeerCertificate().subjectaltname;
      socket.destroy();
      return names;
    };
    for (let round = 0; round < 2; round += 1) {
      server.renewTls({ ...(await keyAndCertificate(namedHosts)), byAddress: await credentials() });
      assert.doesNotMatch((await shown("sandbox.ebanx.com")) ?? "", /IP Address/);
      assert.match((await shown("localhost")) ?? "", /DNS:localhost$/);
      assert.match((await shown("")) ?? "", /IP Address:127\.0\.0\.1/);
    }
  });

  test("answers request after request on one connection, and announces HTTP/1.1", async (context) => {
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
    for (let time = 0; time < 3; time += 1)
      assert.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n[^]*\{"status":"ok"\}$/);
    socket.destroy();
  });

  test("cuts a connection that a fault is to cut, before an answer and in the middle of one", async (context) => {
    const account: Account = {
      id: "0000000a" as MerchantId,
      version: 1,
      name: "Ana",
      settings: defaultAccountSettings(),
    };
    const queue = new FaultQueue();
    const runner = { run: () => Promise.reject(new Error("nobody asks")) };
    const { port } = await start(context, {
      endpoints: [
        {
          path: "/ws/any",
          doc: "page",
          key: "secret",
          permission: reading,
          recorded: false,
          family: "json",
          cors: false,
          handle: async () => ({ status: 200, body: '{"status":"SUCCESS"}' }),
        },
      ],
      resolveKey: async () => ({ account, grants: "secret" }),
      faults: new FaultInjector({ queue, scheduler: systemScheduler, runner }),
    });
    const received = async (kind: "drop_after_commit" | "stall_in_body"): Promise<string> => {
      queue.add(account.id, {
        kind,
        times: 1,
        path: undefined,
        code: undefined,
        delayMs: 20,
        reason: undefined,
      });
      const socket = await connected(port);
      let text = "";
      socket.on("data", (chunk: Buffer) => (text += chunk.toString()));
      socket.on("error", () => undefined);
      socket.write("GET /ws/any?integration_key=k HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await once(socket, "close");
      return text;
    };
    assert.equal(await received("drop_after_commit"), "");
    assert.match(await received("stall_in_body"), /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\n\{"status":$/);
  });

  for (const [name, request] of [
    ["a request", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"],
    [
      "one with a body",
      "POST /ws/direct HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\na=b&c=",
    ],
    [
      "one of a method that nobody has here",
      "DELETE /ws/direct HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
    ["a tunnel", "CONNECT localhost:443 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ] as const) {
    test(`says that it speaks TLS to who speaks HTTP without it: ${name}`, async (context) => {
      const events: LogEvent[] = [];
      const { port } = await start(context, undefined, events);
      const plain = connectPlain(port, "127.0.0.1");
      let text = "";
      plain.on("data", (chunk: Buffer) => (text += chunk.toString()));
      plain.write(request);
      await once(plain, "close");
      const code = framingErrors.tls_missing;
      const { message } = errorTable[code];
      assert.match(text, /^HTTP\/1\.1 400 Bad Request\r\n/);
      assert.deepEqual(JSON.parse(text.slice(text.indexOf("\r\n\r\n"))), {
        status: "ERROR",
        status_code: code,
        status_message: message,
        message,
      });
      assert.deepEqual(events, [
        {
          event: "request",
          method: "other",
          path: "unknown",
          status: 400,
          code,
          merchantId: undefined,
          durationMs: 0,
        },
      ]);
      assert.match(await ask(await connected(port)), /200 OK/);
    });
  }

  test("closes connections without TLS, or without HTTP inside it, and continues", async (context) => {
    const { port } = await start(context);
    const plain = connectPlain(port, "127.0.0.1");
    plain.on("error", () => undefined).resume();
    plain.write("SSH-2.0-OpenSSH_9.0\r\n");
    await once(plain, "close");
    const noHttp = await connected(port);
    noHttp.write("sausage\r\n\r\n");
    assert.match(String((await once(noHttp, "data"))[0]), /^HTTP\/1\.1 400 Bad Request\r\n/);
    assert.match(await ask(await connected(port)), /200 OK/);
  });

  test("shows the renewed certificate to the next connection, and keeps open connections", async (context) => {
    const { server, port } = await start(context);
    const first = await connected(port);
    server.renewTls(await credentials());
    const second = await connected(port);
    assert.notEqual(
      first.getPeerCertificate().serialNumber,
      second.getPeerCertificate().serialNumber,
    );
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
    // Connections are accepted in order: once this one is served, the silent one has been accepted.
    await ask(await connected(port));
    const closed = [idle, silent].map((socket) => once(socket.resume(), "close"));
    await server.close();
    await Promise.all(closed);
  });
});
