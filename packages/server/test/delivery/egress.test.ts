import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTcpServer, type Server as TcpServer, type Socket } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import {
  type EgressPolicy,
  productionEgress,
  readDestination,
  sandboxEgress,
  withNetworks,
} from "../../src/delivery/address-guard.ts";
import { createEgress, type EgressOptions } from "../../src/delivery/egress.ts";
import type { SendOutcome } from "../../src/delivery/sender.ts";
import { freePort } from "../free-port.ts";
import { blocked, disguisedLoopback, names } from "./egress-corpus.ts";

const body = "operation=payment_status_change";

function sending(
  context: TestContext,
  options: Partial<EgressOptions> = {},
): (url: string, more?: { timeoutMs?: number; signal?: AbortSignal }) => Promise<SendOutcome> {
  const egress = createEgress({ policy: sandboxEgress, scheduler: systemScheduler, ...options });
  context.after(() => egress.close());
  return (url, { timeoutMs = 5_000, signal } = {}) =>
    egress.send({ url, headers: { "x-test": "1" }, body, timeoutMs }, signal);
}

async function listening(
  context: TestContext,
  server: Server | TcpServer,
  host = "127.0.0.1",
  port = 0,
): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
  });
  server.listen(port, host);
  await once(server, "listening");
  context.after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  assert.ok(typeof address === "object" && address !== null);
  return address.port;
}

async function answering(context: TestContext, answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listening(context, createServer(answer))}/`;
}

/** A receiver of raw bytes, for answers that no HTTP server would send. */
async function talking(context: TestContext, talk: (socket: Socket) => void): Promise<string> {
  return `http://127.0.0.1:${await listening(
    context,
    createTcpServer((socket) => socket.once("data", () => talk(socket))),
  )}/`;
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe("a receiver that answers", () => {
  test("gets the body unchanged, and its status is reported", async (context) => {
    const seen: unknown[] = [];
    const url = await answering(context, (request, response) => {
      void textOf(request).then((text) => {
        seen.push([request.method, request.url, request.headers["x-test"], text]);
        response.writeHead(202).end("OK");
      });
    });
    assert.deepEqual(await sending(context)(`${url}notify?shop=1`), {
      kind: "answered",
      status: 202,
      retryAfter: undefined,
    });
    assert.deepEqual(seen, [["POST", "/notify?shop=1", "1", body]]);
  });

  test("with Retry-After has it passed on, with a redirect is not followed", async (context) => {
    let elsewhere = 0;
    const target = await answering(context, (_, response) => {
      elsewhere += 1;
      response.end();
    });
    const url = await answering(context, ({ url: path }, response) => {
      if (path === "/busy") response.writeHead(429, { "Retry-After": "7" }).end();
      else response.writeHead(Number(path?.slice(1)), { Location: target }).end();
    });
    const send = sending(context);
    assert.deepEqual(await send(`${url}busy`), { kind: "answered", status: 429, retryAfter: "7" });
    for (const status of [301, 302, 303, 307, 308]) {
      assert.deepEqual(await send(url + status), {
        kind: "answered",
        status,
        retryAfter: undefined,
      });
    }
    assert.equal(elsewhere, 0);
    assert.equal((await send(target)).kind, "answered", "control: the other place is there");
    assert.equal(elsewhere, 1);
  });

  test("with more than it needs to say is cut off, and counts as having answered", async (context) => {
    const closed = Promise.withResolvers<void>();
    const url = await answering(context, (_, response) => {
      response.on("close", closed.resolve);
      response.writeHead(200);
      const more = (): void => {
        while (!response.destroyed && response.write("a".repeat(65_536)));
        if (!response.destroyed) response.once("drain", more);
      };
      more();
    });
    assert.deepEqual(await sending(context)(url), {
      kind: "answered",
      status: 200,
      retryAfter: undefined,
    });
    await closed.promise;
  });
});

describe("an answer that is kept", () => {
  const kept = async (
    context: TestContext,
    answer: RequestListener,
    keepsAnswer = true,
  ): Promise<SendOutcome> => {
    const egress = createEgress({ policy: sandboxEgress, scheduler: systemScheduler });
    context.after(() => egress.close());
    const url = await answering(context, answer);
    return egress.send({ url, headers: {}, body, timeoutMs: 5_000, keepsAnswer });
  };

  test("has its headers and its body", async (context) => {
    const outcome = await kept(context, (_, response) => {
      response.writeHead(201, { "X-One": "1" });
      response.write("one ");
      response.end("two");
    });
    assert.ok(outcome.kind === "answered" && outcome.answer !== undefined);
    const { headers, body: bytes, isCut } = outcome.answer;
    assert.equal(headers["x-one"], "1");
    assert.deepEqual([Buffer.from(bytes).toString(), isCut], ["one two", false]);
  });

  test("has the first 16,384 bytes of a longer body", async (context) => {
    const outcome = await kept(context, (_, response) => void response.end("a".repeat(100_000)));
    assert.ok(outcome.kind === "answered" && outcome.answer !== undefined);
    assert.deepEqual([outcome.answer.body.length, outcome.answer.isCut], [16_384, true]);
  });

  test("is absent unless the sender asks for it", async (context) => {
    const outcome = await kept(context, (_, response) => void response.end("a"), false);
    assert.deepEqual(outcome, { kind: "answered", status: 200, retryAfter: undefined });
  });
});

describe("a receiver that answers in the meantime", () => {
  const final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const one = "HTTP/1.1 100 Continue\r\n\r\n";
  for (const [what, interim] of [
    ["100, as IIS does", one],
    [
      "102 and 103",
      "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n",
    ],
    ["sixteen of them", one.repeat(16)],
    ["none, as a control", ""],
  ] as const) {
    test(`with ${what} is read to its end, and its connection is used again`, async (context) => {
      let connections = 0;
      const port = await listening(
        context,
        createTcpServer((socket) => {
          connections += 1;
          socket.on("data", (chunk) => {
            if (chunk.toString().includes(body))
              socket.write(interim, () => setImmediate(() => socket.write(final)));
          });
        }),
      );
      const send = sending(context);
      for (let time = 0; time < 3; time += 1) {
        assert.deepEqual(await send(`http://127.0.0.1:${port}/`), {
          kind: "answered",
          status: 200,
          retryAfter: undefined,
        });
      }
      assert.ok(connections < 3);
    });
  }

  test("without end has failed", async (context) => {
    const url = await talking(context, (socket) => {
      const more = (): void => {
        if (!socket.destroyed)
          socket.write("HTTP/1.1 103 Early Hints\r\n\r\n", () => setImmediate(more));
      };
      more();
    });
    assert.deepEqual(await sending(context)(url), { kind: "failed", cause: "answer" });
  });

  test("with another protocol, which was not offered, has failed", async (context) => {
    const url = await talking(context, (socket) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    );
    assert.equal((await sending(context)(url)).kind, "failed");
  });
});

