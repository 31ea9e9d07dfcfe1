import assert from "node:assert/strict";
import { Agent, request as httpRequest } from "node:http";
import { test } from "node:test";
import { decodeRequest } from "../../server/src/wire/decode/decode.ts";
import { WireError } from "../../server/src/wire/decode/wire-error.ts";
import { fuzzCorpus, fuzzPan, secretDigits } from "./corpus.ts";
import { Dice, mutate } from "./mutate.ts";
import { secretKey, startTrivialServer } from "../../server/test/support/trivial-server.ts";

/*
 * `npm test` runs a few thousand mutated requests. As a program it takes the number of requests and
 * the seed: node packages/proof/fuzz/decoder-fuzz.test.ts 100000 42
 */
const [countText, seedText] = process.argv.slice(2);
const count = Number(countText ?? "3000");
const firstSeed = Number(seedText ?? Math.floor(Math.random() * 2 ** 31));

const corpus = fuzzCorpus(secretKey);
const bodies = corpus.map(({ body }) => body).filter((body) => body.length > 2);
const queries = corpus.map(({ target }) =>
  Buffer.from(target.slice(target.indexOf("?") + 1), "latin1"),
);

interface Mutant {
  readonly seed: number;
  readonly target: string;
  readonly body: Buffer;
}

/** Changes the body or the query, sometimes both. */
function mutant(seed: number): Mutant {
  const dice = new Dice(seed);
  const { target, body } = dice.pick(corpus);
  const mark = target.indexOf("?");
  const which = mark < 0 ? 0 : body.length <= 2 ? 1 : dice.below(3);
  const query = mark < 0 ? "" : target.slice(mark + 1);
  const changedQuery =
    which > 0 ? mutate(Buffer.from(query, "latin1"), queries, dice).toString("latin1") : query;
  return {
    seed,
    target: mark < 0 ? target : `${target.slice(0, mark)}?${changedQuery}`,
    body: which === 1 ? Buffer.from(body) : mutate(body, bodies, dice),
  };
}

function assertNoSecret(text: string, seed: number): void {
  for (let at = 0; at + 6 <= secretDigits.length; at += 1)
    assert.ok(
      !text.includes(secretDigits.slice(at, at + 6)),
      `no card digits in an answer (seed ${seed})`,
    );
}

test(`mutated requests are decoded or refused, and nothing else (${count} from seed ${firstSeed})`, () => {
  let decodedCount = 0;
  const refusals = new Map<string, number>();
  for (let seed = firstSeed; seed < firstSeed + count; seed += 1) {
    const { target, body } = mutant(seed);
    try {
      const decoded = decodeRequest(target, body);
      decoded.wipe();
      decodedCount += 1;
    } catch (error) {
      assert.ok(
        error instanceof WireError,
        `only refusals are thrown (seed ${seed}): ${String(error)}`,
      );
      assertNoSecret(error.message, seed);
      refusals.set(error.statusCode, (refusals.get(error.statusCode) ?? 0) + 1);
    }
    assert.ok(
      body.every((byte) => byte === 0),
      `the body is overwritten (seed ${seed})`,
    );
    assert.equal("polluted" in {}, false, `no prototype is polluted (seed ${seed})`);
  }
  assert.ok(
    decodedCount > count / 20 && decodedCount < count,
    "control: some are still valid, some are not",
  );
  assert.ok(
    (refusals.get("COFRE-1") ?? 0) > 0 && (refusals.get("COFRE-6") ?? 0) > 0,
    "control: several kinds of refusal were met",
  );
});

test("the secret digits are in the requests, so that their absence from answers means something", () => {
  assert.equal(secretDigits.length, 6);
  assert.ok(bodies.some((body) => body.includes(fuzzPan)));
  assert.throws(() => {
    assertNoSecret(`x${fuzzPan}x`, 0);
  });
});

test(`mutated requests to a server get an answer of the interface (${count} from seed ${firstSeed})`, async (t) => {
  const { port, events } = await startTrivialServer(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.after(() => {
    agent.destroy();
  });
  const contentTypes = [
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain",
    "multipart/form-data; boundary=b",
    "\tapplication/json",
    " ,;=",
    "application/json; charset=utf-16",
    "x",
  ];
  const one = async (seed: number): Promise<void> => {
    const { target, body } = mutant(seed);
    const dice = new Dice(~seed);
    const contentType = mutate(Buffer.from(dice.pick(contentTypes)), bodies, dice)
      .toString("latin1")
      .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, "")
      .slice(0, 200);
    // Node's client refuses to send what no client can, and its server refuses long heads before
    // the decoder sees them.
    const path = target
      .replaceAll(
        /[^\x21-\x7e]/g,
        (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
      )
      .slice(0, 12_000);
    const { status, text } = await ask(port, agent, path, body, contentType);
    assert.equal(status, 200, `seed ${seed}`);
    const answer = JSON.parse(text) as { readonly status: string; readonly status_code?: string };
    assert.ok(answer.status === "SUCCESS" || answer.status === "ERROR", `seed ${seed}`);
    assert.notEqual(answer.status_code, "COFRE-14", `no failure inside (seed ${seed})`);
    assertNoSecret(text, seed);
  };
  let next = firstSeed;
  const worker = async (): Promise<void> => {
    while (next < firstSeed + count) await one(next++);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  assertNoSecret(JSON.stringify(events), firstSeed);
  assert.equal(events.length, count, "one access event for each");
});

async function ask(
  port: number,
  agent: Agent,
  path: string,
  body: Buffer,
  contentType: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = { "Content-Type": contentType, "Content-Length": body.length };
    const request = httpRequest(
      { host: "127.0.0.1", port, method: "POST", path, agent, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, text });
        });
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}
