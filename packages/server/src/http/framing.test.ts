import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, test } from "node:test";
import { secretKey, sendRaw, startTrivialServer } from "../../test/fuzz/trivial-server.ts";
import { framingErrors } from "./wire/framing-errors.ts";
import { requestErrors } from "./wire/request-errors.ts";

const host = "Host: x\r\n";
const open = (query: string, headers = ""): string => `GET /ws/open?${query} HTTP/1.1\r\n${host}${headers}\r\n`;
const chunked = (body: string): string => `POST /ws/open HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\n${body}`;
const offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n";

interface Heard {
  readonly status: number;
  readonly head: string;
  readonly code: string | undefined;
  readonly message: string | undefined;
}

/** Every answer of a connection; each must be whole and JSON. */
function answersIn(text: string): readonly Heard[] {
  const heard: Heard[] = [];
  for (let at = 0; at < text.length;) {
    const end = text.indexOf("\r\n\r\n", at);
    const head = text.slice(at, end);
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
    const body = JSON.parse(text.slice(end + 4, end + 4 + length)) as Readonly<Record<string, string>>;
    heard.push({ status: Number(head.slice(9, 12)), head, code: body["status_code"], message: body["status_message"] });
    at = end + 4 + length;
  }
  return heard;
}

const ask = async (port: number, bytes: string): Promise<readonly Heard[]> => answersIn(await sendRaw(port, Buffer.from(bytes, "latin1")));

