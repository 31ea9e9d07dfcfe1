import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Cofre, startCofre, type World } from "../../src/library.ts";
import { until } from "../until.ts";

type Fields = Readonly<Record<string, unknown>>;
interface Answer {
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

/** Sends JSON with the world's key, and returns the answer as text and as JSON. */
async function post(
  { url }: Pick<Cofre, "url">,
  { integrationKey }: Pick<World, "integrationKey">,
  path: string,
  fields: Fields,
): Promise<Answer> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ integration_key: integrationKey, ...fields }),
  });
  const text = await response.text();
  return { text, body: JSON.parse(text) as Fields };
}

function pay(
  cofre: Cofre,
  world: World,
  code: string,
  creditcard: Fields = {},
  payment: Fields = {},
): Promise<Answer> {
  return post(cofre, world, "/ws/direct", {
    operation: "request",
    payment: { ...orderOf(code), creditcard: { ...card, ...creditcard }, ...payment },
  });
}

async function statusOf(cofre: Cofre, world: World, code: string): Promise<string> {
  const { body, text } = await post(cofre, world, "/ws/query", { merchant_payment_code: code });
  const { status } = (body["payment"] ?? {}) as { readonly status?: string };
  assert.ok(status !== undefined, text);
  return status;
}

function hashOf({ body, text }: Answer): string {
  const { hash } = (body["payment"] ?? {}) as { readonly hash?: string };
  assert.ok(hash !== undefined, text);
  return hash;
}

