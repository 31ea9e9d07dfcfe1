import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createWebServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { freePort } from "../../../test/free-port.ts";
import { HeldScheduler } from "../../../test/held-scheduler.ts";
import { makeAuthority } from "../../../test/upstream/test-certificates.ts";
import { publicKey, secretKey, sendRaw, startTrivialServer, type TrivialServer } from "../../../test/fuzz/trivial-server.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import type { LogEvent } from "../../logging/log-event.ts";
import { digestOfKey } from "../../operations/account-directory.ts";
import { StoreError } from "../../stores/store.ts";
import { createHttpServer, defaultHttpLimits } from "../server.ts";
import type { Endpoint, OpenEndpoint } from "../../wire/endpoint.ts";
import { Forwarder, type ForwarderOptions, type ForwardLimits, type Owner } from "./forwarder.ts";
import { until } from "../../../test/until.ts";

const [here, there] = ["00000000000000aa", "00000000000000bb"] as const;
const world = "0a0b0c0d" as MerchantId;
const pan = "4111111111111111";
const ownKey = "test_ik_own";

const forwarderFor = (context: TestContext, over: Partial<ForwarderOptions> = {}): Forwarder => {
  const forwarder = new Forwarder({
    node: here,
    others: { placeOf: async () => undefined, placeOfWorld: async () => undefined, nodes: async () => [] },
    clock: { now: () => instant(0) },
    scheduler: systemScheduler,
    log: { write: () => undefined },
    limits: { timeoutMs: 30_000, mostUnderWay: 100 },
    ...over,
  });
  context.after(() => forwarder.close());
  return forwarder;
};

interface Front {
  readonly port: number;
  readonly events: LogEvent[];
  /** Paths of what was carried out here. */
  readonly carriedOut: string[];
  /** How often a key was looked for on other nodes. */
  readonly lookups: () => number;
}

/** A node that has one account of its own; every other key's world is where `placeOf` says. */
async function startFront(
  context: TestContext,
  placeOf: () => Owner | undefined,
  limits: Partial<ForwardLimits> = {},
  over: Partial<ForwarderOptions> = {},
): Promise<Front> {
  const events: LogEvent[] = [];
  const carriedOut: string[] = [];
  let lookups = 0;
  const forwarder = forwarderFor(context, {
    others: {
      placeOf: async () => {
        lookups += 1;
        return placeOf();
      },
      placeOfWorld: async () => undefined,
      nodes: async () => [placeOf()].filter((owner) => owner !== undefined),
    },
    log: { write: (event) => events.push(event) },
    limits: { timeoutMs: 30_000, mostUnderWay: 100, ...limits },
    ...over,
  });
  const account = { id: "01020304" as MerchantId, version: 1, name: "Own", settings: defaultAccountSettings() };
  const row = (path: string): Pick<OpenEndpoint, "path" | "handle"> => ({
    path,
    async handle() {
      carriedOut.push(path);
      return { status: 200, body: "{}" };
    },
  });
  const secret = { key: "secret", cors: false } as const;
  const endpoints: readonly Endpoint[] = [
    { ...row("/ws/direct"), ...secret, family: "json" },
    { ...row("/ws/token"), key: "public", cors: true, family: "json" },
    { ...row("/ws/capture"), ...secret, family: "parameters" },
    { ...row("/ws/slow"), ...secret, family: "json" },
    { ...row("/ws/open"), key: "none", cors: false, family: "json" },
  ];
  const server = createHttpServer({
    endpoints,
    resolveKey: async (key) => (key === ownKey ? { account, grants: "secret" } : undefined),
    clock: { now: () => instant(0) },
    log: { write: (event) => events.push(event) },
    health: { state: () => "ready" },
    limits: defaultHttpLimits,
    forwarder,
  });
  const { port } = await server.listen(0, "127.0.0.1");
  context.after(async () => {
    server.closeAllConnections();
    await server.close();
  });
  return { port, events, carriedOut, lookups: () => lookups };
}