describe("what is no request", () => {
  const { method_not_allowed: tunnel } = requestErrors;
  const rows: readonly (readonly [
    name: string,
    bytes: string,
    error: { readonly code: string; readonly message: string },
    status: number,
  ])[] = [
    ["UTF-8 in the query", open("merchant_payment_code=pedido-\xc3\xb1"), framingErrors.address_unreadable, 400],
    ["UTF-8 in the path", "GET /ws/op\xc3\xa9n HTTP/1.1\r\nHost: x\r\n\r\n", framingErrors.address_unreadable, 400],
    ["a blank in the query", open("description=damaged box"), framingErrors.address_unreadable, 400],
    ["an address without a slash", "GET ws/open HTTP/1.1\r\nHost: x\r\n\r\n", framingErrors.address_unreadable, 400],
    ["a control character in a header", open("", "X: a\0b\r\n"), framingErrors.header_unreadable, 400],
    ["a header name beyond ASCII", open("", "X\xc3: a\r\n"), framingErrors.header_unreadable, 400],
    ["a header without its line end", open("", "X: a\n"), framingErrors.header_unreadable, 400],
    ["two lengths", `POST /ws/open HTTP/1.1\r\n${host}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`, framingErrors.length_unclear, 400],
    ["a length and chunks", chunked("0\r\n\r\n").replace(host, `${host}Content-Length: 1\r\n`), framingErrors.length_unclear, 400],
    ["a chunk without a length", chunked("zz\r\n"), framingErrors.length_unclear, 400],
    ["a chunk that is longer than it says", chunked("4\r\nhello\r\n0\r\n\r\n"), framingErrors.length_unclear, 400],
    ["an encoding that is not chunked", chunked("").replace("chunked", "gzip"), framingErrors.length_unclear, 400],
    ["an endless chunk extension", chunked(`5;${"a".repeat(40_000)}\r\nhello\r\n`), framingErrors.chunks_too_large, 413],
    ["an address that is too long", open("a".repeat(20_000)), framingErrors.head_too_large, 431],
    ["too many headers", open("", "X: 1\r\n".repeat(4_000)), framingErrors.head_too_large, 431],
    ["trailers that are too long", chunked(`0\r\nT: ${"a".repeat(20_000)}\r\n\r\n`), framingErrors.head_too_large, 431],
    ["half a head", "GET /ws/open HTTP/1.1\r\nHost:", framingErrors.cut_short, 400],
    ["half a body", `POST /ws/open HTTP/1.1\r\n${host}Content-Length: 9\r\n\r\na=b`, framingErrors.cut_short, 400],
    ["no Host", "GET /ws/open HTTP/1.1\r\n\r\n", framingErrors.host_missing, 400],
    ["two Hosts", open("", "Host: y\r\n"), framingErrors.host_unclear, 400],
    ["one Host twice", open("", "hOST: x\r\n"), framingErrors.host_unclear, 400],
    ["two Hosts in HTTP/1.0", open("", "Host: y\r\n").replace("HTTP/1.1", "HTTP/1.0"), framingErrors.host_unclear, 400],
    ["a second Host behind many headers", open("", `${"X:\r\n".repeat(900)}Host: y\r\n`), framingErrors.host_unclear, 400],
    ["two Hosts in one header", open("").replace(host, "Host: x, y\r\n"), framingErrors.host_unclear, 400],
    ["an address as Host", open("").replace(host, "Host: http://x/\r\n"), framingErrors.host_unclear, 400],
    ["an expectation that nobody knows", open("", "Expect: tea\r\n"), framingErrors.unknown_expectation, 417],
    ["HTTP/0.9", `GET /ws/open HTTP/0.9\r\n\r\n`, framingErrors.not_http, 400],
    ["HTTP/2.0 that is written like 1.1", `GET /ws/open HTTP/2.0\r\n${host}\r\n`, framingErrors.not_http, 400],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", framingErrors.not_http, 400],
    ["another protocol", "SSH-2.0-OpenSSH_9.0\r\n", framingErrors.not_http, 400],
    ["a method that HTTP does not have", `SMUGGLE /ws/open HTTP/1.1\r\n${host}\r\n`, framingErrors.not_http, 400],
    ["TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", framingErrors.tls_unexpected, 400],
    ["a tunnel", `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`, tunnel, 405],
  ];
  for (const [name, bytes, { code, message }, status] of rows) {
    test(`is told what is wrong, and the connection ends: ${name}`, async (t) => {
      const { port, calls } = await startTrivialServer(t);
      const [answer, ...others] = await ask(port, bytes);
      assert.deepEqual([answer?.status, answer?.code, answer?.message, others, calls], [status, code, message, [], []]);
      assert.match(answer?.head ?? "", /connection: close/i);
    });
  }

  test("leaves one line in the access log, with the code and nothing of what was sent", async (t) => {
    const { port, events } = await startTrivialServer(t);
    await ask(port, open("merchant_payment_code=pedido-\xc3\xb1"));
    const { code } = framingErrors.address_unreadable;
    assert.deepEqual(events, [
      { event: "request", method: "other", path: "unknown", status: 400, code, merchantId: undefined, durationMs: 0 },
    ]);
  });

  for (const name of ["", "x", "x:8080", "my_shop.example.com.:80", "127.0.0.1:8080", "[::1]:8080", "xn--caf-dma.example", "caf%C3%A9"]) {
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

describe("an answer that is under way", () => {
  const sale = `{"integration_key":"${secretKey}"}`;
  const slow = (headers: string): string => `POST /ws/slow HTTP/1.1\r\n${host}Content-Length: ${sale.length}\r\n${headers}\r\n${sale}`;

  /** Sends a sale with something behind it, and hears everything until the end. */
  async function sellWith(t: test.TestContext, headers: string, behind: string): Promise<readonly Heard[]> {
    const { port, calls, openGate } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    socket.write(slow(headers) + behind);
    while (calls.length === 0) await new Promise((resolve) => void setImmediate(resolve));
    // More of it comes later, while the sale is still under way.
    socket.write("more\r\n");
    await new Promise((resolve) => void setTimeout(resolve, 20));
    openGate();
    await once(socket, "end");
    socket.destroy();
    return answersIn(text);
  }

  test("is not lost when the body was longer than its length, as of clients that count characters", async (t) => {
    const answers = await sellWith(t, "", '"}');
    assert.deepEqual(
      answers.map(({ status, code }) => [status, code]),
      [
        [200, undefined],
        [400, framingErrors.not_http.code],
      ],
    );
  });

  test("is not overtaken by what is told of a tunnel behind it", async (t) => {
    const answers = await sellWith(t, "", `CONNECT x:1 HTTP/1.1\r\n${host}\r\n`);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 405],
    );
  });

  test("is not overtaken by an offer of another protocol behind it", async (t) => {
    const answers = await sellWith(t, "", open("a=1", offer) + open("b=1", "Connection: close\r\n"));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
  });

  test("is not lost when that client also says that it sends nothing else", async (t) => {
    const answers = await sellWith(t, "Connection: close\r\n", '"}');
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200],
    );
  });
});

describe("an offer of another protocol", () => {
  async function waitFor(socket: Socket, count: number): Promise<readonly Heard[]> {
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    while (text.split("HTTP/1.1 ").length <= count) await once(socket, "data");
    return answersIn(text);
  }

  test("is not taken: it is answered like any request, and so is what came with it in one piece", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write(open("a=1", offer) + open("b=1", offer) + open("c=1"));
    const answers = await waitFor(socket, 3);
    assert.ok(answers.every(({ status, head }) => status === 200 && !/connection: close/i.test(head)));
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

  test("with a body is answered, and the client told that nothing behind it is", async (t) => {
    const { port, calls } = await startTrivialServer(t);
    const [answer, ...others] = await ask(port, `POST /ws/open HTTP/1.1\r\n${host}${offer}Content-Length: 3\r\n\r\na=b${open("behind=1")}`);
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
