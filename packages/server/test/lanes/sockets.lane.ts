import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { amount } from "./support/amount.ts";
import { fuzzCorpus, secretDigits } from "../fuzz/corpus.ts";
import { Dice, mutate } from "../fuzz/mutate.ts";
import { directBody, integrationKey, startWorld } from "../world.ts";

const seed = Number(process.env["COFRE_FUZZ_SEED"] ?? "1");
const connections = Number(process.env["COFRE_FUZZ_SOCKETS"] ?? amount({ quick: 2_000, ci: 20_000, night: 100_000 }));
/** The server cuts off a head that does not end after 10 seconds, and looks every 2. */
const longestMs = 30_000;

/** Framing that has parted servers and proxies: each head with a body after it. */
const framings: readonly ((body: string) => string)[] = [
  (body) => `Content-Length: ${body.length}\r\n\r\n${body}`,
  (body) => `Content-Length: ${body.length}\r\nContent-Length: ${body.length + 1}\r\n\r\n${body}`,
  (body) => `Content-Length: ${body.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${body}`,
  (body) => `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  (body) => `Transfer-Encoding: chunked, identity\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`,
  (body) => `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${body}`,
  (body) => `Transfer-Encoding: \x0bchunked\r\n\r\nffffffffffffffffff\r\n${body}`,
  (body) => `Content-Length: +${body.length}\r\n\r\n${body}`,
  (body) => `Content-Length: -1\r\n\r\n${body}`,
  (body) => `X: y\nContent-Length: ${body.length}\n\n${body}`,
  (body) => `Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  (body) => `Content-Length: ${body.length + 10}\r\n\r\n${body}`,
];

/** Resolves with everything that was answered, once the server has closed the connection; rejects when it does not. */
function exchange(port: number, pieces: readonly Buffer[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    let text = "";
    socket.setTimeout(longestMs, () => {
      socket.destroy();
      reject(new Error("the connection hangs"));
    });
    socket.on("data", (data) => (text += data.toString("latin1")));
    // A reset is an end, too: the server need not read what it has refused.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(text));
    for (const piece of pieces) socket.write(piece);
    socket.end();
  });
}

test(`${connections} connections with broken framing`, async (context) => {
  await using world = await startWorld();
  const corpus = fuzzCorpus(integrationKey).filter(({ target }) => /^[\x21-\x7e]+$/.test(target));
  const statuses = new Map<string, number>();
  let next = seed;
  const worker = async (): Promise<void> => {
    while (next < seed + connections) {
      const own = next++;
      const dice = new Dice(own);
      const { target, body } = dice.pick(corpus);
      const head = `POST ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
      const whole = Buffer.from(head + dice.pick(framings)(body.toString("latin1")), "latin1");
      const sent = own % 2 === 0 ? whole : mutate(whole, [whole], dice);
      const cut = own % sent.length;
      const text = await exchange(world.port, own % 3 === 0 ? [sent.subarray(0, cut), sent.subarray(cut)] : [sent]);
      for (const [, status = ""] of text.matchAll(/^HTTP\/1\.1 (\d{3}) /gm)) {
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        assert.ok(status < "500", `seed ${own}: ${status}`);
      }
      for (let at = 0; at + 6 <= secretDigits.length; at += 1) {
        assert.ok(!text.includes(secretDigits.slice(at, at + 6)), `no card digits in an answer (seed ${own})`);
      }
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  context.diagnostic([...statuses].map(([status, times]) => `${status} ${times}`).join(", "));
  assert.ok((statuses.get("200") ?? 0) > connections / 50, "control: some are understood");
  assert.ok((statuses.get("400") ?? 0) > connections / 50, "control: some are refused");
  assert.equal((await world.postJson("/ws/direct", directBody("after the fuzz"))).body["status"], "SUCCESS", "the server goes on");
});
