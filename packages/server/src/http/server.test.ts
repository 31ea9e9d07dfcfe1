import assert from "node:assert/strict";
import { once } from "node:events";
import { request as httpRequest, type OutgoingHttpHeaders } from "node:http";
import { connect } from "node:net";
import { describe, test } from "node:test";
import {
  publicKey,
  secretKey,
  sendRaw,
  startTrivialServer,
  strictKey,
} from "../../test/support/trivial-server.ts";
import { textOf } from "../wire/decode/tree.ts";
import { until } from "../../test/until.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** One request on a separate connection. */
async function send(
  port: number,
  method: string,
  path: string,
  body = "",
  headers: OutgoingHttpHeaders = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { host: "127.0.0.1", port, method, path, headers, agent: false },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

function envelope({ body }: Answer): readonly [string, string] {
  const { status, status_code, status_message, ...rest } = JSON.parse(body) as Record<
    string,
    string
  >;
  assert.equal(status, "ERROR");
  if (rest["message"] !== undefined) assert.equal(rest["message"], status_message);
  return [status_code ?? "", status_message ?? ""];
}

describe("a request", () => {
  test("reaches its endpoint by GET and POST, with any letter case, a trailing slash, any Host and any content type", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const query = `integration_key=${secretKey}&hash=a`;
    const shapes = [
      await send(port, "GET", `/ws/capture?${query}`),
      await send(port, "POST", `/WS/Capture/?${query}`),
      await send(port, "POST", `/ws/capture?${query}`, "[]", {
        "Content-Type": "application/json",
      }),
      await send(port, "POST", "/ws/capture/", query, {
        "Content-Type": "image/png",
        Host: "api.example.com",
      }),
      await send(port, "POST", "/ws/capture", `{"integration_key":"${secretKey}","hash":"a"}`, {
        "Content-Type": "\ttext/html",
      }),
      await send(port, "POST", "/ws/capture", query, { "Transfer-Encoding": "chunked" }),
      await send(port, "GET", "/ws/capture", query, { "Content-Length": query.length }),
      await send(port, "GET", `http://elsewhere.example/ws/capture?${query}`),
    ];
    for (const { status, body } of shapes)
      assert.deepEqual([status, body], [200, '{"fields":2,"status":"SUCCESS"}']);
    assert.equal(calls.length, shapes.length);
    assert.ok(calls.every(({ request }) => textOf(request.params, "hash") === "a"));
  });

  test("is answered as JSON that is not cached, with one access event that holds nothing of it", async (t) => {
    const { port, events } = await startTrivialServer(t);
    const { headers } = await send(
      port,
      "POST",
      "/ws/Direct/?x=4111111111111111",
      `{"integration_key":"${secretKey}","name":"José"}`,
    );
    assert.equal(headers["content-type"], "application/json; charset=utf-8");
    assert.equal(headers["cache-control"], "no-store");
    assert.equal(headers["access-control-allow-origin"], undefined);
    assert.deepEqual(events, [
      {
        event: "request",
        method: "POST",
        path: "/ws/direct",
        status: 200,
        code: undefined,
        merchantId: "0a0b0c0d",
        durationMs: 0,
      },
    ]);
  });

  test("is read by the charset that its Content-Type names, and refused when two name different ones", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const body = `integration_key=${secretKey}&name=Jos\xe9`;
    const post = (types: string): Promise<string> =>
      sendRaw(
        port,
        Buffer.from(
          `POST /ws/direct HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${types}Content-Length: ${body.length}\r\n\r\n${body}`,
          "latin1",
        ),
      );
    const latin = "Content-Type: application/x-www-form-urlencoded; charset=ISO-8859-1\r\n";
    assert.match(await post(latin), /"SUCCESS"/);
    assert.match(await post(""), /"COFRE-164"/);
    assert.match(
      await post(`${latin}content-type: text/plain; charset=utf-8\r\n`),
      /"COFRE-163","status_message":"Header Content-Type is /,
    );
    assert.deepEqual(
      calls.map(({ request }) => textOf(request.params, "name")),
      ["José"],
    );
  });

  test("in many chunks is put together", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const body = `{"integration_key":"${secretKey}","note":"${"x".repeat(150_000)}"}`;
    assert.equal((await send(port, "POST", "/ws/direct", body)).status, 200);
    assert.equal(textOf(calls[0]?.request.params ?? {}, "note")?.length, 150_000);
  });

  test("that expects 100 Continue gets it", async (t) => {
    const { port } = await startTrivialServer(t);
    const body = `integration_key=${secretKey}`;
    const answer = await sendRaw(
      port,
      `POST /ws/capture HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n/);
  });

  test("brings the headers that have a meaning", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    await send(port, "GET", `/ws/open`, "", {
      "X-EBANX-Simulate-Internal-Error": "503",
      "x-ebanx-api-processing-type": "local",
    });
    await send(port, "GET", `/ws/open`);
    assert.deepEqual(
      calls.map(({ request: { headers } }) => [
        headers.simulateInternalError,
        headers.processingType,
      ]),
      [
        ["503", "local"],
        [undefined, undefined],
      ],
    );
  });
});

describe("a header with a meaning that comes twice", () => {
  const ask = (port: number, headers: string): Promise<string> =>
    sendRaw(port, `GET /ws/open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`);
  for (const name of [
    "Idempotency-Key",
    "X-EBANX-Simulate-Internal-Error",
    "X-EBANX-API-Processing-Type",
  ]) {
    test(`with two values is refused by its name, and nothing is run: ${name}`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      for (const values of [
        ["one", "two"],
        ["", "two"],
        ["one", "", "one"],
        ["one", "ONE"],
      ]) {
        const answer = await ask(
          port,
          values
            .map((value, at) => `${at === 0 ? name : name.toLowerCase()}: ${value}\r\n`)
            .join(""),
        );
        assert.match(
          answer,
          new RegExp(
            `^HTTP/1\\.1 200 OK[^]*"COFRE-163","status_message":"Header ${name} is given more than once`,
          ),
        );
      }
      assert.deepEqual(calls, []);
    });
  }

  test("control: with one value is taken, as a proxy may double a header", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    await ask(port, "Idempotency-Key: one\r\nidempotency-key: one\r\n");
    assert.deepEqual(
      calls.map(({ request }) => request.headers.idempotencyKey),
      ["one"],
    );
  });
});