describe("a receiver whose address has a user and a password", () => {
  for (const [userinfo, sent] of [
    ["shop:secret", "shop:secret"],
    ["shop:", "shop:"],
    ["token", "token:"],
    ["jos%C3%A9:p%40ss%3Aword%2F", "josé:p@ss:word/"],
    ["shop:100%", "shop:100%"],
  ] as const) {
    test(`receives them as Basic authorization: ${userinfo}`, async (context) => {
      let received: readonly unknown[] = [];
      const url = await answering(context, (request, response) => {
        received = [request.headers.authorization, request.url, request.headers.host];
        response.end();
      });
      const { port } = new URL(url);
      assert.equal(
        (await sending(context)(`http://${userinfo}@127.0.0.1:${port}/hook?a=1`)).kind,
        "answered",
      );
      assert.deepEqual(received, [
        `Basic ${Buffer.from(sent).toString("base64")}`,
        "/hook?a=1",
        `127.0.0.1:${port}`,
      ]);
      assert.equal((await sending(context)(`http://127.0.0.1:${port}/`)).kind, "answered");
      assert.equal(received[0], undefined, "control");
    });
  }

  test("is refused when the user's name has a colon, which ends it", async (context) => {
    assert.deepEqual(await sending(context)("http://a%3Ab:secret@127.0.0.1:1/"), {
      kind: "refused",
      cause: "url",
    });
  });
});

