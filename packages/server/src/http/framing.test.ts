import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { describe, test } from "node:test";
import { secretKey, sendRaw, startTrivialServer } from "../../test/support/trivial-server.ts";
import { framingAnswer, isBareOffer, UnreadableRequests, withoutOffer } from "./framing.ts";
import type { WireResponse } from "../wire/answers/answer.ts";
import { errorTable } from "../wire/errors/error-table.ts";
import { type FramingErrorKind, framingErrors } from "../wire/decode/framing-errors.ts";
import type { ErrorCode } from "../wire/errors/refusal.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";
import { until } from "../../test/until.ts";

const host = "Host: x\r\n";
const open = (query: string, headers = ""): string =>
  `GET /ws/open?${query} HTTP/1.1\r\n${host}${headers}\r\n`;
const chunked = (body: string): string =>
  `POST /ws/open HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${body}`;
const offer =
  "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";

interface Received {
  readonly status: number;
  readonly head: string;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** Every answer on a connection; each must be complete and JSON. */
function answersIn(text: string): readonly Received[] {
  const received: Received[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\r\n\r\n", at);
    const head = text.slice(at, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    const body = JSON.parse(text.slice(end + 4, end + 4 + length)) as Readonly<
      Record<string, string>
    >;
    received.push({
      status: Number(head.slice(9, 12)),
      head,
      code: body["status_code"],
      message: body["status_message"],
    });
    at = end + 4 + length;
  }
  return received;
}

const ask = async (port: number, bytes: string): Promise<readonly Received[]> =>
  answersIn(await sendRaw(port, Buffer.from(bytes, "latin1")));

describe("what is not a request", () => {
  const rows: readonly (readonly [name: string, bytes: string, code: ErrorCode, status: number])[] =
    [
      [
        "UTF-8 in the query",
        open("merchant_payment_code=pedido-\xc3\xb1"),
        framingErrors.address_unreadable,
        400,
      ],
      [
        "UTF-8 in the path",
        "GET /ws/op\xc3\xa9n HTTP/1.1\r\nHost: x\r\n\r\n",
        framingErrors.address_unreadable,
        400,
      ],
      [
        "a blank in the query",
        open("description=damaged box"),
        framingErrors.address_unreadable,
        400,
      ],
      [
        "an address without a slash",
        "GET ws/open HTTP/1.1\r\nHost: x\r\n\r\n",
        framingErrors.address_unreadable,
        400,
      ],
      [
        "a control character in a header",
        open("", "X: a\0b\r\n"),
        framingErrors.header_unreadable,
        400,
      ],
      [
        "a header name beyond ASCII",
        open("", "X\xc3: a\r\n"),
        framingErrors.header_unreadable,
        400,
      ],
      ["a header without its line end", open("", "X: a\n"), framingErrors.header_unreadable, 400],
      [
        "two lengths",
        `POST /ws/open HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`,
        framingErrors.length_unclear,
        400,
      ],
      [
        "a length and chunks",
        chunked("0\r\n\r\n").replace(host, `${host}Content-Length: 1\r\n`),
        framingErrors.length_unclear,
        400,
      ],
      ["a chunk without a length", chunked("zz\r\n"), framingErrors.length_unclear, 400],
      [
        "a chunk that is longer than it says",
        chunked("4\r\nhello\r\n0\r\n\r\n"),
        framingErrors.length_unclear,
        400,
      ],
      [
        "an encoding that is not chunked",
        chunked("").replace("chunked", "gzip"),
        framingErrors.length_unclear,
        400,
      ],
      [
        "an endless chunk extension",
        chunked(`5;${"a".repeat(40_000)}\r\nhello\r\n`),
        framingErrors.chunks_too_large,
        413,
      ],
      ["an address that is too long", open("a".repeat(20_000)), framingErrors.head_too_large, 431],
      ["too many headers", open("", "X: 1\r\n".repeat(4_000)), framingErrors.head_too_large, 431],
      [
        "trailers that are too long",
        chunked(`0\r\nT: ${"a".repeat(20_000)}\r\n\r\n`),
        framingErrors.head_too_large,
        431,
      ],
      ["half a head", "GET /ws/open HTTP/1.1\r\nHost:", framingErrors.cut_short, 400],
      [
        "half a body",
        `POST /ws/open HTTP/1.1\r\n${host}Content-Length: 9\r\n\r\na=b`,
        framingErrors.cut_short,
        400,
      ],
      ["no Host", "GET /ws/open HTTP/1.1\r\n\r\n", framingErrors.host_missing, 400],
      ["two Hosts", open("", "Host: y\r\n"), framingErrors.host_unclear, 400],
      ["one Host twice", open("", "hOST: x\r\n"), framingErrors.host_unclear, 400],
      [
        "two Hosts in HTTP/1.0",
        open("", "Host: y\r\n").replace("HTTP/1.1", "HTTP/1.0"),
        framingErrors.host_unclear,
        400,
      ],
      [
        "a second Host behind many headers",
        open("", `${"X:\r\n".repeat(900)}Host: y\r\n`),
        framingErrors.host_unclear,
        400,
      ],
      [
        "a second Host behind more headers than Node keeps",
        open("", `${"X:\r\n".repeat(3_000)}Host: y\r\n`),
        framingErrors.head_too_large,
        431,
      ],
      [
        "two Hosts in one header",
        open("").replace(host, "Host: x, y\r\n"),
        framingErrors.host_unclear,
        400,
      ],
      [
        "an address as Host",
        open("").replace(host, "Host: http://x/\r\n"),
        framingErrors.host_unclear,
        400,
      ],
      [
        "an expectation that nobody knows",
        open("", "Expect: tea\r\n"),
        framingErrors.unknown_expectation,
        417,
      ],
      ["HTTP/0.9", `GET /ws/open HTTP/0.9\r\n\r\n`, framingErrors.not_http, 400],
      [
        "HTTP/2.0 that is written like 1.1",
        `GET /ws/open HTTP/2.0\r\n${host}\r\n`,
        framingErrors.not_http,
        400,
      ],
      ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", framingErrors.not_http, 400],
      ["another protocol", "SSH-2.0-OpenSSH_9.0\r\n", framingErrors.not_http, 400],
      [
        "a method that HTTP does not have",
        `SMUGGLE /ws/open HTTP/1.1\r\n${host}\r\n`,
        framingErrors.not_http,
        400,
      ],
      ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", framingErrors.tls_unexpected, 400],
      ["a tunnel", `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`, requestErrors.method_not_allowed, 405],
    ];
  for (const [name, bytes, code, status] of rows) {
    test(`gets the reason, and the connection ends: ${name}`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      const [answer, ...others] = await ask(port, bytes);
      assert.deepEqual(
        [answer?.status, answer?.code, answer?.message, others, calls],
        [status, code, errorTable[code].message, [], []],
      );
      assert.match(answer?.head ?? "", /connection: close/i);
    });
  }

  test("leaves one line in the access log, with the code and nothing of what was sent", async (t) => {
    const { port, events } = await startTrivialServer(t);
    await ask(port, open("merchant_payment_code=pedido-\xc3\xb1"));
    const code = framingErrors.address_unreadable;
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
  });

  for (const name of [
    "",
    "x",
    "x:8080",
    "my_shop.example.com.:80",
    "127.0.0.1:8080",
    "[::1]:8080",
    "xn--caf-dma.example",
    "caf%C3%A9",
  ]) {
    test(`control: a Host is "${name}"`, async (t) => {
      const { port } = await startTrivialServer(t);
      const [answer] = await ask(port, open("").replace(host, `Host: ${name}\r\n`));
      assert.equal(answer?.status, 200);
    });
  }

  test("control: what is percent-encoded, and UTF-8 in a header's value, are read", async (t) => {
    const { port } = await startTrivialServer(t);
    const [answer] = await ask(port, open("a=%C3%B1", "X: \xc3\xb1\r\n"));
    assert.equal(answer?.status, 200);
  });
});

describe("what Node's parser gives up on", () => {
  /** The server's end of a connection without HTTP, and everything that its client receives. */
  async function connection(
    t: test.TestContext,
    sent = "G",
  ): Promise<{ readonly socket: Socket; readonly received: Promise<string> }> {
    const server = createServer({ allowHalfOpen: true });
    t.after(() => server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as { readonly port: number };
    const client = connect(port, "127.0.0.1");
    const [socket] = (await once(server, "connection")) as [Socket];
    if (sent !== "") {
      client.write(sent);
      await once(socket, "data");
    }
    t.after(() => [client, socket].map((each) => each.destroy()));
    client.on("error", () => undefined);
    let text = "";
    client.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    return { socket, received: once(client, "close").then(() => text) };
  }

  const failure = (code: string | undefined, rawPacket?: unknown): Error =>
    Object.assign(new Error("unreadable"), { code, rawPacket });
  const hello = Buffer.from([0x16, 0x03]);

  const rows: readonly (readonly [
    code: string | undefined,
    kind: FramingErrorKind,
    rawPacket?: unknown,
    encrypted?: boolean,
  ])[] = [
    ["ERR_HTTP_REQUEST_TIMEOUT", "too_slow"],
    ["HPE_HEADER_OVERFLOW", "head_too_large"],
    ["HPE_STRICT", "header_unreadable"],
    ["HPE_CR_EXPECTED", "header_unreadable"],
    ["HPE_LF_EXPECTED", "header_unreadable"],
    ["HPE_INVALID_CONTENT_LENGTH", "length_unclear"],
    ["HPE_INVALID_HEADER_TOKEN", "header_unreadable", hello],
    ["HPE_INVALID_METHOD", "tls_unexpected", hello],
    ["HPE_INVALID_METHOD", "tls_unexpected", hello, false],
    ["HPE_INVALID_METHOD", "not_http", hello, true],
    ["HPE_INVALID_METHOD", "not_http", Buffer.from("SSH")],
    ["HPE_INVALID_METHOD", "not_http", [0x16]],
    ["HPE_INVALID_METHOD", "not_http"],
    [undefined, "not_http"],
  ];
  for (const [code, kind, rawPacket, encrypted] of rows) {
    const over = encrypted === undefined ? "" : encrypted ? ", by TLS" : ", without TLS";
    test(`is reported once, and the connection ends: ${code ?? "no code"} is ${kind}${over}`, async (t) => {
      const { socket, received } = await connection(t);
      if (encrypted !== undefined) Reflect.set(socket, "encrypted", encrypted);
      const reported: WireResponse[] = [];
      const unreadable = new UnreadableRequests((answer) => void reported.push(answer));
      for (let time = 0; time < 2; time += 1) unreadable.handle(failure(code, rawPacket), socket);
      const text = await received;
      const [answer, ...others] = answersIn(text);
      const { status } = framingAnswer(kind);
      assert.deepEqual([answer?.code, answer?.status, others], [framingErrors[kind], status, []]);
      assert.match(
        text,
        /^HTTP\/1\.1 \d{3} [A-Z][A-Za-z ]+\r\nContent-Type: application\/json; charset=utf-8\r\nLink: <\/docs\/errors#COFRE-\d+>; rel="help"\r\nContent-Length: /,
      );
      assert.deepEqual(
        reported.map((each) => each.code),
        [framingErrors[kind]],
      );
    });
  }

  test("of a connection without a request in time is not reported: an answer would be taken for that of its first request", async (t) => {
    const { socket, received } = await connection(t, "");
    const unreadable = new UnreadableRequests(() => assert.fail("reported"));
    unreadable.handle(failure("ERR_HTTP_REQUEST_TIMEOUT"), socket);
    assert.deepEqual([socket.destroyed, await received], [true, ""]);
  });

  test("of a connection that was reset is not reported", async (t) => {
    const { socket, received } = await connection(t);
    const unreadable = new UnreadableRequests(() => assert.fail("reported"));
    unreadable.handle(failure("ECONNRESET"), socket);
    assert.equal(socket.destroyed, true);
    assert.equal(await received, "");
  });

  test("of a connection that has said its last word is closed, once that is out", async (t) => {
    const { socket, received } = await connection(t);
    const unreadable = new UnreadableRequests(() => assert.fail("reported"));
    socket.end("last");
    await once(socket, "finish");
    unreadable.handle(failure("HPE_INVALID_METHOD"), socket);
    assert.equal(socket.destroyed, true);
    assert.equal(await received, "last");
  });

  test("of a connection whose last answer is not sent yet is left to that answer", async (t) => {
    const { socket, received } = await connection(t);
    const unreadable = new UnreadableRequests(() => assert.fail("reported"));
    socket.end("last");
    unreadable.handle(failure("HPE_INVALID_METHOD"), socket);
    assert.equal(socket.destroyed, false);
    assert.equal(await received, "last");
  });
});

describe("an answer that is under way", () => {
  const sale = `{"integration_key":"${secretKey}"}`;
  const slow = (headers: string): string =>
    `POST /ws/slow HTTP/1.1\r\n${host}Content-Length: ${sale.length}\r\n${headers}\r\n${sale}`;

  /** Sends a sale followed by further bytes, and receives everything until the end. */
  async function sellWith(
    t: test.TestContext,
    headers: string,
    behind: string,
  ): Promise<readonly Received[]> {
    const { port, calls, openGate } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.write(slow(headers) + behind);
    await until("the sale is under way", () => calls.length > 0);
    openGate();
    await once(socket, "end");
    socket.destroy();
    return answersIn(text);
  }

  test("is not overtaken by the refusal of a tunnel behind it", async (t) => {
    const answers = await sellWith(t, "", `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 405],
    );
  });

  test("is not overtaken by an offer of another protocol behind it", async (t) => {
    const answers = await sellWith(
      t,
      "",
      open("a=1", offer) + open("b=1", "Connection: close\r\n"),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
  });
});

describe("a body whose end is not clear", () => {
  const form = `integration_key=${secretKey}&hash=a&amount=40.00`;
  const json = `{"integration_key":"${secretKey}","name":"Jos\xc3\xa9"}`;
  const post = (version: string, headers: string, body: string): string =>
    `POST /ws/capture HTTP/${version}\r\n${host}${headers}\r\n${body}`;
  const query = `POST /ws/capture?integration_key=${secretKey}&hash=a HTTP/1.1\r\n${host}`;
  const chunks = `${form.length.toString(16)}\r\n${form}\r\n0\r\n\r\n`;
  const coded = (coding: string): string => `Transfer-Encoding: ${coding}\r\n`;
  const rows: readonly (readonly [name: string, bytes: string])[] = [
    ["HTTP/1.0 without a length", post("1.0", "", form)],
    [
      "HTTP/1.0 without a length, keeping the connection",
      post("1.0", "Connection: keep-alive\r\n", form),
    ],
    ["HTTP/1.0 without a length and without a body", post("1.0", "", "")],
    ["HTTP/1.0 in chunks", post("1.0", coded("chunked"), chunks)],
    ["HTTP/1.0 in chunks, by GET", post("1.0", coded("chunked"), chunks).replace("POST", "GET")],
    ["HTTP/1.0 by GET, without a length", post("1.0", "", form).replace("POST", "GET")],
    ["HTTP/1.1 without a length", query + `\r\namount=40.00`],
    ["HTTP/1.1 without a length, as JSON", query + `\r\n{"amount":"40.00"}`],
    [
      "HTTP/1.1 without a length, at the connection's end",
      query + `Connection: close\r\n\r\namount=40.00`,
    ],
    ["HTTP/1.1 by GET, without a length", (query + `\r\namount=40.00`).replace("POST", "GET")],
    ["HTTP/1.1 with a length of zero", query + `Content-Length: 0\r\n\r\namount=40.00`],
    [
      "a form longer than its length, which would capture 4.00",
      post("1.1", `Content-Length: ${form.length - 4}\r\n`, form),
    ],
    [
      "JSON with a length in characters",
      post("1.1", `Content-Length: ${json.length - 1}\r\n`, json),
    ],
    [
      "a body longer than its length, at the connection's end",
      post("1.1", `Connection: close\r\nContent-Length: ${form.length - 4}\r\n`, form),
    ],
    [
      "HTTP/1.0, and a body longer than its length",
      post("1.0", `Content-Length: ${form.length - 4}\r\n`, form),
    ],
    ["more behind the last chunk", post("1.1", coded("chunked"), `${chunks}amount=40.00`)],
    ...[
      "identity, chunked",
      "gzip, chunked",
      "chunked, chunked",
      "deflate,chunked",
      "identity",
      ", chunked",
      "chunked;q=1",
    ].map((coding) => [`the coding ${coding}`, post("1.1", coded(coding), chunks)] as const),
    ["a coding in a second header", post("1.1", coded("gzip") + coded("chunked"), chunks)],
    ["chunked twice", post("1.1", coded("chunked") + coded("chunked"), chunks)],
  ];
  for (const [name, bytes] of rows) {
    test(`is refused with 400, nothing is run, and the connection ends: ${name}`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      const [answer, ...others] = await ask(port, bytes);
      assert.deepEqual(
        [answer?.status, answer?.code, others, calls],
        [400, framingErrors.length_unclear, [], []],
      );
      assert.match(answer?.head ?? "", /connection: close/i);
    });
  }

  const sound: readonly (readonly [name: string, bytes: string])[] = [
    ["HTTP/1.0 with a length", post("1.0", `Content-Length: ${form.length}\r\n`, form)],
    [
      "HTTP/1.0 with a length, and a line end behind it",
      post("1.0", `Content-Length: ${form.length}\r\n`, `${form}\r\n`),
    ],
    [
      "HTTP/1.1 with a length, and a line end behind it",
      post("1.1", `Content-Length: ${form.length}\r\nConnection: close\r\n`, `${form}\r\n`),
    ],
    ["HTTP/1.1 in chunks", post("1.1", coded(" CHUNKED "), chunks)],
    ["a POST with everything in its address", `${query}\r\n`],
    ["HTTP/1.0 by GET", `GET /ws/capture?integration_key=${secretKey}&hash=a HTTP/1.0\r\n\r\n`],
  ];
  test("control: of several requests in one piece only the last one may have more behind it", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const whole = post("1.1", `Content-Length: ${form.length}\r\n`, form);
    const answers = await ask(port, `${whole}${open("a=1")}${whole}rest`);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 400],
    );
    assert.equal(calls.length, 2);
  });

  for (const [name, bytes] of sound) {
    test(`control: is read: ${name}`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      const answers = await ask(port, bytes);
      assert.deepEqual([answers.map(({ status }) => status), calls.length], [[200], 1]);
    });
  }
});

// Regression: such a request was run with an empty body, and its body, which arrived in a separate
// segment, was run as the next request.
describe("a POST without a length", () => {
  const query = `integration_key=${secretKey}&hash=a`;
  const head = (target: string, headers = "", version = "1.1"): string =>
    `POST ${target} HTTP/${version}\r\n${host}${headers}\r\n`;
  const later = "hash=a&amount=40.00";
  const nextRequest = `GET /ws/capture?${query} HTTP/1.1\r\n${host}\r\n`;

  /** Sends the first part, and the second after the first was answered or run. */
  async function sendApart(
    port: number,
    first: string,
    second: string,
  ): Promise<readonly Received[]> {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    const ended = once(socket, "close");
    socket.write(first);
    await once(socket, "data");
    socket.write(second);
    await ended;
    // Node answers an expectation before the server's code sees the request.
    return answersIn(text.replace("HTTP/1.1 100 Continue\r\n\r\n", ""));
  }

  const type = "Content-Type: application/x-www-form-urlencoded\r\n";
  const refused: readonly (readonly [name: string, head: string])[] = [
    ["without a query", head("/ws/capture")],
    ["with an empty query", head("/ws/capture?")],
    ["with a query and a type", head(`/ws/capture?${query}`, type)],
    [
      "with a query and a type, at the connection's end",
      head(`/ws/capture?${query}`, `${type}Connection: close\r\n`),
    ],
    [
      "with a query and a coding of the content",
      head(`/ws/capture?${query}`, "Content-Encoding: identity\r\n"),
    ],
    ["that waits for 100 Continue", head(`/ws/capture?${query}`, "Expect: 100-continue\r\n")],
    ["of a charge, as JSON", head("/ws/direct", "Content-Type: application/json\r\n")],
    ["to a path in capitals, with two slashes", head("//WS/capture")],
    ["to a whole address", head("http://x/ws/capture")],
    ["to a path that does not exist", head("/ws/nothing")],
    ["that offers another protocol", head("/ws/capture", offer)],
  ];
  for (const [name, bytes] of refused) {
    for (const [what, behind] of [
      ["its body", later],
      ["another request", nextRequest],
    ] as const) {
      test(`is refused with 411, nothing is run, and the connection ends: ${name}, and ${what} comes later`, async (t) => {
        const { port, calls } = await startTrivialServer(t);
        const [answer, ...others] = await sendApart(port, bytes, behind);
        assert.deepEqual(
          [answer?.status, answer?.code, others, calls],
          [411, framingErrors.length_missing, [], []],
        );
        assert.match(answer?.head ?? "", /connection: close/i);
      });
    }
  }

  for (const [what, behind] of [
    ["a body", later],
    ["another request", nextRequest],
  ] as const) {
    test(`is run with the fields of its address alone, as curl sends it, and what comes later is not run: ${what}`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      const [answer, ...others] = await sendApart(port, head(`/ws/capture?${query}`), behind);
      assert.deepEqual([answer?.status, others, calls.length], [200, [], 1]);
      assert.match(answer?.head ?? "", /connection: close/i);
    });
  }

  test("control: with a length of zero the connection is kept, and the next request is run", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const first = head(`/ws/capture?${query}`, "Content-Length: 0\r\n");
    const answers = await sendApart(
      port,
      first,
      nextRequest.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n"),
    );
    assert.deepEqual([answers.map(({ status }) => status), calls.length], [[200, 200], 2]);
  });

  test("control: is answered as before outside the interface, where no money moves", async (t) => {
    const { port } = await startTrivialServer(t);
    const [answer] = await ask(port, head("/elsewhere"));
    assert.equal(answer?.status, 404);
  });
});

describe("an offer of another protocol", () => {
  test("is rewritten only when nothing behind its head could be its body", () => {
    const isBare = (headers: Readonly<Record<string, string>>): boolean =>
      isBareOffer({ headers } as unknown as IncomingMessage);
    assert.equal(isBare({ upgrade: "h2c" }), true);
    assert.equal(isBare({ upgrade: "" }), true);
    assert.equal(isBare({}), false);
    assert.equal(isBare({ upgrade: "h2c", "content-length": "0" }), false);
    assert.equal(isBare({ upgrade: "h2c", "transfer-encoding": "chunked" }), false);
  });

  test("is rewritten byte for byte, without the offer and with what came behind", () => {
    const rawHeaders = [
      "Host",
      "x",
      "UPGRADE",
      "h2c",
      "Upgrade",
      "websocket",
      "X-Name",
      "Jos\xe9",
      "X-Name",
      "upgrade",
      "Empty",
      "",
    ];
    const request = {
      method: "POST",
      url: "/ws/open?a=1",
      httpVersion: "1.1",
      rawHeaders,
    } as unknown as IncomingMessage;
    assert.equal(
      withoutOffer(request, Buffer.from("GET behind \xff", "latin1")).toString("latin1"),
      "POST /ws/open?a=1 HTTP/1.1\r\nHost: x\r\nX-Name: Jos\xe9\r\nX-Name: upgrade\r\nEmpty: \r\n\r\nGET behind \xff",
    );
  });

  async function waitFor(socket: Socket, count: number): Promise<readonly Received[]> {
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    await until(`${count} requests are answered`, () => text.split("HTTP/1.1 ").length > count);
    return answersIn(text);
  }

  test("is not taken: it is answered like any request, and so is what came with it in one piece", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write(open("a=1", offer) + open("b=1", offer) + open("c=1"));
    const answers = await waitFor(socket, 3);
    assert.ok(
      answers.every(({ status, head }) => status === 200 && !/connection: close/i.test(head)),
    );
    assert.deepEqual(
      calls.map(({ request }) => Object.keys(request.params)),
      [["a"], ["b"], ["c"]],
    );
  });

  test("may be made on one connection as often as one likes", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): unknown => warnings.push(name);
    process.on("warning", onWarning);
    t.after(() => process.off("warning", onWarning));
    for (let time = 0; time < 50; time += 1) {
      socket.write(open("a=1", offer));
      await once(socket, "data");
    }
    assert.deepEqual([calls.length, warnings], [50, []]);
  });

  test("with a body is answered, and the client learns that nothing behind it is", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const [answer, ...others] = await ask(
      port,
      `POST /ws/open HTTP/1.1\r\n${host}${offer}Content-Length: 3\r\n\r\na=b${open("behind=1")}`,
    );
    assert.equal(answer?.status, 200);
    assert.match(answer?.head ?? "", /connection: close/i);
    assert.deepEqual([others, calls.length], [[], 1]);
  });

  test("does not outlive a stop", async (t) => {
    const { port, server } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    socket.write(open("a=1", offer));
    await once(socket, "data");
    const ended = once(socket, "close");
    socket.on("error", () => undefined);
    await server.close();
    await ended;
  });
});
