import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startAcquirerServer } from "../../src/connectors/simulator/acquirer-server.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { createLog } from "../../src/logging/log.ts";
import { KnownNumbers } from "../../src/scan/known-numbers.ts";
import {
  directBody,
  integrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";
import { startEchoingServer } from "./echoing-server.ts";

const pan = "4111115666052208";
const declinedPan = "4716909774636285";
const cvv = "837";
const key = { integration_key: integrationKey };
const initial = {
  cof_info: { cof_type: "initial", initiator: "CIT", trans_type: "SCHEDULED_RECURRING" },
};

type Body = Readonly<Record<string, unknown>>;

/*
 * Texts of an acquirer's answer were stored unchanged: its echo of the card was in the database, in
 * answers and in the timeline.
 */
describe("an acquirer that repeats the card in its answers leaves none of it behind, and its outcomes hold:", () => {
  test("an upstream, in every text of every answer", async () => {
    await using upstream = await startEchoingServer({ declines: [declinedPan] });
    const url = `http://127.0.0.1:${upstream.port}`;
    const connectors = JSON.stringify([
      { name: "echo", kind: "upstream", url, integrationKey: "test_ik_upstream" },
    ]);
    // As many rounds as there are spellings, so that each spelling is used in each place.
    await leavesNothing({ COFRE_CONNECTORS: connectors }, 11);
    assert.ok(upstream.answers > 40);
  });

  test("control: an upstream whose client is killed in the middle of a request answers the next one", async () => {
    await using upstream = await startEchoingServer();
    const client = connect(upstream.port, "127.0.0.1");
    client.end("POST /ws/direct HTTP/1.1\r\nHost: upstream\r\nContent-Length: 100\r\n\r\n{");
    client.resume();
    await once(client, "close");
    const requested = {
      method: "POST",
      body: JSON.stringify({ merchant_payment_code: "unknown" }),
    };
    const answer = (await (
      await fetch(`http://127.0.0.1:${upstream.port}/ws/query`, requested)
    ).json()) as Body;
    assert.equal(answer["status_code"], "BP-QRY-2");
  });

  test("the simulator in a process of its own, when an answer is lost and asked for later, too", async () => {
    const acquirer = await startAcquirerServer({
      clock: systemClock,
      scheduler: systemScheduler,
      port: 0,
      echoes: true,
    });
    try {
      const environment = {
        COFRE_ACQUIRER_URL: `http://127.0.0.1:${acquirer.port}`,
        COFRE_ACQUIRER_TIMEOUT_MS: "1000",
      };
      await leavesNothing(environment, 7, async (server) => {
        await server.postJson("/__cofre/simulator", {
          ...key,
          next: "lose_answer",
          message: "authorize",
          times: "7",
        });
        const creditcard = { ...testCard, card_number: pan, card_cvv: cvv };
        await Promise.all(
          Array.from({ length: 7 }, (_, turn) =>
            server.postJson("/ws/direct", directBody(`lost-${turn}`, { creditcard })),
          ),
        );
        for (let turn = 0; turn < 7; turn += 1)
          assert.equal(await settled(server, `lost-${turn}`), "CO");
      });
    } finally {
      await acquirer.close();
    }
  });

  test("the simulator in this process", async () => {
    await leavesNothing({}, 7, async (server) => {
      const { body } = await server.postJson("/__cofre/simulator", {
        ...key,
        next: "echo_card",
        times: "9999",
      });
      assert.equal(body["status"], "SUCCESS");
    });
  });

  test("only requests with a card can be set to be echoed", async () => {
    await using server = await startTestServer();
    const { body } = await server.postJson("/__cofre/simulator", {
      ...key,
      next: "echo_card",
      message: "capture",
    });
    assert.equal(body["status_code"], "COFRE-35");
  });
});

async function settled(server: TestServer, code: string): Promise<unknown> {
  for (let look = 0; look < 100; look += 1) {
    const { body } = await server.get("/ws/query", { ...key, merchant_payment_code: code });
    const { status } = body["payment"] as Body;
    if (status !== "PE") return status;
    server.clock.advance(600_000);
    await sleep(50);
  }
  return "PE";
}

/**
 * Pays, verifies and queries through the acquirer that `environment` configures, and checks
 * everything that was answered, logged and stored.
 */
async function leavesNothing(
  environment: Readonly<Record<string, string>>,
  turns: number,
  prepare: (server: TestServer) => Promise<void> = async () => undefined,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-echo-"));
  try {
    const reported: string[] = [];
    const server = await startTestServer({
      environment: { COFRE_DATA_DIR: folder, ...environment },
    });
    try {
      await prepare(server);
      for (let turn = 0; turn < turns; turn += 1) await payAndAsk(server, turn, reported);
    } finally {
      await server[Symbol.asyncDispose]();
    }
    const lines: string[] = [];
    const log = createLog({
      level: "debug",
      format: "json",
      clock: server.clock,
      destination: { write: (line) => void lines.push(line) },
    });
    for (const event of server.events) log.write(event);
    assertNoCard("answers", Buffer.from(reported.join("\n")));
    assertNoCard("log", Buffer.from(lines.join("")));
    for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
      if (entry.isFile())
        assertNoCard(entry.name, readFileSync(join(entry.parentPath, entry.name)));
    }
    assert.ok(server.events.some(({ event }) => event === "acquirer_value_dropped"));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function payAndAsk(server: TestServer, turn: number, reported: string[]): Promise<void> {
  const ask = async (path: string, body: Body): Promise<Body> => {
    const answer = await server.postJson(path, { ...key, ...body });
    reported.push(JSON.stringify(answer.body));
    return answer.body;
  };
  const pay = async (code: string, creditcard: Body = {}, payment: Body = {}): Promise<unknown> => {
    const card = { ...testCard, card_number: pan, card_cvv: cvv, ...creditcard };
    const { payment: paid } = await ask(
      "/ws/direct",
      directBody(code, { creditcard: card, ...payment }),
    );
    return (paid as Body | undefined)?.["status"];
  };
  assert.equal(await pay(`sale-${turn}`, {}, initial), "CO");
  assert.equal(await pay(`declined-${turn}`, { card_number: declinedPan }), "CA");
  assert.equal(await pay(`held-${turn}`, { auto_capture: false }), "PE");
  await ask("/ws/verifycard", {
    payment_type_code: "creditcard",
    country: "br",
    card: { ...testCard, card_number: turn % 2 === 0 ? pan : declinedPan, card_cvv: cvv },
    ...initial,
  });
  await ask(turn % 2 === 0 ? "/ws/capture" : "/ws/cancel", {
    merchant_payment_code: `held-${turn}`,
  });
  await ask("/ws/refund", {
    operation: "request",
    merchant_payment_code: `sale-${turn}`,
    amount: "1.00",
    description: "back",
  });
  for (const code of ["sale", "declined", "held", "lost"]) {
    const named = { merchant_payment_code: `${code}-${turn}` };
    await ask("/ws/query", named);
    await ask("/__cofre/explain", named);
    reported.push(
      JSON.stringify((await server.get("/__cofre/timeline", { ...key, ...named })).body),
    );
  }
}

function assertNoCard(name: string, bytes: Buffer): void {
  assert.deepEqual(new KnownNumbers([pan, declinedPan]).search(bytes), [], name);
  // The code beside its name, or as a whole JSON value.
  const text = bytes.toString("latin1");
  assert.doesNotMatch(text, /cvv\W{0,3}837|"837"/i, name);
  for (const number of [pan, declinedPan]) {
    for (const part of [number.slice(0, 8), number.slice(-8)])
      assert.ok(!text.includes(part), name);
  }
}
