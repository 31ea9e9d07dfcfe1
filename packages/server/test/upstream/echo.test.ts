import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { KnownNumbers } from "../../src/scan/known-numbers.ts";
import { createLog } from "../../src/observe/log.ts";
import { directBody, integrationKey, startWorld, testCard } from "../world.ts";
import { startEchoingServer } from "./echoing-server.ts";

const pan = "4111115666052208";
const declinedPan = "4716909774636285";
const cvv = "837";

/* What an acquirer answered was written as it came: its echo of the card was in the database, in answers and in the timeline. */
test("an upstream that repeats the card in every text of its answers leaves none of it behind, and its outcomes hold", async (context) => {
  await using upstream = await startEchoingServer({ declines: [declinedPan] });
  const folder = mkdtempSync(join(tmpdir(), "cofre-echo-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const connectors = JSON.stringify([
    { name: "echo", kind: "upstream", url: `http://127.0.0.1:${upstream.port}`, integrationKey: "test_ik_upstream" },
  ]);
  const world = await startWorld({ environment: { COFRE_DATA_DIR: folder, COFRE_CONNECTORS: connectors } });
  const key = { integration_key: integrationKey };
  const told: string[] = [];
  const ask = async (path: string, body: Readonly<Record<string, unknown>>): Promise<Readonly<Record<string, unknown>>> => {
    const answer = await world.postJson(path, { ...key, ...body });
    told.push(JSON.stringify(answer.body));
    return answer.body;
  };
  const pay = async (code: string, creditcard: Readonly<Record<string, unknown>> = {}, payment: Readonly<Record<string, unknown>> = {}) =>
    (
      await ask("/ws/direct", directBody(code, { creditcard: { ...testCard, card_number: pan, card_cvv: cvv, ...creditcard }, ...payment }))
    )["payment"] as Readonly<Record<string, unknown>> | undefined;

  // As many as there are spellings, so that each has been in each place.
  for (let turn = 0; turn < 11; turn += 1) {
    const initial = { cof_info: { cof_type: "initial", initiator: "CIT", trans_type: "SCHEDULED_RECURRING" } };
    assert.equal((await pay(`sale-${turn}`, {}, initial))?.["status"], "CO");
    assert.equal((await pay(`declined-${turn}`, { card_number: declinedPan }))?.["status"], "CA");
    assert.equal((await pay(`held-${turn}`, { auto_capture: false }))?.["status"], "PE");
    await ask("/ws/verifycard", {
      payment_type_code: "creditcard",
      country: "br",
      card: { ...testCard, card_number: turn % 2 === 0 ? pan : declinedPan, card_cvv: cvv },
      ...initial,
    });
    await ask(turn % 2 === 0 ? "/ws/capture" : "/ws/cancel", { merchant_payment_code: `held-${turn}` });
    await ask("/ws/refund", { operation: "request", merchant_payment_code: `sale-${turn}`, amount: "1.00", description: "back" });
    for (const code of ["sale", "declined", "held"]) {
      const named = { merchant_payment_code: `${code}-${turn}` };
      await ask("/ws/query", named);
      await ask("/__cofre/explain", named);
      told.push(JSON.stringify((await world.get("/__cofre/timeline", { ...key, ...named })).body));
    }
  }
  assert.ok(upstream.answers > 40);
  await world[Symbol.asyncDispose]();

  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "json", clock: world.clock, destination: { write: (line) => void lines.push(line) } });
  for (const event of world.events) log.write(event);

  const places: readonly (readonly [name: string, bytes: Buffer])[] = [
    ["answers", Buffer.from(told.join("\n"))],
    ["log", Buffer.from(lines.join(""))],
    ...readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => [entry.name, readFileSync(join(entry.parentPath, entry.name))] as const),
  ];
  const numbers = new KnownNumbers([pan, declinedPan]);
  for (const [name, bytes] of places) {
    assert.deepEqual(numbers.search(bytes), [], name);
    // The code beside its name, or as the whole of a JSON value.
    const text = bytes.toString("latin1");
    assert.doesNotMatch(text, /cvv\W{0,3}837|"837"/i, name);
    for (const part of [pan.slice(0, 8), pan.slice(-8), declinedPan.slice(0, 8), declinedPan.slice(-8)])
      assert.ok(!text.includes(part), name);
  }
  assert.ok(world.events.some(({ event }) => event === "acquirer_value_dropped"));
});
