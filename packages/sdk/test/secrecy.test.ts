import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect, promisify } from "node:util";
import { Card } from "../src/index.ts";
import { encodeJson } from "../src/json.ts";
import { order, type Setting, startSetting } from "./server.ts";

let setting: Setting;
before(async () => {
  setting = await startSetting();
});
after(() => setting[Symbol.asyncDispose]());

const number = "4111111111111111";
const securityCode = "737";
const details = { number, holderName: "Ana Lima", expires: "12/2060", securityCode };
/** Digits of the number or the code, as text or as the decimal values of their bytes. */
const digits = /4111|1111|737|52, *49|55, *51, *55/;

function everythingOf(value: unknown): string {
  const shown = inspect(value, { depth: 20, showHidden: true, getters: true });
  return [
    shown,
    String(value),
    JSON.stringify(value),
    `${value instanceof Error && value.stack}`,
  ].join();
}

describe("a card", () => {
  test("is shown as [card] by every way of printing", () => {
    const card = new Card(details);
    assert.equal(inspect(card), "[card]");
    assert.equal(String(card), "[card]");
    assert.equal(JSON.stringify({ card }), '{"card":"[card]"}');
    assert.doesNotMatch(everythingOf(card), digits);
    assert.doesNotMatch(everythingOf(Object.assign({}, card)), digits);
    assert.doesNotMatch(everythingOf(structuredClone(card)), digits);
    assert.deepEqual(Reflect.ownKeys(card), []);
    assert.match(everythingOf(details), digits, "control");
  });

  test("refuses other characters than digits, and its error does not show them", () => {
    for (const value of ["", "4111x", "４１１１", "4111\n", '41"11'])
      assert.throws(
        () => new Card({ ...details, number: value }),
        (error) => error instanceof TypeError && !/4111|41"/.test(everythingOf(error)),
      );
    assert.throws(() => new Card({ ...details, securityCode: "12a" }), TypeError);
  });

  test("copies bytes, and is zeros after wipe", async () => {
    const bytes = new TextEncoder().encode(number);
    const card = new Card({ ...details, number: bytes });
    bytes.fill(0x39);
    const { client } = setting;
    assert.equal((await client.charge(order("copied", { card }))).outcome, "paid");
    card.wipe();
    await assert.rejects(client.charge(order("wiped", { card })), { code: "BP-DR-75" });
  });

  test("is in no error of a call", async () => {
    const { clientWith, server } = setting;
    const client = clientWith({ maxAttempts: 2 });
    const card = new Card(details);
    const errors: unknown[] = [];
    const collect = (error: unknown): void => void errors.push(error);
    for (const kind of ["drop_before_commit", "unavailable", "garbage_after_commit"] as const) {
      await server.faults.add({ kind, times: 2, path: "/ws/direct" });
      await client.charge(order("failing", { card })).catch(collect);
    }
    await client.charge(order("refused", { card, amount: "0.001" })).catch(collect);
    await client.charge(order(number, { card })).catch(collect);
    await client.raw("/ws/unknown", { card }).catch(collect);
    await client.raw("relative", { card }).catch(collect);
    const leaking = clientWith({
      maxAttempts: 1,
      runtime: {
        fetch: (_, { body }) => Promise.reject(new Error(new TextDecoder().decode(body))),
      },
    });
    await leaking.charge(order("leaking", { card })).catch(collect);
    assert.ok(errors.length >= 7, `control: ${errors.length}`);
    for (const error of errors) assert.doesNotMatch(everythingOf(error), digits);
  });

  test("and its number are not text on the heap after a charge", async () => {
    const program = fileURLToPath(new URL("heap-program.ts", import.meta.url));
    const run = async (
      code: string,
      ...more: readonly string[]
    ): Promise<Record<string, unknown>> => {
      const world = await setting.server.worlds.create({ name: code });
      await world.settings.set({ requireCvv: false });
      const { stdout } = await promisify(execFile)(process.execPath, [
        "--expose-gc",
        program,
        setting.server.url,
        world.integrationKey,
        ...more,
      ]);
      return JSON.parse(stdout) as Record<string, unknown>;
    };
    const { outcome, refused, isFound, size } = await run("heap");
    assert.deepEqual([outcome, isFound], ["paid", false]);
    assert.match(String(refused), /BP-DR-9/);
    assert.ok(Number(size) > 1_000_000);
    assert.equal((await run("control", "keep"))["isFound"], true);
  });
});

describe("the body of a request", () => {
  test("is the JSON that JSON.stringify writes, with bytes as text", () => {
    const value = {
      text: 'quote " and \\ and é',
      list: [1, undefined, { a: null }],
      left: undefined,
      yes: true,
      none: {},
    };
    const written = (given: unknown): string => new TextDecoder().decode(encodeJson(given));
    assert.equal(written(value), JSON.stringify(value));
    const bytes = new TextEncoder().encode("4111");
    assert.equal(written({ number: bytes, list: [bytes] }), '{"number":"4111","list":["4111"]}');
  });
});
