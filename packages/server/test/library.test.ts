import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type FaultKind, faultKindNames } from "../src/http/faults/fault-kinds.ts";
import type { FaultToAdd } from "../src/library-faults.ts";
import { type Cofre, startCofre } from "../src/library.ts";
import { Command, temporaryFolder } from "./command.ts";
import { directBody } from "./server.ts";

async function pay(
  { url, integrationKey }: Cofre,
  code: string,
): Promise<{ readonly status: string; readonly hash: string }> {
  const body = JSON.stringify({ ...directBody(code), integration_key: integrationKey });
  const answer = (await (await fetch(`${url}/ws/direct`, { method: "POST", body })).json()) as {
    readonly payment: { status: string; hash: string };
  };
  return answer.payment;
}

describe("startCofre of the package", () => {
  test("refuses what an option cannot be, by the option's name", async () => {
    await assert.rejects(
      startCofre({ port: 65_536 }),
      (error: unknown) =>
        error instanceof TypeError && error.message.startsWith('port is "65536", but'),
    );
    await assert.rejects(
      startCofre({ acquirerTimeoutMs: 5 }),
      /^TypeError: acquirerTimeoutMs is "5", but must be a whole number from 100/,
    );
    await assert.rejects(
      startCofre({ integrationKey: "test", publicIntegrationKey: "test" }),
      /^TypeError: publicIntegrationKey is the same as integrationKey/,
    );
  });

  const noOptions: readonly (readonly [name: string, options: object, message: RegExp])[] = [
    [
      "an empty key",
      { integrationKey: "" },
      /^TypeError: integrationKey is empty: give it a value, or leave it out/,
    ],
    [
      "an empty key for browsers",
      { publicIntegrationKey: "" },
      /^TypeError: publicIntegrationKey is empty/,
    ],
    ["a key that is null", { integrationKey: null }, /^TypeError: integrationKey is null/],
    ["a key that is no text", { integrationKey: 5 }, /^TypeError: integrationKey must be a string/],
    ["an empty port", { port: "" }, /^TypeError: port is empty/],
    ["an empty time", { acquirerTimeoutMs: "" }, /^TypeError: acquirerTimeoutMs is empty/],
    ["a log that is none", { log: "stdout" }, /^TypeError: log must be a function/],
    [
      "a name with a slip",
      { integrationkey: "mine" },
      /^TypeError: integrationkey is not an option. There are port, integrationKey,/,
    ],
  ];
  for (const [name, options, message] of noOptions) {
    test(`refuses ${name}, and takes nothing else in its place`, async () => {
      await assert.rejects(async () => {
        // If it starts in spite of the error, it ends with the test.
        await using _started = await startCofre(options);
      }, message);
    });
  }

  test("control: an option that is undefined is left out, and a port may be text", async () => {
    await using cofre = await startCofre({
      integrationKey: undefined,
      log: undefined,
      port: "0",
    } as object);
    assert.match(cofre.integrationKey, /^test_ik_/);
  });

  test("refuses what is empty wherever something may be left out", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: undefined } as object);
    const empty = "" as never;
    const calls: readonly (() => Promise<unknown>)[] = [
      ...[
        "name",
        "seed",
        "clock",
        "running",
        "integrationKey",
        "publicIntegrationKey",
        "settings",
      ].map((name) => () => cofre.worlds.create({ [name]: empty })),
      ...["times", "path", "code", "delayMs", "reason"].map(
        (name) => () => world.faults.add({ kind: "throttle", [name]: empty }),
      ),
      ...["times", "of"].map(
        (name) => () => world.simulator.next({ next: "lose_answer", [name]: empty }),
      ),
      () => world.faults.clear(empty),
      () => world.notifications.list({ after: empty }),
      () => world.notifications.resend({ failedFrom: empty }),
      () => world.clock.advance(empty),
      () => world.clock.run(undefined as never),
    ];
    for (const call of calls)
      await assert.rejects(call, /^TypeError: \w+ is (?:empty|missing)/, String(call));
    assert.equal((await cofre.worlds.list()).length, 1);
    assert.deepEqual(await world.faults.list(), []);
    // Also with an invalid date.
    await assert.rejects(
      world.clock.set(empty),
      /^TypeError: A time of a world must be a valid Date/,
    );
  });

  test("refuses what only a program without types can pass", async () => {
    await using cofre = await startCofre();
    const named = { kind: "throttle", merchant_payment_code: "order-1" } as FaultToAdd;
    assert.equal((await cofre.faults.add(named)).code, "order-1");
    assert.equal(
      (await cofre.faults.add({ kind: "slow", delay_ms: 10 } as FaultToAdd)).delayMs,
      10,
    );
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY]) {
      await assert.rejects(cofre.faults.add({ kind: "slow", delayMs: number }), /COFRE-94/);
      await assert.rejects(cofre.faults.add({ kind: "slow", times: number }), /COFRE-91/);
    }
    await assert.rejects(
      cofre.worlds.create({ clock: "2026-01-01" as unknown as Date }),
      /valid Date/,
    );
  });

  test("rejects where the port is taken, and leaves nothing open", async () => {
    await using first = await startCofre();
    await assert.rejects(startCofre({ port: first.address.port }), { code: "EADDRINUSE" });
  });

  test("runs several at once, each with its own keys, payments and settings", async () => {
    await using one = await startCofre();
    await using other = await startCofre({
      integrationKey: "mine",
      publicIntegrationKey: "mine-for-browsers",
    });
    assert.notEqual(one.url, other.url);
    assert.equal(one.url, `http://127.0.0.1:${one.address.port}`);
    assert.match(one.integrationKey, /^test_ik_/);
    assert.deepEqual(other.keys, {
      integrationKey: "mine",
      publicIntegrationKey: "mine-for-browsers",
    });

    await one.settings.set({ partialCapture: true, simulator: { seed: "one" } });
    assert.equal((await one.settings.get()).partialCapture, true);
    assert.equal((await one.settings.get()).simulator.seed, "one");
    assert.equal((await other.settings.get()).partialCapture, false);

    const { hash } = await pay(one, "order-1");
    assert.equal((await one.payments.explain("order-1")).hash, hash);
    assert.deepEqual((await one.payments.explain(hash)).problems, []);
    await assert.rejects(other.payments.explain("order-1"), /BP-QRY-2/);

    const { entries, recording } = await one.payments.timeline("order-1");
    assert.deepEqual(
      [recording.complete, entries[0]?.kind, entries.at(-1)?.kind],
      [true, "request", "notification"],
    );
    const [call] = entries.flatMap(({ kind, data }) => (kind === "call" ? [data] : []));
    assert.deepEqual(
      [call?.kind, call?.amount, call?.currency, call?.outcome?.kind],
      ["authorize", "100.00", "USD", "approved"],
    );
    await assert.rejects(other.payments.timeline("order-1"), /BP-QRY-2/);
  });

  test("controls the simulated acquirer", async () => {
    await using cofre = await startCofre();
    await cofre.simulator.next({
      next: "decline",
      reason: "insufficient_funds",
      message: "authorize",
      times: 1,
    });
    assert.equal((await pay(cofre, "declined")).status, "CA");
    assert.equal((await pay(cofre, "control")).status, "CO");
    await assert.rejects(
      cofre.simulator.next({ next: "decline", reason: "no such reason" }),
      /COFRE-32/,
    );
  });

  test("makes requests fail on their way, lists what waits, and takes it away", async () => {
    await using cofre = await startCofre();
    assert.deepEqual(
      await cofre.faults.add({ kind: "drop_after_commit", path: "/ws/direct", code: "order-1" }),
      {
        id: "f1",
        kind: "drop_after_commit",
        times: 1,
        injected: 0,
        path: "/ws/direct",
        code: "order-1",
      },
    );
    await cofre.faults.add({ kind: "slow", delayMs: 10, times: 0 });
    await assert.rejects(pay(cofre, "order-1"), /fetch failed/);
    assert.equal((await cofre.payments.explain("order-1")).state, "captured");
    assert.equal((await pay(cofre, "control")).status, "CO");
    assert.deepEqual(await cofre.faults.list(), [
      { id: "f2", kind: "slow", times: 0, injected: 1, delayMs: 10 },
    ]);
    await assert.rejects(cofre.faults.clear("f1"), /COFRE-97/);
    assert.deepEqual(
      [await cofre.faults.clear("f2"), await cofre.faults.clear(), await cofre.faults.list()],
      [1, 0, []],
    );
    await assert.rejects(
      cofre.faults.add({ kind: "decline", reason: "no such reason" }),
      /COFRE-95/,
    );
    // The types have the same names as the program.
    const kinds: readonly FaultToAdd["kind"][] = faultKindNames;
    const named: readonly FaultKind[] = kinds;
    assert.ok(named.length > 0);
  });

  test("lists the notifications of receivers, and sends them again", async () => {
    await using cofre = await startCofre();
    const received: (() => void)[] = [];
    const receiver = createServer((request, response) => {
      request.resume();
      response.end();
      received.shift()?.();
    });
    await once(receiver.listen(0, "127.0.0.1"), "listening");
    const next = (): Promise<void> => new Promise((resolve) => void received.push(resolve));
    try {
      const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
      await cofre.settings.set({ notificationEndpoints: [{ id: "shop", url }] });
      const first = next();
      const { hash } = await pay(cofre, "told");
      await first;
      // A received message is reported as delivered a moment later.
      const isUnderWay = async () =>
        (await cofre.notifications.list())[0]?.deliveries[0]?.state === "waiting";
      for (let look = 0; look < 1_000 && (await isUnderWay()); look += 1)
        await new Promise((resolve) => void setTimeout(resolve, 20));
      const [reported, ...more] = await cofre.notifications.list();
      assert.deepEqual([reported?.number, reported?.hash, more.length], [1, hash, 0]);
      assert.deepEqual(await cofre.notifications.list({ after: 1 }), []);
      const again = next();
      assert.equal(await cofre.notifications.resend({ hash }), 1);
      await again;
    } finally {
      receiver.close();
      receiver.closeAllConnections();
    }
  });

  test("logs to a given function, and is silent otherwise", async () => {
    const events: string[] = [];
    const cofre = await startCofre({ log: ({ event }) => void events.push(event) });
    await pay(cofre, "logged");
    await cofre.close();
    assert.ok(events.includes("request"));
  });

  test("continues when the log function throws, which is not hidden", async (context) => {
    const script = `
      import { startCofre } from ${JSON.stringify(new URL("../src/library.ts", import.meta.url).href)};
      const heard = new Set();
      process.on("uncaughtException", ({ message }, origin) => heard.add(origin + " " + message));
      const cofre = await startCofre({ log: () => { throw new Error("theirs"); } });
      await cofre.faults.add({ kind: "throttle" });
      const bounded = () => ({ signal: AbortSignal.timeout(5_000) });
      const query = cofre.url + "/ws/query?integration_key=" + cofre.integrationKey;
      const statuses = [(await fetch(query, bounded())).status, (await fetch(query, bounded())).status];
      await cofre.close();
      console.log(JSON.stringify([statuses, [...heard]]));
    `;
    const file = join(temporaryFolder(context), "throws.mjs");
    writeFileSync(file, script);
    const command = new Command(context, [process.execPath, file]);
    assert.equal(await command.code(), 0, command.stderr);
    assert.deepEqual(JSON.parse(command.stdout), [[429, 200], ["uncaughtException theirs"]]);
  });

  test("has the machine's time while a test has all timers and Date mocked, and hangs nowhere", async (context) => {
    context.mock.timers.enable({
      apis: ["setTimeout", "setInterval", "setImmediate", "Date"],
      now: 0,
    });
    await using cofre = await startCofre();
    assert.equal((await pay(cofre, "mocked")).status, "CO");
    const world = await cofre.worlds.create({ seed: "mocked" });
    await world.simulator.next({ next: "lose_answer" });
    assert.equal(
      (await pay({ ...cofre, integrationKey: world.integrationKey }, "unknown")).status,
      "PE",
    );
    await world.clock.advance("1d");
    assert.equal((await world.payments.explain("unknown")).state, "captured");
    const [first] = (await cofre.payments.explain("mocked")).facts;
    assert.ok(first !== undefined && first.at > "2026");
  });

  test("rejects for a time that is none, and throws nothing", async () => {
    await using cofre = await startCofre();
    const none = new Date(Number.NaN);
    await assert.rejects(cofre.worlds.create({ clock: none }), /valid Date/);
    const world = await cofre.worlds.create({ seed: "times" });
    const set = world.clock.set(none);
    await assert.rejects(set, /valid Date/);
    await assert.rejects(world.clock.set(new Date(8.64e15)), /COFRE-73/);
  });

  test("closes once, however often it is called, and answers no request then", async () => {
    const cofre = await startCofre();
    await Promise.all([cofre.close(), cofre.close()]);
    await cofre.close();
    await assert.rejects(fetch(cofre.url), /fetch failed/);
    await assert.rejects(cofre.settings.get(), /Nothing answers at/);
  });
});