/** The node that has the world, whose keys are the trivial server's. */
const startOwner = (context: TestContext, node: string = there): Promise<TrivialServer> =>
  startTrivialServer(context, {}, forwarderFor(context, { node }));

const ownerAt = (port: number, node: string = there): Owner => ({ node, url: `http://127.0.0.1:${port}`, world });

/** Something that listens and does as it is told with each connection, once when the first bytes are there. */
async function startRaw(context: TestContext, does: (socket: Socket, heard: () => string) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let text = "";
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      const isFirst = text === "";
      text += chunk.toString("latin1");
      if (isFirst) does(socket, () => text);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const post = (body: string, path = "/ws/direct", headers = ""): string =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
const send = (port: number, request: string): Promise<string> => sendRaw(port, Buffer.from(request, "latin1"));
const charge = post(`{"integration_key":"${secretKey}","payment":{"creditcard":{"card_number":"${pan}"}}}`);
/** But for what two answers that are the same differ in: when they were given, and whose they are. */
const same = (answer: string): string => answer.replace(/^Date: .*\r\n/m, "");
const codeIn = (answer: string): string | undefined => /"status_code":"([^"]*)"/.exec(answer)?.[1];

describe("a request for a world on another node", () => {
  test("gets that node's answer byte for byte, and is there what it would be if it had been sent there", async (context) => {
    const owner = await startOwner(context);
    const { port, carriedOut, lookups } = await startFront(context, () => ownerAt(owner.port));
    const part = (name: string, value: string): string => `--xyz\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const query = `integration_key=${secretKey}`;
    const requests = [
      charge,
      post(`  {"integration_key" : "${secretKey}",\t"a":[1,{"b":"\xc3\xa9"}]}\n`),
      post(`{"integration_key":"${publicKey}"}`),
      post(`{"public_integration_key":"${publicKey}"}`, "/ws/token"),
      post(`{"integration_key":"unknown"}`),
      post(`{"integration_key":"${secretKey}"`),
      post(`${query}&hash=%C3%A9&x[y]=1`, "/WS/Capture/"),
      post(`request_body=${encodeURIComponent(`{"integration_key":"${secretKey}"}`)}`),
      post(`${part("integration_key", secretKey)}${part("hash", "\xc3\xa9")}--xyz--\r\n`, "/ws/capture"),
      post("", `/ws/capture?${query}`),
      post("[]", `/ws/capture?${query}`),
      `GET /ws/capture?${query}&hash=%C3%A9%20a+b&&%zz HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET http://pay.example.com/ws/capture?${query} HTTP/1.1\r\nHost: x\r\n\r\n`,
      `GET /ws/capture HTTP/1.1\r\nHost: x\r\nContent-Length: ${query.length}\r\n\r\n${query}`,
      `POST /ws/capture HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n${query.slice(0, 5)}\r\n${(query.length - 5).toString(16)}\r\n${query.slice(5)}\r\n0\r\n\r\n`,
    ];
    for (const request of requests) {
      const direct = await send(owner.port, request);
      const [directly] = owner.calls.splice(0);
      const through = await send(port, request);
      const [led] = owner.calls.splice(0);
      assert.equal(same(through), same(direct), request);
      assert.match(through, /^HTTP\/1\.1 200 OK\r\n/);
      assert.deepEqual(
        [led?.path, led?.request.method, led?.request.params],
        [directly?.path, directly?.request.method, directly?.request.params],
      );
    }
    assert.deepEqual(carriedOut, []);
    // The one that is no JSON says nothing of a key.
    assert.equal(lookups(), requests.length - 1, "each key is looked for once");
  });

  test("brings the headers that have a meaning, and none else", async (context) => {
    const owner = await startOwner(context);
    const { port } = await startFront(context, () => ownerAt(owner.port));
    const headers =
      "X-EBANX-Simulate-Internal-Error: 503\r\nX-Ebanx-Api-Processing-Type: local\r\nIdempotency-Key: a\xe9\r\nContent-Type: text/plain; charset=latin1\r\n";
    await send(owner.port, post(`{"integration_key":"${secretKey}"}`, "/ws/direct", headers));
    await send(port, post(`{"integration_key":"${secretKey}"}`, "/ws/direct", headers));
    const [direct, through] = owner.calls.map(({ request }) => request.headers);
    assert.deepEqual({ ...through }, { ...direct, forNode: there });
    assert.deepEqual([through?.simulateInternalError, through?.processingType, through?.idempotencyKey], ["503", "local", "a\xe9"]);
    assert.equal(through?.charset, "windows-1252");

    let head = "";
    const raw = await startRaw(context, (socket, heard) => {
      head = heard();
      socket.end(`HTTP/1.1 200 OK\r\nX-Cofre-Node: ${there}\r\nContent-Length: 2\r\n\r\n{}`);
    });
    const led = await startFront(context, () => ownerAt(raw));
    await send(
      led.port,
      post(`{"integration_key":"k"}`, "/ws/direct", "Cookie: secret\r\nAuthorization: Basic x\r\nAccept-Language: pt\r\n"),
    );
    const names = Array.from(head.matchAll(/^([\w-]+): /gm), ([, name]) => name?.toLowerCase());
    assert.deepEqual(
      names.toSorted((left = "", right = "") => (left < right ? -1 : 1)),
      ["connection", "content-length", "host", "x-cofre-for-node"],
    );
  });

  test("is looked for only when its key opens nothing here: known keys and open operations pay nothing", async (context) => {
    const { port, carriedOut, lookups } = await startFront(context, () => undefined);
    for (let times = 0; times < 5; times += 1) await send(port, post(`{"integration_key":"${ownKey}"}`));
    await send(port, post("{}", "/ws/open"));
    assert.deepEqual([carriedOut.length, lookups()], [6, 0]);
    assert.equal(codeIn(await send(port, post('{"integration_key":"nobody"}'))), "DA-1");
    assert.equal(codeIn(await send(port, post("integration_key=nobody", "/ws/capture"))), "BP-SA-2");
    assert.equal(codeIn(await send(port, post(`{"integration_key":"${"x".repeat(101)}"}`))), "DA-1");
    assert.equal(lookups(), 2, "what is too long for a key is none");
  });

  test("is refused as not done when it cannot be found out where the world is", async (context) => {
    const { port } = await startFront(context, () => {
      throw new StoreError("unavailable");
    });
    const answer = await send(port, charge);
    assert.match(answer, /^HTTP\/1\.1 503 /);
    assert.equal(codeIn(answer), "COFRE-21");
  });

  test("is refused here when it is too large, or no request; the largest that is read is led on", async (context) => {
    const owner = await startOwner(context);
    const { port } = await startFront(context, () => ownerAt(owner.port));
    const sized = (bytes: number): string => {
      const head = `{"integration_key":"${secretKey}","note":"`;
      return post(`${head}${"x".repeat(bytes - head.length - 2)}"}`);
    };
    assert.equal(codeIn(await send(port, sized(defaultHttpLimits.maxBodyBytes + 1))), "COFRE-2");
    assert.equal(codeIn(await send(port, post("x", "/ws/direct", "Content-Encoding: gzip\r\n"))), "COFRE-7");
    assert.deepEqual(owner.calls, []);
    assert.match(await send(port, sized(defaultHttpLimits.maxBodyBytes)), /"status":"SUCCESS"/);
    assert.equal(owner.calls.length, 1);
  });

  test("is carried out though the client has left", async (context) => {
    const owner = await startOwner(context);
    const { port, events } = await startFront(context, () => ownerAt(owner.port));
    const socket = connect(port, "127.0.0.1");
    socket.write(post(`{"integration_key":"${secretKey}"}`, "/ws/slow"));
    await until("the owner has the request", () => owner.calls.length === 1);
    socket.destroy();
    await sleep(50);
    owner.openGate();
    await until("the request has ended at the owner", () => owner.events.some(({ event }) => event === "request"));
    await until("the request has ended at the front", () => events.length > 0);
    assert.deepEqual(
      events.map(({ event }) => event),
      ["request"],
      "nothing failed",
    );
    assert.match(await send(port, charge), /SUCCESS/, "and the next one finds everything in order");
  });

  test("leaves no trace of its body in the log", async (context) => {
    const owner = await startOwner(context);
    const { port, events } = await startFront(context, () => ownerAt(owner.port));
    await send(port, charge);
    assert.deepEqual(events, [
      { event: "request", method: "POST", path: "/ws/direct", status: 200, code: undefined, merchantId: world, durationMs: 0 },
    ]);
  });

  test("many at once get each its own answer", async (context) => {
    const owner = await startOwner(context);
    const { port } = await startFront(context, () => ownerAt(owner.port));
    const answers = await Promise.all(
      Array.from({ length: 90 }, (_, number) => {
        const more = Array.from({ length: number % 30 }, (__, index) => `"f${index}":1,`).join("");
        return send(port, post(`{${more}"integration_key":"${secretKey}"}`));
      }),
    );
    assert.deepEqual(
      answers.map((answer) => Number(/"fields":(\d+)/.exec(answer)?.[1])),
      Array.from({ length: 90 }, (_, number) => 1 + (number % 30)),
    );
  });
});