describe("an idle connection", () => {
  test("is promised 75 seconds, longer than load balancers keep theirs, or what the setting says", async (t) => {
    for (const [limits, seconds] of [
      [{}, 75],
      [{ keepAliveMs: 620_000 }, 620],
    ] as const) {
      const { port } = await startTrivialServer(t, limits);
      const socket = connect(port, "127.0.0.1");
      socket.write("GET /ws/open HTTP/1.1\r\nHost: x\r\n\r\n");
      const [head] = (await once(socket, "data")) as [Buffer];
      socket.destroy();
      assert.match(head.toString(), new RegExp(`\r\nKeep-Alive: timeout=${seconds}\r\n`));
    }
  });

  test("is closed without an answer when its time is over", async (t) => {
    const { port, events } = await startTrivialServer(t, { keepAliveMs: 100 });
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.write("GET /ws/open HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(socket, "end");
    socket.destroy();
    assert.equal(text.split("HTTP/1.1 ").length, 2);
    assert.equal(events.length, 1);
  });
});

describe("HEAD", () => {
  test("of a page is answered like GET, without the body", async (t) => {
    const { port, events } = await startTrivialServer(t);
    const [head, get] = [await send(port, "HEAD", "/page"), await send(port, "GET", "/page")];
    assert.deepEqual(
      [head.status, head.body, head.headers["content-length"]],
      [200, "", get.headers["content-length"]],
    );
    assert.deepEqual([get.status, get.body], [200, "<p>page</p>"]);
    assert.deepEqual(
      events.map((event) =>
        event.event === "request" ? [event.method, event.path, event.status] : [],
      ),
      [
        ["HEAD", "/page", 200],
        ["GET", "/page", 200],
      ],
    );
    assert.equal((await send(port, "OPTIONS", "/page")).headers["allow"], "GET, HEAD, POST");
  });

  test("of an operation runs nothing, and of a probe is answered", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    assert.equal(
      (await send(port, "HEAD", `/ws/capture?integration_key=${secretKey}&hash=a`)).status,
      405,
    );
    assert.equal((await send(port, "HEAD", "/ws/open")).status, 405);
    assert.deepEqual(
      [(await send(port, "HEAD", "/healthz")).status, (await send(port, "HEAD", "/readyz")).status],
      [200, 200],
    );
    assert.deepEqual(calls, []);
  });
});