interface Received {
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

/** A message without the signatures that are made with the installation's certificate. */
function withoutRsa({ headers, body }: Received): Received {
  return {
    headers: Object.fromEntries(
      Object.entries(headers).filter(([name]) => !name.startsWith("x-signature")),
    ),
    body,
  };
}

interface Receiver {
  readonly url: string;
  status: number;
  readonly received: Received[];
  readonly maxConcurrent: number;
}

/** A receiver that answers with the configured status, and keeps the messages. */
async function startReceiver(context: TestContext, delayMs = 0): Promise<Receiver> {
  const receiver = { url: "", status: 200, received: [] as Received[], maxConcurrent: 0 };
  let atOnce = 0;
  const server = createServer((request, response) => {
    atOnce += 1;
    receiver.maxConcurrent = Math.max(receiver.maxConcurrent, atOnce);
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const { host: _, ...headers } = request.headers;
      receiver.received.push({ headers, body: Buffer.concat(pieces).toString() });
      setTimeout(() => {
        atOnce -= 1;
        response.writeHead(receiver.status).end();
      }, delayMs);
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return receiver;
}

describe("worlds", () => {
  test("notify a receiver of one event after the other where the clock is stopped, and so in one order", async (context) => {
    await using cofre = await startCofre();
    const receiver = await startReceiver(context, 5);
    const settings = { notificationEndpoints: [{ id: "shop", url: receiver.url }] };
    const world = await cofre.worlds.create({ seed: "order", settings });
    await world.simulator.next({ next: "lose_answer", message: "authorize", times: 12 });
    for (let index = 0; index < 12; index += 1) await pay(cofre, world, `order-${index}`);
    // Recovery resolves all of them at one moment.
    await world.clock.advance("90min");
    assert.equal(receiver.maxConcurrent, 1);
    const numbers = receiver.received.map(({ headers }) => Number(headers["x-cofre-sequence"]));
    assert.deepEqual(
      numbers,
      numbers.toSorted((a, b) => a - b),
    );
    assert.ok(numbers.length >= 12, String(numbers.length));
  });

  test("list what was made at one moment the newest first, on every page", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "one moment" });
    const codes: string[] = [];
    const make = async (): Promise<void> => {
      for (let each = 0; each < 4; each += 1) {
        codes.unshift(`order-${codes.length}`);
        await pay(cofre, world, String(codes[0]));
      }
    };
    await make();
    await world.snapshot("four");
    await make();
    await world.restore("four");
    codes.splice(0, 4);
    await make();
    await world.clock.advance("1s");
    await world.clock.set(new Date("2026-01-01T00:00:00Z"));
    await make();
    for (const limit of [100, 1]) {
      const listed: unknown[] = [];
      let next: unknown = null;
      do {
        const { body } = await post(cofre, world, "/__cofre/payments", { limit, before: next });
        listed.push(
          ...(body["payments"] as readonly Fields[]).map((each) => each["merchant_payment_code"]),
        );
        next = body["next"];
      } while (next !== null && listed.length < 100);
      assert.deepEqual(listed, codes);
    }

    const masks: unknown[] = [];
    for (const number of [
      "4111111111111111",
      "5555555555554444",
      "378282246310005",
      "30569309025904",
      "6011111111111117",
    ]) {
      const creditcard = {
        ...card,
        card_number: number,
        card_cvv: number.startsWith("37") ? "1234" : "123",
      };
      const { body } = await post(cofre, world, "/ws/token", {
        country: "br",
        payment_type_code: "creditcard",
        creditcard,
      });
      masks.unshift(body["masked_card_number"]);
    }
    const { body } = await post(cofre, world, "/__cofre/tokens", {});
    assert.deepEqual(
      (body["tokens"] as readonly Fields[]).map((each) => each["masked_card_number"]),
      masks,
    );
  });

  test("say what fell due on the way, without what was due before", async (context) => {
    await using cofre = await startCofre();
    const receiver = await startReceiver(context);
    const world = await cofre.worlds.create({
      seed: "due before",
      settings: { notificationEndpoints: [{ id: "shop", url: receiver.url }] },
    });
    // Whether the time is moved before the work starts depends on a millisecond or two.
    for (let each = 0; each < 60; each += 1) {
      await pay(cofre, world, `order-${each}`);
      assert.deepEqual(await world.clock.advance("1h"), { payments: 0, deliveries: 0, cards: 0 });
    }
    assert.equal(receiver.received.length, 60);
  });

  test("of one seed answer the same requests alike, byte for byte, and tell receivers the same", async (context) => {
    // Each installation has its own keys, as two runs of a user's tests have: RSA signatures depend
    // on the installation, all else on the world.
    const runs = await Promise.all(
      ["first", "second"].map(async () => {
        await using cofre = await startCofre();
        const receiver = await startReceiver(context);
        const world = await cofre.worlds.create({
          seed: "alike",
          settings: {
            notificationEndpoints: [{ id: "shop", url: receiver.url }],
            partialCapture: true,
          },
        });
        const answers: string[] = [];
        const ask = async (answer: Promise<Answer>): Promise<Answer> => {
          answers.push((await answer).text);
          return answer;
        };
        const { body } = await ask(
          post(cofre, world, "/ws/token", {
            country: "pe",
            payment_type_code: "creditcard",
            creditcard: card,
          }),
        );
        await ask(pay(cofre, world, "a", { card_number: undefined, token: body["token"] }));
        const held = hashOf(
          await ask(pay(cofre, world, "b", { auto_capture: false, create_token: true })),
        );
        await ask(pay(cofre, world, "c", { card_number: "4000000000000002" }));
        await world.simulator.next({ next: "lose_answer", message: "authorize" });
        await ask(pay(cofre, world, "d"));
        await world.clock.advance("90min");
        await ask(post(cofre, world, "/ws/query", { merchant_payment_code: "d" }));
        await ask(post(cofre, world, "/ws/capture", { hash: held, amount: "60" }));
        await ask(
          post(cofre, world, "/ws/refund", {
            operation: "request",
            hash: held,
            amount: "20",
            description: "one cup",
          }),
        );
        await world.clock.advance("4d");
        for (const code of ["a", "b", "c", "d"])
          await ask(post(cofre, world, "/ws/query", { merchant_payment_code: code }));
        // With the keys that receivers verify with.
        const { text } = await post(cofre, world, "/__cofre/notifications", {});
        answers.push(
          text
            .replace(receiver.url, "http://shop.example/")
            .replace(/"certificate_fingerprint":"[0-9A-F]{40}",/, ""),
        );
        return { answers, received: receiver.received.map(withoutRsa) };
      }),
    );
    const [first, second] = runs;
    assert.ok(first !== undefined && second !== undefined);
    assert.deepEqual(second.answers, first.answers);
    assert.deepEqual(second.received, first.received);
    assert.ok(first.received.length >= 3, JSON.stringify(first.received));
    assert.ok(
      first.answers.every((answer) => answer.includes("SUCCESS")),
      first.answers.join("\n"),
    );
    // Another seed gives another world.
    await using cofre = await startCofre();
    const other = await cofre.worlds.create({ seed: "another" });
    assert.notEqual(
      hashOf(await pay(cofre, other, "b", { auto_capture: false })),
      (/"hash":"(\w+)"/.exec(first.answers[2] ?? "") ?? [])[1],
    );
  });

  test("know nothing of each other", async () => {
    await using cofre = await startCofre();
    const [one, other] = [await cofre.worlds.create(), await cofre.worlds.create()];
    const { body } = await post(cofre, one, "/ws/token", {
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: card,
    });
    const hash = hashOf(await pay(cofre, one, "order"));
    // The same code is free in the other world; the token and the hash do not exist there.
    assert.notEqual(hashOf(await pay(cofre, other, "order")), hash);
    for (const stranger of [other, cofre]) {
      assert.equal(
        (await post(cofre, stranger, "/ws/query", { hash })).body["status_code"],
        "BP-QRY-2",
      );
      const charged = await post(cofre, stranger, "/ws/direct", {
        payment: { ...orderOf("stolen"), creditcard: { token: body["token"], card_cvv: "123" } },
      });
      assert.equal(charged.body["status"], "ERROR", charged.text);
    }
    await other.settings.set({ captureWindowDays: 7 });
    assert.equal((await one.settings.get()).captureWindowDays, 4);
    assert.equal((await cofre.settings.get()).captureWindowDays, 4);
    await other.clock.advance("4d");
    assert.ok(
      (await one.clock.now()).getTime() < (await other.clock.now()).getTime() - 300_000_000,
    );
    // A loss in one world does not affect another.
    await one.simulator.next({ next: "decline", reason: "insufficient_funds" });
    assert.equal((await pay(cofre, other, "well")).body["status"], "SUCCESS");
    assert.equal(await statusOf(cofre, other, "well"), "CO");
    await pay(cofre, one, "unwell");
    assert.equal(await statusOf(cofre, one, "unwell"), "CA");
  });

  test("restart with the same keys, and do the same again", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "again" });
    const first = await pay(cofre, world, "order");
    await world.settings.set({ captureWindowDays: 7 });
    await world.clock.advance("3d");
    await world.reset();
    assert.equal(
      (await post(cofre, world, "/ws/query", { merchant_payment_code: "order" })).body[
        "status_code"
      ],
      "BP-QRY-2",
    );
    assert.equal((await world.settings.get()).captureWindowDays, 4);
    assert.equal((await world.clock.now()).toISOString(), "2026-01-01T00:00:00.000Z");
    assert.equal((await pay(cofre, world, "order")).text, first.text);
  });

  test("are again what was kept of them, the acquirer's books with them", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "kept" });
    const hash = hashOf(await pay(cofre, world, "order", { auto_capture: false }));
    await world.simulator.next({
      next: "decline",
      reason: "insufficient_funds",
      message: "authorize",
    });
    await world.snapshot("held");
    const capture = (): Promise<Answer> => post(cofre, world, "/ws/capture", { hash });
    const captured = await capture();
    assert.equal(await statusOf(cofre, world, "order"), "CO");
    const next = await pay(cofre, world, "next");

    await world.clock.advance("1d");
    await world.restore("held");
    assert.equal((await world.clock.now()).toISOString(), "2026-01-01T00:00:00.000Z");
    assert.equal(await statusOf(cofre, world, "order"), "PE");
    // The acquirer has not captured it either, or it would refuse; and its instruction is pending
    // again.
    assert.equal((await capture()).text, captured.text);
    assert.equal((await pay(cofre, world, "next")).text, next.text);
    assert.equal(await statusOf(cofre, world, "next"), "CA");

    // Voided instead: another continuation from the same moment.
    await world.restore("held");
    assert.equal((await post(cofre, world, "/ws/cancel", { hash })).body["status"], "SUCCESS");
    assert.equal(await statusOf(cofre, world, "order"), "CA");
    await assert.rejects(world.restore("never"), /COFRE-77/);
  });

  test("are again what was kept of them, with what was on its way to the acquirer", async () => {
    await using cofre = await startCofre();
    const ends = async (isRestored: boolean): Promise<readonly string[]> => {
      const world = await cofre.worlds.create({ seed: "late" });
      await world.simulator.next({ next: "late_answer" });
      await pay(cofre, world, "late");
      await world.snapshot("under-way");
      // A snapshot does nothing by itself, whatever happens to the world.
      if (isRestored) await world.clock.advance("1d");
      if (isRestored) await world.restore("under-way");
      await world.clock.advance("1d");
      const { state, facts } = await world.payments.explain("late");
      return [state, ...facts.map(({ at, fact }) => `${at} ${fact}`)];
    };
    const [plain, restored] = [await ends(false), await ends(true)];
    assert.equal(plain[0], "captured", "control: it arrives");
    assert.deepEqual(restored, plain);
  });

  test("are gone when they are deleted", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({
      integrationKey: "test_ik_shop_of_mine",
      publicIntegrationKey: "test_pk_shop_of_mine",
    });
    assert.equal(world.integrationKey, "test_ik_shop_of_mine");
    await assert.rejects(
      cofre.worlds.create({ integrationKey: "test_ik_shop_of_mine" }),
      /COFRE-71/,
    );
    await assert.rejects(cofre.worlds.create({ integrationKey: cofre.integrationKey }), /COFRE-71/);
    assert.deepEqual(
      (await cofre.worlds.list()).map(({ id }) => id),
      [world.id],
    );
    await world.delete();
    assert.deepEqual(await cofre.worlds.list(), []);
    assert.equal((await pay(cofre, world, "order")).body["status_code"], "DA-1");
    // And their keys are free.
    const again = await cofre.worlds.create({ integrationKey: "test_ik_shop_of_mine" });
    assert.equal((await pay(cofre, again, "order")).body["status"], "SUCCESS");
  });

  test("take what browsers send with the public key", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "browser" });
    const check = "/ws/merchantIntegrationProperties/isValidPublicIntegrationKey";
    const { publicIntegrationKey } = world.keys;
    const { body } = await post(cofre, world, check, {
      public_integration_key: publicIntegrationKey,
    });
    assert.equal(body["success"], true);
    const session = await (
      await fetch(`${cofre.url}/fingerprint?publicIntegrationKey=${publicIntegrationKey}`)
    ).json();
    await world.reset();
    const again = await (
      await fetch(`${cofre.url}/fingerprint?publicIntegrationKey=${publicIntegrationKey}`)
    ).json();
    assert.deepEqual(again, session);
  });
});