describe("a node that does not answer as it should", () => {
  test("is not there: nothing was done, and the same request may be sent again", async (context) => {
    const port = await freePort();
    const front = await startFront(context, () => ownerAt(port));
    const answer = await send(front.port, charge);
    assert.match(answer, /^HTTP\/1\.1 503 /);
    assert.match(answer, /^Retry-After: 1\r$/m);
    assert.equal(codeIn(answer), "COFRE-120");
    assert.deepEqual(front.events[0], { event: "forward_failed", node: there, kind: "not_sent", failed: 1 });
  });

  test("cuts the connection once it has the request: so is the client's, for whether it was done is not known", async (context) => {
    const port = await startRaw(context, (socket) => socket.destroy());
    const front = await startFront(context, () => ownerAt(port));
    assert.equal(await send(front.port, charge), "");
    assert.deepEqual(
      front.events.map((event) => (event.event === "request" ? event.status : event.event)),
      ["forward_failed", 444],
    );
  });

  test("gives half an answer: the client has the same half, and its connection is cut", async (context) => {
    const head = `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Cofre-Node: ${there}\r\nContent-Length: 10\r\n\r\n`;
    const port = await startRaw(context, (socket) => {
      socket.write(`${head}12345`);
      setTimeout(() => socket.destroy(), 50);
    });
    const front = await startFront(context, () => ownerAt(port));
    const answer = await send(front.port, charge);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\nContent-Type: text\/html\r\nContent-Length: 10\r\n/);
    assert.match(answer, /\r\n\r\n12345$/);
  });

  test("says nothing in time: the client is told that nothing is known", async (context) => {
    const time = new HeldScheduler();
    const port = await startRaw(context, () => time.release());
    const front = await startFront(context, () => ownerAt(port), {}, { scheduler: time });
    const answer = await send(front.port, charge);
    assert.match(answer, /^HTTP\/1\.1 200 /, "nothing on the way sends it again by itself");
    assert.equal(codeIn(answer), "COFRE-121");
  });

  test("hangs, and its lease runs out: nobody waits for it any longer, and nothing is known; for a living one they wait", async (context) => {
    const [hung, busy] = [await startRaw(context, () => undefined), await startRaw(context, () => undefined)];
    const [dead, living] = [ownerAt(hung, "00000000000000dd"), ownerAt(busy)];
    let looks = 0;
    const others = {
      placeOf: async (key: string) => (key === digestOfKey("dead") ? dead : living),
      placeOfWorld: async () => undefined,
      nodes: async () => {
        looks += 1;
        if (looks === 1) throw new StoreError("unavailable");
        return looks === 2 ? [dead, living] : [living];
      },
    };
    // Four seconds are between two looks.
    const scheduler: Scheduler = {
      sleep: (ms, signal) => systemScheduler.sleep(ms, signal),
      after: (ms, task) => systemScheduler.after(ms === 4_000 ? 50 : ms, task),
    };
    const { port } = await startFront(context, () => undefined, { timeoutMs: 2_000, mostUnderWay: 2 }, { others, scheduler });
    const from = performance.now();
    const waits = send(port, post('{"integration_key":"living"}'));
    assert.equal(codeIn(await send(port, post('{"integration_key":"dead"}'))), "COFRE-121");
    assert.ok(performance.now() - from < 1_900);
    assert.ok(looks >= 3, "one look that fails ends nothing");
    assert.equal(codeIn(await waits), "COFRE-121");
    assert.ok(performance.now() - from >= 1_900, "control: it has its whole time");
    const seen = looks;
    await sleep(200);
    assert.ok(looks <= seen + 1, "nobody is looked for when nobody waits");
  });

  test("stops in the middle of an answer: the client's connection is cut when the time is over", async (context) => {
    const head = `HTTP/1.1 200 OK\r\nX-Cofre-Node: ${there}\r\nContent-Length: 10\r\n\r\n123`;
    const time = new HeldScheduler();
    const port = await startRaw(context, (socket) => void socket.write(head));
    const front = await startFront(context, () => ownerAt(port), {}, { scheduler: time });
    const socket = connect(front.port, "127.0.0.1", () => socket.write(charge));
    let answer = "";
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      answer += piece.toString("latin1");
      if (answer.endsWith("\r\n\r\n123")) time.release();
    });
    await once(socket, "close");
    assert.match(answer, /\r\n\r\n123$/);
  });

  test("is something else that listens there: whatever it says is not passed on, and nothing is known", async (context) => {
    for (const mark of ["", `X-Cofre-Node: ${here}\r\n`]) {
      const port = await startRaw(
        context,
        (socket) => void socket.end(`HTTP/1.1 200 OK\r\n${mark}Content-Length: 16\r\n\r\n{"is":"SUCCESS"}`),
      );
      const front = await startFront(context, () => ownerAt(port));
      const answer = await send(front.port, charge);
      assert.equal(codeIn(answer), "COFRE-121");
      assert.doesNotMatch(answer, /SUCCESS/);
    }
    for (const nonsense of [
      "SSH-2.0-x\r\n",
      "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
      `HTTP/1.1 200 OK\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
    ]) {
      const port = await startRaw(context, (socket) => void socket.end(nonsense));
      const front = await startFront(context, () => ownerAt(port));
      assert.equal(await send(front.port, charge), "", "cut");
    }
  });

  test("is another Cofre, which says that it did nothing: the request may be sent again", async (context) => {
    const owner = await startOwner(context, "00000000000000cc");
    const { port } = await startFront(context, () => ownerAt(owner.port));
    const answer = await send(port, charge);
    assert.deepEqual([answer.slice(9, 12), codeIn(answer)], ["503", "COFRE-120"]);
    assert.deepEqual(owner.calls, []);
  });

  test("is reached with TLS, and gets nothing of a request when it has no certificate that is trusted for its name", async (context) => {
    const authority = makeAuthority("between nodes");
    const trusted = getCACertificates("default");
    setDefaultCACertificates([...trusted, authority.ca]);
    context.after(() => setDefaultCACertificates(trusted));
    for (const [issued, expected] of [
      [authority.issue("127.0.0.1"), "SUCCESS"],
      [authority.issue("127.0.0.2", "node.example.com"), "COFRE-120"],
      [makeAuthority("somebody else").issue("127.0.0.1"), "COFRE-120"],
    ] as const) {
      const owner = await startOwner(context);
      const { port } = await owner.server.listenTls(0, "127.0.0.1", issued);
      const front = await startFront(context, () => ({ node: there, url: `https://127.0.0.1:${port}`, world }));
      const answers = [await send(front.port, charge), await send(front.port, charge)];
      for (const answer of answers) assert.match(answer, new RegExp(expected));
      assert.equal(owner.calls.length, expected === "SUCCESS" ? 2 : 0);
    }
    // One that does not speak it gets a hello and nothing else.
    let heard = "";
    const plain = await startRaw(context, (socket, text) => {
      heard = text();
      socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    const front = await startFront(context, () => ({ node: there, url: `https://127.0.0.1:${plain}`, world }));
    assert.equal(codeIn(await send(front.port, charge)), "COFRE-120");
    assert.ok(heard !== "" && !heard.includes(pan) && !heard.includes("POST"));
  });

  test("is busy: its refusal is the client's answer", async (context) => {
    const owner = await startTrivialServer(context, { maxInFlight: 0 }, forwarderFor(context, { node: there }));
    const { port } = await startFront(context, () => ownerAt(owner.port));
    const answer = await send(port, charge);
    assert.match(answer, /^Retry-After: 1\r$/m);
    assert.deepEqual([answer.slice(9, 12), codeIn(answer)], ["503", "COFRE-12"]);
  });

  test("never ends: a client that does not read holds neither memory nor a place for longer than a request may take", async (context) => {
    let sent = 0;
    const port = await startRaw(context, (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nX-Cofre-Node: ${there}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
      const more = (): void => {
        while (!socket.destroyed && socket.write(chunk)) sent += chunk.length;
        socket.once("drain", more);
      };
      more();
    });
    const front = await startFront(context, () => ownerAt(port), { timeoutMs: 1_000, mostUnderWay: 1 });
    const socket = connect(front.port, "127.0.0.1");
    const closed = once(socket, "close");
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(charge);
    await until("the request has ended at the front", () => front.events.some(({ event }) => event === "request"));
    assert.ok(sent < 64 * 1024 * 1024, `${sent} bytes`);
    socket.resume();
    await closed;
    assert.notEqual(codeIn(await send(front.port, post('{"integration_key":"x"}'))), "COFRE-12", "its place is free");
  });
});

describe("requests between nodes", () => {
  test("share connections, which are left before the other side would close them", async (context) => {
    let connections = 0;
    let isLeft = false;
    let patienceSeconds = 120;
    const server = createWebServer((request, response) => {
      request.resume();
      response.setHeader("X-Cofre-Node", there);
      response.setHeader("Keep-Alive", `timeout=${patienceSeconds}`);
      response.end("{}");
    });
    // It says so, and is itself far more patient.
    server.keepAliveTimeout = 120_000;
    server.on("connection", (socket) => {
      connections += 1;
      socket.on("end", () => (isLeft = true));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    context.after(() => server.close());
    const front = await startFront(context, () => ownerAt((server.address() as AddressInfo).port));
    for (let times = 0; times < 5; times += 1) assert.match(await send(front.port, charge), /^HTTP\/1\.1 200 /);
    patienceSeconds = 3;
    await send(front.port, charge);
    assert.equal(connections, 1);
    // Without what the other side says of itself it would be kept for twenty seconds.
    const began = performance.now();
    await until("the client has left", () => isLeft);
    assert.ok(performance.now() - began < 15_000);
  });

  test("are bounded: beyond that they are refused as overload, and a place that is left is free", async (context) => {
    const owner = await startOwner(context);
    const front = await startFront(context, () => ownerAt(owner.port), { mostUnderWay: 2 });
    const slow = post(`{"integration_key":"${secretKey}"}`, "/ws/slow");
    const both = [send(front.port, slow), send(front.port, slow)];
    await until("the owner has both requests", () => owner.calls.length === 2);
    const refused = await send(front.port, charge);
    assert.deepEqual([refused.slice(9, 12), codeIn(refused)], ["503", "COFRE-12"]);
    assert.ok(front.events.some((event) => event.event === "overloaded" && event.limit === "forwarded"));
    owner.openGate();
    for (const answer of await Promise.all(both)) assert.match(answer, /SUCCESS/);
    assert.match(await send(front.port, charge), /SUCCESS/);
  });

  test("do not go in circles: not to oneself, not on from the node that they were led to", async (context) => {
    // Its own row, left over from a world that is gone.
    let at: Owner | undefined;
    const front = await startFront(context, () => at);
    at = ownerAt(front.port, here);
    assert.equal(codeIn(await send(front.port, charge)), "DA-1");
    // A row of another node at this node's address: a process before this one, or a wrong setting.
    at = ownerAt(front.port, there);
    assert.equal(codeIn(await send(front.port, charge)), "COFRE-120");
    assert.equal(front.lookups(), 2, "what was led here was not looked for again");

    // Two nodes that each say that the other has it.
    const [one, other] = ["00000000000000c1", "00000000000000c2"];
    let [toOther, toOne]: (Owner | undefined)[] = [];
    const first = await startFront(context, () => toOther, {}, { node: one });
    const second = await startFront(context, () => toOne, {}, { node: other });
    [toOther, toOne] = [ownerAt(second.port, other), ownerAt(first.port, one)];
    assert.equal(codeIn(await send(first.port, charge)), "DA-1", "where it is said to be there is no such world");
    assert.deepEqual([first.lookups(), second.lookups()], [1, 0]);
  });

  test("are marked by a header that gives nobody else anything", async (context) => {
    const owner = await startOwner(context);
    const front = await startFront(context, () => ownerAt(owner.port));
    const marked = (node: string, key: string): string =>
      post(`{"integration_key":"${key}"}`, "/ws/direct", `X-Cofre-For-Node: ${node}\r\n`);
    const misled = await send(front.port, marked("somebody", ownKey));
    assert.deepEqual([misled.slice(9, 12), codeIn(misled)], ["421", "COFRE-122"]);
    assert.deepEqual(front.carriedOut, []);
    assert.equal(codeIn(await send(front.port, marked(here, secretKey))), "DA-1", "it is not led on");
    assert.deepEqual([front.lookups(), owner.calls.length], [0, 0]);
    // One's own key opens what it opens without it.
    assert.match(await send(front.port, marked(here, ownKey)), /\r\n\r\n\{\}$/);
    // Where there are no other nodes it means nothing.
    const alone = await startTrivialServer(context);
    const answer = await send(alone.port, marked("somebody", secretKey));
    assert.match(answer, /SUCCESS/);
    assert.doesNotMatch(answer, /X-Cofre-Node/i);
  });

  test("are wiped, whatever becomes of them", async (context) => {
    const owner = await startOwner(context);
    const cut = await startRaw(context, (socket) => socket.destroy());
    const time = new HeldScheduler();
    const silent = await startRaw(context, () => time.release());
    const response = await openResponse(context);
    const ends: string[] = [];
    for (const [port, mostUnderWay] of [
      [owner.port, 1],
      [await freePort(), 1],
      [cut, 1],
      [silent, 1],
      [owner.port, 0],
    ] as const) {
      const forwarder = forwarderFor(context, { limits: { timeoutMs: 30_000, mostUnderWay }, scheduler: time });
      const body = Buffer.from(`{"integration_key":"${secretKey}","card_number":"${pan}"}`);
      const headers = { simulateInternalError: undefined, processingType: undefined, idempotencyKey: undefined, isForeign: () => false };
      const { answer } = await forwarder.forward(ownerAt(port), { method: "POST", target: "/ws/direct", headers, body }, response);
      ends.push(answer.code ?? String(answer.status));
      assert.ok(
        body.every((byte) => byte === 0),
        answer.body,
      );
    }
    assert.deepEqual(ends, ["200", "COFRE-120", "444", "COFRE-121", "COFRE-12"]);
  });
});

/** Somewhere to write an answer. */
async function openResponse(context: TestContext): Promise<ServerResponse> {
  const server = createWebServer();
  const asked = once(server, "request");
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const [, response] = (await asked) as [unknown, ServerResponse];
  context.after(() => {
    socket.destroy();
    server.close();
  });
  return response;
}