describe("keys", () => {
  test("that are missing or wrong are refused in the words of the operation's family", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const refusals = [
      ["/ws/direct", '{"integration_key":""}', "BP-SA-1", "Field integration_key is required"],
      ["/ws/direct", "{}", "BP-SA-1", "Field integration_key is required"],
      ["/ws/direct", '{"integration_key":"x"}', "DA-1", "Invalid integration key"],
      ["/ws/direct", `{"integration_key":["${secretKey}"]}`, "DA-1", "Invalid integration key"],
      ["/ws/direct", `{"integration_key":"${"x".repeat(200)}"}`, "DA-1", "Invalid integration key"],
      ["/ws/capture", "", "BP-SA-1", "Parameter integration_key not informed"],
      ["/ws/capture", "integration_key=x", "BP-SA-2", "Invalid integration key"],
      ["/ws/token", '{"public_integration_key":"x"}', "DA-1", "Invalid integration key"],
    ] as const;
    for (const [path, body, code, message] of refusals) {
      const answer = await send(port, "POST", path, body);
      assert.equal(answer.status, 200);
      assert.deepEqual(envelope(answer), [code, message], path + body);
    }
    assert.deepEqual(calls, []);
  });

  test("public ones open browser operations and nothing else", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    for (const field of ["public_integration_key", "integration_key"]) {
      assert.equal(
        (await send(port, "POST", "/ws/token", `{"${field}":"${publicKey}"}`)).body,
        '{"fields":1,"status":"SUCCESS"}',
      );
    }
    assert.equal(calls.length, 2);
    assert.deepEqual(
      envelope(await send(port, "POST", "/ws/direct", `{"integration_key":"${publicKey}"}`)),
      ["DA-1", "Invalid integration key"],
    );
    assert.deepEqual(
      envelope(
        await send(port, "POST", "/ws/direct", `{"public_integration_key":"${publicKey}"}`),
      )[0],
      "BP-SA-1",
    );
    assert.deepEqual(
      envelope(await send(port, "GET", `/ws/capture?integration_key=${publicKey}&hash=a`))[0],
      "BP-SA-2",
    );
    assert.equal(calls.length, 2);
  });

  test("that cannot be looked up are not wrong keys", async (t) => {
    const { port } = await startTrivialServer(t);
    const answer = await send(
      port,
      "GET",
      "/ws/capture?integration_key=key%20of%20a%20broken%20store",
    );
    assert.notEqual(envelope(answer)[0], "BP-SA-2");
  });
});

