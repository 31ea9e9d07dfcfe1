import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { InterimAnswers, maxInterimAnswers, skipInterimAnswers } from "./interim-answers.ts";

const final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const interim: readonly (readonly [string, string])[] = [
  ["100", "HTTP/1.1 100 Continue\r\n\r\n"],
  ["100 of HTTP/1.0, without a reason", "HTTP/1.0 100\r\n\r\n"],
  ["100 with a header", "HTTP/1.1 100 Continue\r\nServer: x\r\n\r\n"],
  ["102", "HTTP/1.1 102 Processing\r\n\r\n"],
  ["103", "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\nLink: </b>\r\n\r\n"],
  ["an unknown one", "HTTP/1.1 199 Patience\r\n\r\n"],
  [
    "several",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n",
  ],
  ["line feeds alone", "HTTP/1.1 100 Continue\n\n"],
];

/** The remainder of a text that arrives in these pieces. */
function left(pieces: readonly string[], answers = new InterimAnswers()): string {
  return pieces.map((piece) => answers.without(Buffer.from(piece))?.toString() ?? "").join("");
}

describe("interim answers", () => {
  for (const [name, text] of interim) {
    test(`are passed over, in one piece, in two and byte by byte: ${name}`, () => {
      const whole = text + final;
      assert.equal(left([whole]), final);
      for (let at = 0; at <= whole.length; at += 1)
        assert.equal(left([whole.slice(0, at), whole.slice(at)]), final, String(at));
      assert.equal(left(whole.split("")), final);
    });
  }

  for (const text of [
    final,
    "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    "HTTP/1.1 1x0 ?\r\n\r\n",
    "HTTP/2 100\r\n\r\n",
    "ICY 200 OK\r\n\r\n",
    "\r\n",
    "x",
  ]) {
    test(`control: what is none is left as it is: ${JSON.stringify(text.slice(0, 20))}`, () => {
      assert.equal(left([text]), text);
      assert.equal(left(text.split("")), text);
    });
  }

  test("are looked for in front of an answer alone, and again behind the next request", () => {
    const answers = new InterimAnswers();
    const body = "HTTP/1.1 100 Continue\r\n\r\n";
    assert.equal(left([final, body], answers), final + body);
    answers.begin();
    assert.equal(left([body, final], answers), final);
  });

  test("are a bounded number with heads of a bounded length", () => {
    const one = "HTTP/1.1 100 Continue\r\n\r\n";
    assert.equal(left([one.repeat(maxInterimAnswers) + final]), final);
    assert.equal(left([one.repeat(maxInterimAnswers + 1) + final]), one + final);
    const long = `HTTP/1.1 103 Early Hints\r\nLink: ${"a".repeat(20_000)}`;
    assert.equal(left([long]), long);
  });
});

describe("a connection on which a request is written in pieces", () => {
  /** A connection whose reads return the arrived pieces one by one. */
  function connection() {
    const arrived: Buffer[] = [];
    const socket = skipInterimAnswers({
      read: (): unknown => arrived.shift() ?? null,
      write: (...written: readonly unknown[]) => written.length > 0,
    });
    const readAll = (): string => {
      let text = "";
      for (let chunk = socket.read(); Buffer.isBuffer(chunk); chunk = socket.read())
        text += chunk.toString();
      return text;
    };
    return { socket, arrive: (text: string) => void arrived.push(Buffer.from(text)), readAll };
  }
  const heads: readonly (string | Buffer)[] = [
    "POST /hook HTTP/1.1\r\nhost: shop.example\r\n\r\n",
    Buffer.from("POST /hook HTTP/1.1\r\nhost: shop.example\r\n\r\n"),
  ];
  const continued = "HTTP/1.1 100 Continue\r\n\r\n";

  for (const head of heads) {
    // Writing the body discarded what had arrived, and the rest was not a valid answer.
    test(`keeps the beginning of an answer that arrives before the body is written: head as ${typeof head}`, () => {
      const { socket, arrive, readAll } = connection();
      for (const whole of [final, continued + final]) {
        for (let at = 0; at <= whole.length; at += 1) {
          socket.write(head);
          arrive(whole.slice(0, at));
          const before = readAll();
          socket.write("operation=payment_status_change");
          arrive(whole.slice(at));
          assert.equal(before + readAll(), final, `${whole.slice(0, 12)} ${at}`);
        }
      }
    });

    test(`leaves the body of an answer unchanged that looks like an interim answer: head as ${typeof head}`, () => {
      const { socket, arrive, readAll } = connection();
      const answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 25\r\n\r\n";
      socket.write(head);
      arrive(answer);
      assert.equal(readAll(), answer);
      socket.write(Buffer.from("operation=payment_status_change"));
      arrive(continued);
      assert.equal(readAll(), continued);
      socket.write(head);
      arrive(continued + final);
      assert.equal(readAll(), final, "control: the next request has interim answers again");
    });
  }
});
