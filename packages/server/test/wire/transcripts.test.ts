import assert from "node:assert/strict";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { startTestServer } from "../server.ts";

/**
 * Conversations with the whole server, byte for byte. A transcript is a text file:
 *
 *     == the fact that it pins
 *     >>>
 *     the request: head, blank line, body
 *     <<<
 *     the answer: head without Date, blank line, body
 *
 * Header lines end in CR LF on the wire; a body is sent unchanged, without the line end before the
 * next mark. `{hash}` and `{token}` in a request are replaced with those of the latest answer that
 * had one. A minute passes after each exchange and random numbers come from a seed, so everything
 * else is the same in every run. For /__cofre/settings only the status is compared: its answer
 * grows with every setting. COFRE_UPDATE_TRANSCRIPTS=1 rewrites the answers: review the difference
 * before you keep it.
 */
const directory = join(import.meta.dirname, "transcripts");
const minuteMs = 60_000;
const isUpdating = process.env["COFRE_UPDATE_TRANSCRIPTS"] === "1";

interface Exchange {
  readonly fact: string;
  readonly request: string;
  readonly answer: string;
}

function parse(text: string): {
  readonly preface: string;
  readonly exchanges: readonly Exchange[];
} {
  const [preface = "", ...blocks] = text.split(/^== /m);
  const exchanges = blocks.map((block) => {
    const match = /^(?<fact>[^\n]+)\n>>>\n(?<request>[^]*?)\n<<<\n(?<answer>[^]*?)\n*$/.exec(block);
    assert.ok(match?.groups !== undefined, "an exchange has a fact, a request and an answer");
    const { fact = "", request = "", answer = "" } = match.groups;
    return { fact, request, answer };
  });
  return { preface, exchanges };
}

function print(preface: string, exchanges: readonly Exchange[]): string {
  return (
    preface +
    exchanges
      .map(({ fact, request, answer }) => `== ${fact}\n>>>\n${request}\n<<<\n${answer}\n`)
      .join("\n")
  );
}

/** The bytes that are sent. */
function bytesOf(request: string): Buffer {
  const end = request.indexOf("\n\n");
  const [head, body] =
    end < 0 ? [request.trimEnd(), ""] : [request.slice(0, end), request.slice(end + 2)];
  const bytes = Buffer.from(body);
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  if (length !== undefined)
    assert.equal(Number(length), bytes.length, `Content-Length of ${head.split("\n")[0] ?? ""}`);
  return Buffer.concat([Buffer.from(`${head.replaceAll("\n", "\r\n")}\r\n\r\n`), bytes]);
}

function converse(port: number, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, "127.0.0.1", () => socket.write(request));
    socket.on("data", (chunk: Buffer) => chunks.push(chunk));
    socket.on("end", () => {
      resolve(Buffer.concat(chunks).toString());
    });
    socket.on("error", reject);
  });
}

/** The answer as transcripts contain it. */
function shown(raw: string): string {
  const interim = /^HTTP\/1\.1 1\d\d [^\r]*\r\n\r\n/.exec(raw)?.[0] ?? "";
  const final = raw.slice(interim.length);
  const end = final.indexOf("\r\n\r\n");
  const head = final.slice(0, end).split("\r\n");
  const lines = [...head.filter((line) => !line.startsWith("Date: ")), "", final.slice(end + 4)];
  return interim.replaceAll("\r\n", "\n") + lines.join("\n");
}

describe("transcripts", () => {
  const names = readdirSync(directory).filter((name) => name.endsWith(".txt"));

  test("there is one for each encoding of interface 1.1", () => {
    for (const number of [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) {
      const prefix = `e${String(number).padStart(2, "0")}-`;
      assert.ok(
        names.some((name) => name.startsWith(prefix)),
        prefix,
      );
    }
  });

  for (const name of names) {
    const file = join(directory, name);
    const { preface, exchanges } = parse(readFileSync(file, "utf8"));
    test(`${name}: ${exchanges.map(({ fact }) => fact).join("; ")}`, async () => {
      await using server = await startTestServer({ seed: name });
      const found: Record<string, string> = {};
      const received: Exchange[] = [];
      for (const exchange of exchanges) {
        const request = exchange.request.replace(
          /\{(hash|token)\}/g,
          (whole, kind: string) => found[kind] ?? whole,
        );
        const whole = shown(await converse(server.port, bytesOf(request)));
        const answer = /^\S+ \/__cofre\/settings/.test(request)
          ? (whole.split("\n", 1)[0] ?? "")
          : whole;
        for (const [, kind = "", value = ""] of answer.matchAll(/"(hash|token)":"([\w-]+)"/g))
          found[kind] = value;
        received.push({ ...exchange, answer });
        server.clock.advance(minuteMs);
        if (!isUpdating) assert.equal(answer, exchange.answer, exchange.fact);
      }
      if (isUpdating) writeFileSync(file, print(preface, received));
    });
  }
});