describe("what is refused", () => {
  test("unknown operations get an envelope, addresses outside of the interface a 404", async (t) => {
    const { port, events } = await startTrivialServer(t);
    for (const path of ["/ws/setCvvv", "/ws", "/WS/nothing?integration_key=k"]) {
      const answer = await send(port, "GET", path);
      assert.deepEqual(
        [answer.status, ...envelope(answer)],
        [200, "COFRE-9", "There is no such operation"],
      );
    }
    const answer = await send(port, "GET", "/index.html");
    assert.deepEqual(
      [answer.status, ...envelope(answer)],
      [404, "COFRE-11", "No endpoint at this address"],
    );
    assert.ok(events.every((event) => event.event === "request" && event.path === "unknown"));
  });

  test("no method but GET and POST runs an operation", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const path = `/ws/capture?integration_key=${secretKey}&hash=a`;
    for (const method of ["PUT", "DELETE", "PATCH", "PROPFIND"]) {
      assert.deepEqual(envelope(await send(port, method, path))[0], "COFRE-10", method);
    }
    assert.deepEqual((await send(port, "HEAD", path)).status, 405);
    assert.deepEqual((await send(port, "OPTIONS", path)).headers["allow"], "GET, POST");
    assert.deepEqual(calls, []);
  });

  test("browsers of any origin may call the browser operations, whatever the answer", async (t) => {
    const { port } = await startTrivialServer(t);
    for (const [method, body] of [
      ["POST", `{"public_integration_key":"${publicKey}"}`],
      ["POST", "{"],
      ["GET", ""],
      ["OPTIONS", ""],
    ] as const) {
      assert.equal(
        (await send(port, method, "/ws/token", body)).headers["access-control-allow-origin"],
        "*",
        method + body,
      );
    }
    const preflight = await send(port, "OPTIONS", "/ws/token");
    assert.deepEqual(
      [preflight.status, preflight.body, preflight.headers["access-control-allow-methods"]],
      [204, "", "GET, POST"],
    );
    assert.equal(
      (await send(port, "OPTIONS", "/ws/direct")).headers["access-control-allow-origin"],
      undefined,
    );
  });

  test("a body above the limit, announced or not, is refused while it is read, and the next request is served", async (t) => {
    const { port, calls } = await startTrivialServer(t, { maxBodyBytes: 1_000 });
    const fits = `integration_key=${secretKey}&n=`.padEnd(1_000, "x");
    assert.equal((await send(port, "POST", "/ws/capture", fits)).status, 200);
    assert.deepEqual(envelope(await send(port, "POST", "/ws/capture", `${fits}x`))[0], "COFRE-2");
    assert.deepEqual(
      envelope(
        await send(port, "POST", "/ws/capture", `${fits}x`, { "Transfer-Encoding": "chunked" }),
      )[0],
      "COFRE-2",
    );
    assert.equal(calls.length, 1);
    const twice = `POST /ws/capture HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n${fits}xGET /ws/open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
    assert.equal((await sendRaw(port, twice)).match(/HTTP\/1\.1 200 OK/g)?.length, 2);
  });

  test("a body without end is cut off", async (t) => {
    const { port } = await startTrivialServer(t, { maxBodyBytes: 1_000 });
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("error", () => undefined);
    socket.write("POST /ws/capture HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n");
    const pour = (): void => {
      if (socket.writable) socket.write(`3e8\r\n${"x".repeat(1_000)}\r\n`, pour);
    };
    pour();
    await new Promise((resolve) => void socket.on("close", resolve));
    if (text !== "") assert.match(text, /COFRE-2/);
  });

  test("an internal failure reveals nothing", async (t) => {
    const { port, events } = await startTrivialServer(t);
    const answer = await send(port, "POST", "/ws/broken", `{"integration_key":"${secretKey}"}`);
    assert.deepEqual([answer.status, envelope(answer)[0]], [200, "COFRE-14"]);
    assert.equal(answer.body.includes("4111"), false);
    const [failed] = events;
    assert.ok(failed?.event === "request_failed");
    assert.deepEqual(
      [failed.path, failed.errorName, failed.errorCode, failed.merchantId],
      ["/ws/broken", "RangeError", undefined, "0a0b0c0d"],
    );
    assert.match(failed.where ?? "", /trivial-server\.ts:\d+:\d+/);
    assert.equal(JSON.stringify(events).includes("4111"), false);
  });

  test("a cut form is repaired, except for accounts that are strict", async (t) => {
    const { port } = await startTrivialServer(t);
    const body = (key: string): string =>
      `request_body={"integration_key":"${key}","name":"a & b"}`;
    assert.equal(
      (await send(port, "POST", "/ws/direct", body(secretKey))).body,
      '{"fields":2,"status":"SUCCESS"}',
    );
    assert.deepEqual(
      envelope(await send(port, "POST", "/ws/direct", body(strictKey)))[0],
      "COFRE-8",
    );
  });
});

describe("overload and the end", () => {
  test("beyond its capacity the server answers 503 at once, and reports it once a second", async (t) => {
    const { port, events, server, openGate, moveClock } = await startTrivialServer(t, {
      maxInFlight: 1,
    });
    const slow = send(port, "POST", "/ws/slow", `{"integration_key":"${secretKey}"}`);
    await until("a request is under way", () => server.inFlight > 0);
    for (let time = 0; time < 3; time += 1) {
      const refused = await send(
        port,
        "POST",
        "/ws/token",
        `{"public_integration_key":"${publicKey}"}`,
      );
      assert.deepEqual(
        [refused.status, envelope(refused)[0], refused.headers["retry-after"]],
        [503, "COFRE-12", "1"],
      );
      assert.equal("message" in (JSON.parse(refused.body) as object), true);
      moveClock(600);
    }
    assert.deepEqual(
      events.filter(({ event }) => event === "overloaded"),
      [
        { event: "overloaded", limit: "in_flight", refused: 1 },
        { event: "overloaded", limit: "in_flight", refused: 2 },
      ],
    );
    assert.equal((await send(port, "GET", "/healthz")).status, 200, "a probe is always answered");
    openGate();
    assert.equal((await slow).status, 200);
    assert.equal(
      (await send(port, "POST", "/ws/slow", `{"integration_key":"${secretKey}"}`)).status,
      200,
    );
  });

  test("the only account has all places but a reserve, and another account is served at once", async (t) => {
    const { port, events, openGate, calls } = await startTrivialServer(t, { maxInFlight: 8 });
    const [body, others] = [
      `{"integration_key":"${secretKey}"}`,
      `{"integration_key":"${strictKey}"}`,
    ];
    const slow = Array.from({ length: 7 }, () => send(port, "POST", "/ws/slow", body));
    await until("seven requests are under way", () => calls.length >= 7);
    for (const path of ["/ws/direct", "/ws/slow", "/ws/capture"]) {
      const refused = await send(port, "POST", path, body);
      assert.deepEqual(
        [refused.status, envelope(refused)[0], refused.headers["retry-after"]],
        [429, "COFRE-165", "1"],
        path,
      );
    }
    assert.equal(calls.length, 7, "nothing was done");
    assert.ok(
      events.some(
        (event) => event.event === "overloaded" && event.limit === "in_flight_of_account",
      ),
    );
    assert.equal((await send(port, "POST", "/ws/direct", others)).status, 200);
    assert.equal(
      (await send(port, "GET", "/page")).status,
      200,
      "control: a page needs no place of an account",
    );
    openGate();
    await Promise.all(slow);
    assert.equal(
      (await send(port, "POST", "/ws/direct", body)).status,
      200,
      "the places are free again",
    );
  });

  test("an account has the places that the operator gives it, whatever others do", async (t) => {
    const { port, openGate, calls } = await startTrivialServer(t, {
      maxInFlight: 8,
      maxInFlightOfAccount: 2,
    });
    const body = `{"integration_key":"${secretKey}"}`;
    const slow = [send(port, "POST", "/ws/slow", body), send(port, "POST", "/ws/slow", body)];
    await until("two requests are under way", () => calls.length >= 2);
    assert.equal((await send(port, "POST", "/ws/direct", body)).status, 429);
    openGate();
    await Promise.all(slow);
  });

  test("all worlds together have half of the places", async (t) => {
    const { port, openGate, calls } = await startTrivialServer(t, {
      maxInFlight: 4,
      maxInFlightOfAccount: 4,
      areWorlds: [secretKey],
    });
    const body = `{"integration_key":"${secretKey}"}`;
    const slow = [send(port, "POST", "/ws/slow", body), send(port, "POST", "/ws/slow", body)];
    await until("two requests are under way", () => calls.length >= 2);
    const refused = await send(port, "POST", "/ws/direct", body);
    assert.deepEqual([refused.status, envelope(refused)[0]], [429, "COFRE-165"]);
    assert.equal(
      (await send(port, "POST", "/ws/direct", `{"integration_key":"${strictKey}"}`)).status,
      200,
    );
    openGate();
    await Promise.all(slow);
  });

  test("a stop lets the work under way finish and refuses the rest", async (t) => {
    const { port, server, openGate } = await startTrivialServer(t);
    const idle = connect(port, "127.0.0.1");
    await once(idle, "connect");
    const slow = send(port, "POST", "/ws/slow", `{"integration_key":"${secretKey}"}`);
    await until("a request is under way", () => server.inFlight > 0);
    let isClosed = false;
    const closing = server.close().then(() => (isClosed = true));
    await assert.rejects(send(port, "GET", "/ws/open"), { code: "ECONNREFUSED" });
    assert.equal(isClosed, false);
    openGate();
    const answer = await slow;
    assert.deepEqual([answer.status, answer.headers["connection"]], [200, "close"]);
    idle.destroy();
    await closing;
    await server.close();
  });

  test("a request that comes on an open connection during the stop gets 503", async (t) => {
    const { port, server, openGate, calls } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    const body = `{"integration_key":"${secretKey}"}`;
    socket.write(
      `POST /ws/slow HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until("a request is under way", () => server.inFlight > 0);
    const closing = server.close();
    socket.write(
      `POST /ws/direct HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    openGate();
    await closing;
    if (!socket.closed) await once(socket, "close");
    assert.deepEqual(
      calls.map(({ path }) => path),
      ["/ws/slow"],
    );
    assert.match(text, /^HTTP\/1\.1 200 OK/);
  });

  test("a stop that takes too long is cut short: the work is no longer awaited", async (t) => {
    const { port, server } = await startTrivialServer(t);
    const slow = send(port, "POST", "/ws/slow", `{"integration_key":"${secretKey}"}`);
    await until("a request is under way", () => server.inFlight > 0);
    const closing = server.close();
    server.closeAllConnections();
    await assert.rejects(slow, { code: "ECONNRESET" });
    await closing;
    assert.equal(server.inFlight, 1, "control: the work is still under way");
  });

  test("probes tell whether requests may be sent", async (t) => {
    const { port, setReady, events } = await startTrivialServer(t);
    assert.deepEqual(
      [(await send(port, "GET", "/healthz")).body, (await send(port, "GET", "/readyz")).status],
      ['{"status":"ok"}', 200],
    );
    setReady(false);
    const [alive, ready] = [
      await send(port, "GET", "/healthz"),
      await send(port, "GET", "/readyz"),
    ];
    assert.deepEqual([alive.status, ready.status], [200, 503]);
    assert.deepEqual(JSON.parse(ready.body), {
      status: "not_writing",
      message: "Nothing can be written: the log says more",
    });
    assert.deepEqual(events, []);
  });

  test("a server of which a job can't read what is due stays ready for payments, and names the job", async (t) => {
    const { port, failingJobs } = await startTrivialServer(t);
    failingJobs.push("notifications");
    const ready = await send(port, "GET", "/readyz");
    assert.deepEqual(
      [ready.status, JSON.parse(ready.body)],
      [200, { status: "ready", failing: ["notifications"] }],
    );
  });

  test("a server whose clock is off starts no payment, and answers everything else", async (t) => {
    // Other nodes would consider its attempts overdue while their requests are on the way, and void
    // what the acquirer then captures.
    const { port, setClockOff, calls } = await startTrivialServer(t);
    const body = `{"integration_key":"${secretKey}"}`;
    assert.equal(
      (await send(port, "POST", "/ws/direct", body)).status,
      200,
      "control: its clock is right",
    );
    setClockOff();
    const refused = await send(port, "POST", "/ws/direct", body);
    assert.deepEqual([refused.status, refused.headers["retry-after"] !== undefined], [503, true]);
    assert.match(envelope(refused).join(" "), /^COFRE-166 Not processed/);
    assert.equal((await send(port, "POST", "/ws/token", body)).status, 200);
    assert.equal((await send(port, "GET", "/readyz")).status, 503);
    assert.deepEqual(
      calls.map(({ path }) => path),
      ["/ws/direct", "/ws/token"],
    );
  });

  test("one connection has at most 32 places, and what it sends ahead beyond them is refused in its turn", async (t) => {
    const { port, server, openGate, calls } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    const ahead = `GET /ws/slow?integration_key=${secretKey} HTTP/1.1\r\nHost: x\r\n\r\n`;
    socket.write(ahead.repeat(100));
    await until("32 requests are under way", () => calls.length >= 32);
    // The control: another client is served meanwhile.
    assert.equal(
      (await send(port, "POST", "/ws/direct", `{"integration_key":"${secretKey}"}`)).status,
      200,
    );
    assert.deepEqual([server.inFlight, calls.length], [32, 33]);
    openGate();
    await until("100 requests are answered", () => text.split("HTTP/1.1 ").length >= 101);
    const statuses = Array.from(text.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status);
    assert.deepEqual(statuses, [
      ...Array<string>(32).fill("200"),
      ...Array<string>(68).fill("503"),
    ]);
    socket.write(ahead);
    await until("one more request is answered", () => text.split("HTTP/1.1 ").length >= 102);
    assert.match(
      text.slice(text.lastIndexOf("HTTP/1.1 ")),
      /^HTTP\/1\.1 200/,
      "the places are free again",
    );
    socket.destroy();
  });

  const behind = "GET /ws/open?behind HTTP/1.1\r\nHost: x\r\n\r\n";
  const unreadable: readonly (readonly [string, string, number])[] = [
    [
      "an expectation that nobody knows",
      `GET /ws/open HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n${behind}`,
      417,
    ],
    ["a request without a Host", `GET /ws/open HTTP/1.1\r\n\r\n${behind}`, 400],
    [
      "a request with two Hosts",
      `GET /ws/open HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n${behind}`,
      400,
    ],
    ["HTTP/0.9", `GET /ws/open HTTP/0.9\r\n\r\n${behind}`, 400],
    ["HTTP/2.0", `GET /ws/open HTTP/2.0\r\nHost: x\r\n\r\n${behind}`, 400],
    [
      "an unknown encoding",
      `POST /ws/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${behind}`,
      400,
    ],
    [
      "a chunk without a length",
      `POST /ws/open HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n${behind}`,
      400,
    ],
    ["a tunnel", `CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n${behind}`, 405],
  ];
  for (const [name, bytes, status] of unreadable) {
    test(`${name} is refused in JSON, the connection ends, and nothing behind it is run`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      const answer = await sendRaw(port, bytes);
      const [head = "", body = ""] = answer.split("\r\n\r\n");
      assert.ok(head.startsWith(`HTTP/1.1 ${status} `), answer);
      assert.match(head, /Connection: close/i);
      assert.match(head, /Content-Type: application\/json/i);
      assert.equal((JSON.parse(body) as { status: string }).status, "ERROR");
      assert.deepEqual(calls, []);
    });
  }

  test("control: HTTP/1.0 needs no Host", async (t) => {
    const { port } = await startTrivialServer(t);
    assert.match(await sendRaw(port, "GET /ws/open HTTP/1.0\r\n\r\n"), /^HTTP\/1\.1 200 /);
  });

  test("a client that sends requests and never reads is cut off, and does not keep its connection", async (t) => {
    const { port } = await startTrivialServer(t, { maxConnections: 1, stalledMs: 200 });
    const deaf = connect(port, "127.0.0.1").pause();
    t.after(() => deaf.destroy());
    deaf.on("error", () => undefined);
    await once(deaf, "connect");
    // More than the system buffers for a client that does not read.
    deaf.write("GET /ws/large HTTP/1.1\r\nHost: x\r\n\r\n".repeat(24));
    // Until this client is disconnected, there is no place for a second connection.
    await until("a second connection has a place", async () => {
      const answer = await sendRaw(
        port,
        "GET /ws/open HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
      );
      return answer.startsWith("HTTP/1.1 200 ");
    });
  });

  test("control: who waits for work that takes long is not cut off", async (t) => {
    const { port, calls, openGate } = await startTrivialServer(t, { stalledMs: 50 });
    const answer = send(port, "POST", "/ws/slow", `{"integration_key":"${secretKey}"}`);
    await until("the request is under way", () => calls.length > 0);
    // In the meantime an idle connection is closed twice.
    for (let time = 0; time < 2; time += 1) {
      const idle = connect(port, "127.0.0.1");
      idle.on("error", () => undefined).resume();
      await once(idle, "close");
    }
    openGate();
    assert.equal((await answer).status, 200);
  });

  test("a client that has ended its own side still receives the answer", async (t) => {
    const { port, calls, openGate } = await startTrivialServer(t);
    const body = `{"integration_key":"${secretKey}"}`;
    const socket = connect(port, "127.0.0.1");
    socket.end(
      `POST /ws/slow HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await once(socket, "finish");
    // The server has seen the end when it has answered a later client.
    await until("the request is under way", async () => {
      if (calls.length === 0) await send(port, "POST", "/ws/direct", "{}");
      return calls.length > 0;
    });
    await send(port, "POST", "/ws/direct", body);
    openGate();
    let reported = "";
    for await (const piece of socket) reported += String(piece);
    assert.match(reported, /^HTTP\/1\.1 200 [^]*"SUCCESS"/);
  });

  test("unfinished bodies have a bound together, and what they held is given back", async (t) => {
    const { port, events } = await startTrivialServer(t, { maxBodiesBytes: 1_000 });
    const slow = connect(port, "127.0.0.1");
    slow.write(
      `POST /ws/direct HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n${" ".repeat(990)}`,
    );
    const body = `{"integration_key":"${secretKey}"}`;
    let refused = await send(port, "POST", "/ws/direct", body);
    // The slow body may arrive second.
    await until("a request is refused", async () => {
      if (refused.status === 200) refused = await send(port, "POST", "/ws/direct", body);
      return refused.status !== 200;
    });
    assert.deepEqual([refused.status, envelope(refused)[0]], [503, "COFRE-12"]);
    assert.ok(events.some((event) => event.event === "overloaded" && event.limit === "bodies"));
    slow.destroy();
    await until("the unfinished request has ended", () =>
      events.some((event) => event.event === "request" && event.status === 499),
    );
    assert.equal((await send(port, "POST", "/ws/direct", body)).status, 200);
  });

  test("clients that send slowly take no places from others, and are forgotten when they leave", async (t) => {
    const { port, events, calls } = await startTrivialServer(t, { maxInFlight: 1 });
    const slow = Array.from({ length: 20 }, () => connect(port, "127.0.0.1"));
    for (const socket of slow)
      socket.write("POST /ws/direct HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    await Promise.all(slow.map((socket) => once(socket, "connect")));
    assert.equal(
      (await send(port, "POST", "/ws/direct", `{"integration_key":"${secretKey}"}`)).status,
      200,
    );
    for (const socket of slow) socket.destroy();
    await until("all have left", () => events.length > slow.length);
    assert.equal(
      events.filter((event) => event.event === "request" && event.status === 499).length,
      slow.length,
    );
    assert.equal(calls.length, 1);
  });
});