describe("a receiver that does not answer", () => {
  const timeoutMs = 100;

  for (const [what, answer] of [
    ["says nothing", () => undefined],
    ["stops in its headers", (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\nContent-")],
    [
      "stops in its body",
      (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nOK"),
    ],
    [
      "never ends its chunks",
      (socket: Socket) =>
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nOK\r\n"),
    ],
  ] as const) {
    test(`because it ${what}, has failed when its time is over`, async (context) => {
      const url = await talking(context, answer);
      assert.deepEqual(await sending(context)(url, { timeoutMs }), {
        kind: "failed",
        cause: "timeout",
      });
    });
  }

  test("in time, but drops by drop, has failed when its time is over", async (context) => {
    const url = await talking(context, (socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
      const drop = (): void => {
        if (socket.destroyed) return;
        socket.write("a");
        systemScheduler.after(5, drop);
      };
      drop();
    });
    assert.deepEqual(await sending(context)(url, { timeoutMs }), {
      kind: "failed",
      cause: "timeout",
    });
  });

  for (const [what, answer, cause] of [
    ["resets", (socket: Socket) => socket.resetAndDestroy(), "connection"],
    ["closes", (socket: Socket) => socket.end(), "connection"],
    [
      "resets in its body",
      (socket: Socket) => cutAfter(socket, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nOK"),
      "connection",
    ],
    ["speaks something else", (socket: Socket) => socket.end("SSH-2.0-OpenSSH_9.9\r\n"), "answer"],
    [
      "has endless headers",
      (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${"a".repeat(100_000)}\r\n\r\n`),
      "answer",
    ],
  ] as const) {
    test(`because it ${what}, has failed`, async (context) => {
      assert.deepEqual(await sending(context)(await talking(context, answer)), {
        kind: "failed",
        cause,
      });
    });
  }

  test("because no server listens or the name does not exist, has failed", async (context) => {
    assert.deepEqual(await sending(context)(`http://127.0.0.1:${await freePort()}/`), {
      kind: "failed",
      cause: "connection",
    });

    const resolve = (): Promise<never> =>
      Promise.reject(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }));
    assert.deepEqual(await sending(context, { resolve })("http://nobody.example/"), {
      kind: "failed",
      cause: "name",
    });
  });

  test("before the sender gives up is reported as aborted, also when the sender gave up before it began", async (context) => {
    const send = sending(context);
    const controller = new AbortController();
    const url = await talking(context, () => controller.abort());
    assert.deepEqual(await send(url, { signal: controller.signal }), {
      kind: "failed",
      cause: "aborted",
    });
    assert.deepEqual(await send(url, { signal: controller.signal }), {
      kind: "failed",
      cause: "aborted",
    });
  });
});

function cutAfter(socket: Socket, text: string): void {
  socket.write(text, () => socket.resetAndDestroy());
}

describe("addresses that must not be reached", () => {
  const resolve = async (name: string): Promise<readonly string[]> => names[name] ?? [];

  test("the corpus is refused in production, every one, without a connection", async (context) => {
    const send = sending(context, { policy: productionEgress, resolve });
    assert.ok(blocked.length >= 80);
    for (const url of blocked) {
      const outcome = await send(url);
      // A name without any address cannot be refused: there is nothing to refuse.
      assert.equal(outcome.kind, "refused", `${url} ended as ${JSON.stringify(outcome)}`);
    }
    assert.deepEqual(await send("https://nothing.example/"), {
      kind: "failed",
      cause: "connection",
    });
  });

  test("control: the disguises of loopback do arrive where loopback is allowed, and nowhere else", async (context) => {
    let arrived = 0;
    const server = createServer((_, response) => {
      arrived += 1;
      response.end();
    });
    const port = await listening(context, server);
    const sandbox = sending(context, {
      resolve: async (name) => (names[name] ?? []).filter((address) => address !== "::1"),
    });
    const production = sending(context, {
      policy: { ...productionEgress, ports: [443, port] },
      resolve,
    });
    for (const host of disguisedLoopback) {
      assert.deepEqual(
        await production(`http://${host}:${port}/`),
        { kind: "refused", cause: refusalOfPlain(host) },
        host,
      );
      assert.equal((await production(`https://${host}:${port}/`)).kind, "refused", host);
    }
    assert.equal(arrived, 0);
    for (const host of disguisedLoopback)
      assert.equal((await sandbox(`http://${host}:${port}/`)).kind, "answered", host);
    assert.equal(arrived, disguisedLoopback.length);
  });

  test("a name whose address changes after the check is not followed to where it leads then", async (context) => {
    const arrived = { allowed: 0, blocked: 0 };
    const one = createServer((_, response) => {
      arrived.allowed += 1;
      response.writeHead(200, { Connection: "close" }).end();
    });
    const other = createServer((_, response) => {
      arrived.blocked += 1;
      response.end();
    });
    // In this order: a port that is free on the usual address is free on the other one too.
    const port = await listening(context, other, "127.0.0.1");
    await listening(context, one, "127.0.0.2", port);
    // Replaces the public address, which a test must not contact.
    const policy: EgressPolicy = { ports: [443], allowedNetworks: ["127.0.0.2/32"] };
    const answers = [["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2", "127.0.0.1"], ["127.0.0.2"]];
    let calls = 0;
    const send = sending(context, { policy, resolve: async () => answers[calls++] ?? [] });

    const outcomes: string[] = [];
    for (const _ of answers) outcomes.push((await send(`http://rebinding.example:${port}/`)).kind);

    assert.deepEqual(outcomes, ["answered", "refused", "refused", "answered"]);
    assert.deepEqual(arrived, { allowed: 2, blocked: 0 });
    assert.equal(calls, 4, "each connection asks for the name once");
  });

  test("the sandbox reaches this machine and nothing else that is not public", async (context) => {
    const send = sending(context, { resolve });
    for (const url of blocked) {
      const destination = readDestination(sandboxEgress, url);
      // The hosts that it may reach: itself, and the public address that some names have as well.
      const reachable =
        "url" in destination &&
        /^(?:127\.|::1$|::ffff:7f|.*localhost$|loop|mapped|mixed)/.test(destination.host);
      if (!reachable) assert.equal((await send(url)).kind, "refused", url);
    }
  });

  test("a network that the operator names is reached by number and by name, on any port and over http, and none beside it", () => {
    const named = ["172.16.0.0/12", "fd12:3456::/32"];
    for (const policy of [
      withNetworks(sandboxEgress, named),
      withNetworks(productionEgress, named),
    ]) {
      for (const url of [
        "http://172.17.0.2:3000/hook",
        "http://172.31.255.255/",
        "http://app:3000/hook",
        "http://[fd12:3456::7]:80/",
        "http://2886795266:8080/",
      ])
        assert.ok("url" in readDestination(policy, url), url);
      for (const url of [
        "http://100.64.0.1/",
        "http://10.0.0.5:3000/hook",
        "http://192.168.0.1/",
        "http://[fd12:3457::7]/",
      ])
        assert.deepEqual(readDestination(policy, url), { refused: "address" }, url);
    }
    assert.deepEqual(readDestination(withNetworks(productionEgress, named), "http://127.0.0.1/"), {
      refused: "address",
    });
  });

  test("a network that is named does not open what is never a receiver: metadata, link-local, multicast, nothing at all", () => {
    const policy = withNetworks(sandboxEgress, [
      "169.0.0.0/8",
      "168.0.0.0/8",
      "0.0.0.0/8",
      "224.0.0.0/8",
      "fe80::/10",
      "fd00::/8",
      "ff00::/8",
    ]);
    for (const host of [
      "169.254.169.254",
      "168.63.129.16",
      "0.0.0.0",
      "224.0.0.1",
      "[fe80::1]",
      "[fd00:ec2::254]",
      "[ff02::1]",
    ])
      assert.deepEqual(readDestination(policy, `http://${host}/`), { refused: "address" }, host);
    assert.ok("url" in readDestination(policy, "http://[fd00::1]/"), "control");
  });

  test("in a network that is named the address of a name is checked when it is dialled", async (context) => {
    let arrived = 0;
    const port = await listening(
      context,
      createServer((_, response) => {
        arrived += 1;
        response.end();
      }),
      "127.0.0.2",
    );
    const policy = withNetworks(productionEgress, ["127.0.0.2/32"]);
    const answers = [["127.0.0.2"], ["127.0.0.2", "10.0.0.1"], ["127.0.0.3"]];
    let calls = 0;
    const outcomes: string[] = [];
    for (const _ of answers) {
      const send = sending(context, { policy, resolve: async () => answers[calls++] ?? [] });
      outcomes.push((await send(`http://app:${port}/`)).kind);
    }
    assert.deepEqual([outcomes, arrived], [["answered", "refused", "refused"], 1]);
  });

  test("public addresses are let through on the ports of https, by name and by number", () => {
    for (const url of [
      "https://public.example/",
      "https://public.example:8443/",
      "https://93.184.215.14/",
      "https://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
    ]) {
      assert.ok("url" in readDestination(productionEgress, url), url);
    }
  });
});

function refusalOfPlain(host: string): string {
  // A name is refused for its scheme before it is resolved, an address for its network.
  return names[host] === undefined ? "address" : "scheme";
}
