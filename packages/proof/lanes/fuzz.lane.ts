import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { Agent, request as httpRequest } from "node:http";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { amount } from "./support/amount.ts";
import { fuzzCorpus } from "../fuzz/corpus.ts";
import {
  answerOf,
  assertNoDigits,
  assertNoNumber,
  exchange,
  keptBodies,
  requestOf,
} from "../fuzz/kept-inputs.ts";
import { Dice, mutate } from "../fuzz/mutate.ts";
import { directBody, integrationKey, startTestServer, testCard } from "../../server/test/server.ts";

const seed = Number(process.env["COFRE_FUZZ_SEED"] ?? "1");
const bodiesToDecoderAndServer = Number(
  process.env["COFRE_FUZZ_BODIES"] ?? amount({ quick: 10_000, ci: 100_000, night: 1_000_000 }),
);
const bodiesToProduct = Math.ceil(bodiesToDecoderAndServer / 5);

test(`${bodiesToDecoderAndServer} mutated requests, to the decoder and to the server`, async () => {
  const fuzz = join(dirname(fileURLToPath(import.meta.url)), "..", "fuzz", "decoder-fuzz.test.ts");
  const { code, output } = await run(fuzz, [String(bodiesToDecoderAndServer), String(seed)]);
  assert.equal(code, 0, output.slice(-4_000));
});

/** Endpoints that list earlier requests. */
const recordings = ["/__cofre/requests", "/__cofre/timeline"];

/**
 * The real operations with their decisions and store, which the trivial endpoints of the other test
 * do not cover.
 */
test(`${bodiesToProduct} mutated requests to the whole product, after those that are kept`, async (context) => {
  await using server = await startTestServer();
  const kept = keptBodies(integrationKey);
  for (const input of kept) {
    const { response } = await exchange(server.port, [requestOf(input)]);
    assert.equal(answerOf(response), input.answer, input.why);
    assertNoDigits(response, input.why);
  }
  // Short requests of the corpus are mutated too.
  const short = kept
    .filter(({ body }) => body.length < 5_000)
    .map(({ path, body }) => ({ target: path, body }));
  const corpus = [...fuzzCorpus(integrationKey), ...validRequests(), ...short];
  const bodies = corpus.map(({ body }) => body).filter((body) => body.length > 2);
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  context.after(() => {
    agent.destroy();
  });
  const outcomes = new Map<string, number>();
  let next = seed;
  const worker = async (): Promise<void> => {
    while (next < seed + bodiesToProduct) {
      const own = next++;
      const dice = new Dice(own);
      const { target, body } = dice.pick(corpus);
      const changed = body.length <= 2 ? Buffer.from(body) : mutate(body, bodies, dice);
      const path = target
        .replaceAll(
          /[^\x21-\x7e]/g,
          (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`,
        )
        .slice(0, 12_000);
      const { status, text } = await ask(server.port, agent, path, changed);
      assert.ok(status === 200 || status === 409, `seed ${own}: ${status}`);
      const answer = JSON.parse(text) as {
        readonly status?: string;
        readonly status_code?: string;
      };
      assert.notEqual(answer.status_code, "COFRE-14", `no failure inside (seed ${own})`);
      const shows = recordings.some((each) => path.toLowerCase().startsWith(each));
      (shows ? assertNoNumber : assertNoDigits)(text, `seed ${own}`);
      const outcome = answer.status_code ?? answer.status ?? "none";
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));

  const alarms = server.events.filter(
    ({ event }) => event === "alarm" || event === "request_failed" || event === "process_failed",
  );
  assert.deepEqual(alarms, []);
  assert.ok(outcomes.size > 25, `control: many ends were met: ${[...outcomes.keys()].join(" ")}`);
  assert.ok(
    (outcomes.get("SUCCESS") ?? 0) > bodiesToProduct / 100,
    "control: some are still carried out",
  );
  context.diagnostic([...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join(", "));
  const after = await server.postJson("/ws/direct", directBody("after the fuzz"));
  assert.equal(after.body["status"], "SUCCESS", "the server goes on");
});

/** Valid requests: a mutation that misses the relevant bytes reaches the acquirer and the store. */
function validRequests(): { readonly target: string; readonly body: Buffer }[] {
  const key = integrationKey;
  const json = (target: string, body: unknown): { target: string; body: Buffer } => ({
    target,
    body: Buffer.from(JSON.stringify(body)),
  });
  const form = (
    target: string,
    fields: Record<string, string>,
  ): { target: string; body: Buffer } => ({
    target,
    body: Buffer.from(new URLSearchParams(fields).toString()),
  });
  return [
    json("/ws/direct", directBody("fuzzed-sale")),
    json(
      "/ws/direct",
      directBody("fuzzed-hold", {
        creditcard: { ...testCard, auto_capture: false },
        create_token: true,
      }),
    ),
    json(
      "/ws/direct",
      directBody("fuzzed-declined", {
        creditcard: { ...testCard, card_number: "4716909774636285" },
      }),
    ),
    form("/ws/direct", { request_body: JSON.stringify(directBody("fuzzed-form")) }),
    json("/ws/token", {
      integration_key: key,
      payment_type_code: "creditcard",
      country: "br",
      creditcard: testCard,
    }),
    json("/ws/verifycard", {
      integration_key: key,
      payment_type_code: "creditcard",
      country: "br",
      card: testCard,
    }),
    form("/ws/capture", {
      integration_key: key,
      merchant_payment_code: "fuzzed-hold",
      amount: "10.00",
    }),
    form("/ws/cancel", { integration_key: key, merchant_payment_code: "fuzzed-hold" }),
    form("/ws/query", { integration_key: key, merchant_payment_code: "fuzzed-sale" }),
    form("/ws/refund", {
      integration_key: key,
      operation: "request",
      merchant_payment_code: "fuzzed-sale",
      amount: "1.00",
      description: "x",
    }),
    form("/ws/refund", { integration_key: key, operation: "cancel", refund_id: "1" }),
    form("/ws/refundOrCancel", {
      integration_key: key,
      merchant_payment_code: "fuzzed-form",
      description: "x",
    }),
    json("/ws/token/setCVV", { integration_key: key, token: "t".repeat(32), card_cvv: "123" }),
    form("/ws/exchange", { integration_key: key, currency_code: "USD", currency_base_code: "BRL" }),
    form("/ws/merchantIntegrationProperties/edit", {
      integration_key: key,
      url_response: "http://127.0.0.1/response",
    }),
    form("/__cofre/settings", { integration_key: key, "settings[partialCapture]": "1" }),
    form("/__cofre/payment", {
      integration_key: key,
      merchant_payment_code: "fuzzed-sale",
      action: "chargeback",
      description: "x",
    }),
    form("/__cofre/explain", { integration_key: key, merchant_payment_code: "fuzzed-sale" }),
    form("/__cofre/timeline", { integration_key: key, merchant_payment_code: "fuzzed-sale" }),
    form("/__cofre/requests", {
      integration_key: key,
      after: "1",
      merchant_payment_code: "fuzzed-sale",
    }),
  ];
}

function ask(
  port: number,
  agent: Agent,
  path: string,
  body: Buffer,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = {
      "Content-Type": "application/x-www-form-urlencoded",
      "Content-Length": body.length,
    };
    const request = httpRequest(
      { host: "127.0.0.1", port, method: "POST", path, agent, headers },
      (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (chunk: string) => (text += chunk));
        response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    request.on("error", reject);
    request.end(body);
  });
}

function run(
  program: string,
  options: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...options], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