describe("a world's time", () => {
  test("is stopped with a seed or a clock, and runs without", async () => {
    await using cofre = await startCofre();
    const seeded = await cofre.worlds.create({ seed: "s" });
    const set = await cofre.worlds.create({ clock: new Date("2027-05-06T07:08:09.010Z") });
    const free = await cofre.worlds.create();
    const [before, beforeFree] = [Date.now(), (await free.clock.now()).getTime()];
    await sleep(30);
    assert.equal((await seeded.clock.now()).toISOString(), "2026-01-01T00:00:00.000Z");
    assert.equal((await set.clock.now()).toISOString(), "2027-05-06T07:08:09.010Z");
    assert.ok(Math.abs(beforeFree - before) < 60_000);
    assert.ok((await free.clock.now()).getTime() > beforeFree);
    await free.clock.run(false);
    const stopped = (await free.clock.now()).getTime();
    await sleep(30);
    assert.equal((await free.clock.now()).getTime(), stopped);
    await set.clock.run(true);
    await sleep(30);
    assert.ok((await set.clock.now()).getTime() > Date.parse("2027-05-06T07:08:09.010Z"));
    // The account that is not a world uses the system's clock.
    const { body } = await post(cofre, cofre, "/__cofre/clock", {});
    assert.equal((body["clock"] as { readonly running: boolean }).running, true);
    assert.equal(
      (await post(cofre, cofre, "/__cofre/clock", { advance: "1d" })).body["status_code"],
      "COFRE-74",
    );
  });

  test("takes a payment through its capture window, at its moment and no other", async (context) => {
    await using cofre = await startCofre();
    const receiver = await startReceiver(context);
    const world = await cofre.worlds.create({
      seed: "window",
      settings: { notificationEndpoints: [{ id: "shop", url: receiver.url }] },
    });
    const hash = hashOf(await pay(cofre, world, "order", { auto_capture: false }));
    assert.deepEqual(await world.clock.advance("95h"), { payments: 0, deliveries: 0, cards: 0 });
    assert.equal(await statusOf(cofre, world, "order"), "PE");
    const done = await world.clock.advance("30d");
    assert.equal(done.deliveries, 1);
    assert.equal(await statusOf(cofre, world, "order"), "CA");
    // Sent during the call, with the content of the fourth day, not at the end.
    assert.deepEqual(
      receiver.received.map(({ body }) => body),
      [`operation=payment_status_change&notification_type=update&hash_codes=${hash}`],
    );
    const { facts } = await world.payments.explain("order");
    assert.ok(
      facts.slice(1).some(({ at }) => at.startsWith("2026-01-05 00:00")),
      JSON.stringify(facts),
    );
    assert.equal((await world.clock.now()).toISOString(), "2026-02-03T23:00:00.000Z");
  });

  test("learns of a lost answer when its clock is moved and not before", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "lost" });
    for (const next of ["lose_answer", "lose_request", "late_answer"] as const) {
      await world.simulator.next({ next, message: "authorize" });
      const began = performance.now();
      const { body, text } = await pay(cofre, world, next);
      assert.equal(body["status"], "SUCCESS", text);
      // With a paused clock no request waits for the acquirer's deadline.
      assert.ok(performance.now() - began < 10_000);
      assert.equal(await statusOf(cofre, world, next), "PE");
    }
    assert.ok((await world.clock.advance("next")).payments >= 1);
    await world.clock.advance("1h");
    // The acquirer executed it, never received it, or executed it late: every case is resolved or
    // reversed.
    const reported = await Promise.all(
      ["lose_answer", "lose_request", "late_answer"].map((code) => world.payments.explain(code)),
    );
    for (const { state, problems } of reported) {
      assert.ok(state === "declined" || state === "captured" || state === "voided", state);
      assert.deepEqual(problems, []);
    }
  });

  test("sends refunds, forgets cards and ends tokens", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({
      seed: "later",
      clock: new Date("2026-12-31T10:00:00Z"),
    });
    const { body } = await post(cofre, world, "/ws/token", {
      country: "pe",
      payment_type_code: "creditcard",
      creditcard: card,
    });
    const charge = (code: string): Promise<Answer> =>
      pay(cofre, world, code, { card_number: undefined, token: body["token"] });
    const hash = hashOf(await charge("first"));
    const refund = await post(cofre, world, "/ws/refund", {
      operation: "request",
      hash,
      amount: "40",
      description: "one cup",
    });
    const refundStatus = async (): Promise<unknown> => {
      const query = await post(cofre, world, "/ws/query", { hash });
      const { refunds } = query.body["payment"] as {
        readonly refunds: readonly { readonly status: string }[];
      };
      return refunds.map(({ status }) => status);
    };
    assert.equal(refund.body["status"], "SUCCESS", refund.text);
    assert.deepEqual(await refundStatus(), ["RE"]);
    await world.clock.advance("1min");
    assert.deepEqual(await refundStatus(), ["PE"]);
    await world.clock.advance("1d");
    assert.deepEqual(await refundStatus(), ["CO"]);

    // 31 December and 14 months: the last day of February.
    await world.clock.set(new Date("2028-02-29T09:59:59Z"));
    assert.equal((await charge("in time")).body["status"], "SUCCESS");
    await world.clock.set(new Date("2029-04-29T09:59:58Z"));
    assert.equal((await charge("in time again")).body["status"], "SUCCESS");
    const done = await world.clock.advance("14months");
    assert.equal(done.cards, 0);
    assert.equal((await charge("too late")).body["status"], "ERROR");
    assert.equal((await world.clock.advance("2h")).cards, 1);
  });

  test("deletes Idempotency-Keys 30 days after their first request; the same request still finds what it did, and another one runs", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "keys" });
    const hash = hashOf(await pay(cofre, world, "order"));
    const refund = async (amount: string): Promise<string> => {
      const { integrationKey: integration_key } = world;
      const response = await fetch(`${cofre.url}/ws/refund`, {
        method: "POST",
        body: JSON.stringify({
          integration_key,
          operation: "request",
          hash,
          amount,
          description: "one cup",
        }),
        headers: { "Idempotency-Key": "refund-1" },
      });
      const { status, status_code: code } = (await response.json()) as Readonly<
        Record<string, string>
      >;
      return response.headers.get("idempotent-replayed") === "true"
        ? "replayed"
        : (code ?? status ?? "");
    };
    const refunds = async (): Promise<number> => {
      const query = await post(cofre, world, "/ws/query", { hash });
      return (query.body["payment"] as { readonly refunds: readonly unknown[] }).refunds.length;
    };
    assert.equal(await refund("10"), "SUCCESS");
    await world.clock.advance("29d");
    assert.deepEqual([await refund("10"), await refund("20")], ["replayed", "COFRE-44"]);
    await world.clock.advance("1d");
    assert.equal(await refund("10"), "SUCCESS");
    assert.equal(await refunds(), 1, "it is found by what it committed under its key");
    await world.clock.advance("30d");
    assert.equal(await refund("20"), "SUCCESS");
    assert.equal(await refunds(), 2);
  });

  test("tries a receiver that is down again for three days, then no more", async (context) => {
    await using cofre = await startCofre();
    const receiver = await startReceiver(context);
    receiver.status = 500;
    const world = await cofre.worlds.create({
      seed: "down",
      settings: { notificationEndpoints: [{ id: "shop", url: receiver.url }] },
    });
    await pay(cofre, world, "order", { auto_capture: false });
    const { integrationKey } = world;
    await post(cofre, { integrationKey }, "/ws/capture", { merchant_payment_code: "order" });
    const done = await world.clock.advance("10d");
    const [reported] = await world.notifications.list();
    assert.equal(reported?.deliveries[0]?.state, "failed");
    assert.equal(reported.deliveries[0].attempts, receiver.received.length);
    assert.ok(done.deliveries >= 8, JSON.stringify(done));
    assert.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 1);
    const times = receiver.received.map(({ headers }) => Number(headers["webhook-timestamp"]));
    assert.deepEqual(
      times,
      times.toSorted((left, right) => left - right),
    );
    const days = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 86_400;
    assert.ok(days > 2 && days < 4, String(days));
    // The receiver is up again: a message that is sent again is delivered without moving the clock.
    receiver.status = 200;
    await world.notifications.resend({ failedFrom: 1 });
    await world.clock.advance("1h");
    assert.equal((await world.notifications.list())[0]?.deliveries[0]?.state, "delivered");
  });

  test("goes back when it is set back, and nothing is done twice", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "back" });
    await pay(cofre, world, "order", { auto_capture: false });
    await world.clock.advance("5d");
    assert.equal(await statusOf(cofre, world, "order"), "CA");
    await world.clock.set(new Date("2026-01-01T12:00:00Z"));
    assert.equal((await world.clock.now()).toISOString(), "2026-01-01T12:00:00.000Z");
    assert.deepEqual(await world.clock.advance("30d"), { payments: 0, deliveries: 0, cards: 0 });
    const { problems } = await world.payments.explain("order");
    assert.deepEqual(problems, []);
  });

  test("what is due at once is done though the clock is stopped", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({
      seed: "at once",
      settings: { refundRequestedMinutes: 0, refundPendingMinutes: 0 },
    });
    const hash = hashOf(await pay(cofre, world, "order"));
    await post(cofre, world, "/ws/refund", {
      operation: "request",
      hash,
      amount: "40",
      description: "one cup",
    });
    const isSent = async (): Promise<boolean> =>
      (await post(cofre, world, "/ws/query", { hash })).text.includes(
        '"status":"CO","request_date"',
      );
    await until("the refund is made", isSent);
  });
});

