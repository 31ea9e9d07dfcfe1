import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { fuzzCorpus } from "../fuzz/corpus.ts";
import { assertNoDigits, exchange, keptFramings } from "../fuzz/kept-inputs.ts";
import { Dice, mutate } from "../fuzz/mutate.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  type TestServer,
} from "../../server/test/server.ts";
import { amount } from "./support/amount.ts";
import { until } from "./support/faulty-run.ts";
import { SlowClients } from "./support/slow-clients.ts";

const seed = Number(process.env["COFRE_FUZZ_SEED"] ?? "1");
const connections = Number(
  process.env["COFRE_FUZZ_SOCKETS"] ?? amount({ quick: 2_000, ci: 20_000, night: 100_000 }),
);

/** Framings on which servers and proxies have disagreed: each is a head followed by a body. */
const framings: readonly ((body: string) => string)[] = [
  (body) => `Content-Length: ${body.length}\r\n\r\n${body}`,
  (body) => `Content-Length: ${body.length}\r\nContent-Length: ${body.length + 1}\r\n\r\n${body}`,
  (body) => `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${body}`,
  (body) => `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  (body) =>
    `Transfer-Encoding: chunked, identity\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  (body) => `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${body}`,
  (body) => `Transfer-Encoding: \x0bchunked\r\n\r\nffffffffffffffffff\r\n${body}`,
  (body) => `Content-Length: +${body.length}\r\n\r\n${body}`,
  (body) => `Content-Length: -1\r\n\r\n${body}`,
  (body) => `X: y\nContent-Length: ${body.length}\n\n${body}`,
  (body) => `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  (body) => `Content-Length: ${body.length + 10}\r\n\r\n${body}`,
];

/** A few shops, each of which makes `payments` payments over HTTP, one after the other. */
async function shopsAtWork(server: TestServer, name: string, payments: number): Promise<void> {
  const shop = async (own: number): Promise<void> => {
    for (let payment = 0; payment < payments; payment += 1) {
      const { status, body } = await server.postJson(
        "/ws/direct",
        directBody(`${name}-${own}-${payment}`),
      );
      assert.deepEqual([status, body["status"]], [200, "SUCCESS"]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, (_, own) => shop(own)));
}

test("kept framings, whole, in halves and byte by byte", async (context) => {
  await using server = await startTestServer();
  const kept = keptFramings(integrationKey);
  for (const { why, bytes, answers, orFewer } of kept) {
    const half = bytes.length >> 1;
    // One byte per segment, for requests that are short enough.
    const single =
      bytes.length > 1_000 ? [] : [Array.from(bytes, (_, at) => bytes.subarray(at, at + 1))];
    for (const pieces of [[bytes], [bytes.subarray(0, half), bytes.subarray(half)], ...single]) {
      const { response, statuses } = await exchange(server.port, pieces);
      // When a request is sent in pieces, valid parts may be answered before the invalid one has
      // arrived.
      assert.deepEqual(
        statuses,
        orFewer ? answers.slice(0, statuses.length) : answers,
        `${why}, in ${pieces.length}`,
      );
      assertNoDigits(response, why);
    }
  }
  await shopsAtWork(server, "after the kept framings", 1);
  context.diagnostic(`${kept.length} kept inputs`);
});

test(`${connections} connections with broken framing, alone and behind sound requests`, async (context) => {
  await using server = await startTestServer();
  const corpus = fuzzCorpus(integrationKey).filter(({ target }) => /^[\x21-\x7e]+$/.test(target));
  const kept = keptFramings(integrationKey).map(({ bytes }) => bytes);
  const statuses = new Map<string, number>();
  let next = seed;
  const worker = async (): Promise<void> => {
    while (next < seed + connections) {
      const own = next++;
      const dice = new Dice(own);
      const { target, body } = dice.pick(corpus);
      const head = `POST ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
      const drawn = Buffer.from(head + dice.pick(framings)(body.toString("latin1")), "latin1");
      const sound = Buffer.from(
        `POST ${target} HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body.toString("latin1")}`,
        "latin1",
      );
      // A third of them come from the corpus, after up to two valid requests on the same
      // connection.
      const whole =
        own % 3 === 0
          ? Buffer.concat([...Array.from({ length: dice.below(3) }, () => sound), dice.pick(kept)])
          : drawn;
      const sent = own % 2 === 0 ? whole : mutate(whole, [whole, ...kept], dice);
      const cut = own % Math.max(sent.length, 1);
      const pieces = own % 5 === 0 ? [sent.subarray(0, cut), sent.subarray(cut)] : [sent];
      const { response, statuses: answers } = await exchange(server.port, pieces);
      for (const status of answers) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        assert.ok(status < "500", `seed ${own}: ${status}`);
      }
      assertNoDigits(response, `seed ${own}`);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  context.diagnostic([...statuses].map(([status, times]) => `${status} ${times}`).join(", "));
  assert.ok((statuses.get("200") ?? 0) > connections / 50, "control: some are understood");
  assert.ok((statuses.get("400") ?? 0) > connections / 50, "control: some are refused");
  await shopsAtWork(server, "after the fuzz", 1);
});

