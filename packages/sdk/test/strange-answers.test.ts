import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, test } from "node:test";
import { Cofre, type CofreConnectionError } from "../src/index.ts";

/* Answers that come from proxies and broken servers, over real sockets. */

const good = JSON.stringify({
  status: "SUCCESS",
  currency_rate: { code: "USD", base_code: "BRL", name: "Real to US Dollar", rate: "5.4" },
});
/** Answers of the next requests; afterwards a good one. */
let answers: ((response: ServerResponse) => void)[] = [];
let received = 0;
const server = createServer((request, response) => {
  received += 1;
  request.resume().on("end", () => {
    const answer = answers.shift();
    if (answer === undefined) response.end(good);
    else answer(response);
  });
});
const now = Date.UTC(2026, 10, 30, 12);
const waits: number[] = [];
let client: Cofre;

before(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  client = new Cofre({
    url: `http://127.0.0.1:${port}/prefix/`,
    integrationKey: "key",
    maxAttempts: 3,
    runtime: {
      now: () => now,
      after(ms, run) {
        if (ms < 31_000) waits.push(ms);
        const timer = setTimeout(run, ms < 31_000 ? 0 : ms);
        return () => clearTimeout(timer);
      },
      random: () => 0,
    },
  });
});
beforeEach(() => {
  [answers, received, waits.length] = [[], 0, 0];
});
after(() => {
  server.closeAllConnections();
  server.close();
});

const exchange = (): Promise<unknown> => client.exchange({ currency: "USD" });

function answerWith(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
  return (response: ServerResponse): void => void response.writeHead(status, headers).end(body);
}

const overloaded = JSON.stringify({
  status: "ERROR",
  status_code: "COFRE-12",
  status_message: "Too many requests are in progress, try again later",
});

describe("an answer", () => {
  test("of a proxy or cut in its middle is followed by another attempt", async () => {
    const strange = [
      answerWith(502, "<html>Bad Gateway</html>"),
      answerWith(200, "<html>Welcome</html>"),
      answerWith(200, "[]"),
      answerWith(200, "null"),
      answerWith(200, ""),
      answerWith(204, ""),
      answerWith(200, '{"status":"ERROR"}'),
      answerWith(200, '{"status":"CONFLICT"}'),
      answerWith(200, good.slice(0, -1)),
      answerWith(200, " ".repeat(1_048_577)),
      (response: ServerResponse): void => {
        response.writeHead(200, { "Content-Length": "1000" }).write(good);
        setTimeout(() => response.destroy(), 10);
      },
      (response: ServerResponse): void => void response.destroy(),
    ];
    for (const answer of strange) {
      [answers, received] = [[answer], 0];
      assert.deepEqual(await exchange(), {
        code: "USD",
        baseCode: "BRL",
        name: "Real to US Dollar",
        rate: "5.4",
      });
      assert.equal(received, 2);
    }
  });

  test("that is a redirect is not followed, and ends the call", async () => {
    const location = { Location: "http://127.0.0.1:1/" };
    for (const status of [301, 302, 307, 308]) {
      [answers, received] = [[answerWith(status, "", location)], 0];
      await assert.rejects(exchange(), (error: CofreConnectionError) => {
        assert.deepEqual([error.sent, error.reason], ["maybe", `HTTP ${status}`]);
        return true;
      });
      assert.equal(received, 1);
    }
  });

  test("with Retry-After is waited for: seconds, or a date", async () => {
    const headers = [
      ["7", 7_000],
      ["0", 0],
      [new Date(now + 9_000).toUTCString(), 9_000],
      [new Date(now - 9_000).toUTCString(), 0],
      ["soon", 125],
      ["-1", 125],
    ] as const;
    for (const [value, expected] of headers) {
      waits.length = 0;
      answers = [answerWith(503, overloaded, { "Retry-After": value })];
      await exchange();
      assert.deepEqual(waits, [expected], value);
    }
  });

  test("of an overloaded server says that nothing was done; of a proxy it does not", async () => {
    const ends = async (): Promise<unknown> =>
      exchange().then(undefined, ({ sent, reason }: CofreConnectionError) => [sent, reason]);
    for (const status of [429, 503]) {
      answers = Array.from({ length: 3 }, () => answerWith(status, overloaded));
      assert.deepEqual(await ends(), ["no", "COFRE-12"]);
      answers = Array.from({ length: 3 }, () => answerWith(status, "<html></html>"));
      assert.deepEqual(await ends(), ["maybe", `HTTP ${status}`]);
    }
    answers = [answerWith(502, ""), answerWith(503, overloaded), answerWith(503, overloaded)];
    assert.deepEqual(await ends(), ["maybe", "COFRE-12"], "an earlier attempt may have arrived");
  });

  test("has no power over objects by its names", async () => {
    answers = [
      answerWith(
        200,
        '{"status":"SUCCESS","currency_rate":{"__proto__":{"rate":"1"},"code":"USD"}}',
      ),
    ];
    const rate = (await exchange()) as { readonly rate?: string };
    assert.equal(rate.rate, undefined);
    assert.equal(Object.getPrototypeOf(rate), Object.prototype);
  });
});