describe("the calls that make and move worlds", () => {
  test("refuse what they cannot understand, and echo nothing", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "s" });
    const hostile = [
      "4111111111111111",
      "\u0000",
      "x".repeat(101),
      ["a"],
      { a: "b" },
      "-1d",
      "1e9d",
      "99999999999d",
      "2026-02-30",
    ];
    for (const value of hostile) {
      for (const [path, name] of [
        ["/__cofre/worlds", "clock"],
        ["/__cofre/worlds", "running"],
        ["/__cofre/clock", "advance"],
        ["/__cofre/clock", "set"],
        ["/__cofre/clock", "run"],
        ["/__cofre/world", "action"],
      ] as const) {
        const { body, text } = await post(cofre, world, path, { [name]: value });
        assert.match(
          String(body["status_code"]),
          /^COFRE-7\d$/,
          `${path} ${name} ${JSON.stringify(value)} ${text}`,
        );
        assert.ok(!text.includes("4111111111111111"));
      }
    }
    for (const [name, value] of [
      ["name", "x".repeat(101)],
      ["seed", ["a"]],
      ["settings", "all"],
      ["settings", { captureWindowDays: -1 }],
      ["name", "card 4111 1111 1111 1111"],
      ["seed", "4111111111111111"],
      ["new_integration_key", "4111111111111111"],
      ["new_integration_key", "with blanks"],
      ["new_public_integration_key", "x".repeat(101)],
      ["colour", "green"],
    ] as const) {
      const { body, text } = await post(cofre, world, "/__cofre/worlds", { [name]: value });
      assert.equal(body["status"], "ERROR", name);
      assert.ok(!text.includes("4111"), text);
    }
    await assert.rejects(world.snapshot("4111111111111111"), /COFRE-73/);
    assert.equal((await cofre.worlds.list()).length, 1);
    assert.equal((await world.clock.now()).toISOString(), "2026-01-01T00:00:00.000Z");
  });
});

function orderOf(code: string): Fields {
  return {
    merchant_payment_code: code,
    amount_total: "100",
    currency_code: "PEN",
    country: "pe",
    name: "Ana Lima",
    email: "ana.lima@example.com",
    phone_number: "51987654321",
    payment_type_code: "creditcard",
  };
}