test("clients that end their own side, and such that never do", async () => {
  await using server = await startTestServer();
  const sale = (code: string): string => {
    const body = JSON.stringify(directBody(code));
    return `POST /ws/direct HTTP/1.1\r\nHost: a\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  };
  // The whole request, then the end of the stream: it is executed, so it is answered.
  const whole = await Promise.all(
    Array.from({ length: 100 }, (_, own) =>
      exchange(server.port, [Buffer.from(sale(`half-closed-${own}`))]),
    ),
  );
  for (const { response, statuses } of whole)
    assert.ok(statuses.join() === "200" && response.includes('"status":"SUCCESS"'), response);
  // A part of the request, then the end of the stream: nothing is executed.
  const parts = await Promise.all(
    Array.from({ length: 100 }, (_, own) =>
      exchange(server.port, [Buffer.from(sale(`cut-off-${own}`).slice(0, 30 + own * 5))]),
    ),
  );
  for (const { statuses } of parts)
    assert.ok(
      statuses.every((status) => status === "400"),
      statuses.join(),
    );
  const { body } = await server.get("/ws/query", {
    integration_key: integrationKey,
    merchant_payment_code: "cut-off-99",
  });
  assert.equal(body["status_code"], "BP-QRY-2");
  // After the server ends the connection, these clients keep their side open and continue to send.
  const stubborn = Array.from({ length: 50 }, (_, own) => {
    const socket = connect({ host: "127.0.0.1", port: server.port, allowHalfOpen: true });
    socket.on("error", () => undefined).resume();
    socket.write(sale(`stubborn-${own}`).replace("Host: a", "Host: a\r\nConnection: close"));
    return socket;
  });
  await until("the server has let go of those that never end", async () => {
    for (const socket of stubborn)
      if (socket.readableEnded && socket.writable) socket.write("GET /ws/query HTTP/1.1\r\n");
    return stubborn.every(({ destroyed }) => destroyed);
  });
  await shopsAtWork(server, "after the half-closed", 1);
});

test("slow clients are cut off, and cost others nothing", async (context) => {
  await using server = await startTestServer();
  const head = "POST /ws/direct HTTP/1.1\r\nHost: a\r\n";
  const each = { port: server.port, count: 50, everyMs: 200 };
  using nothing = new SlowClients({ ...each, first: "", trickle: "" });
  using heads = new SlowClients({ ...each, first: head, trickle: "X: a\r\n" });
  using targets = new SlowClients({ ...each, first: "POST /ws/", trickle: "a" });
  using bodies = new SlowClients({
    ...each,
    first: `${head}Content-Length: 2000\r\n\r\n`,
    trickle: " ",
  });
  using chunks = new SlowClients({
    ...each,
    first: `${head}Transfer-Encoding: chunked\r\n\r\n`,
    trickle: "1\r\n \r\n",
  });
  using seconds = new SlowClients({
    ...each,
    first: `GET /ws/query HTTP/1.1\r\nHost: a\r\n\r\n${head}`,
    trickle: "X: a\r\n",
  });
  const crowds = { nothing, heads, targets, bodies, chunks, seconds };
  const all = Object.values(crowds);
  await until("all are connected", async () =>
    all.every(({ connected }) => connected === each.count),
  );

  await shopsAtWork(server, "beside slow clients", 20);
  // 160 payments take about a second, and a slow client has ten; otherwise this would prove
  // nothing.
  context.diagnostic(
    `${all.reduce((sum, { open }) => sum + open, 0)} slow clients were there while 160 payments were made`,
  );

  await Promise.all(all.map((crowd) => crowd.allGone()));
  for (const [name, { gone }] of Object.entries(crowds)) {
    const lasted = gone.map(({ lastedMs }) => lastedMs);
    context.diagnostic(
      `${name}: cut off after ${(Math.min(...lasted) / 1_000).toFixed(1)} to ${(Math.max(...lasted) / 1_000).toFixed(1)} s`,
    );
    for (const { response } of gone) {
      const statuses = Array.from(
        response.matchAll(/HTTP\/1\.1 (\d{3}) /g),
        ([, status]) => status,
      ).join();
      assert.match(statuses, name === "seconds" ? /^200(,408)?$/ : /^(408)?$/, name);
      assert.equal(response.includes('"COFRE-138"'), statuses.includes("408"), name);
    }
  }
  await shopsAtWork(server, "after slow clients", 1);
});
