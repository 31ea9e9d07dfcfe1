import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { type Cofre, type Sandbox, startCofre, type World } from "../../src/library.ts";
import { directBody, integrationKey, startTestServer } from "../server.ts";
import { until } from "../until.ts";

type Fields = Readonly<Record<string, unknown>>;

async function post(
  { url }: { readonly url: string },
  { integrationKey: key }: Pick<Sandbox, "integrationKey">,
  path: string,
  fields: Fields,
  headers: Readonly<Record<string, string>> = {},
): Promise<Fields> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ integration_key: key, ...fields }),
  });
  return (await response.json()) as Fields;
}

function pay(cofre: Cofre, world: World, code: string, creditcard: Fields = {}): Promise<Fields> {
  return post(cofre, world, "/ws/direct", orderOf(code, creditcard));
}

function orderOf(code: string, creditcard: Fields = {}): Fields {
  const { payment } = directBody(code) as { readonly payment: Fields };
  return {
    operation: "request",
    payment: { ...payment, creditcard: { ...(payment["creditcard"] as Fields), ...creditcard } },
  };
}

/** A receiver that handles each message with the given function. */
async function startReceiver(
  context: TestContext,
  handle: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on("end", () => handle(request, response));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  context.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const started = "2026-01-01T00:00:00.000Z";

/** The world was reset or restored before the requested time was reached. */
function givenUp(error: Error): undefined {
  assert.match(error.message, /COFRE-162/);
}

/**
 * Resolves when a payment of this world is in flight: it exists, and its request to the acquirer
 * was sent.
 */
async function isRequested(
  server: { readonly url: string },
  world: Pick<Sandbox, "integrationKey">,
): Promise<void> {
  await until("the world has a payment", async () => {
    const { world: shown } = (await post(server, world, "/__cofre/world", {})) as {
      readonly world?: { readonly payments?: number };
    };
    assert.ok(shown?.payments !== undefined);
    return shown.payments > 0;
  });
}

describe("what is asked of a world at the same time", () => {
  test("advances add up, however many there are, and none sets the time back", async (context) => {
    // The first move is slow, and still running when the others are requested: a `next` that ran
    // before it would reach another moment.
    const reported = Promise.withResolvers<void>();
    const url = await startReceiver(context, (_, response) => {
      reported.resolve();
      setTimeout(() => response.end(), 500);
    });
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({
      seed: "at once",
      settings: { notificationEndpoints: [{ id: "shop", url }] },
    });
    await pay(cofre, world, "order", { auto_capture: false });
    const first = world.clock.advance("5d");
    await reported.promise;
    await Promise.all([first, world.clock.advance("1d"), world.clock.advance("next")]);
    assert.equal((await world.clock.now()).toISOString(), "2026-01-07T00:00:00.000Z");
    await pay(cofre, world, "another", { auto_capture: false });
    await Promise.all([
      world.clock.advance("4d"),
      ...Array.from({ length: 100 }, () => world.clock.advance("1h")),
    ]);
    assert.equal((await world.clock.now()).toISOString(), "2026-01-15T04:00:00.000Z");
  });

  test("everything: nothing fails, and nothing is left of it", async () => {
    const events: string[] = [];
    await using cofre = await startCofre({ log: ({ event }) => void events.push(event) });
    const world = await cofre.worlds.create({ seed: "everything" });
    await world.snapshot("begin");
    const pending = Array.from({ length: 60 }, async (_, index) => {
      await pay(cofre, world, `order-${index}`, { auto_capture: index % 2 === 0 });
      if (index % 5 === 0) await world.clock.advance("2d").catch(givenUp);
      if (index % 7 === 0) await world.restore("begin");
      if (index % 11 === 0) await world.reset();
      if (index % 13 === 0) await world.snapshot(`s${index}`);
    });
    await Promise.all(pending);
    assert.deepEqual(
      events.filter((event) => event === "alarm" || event === "request_failed"),
      [],
    );
    await world.delete();
    assert.deepEqual(await cofre.worlds.list(), []);
  });

  test("what runs in a world that is deleted in the meantime never reaches a missing account", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "5000" },
    });
    const { world } = (await post(server, { integrationKey }, "/__cofre/worlds", {})) as {
      readonly world: { readonly integration_key: string };
    };
    const key = { integrationKey: world.integration_key };
    await post(server, key, "/__cofre/simulator", { next: "lose_answer", message: "authorize" });
    const before = (await post(server, { integrationKey }, "/__cofre/stats", {}))["store"] as {
      readonly changes?: number;
    };
    // The second request waits for the first, and starts when the world no longer exists.
    const named = () =>
      post(server, key, "/ws/direct", orderOf("order"), { "idempotency-key": "one" });
    const both = [named(), named()];
    await isRequested(server, key);
    assert.equal(
      (await post(server, key, "/__cofre/world", { action: "delete" }))["status"],
      "SUCCESS",
    );
    const answers = await Promise.all(both);
    assert.deepEqual(
      answers.slice(1).map(({ status_code: code }) => code),
      ["DA-1"],
    );
    const after = (await post(server, { integrationKey }, "/__cofre/stats", {}))["store"];
    assert.deepEqual(after, before);
  });

  test("what waits in a world that is reset meanwhile is not done in what it is then", async () => {
    await using server = await startTestServer();
    const { world } = (await post(server, { integrationKey }, "/__cofre/worlds", {
      running: true,
    })) as {
      readonly world: { readonly integration_key: string };
    };
    const key = { integrationKey: world.integration_key };
    await post(server, key, "/__cofre/simulator", { next: "lose_answer", message: "authorize" });
    // The acquirer's answer never comes, and the second request waits for the first.
    const named = () =>
      post(server, key, "/ws/direct", orderOf("order"), { "idempotency-key": "one" });
    const both = [named(), named()];
    await isRequested(server, key);
    assert.equal(
      (await post(server, key, "/__cofre/world", { action: "reset" }))["status"],
      "SUCCESS",
    );
    const codes = (await Promise.all(both)).map(({ status_code: code }) => code);
    assert.deepEqual(new Set(codes), new Set(["COFRE-21", undefined]));
    const shown = (await post(server, key, "/__cofre/world", {}))["world"] as {
      readonly payments: number;
    };
    assert.equal(shown.payments, 0);
    assert.equal(
      (await post(server, key, "/ws/query", { merchant_payment_code: "order" }))["status_code"],
      "BP-QRY-2",
    );
    assert.equal((await named())["status"], "SUCCESS", "sent again, it is done");
  });
});

describe("a world that takes its time", () => {
  test("keeps no other request waiting", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "large" });
    for (let first = 0; first < 1_500; first += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          pay(cofre, world, `order-${first + index}`, { auto_capture: false }),
        ),
      );
      // Each fifty expire at the same moment, different from the others'.
      await world.clock.advance("1min");
    }
    const move = { isOver: false };
    const moved = world.clock.advance("5d").finally(() => (move.isOver = true));
    let answered = 0;
    const isMoved = async (): Promise<boolean> => {
      await post(cofre, cofre, "/__cofre/clock", {});
      answered += 1;
      return move.isOver;
    };
    await until("the time of the large world is moved", isMoved, { everyMs: 0 });
    assert.equal((await moved).payments, 3_000);
    assert.ok(answered >= 5, String(answered));
  });

  test("ends when it is deleted, and when the server is closed, though its receiver hangs", async (context) => {
    const received: string[] = [];
    const url = await startReceiver(context, ({ url: path = "" }) => void received.push(path));
    const cofre = await startCofre();
    const settings = { notificationEndpoints: [{ id: "shop", url }] };
    const hanging = async (): Promise<{
      readonly world: World;
      readonly moved: Promise<unknown>;
    }> => {
      const world = await cofre.worlds.create({ seed: "hangs", settings });
      await pay(cofre, world, "order", { auto_capture: false });
      const before = received.length;
      const moved = Promise.allSettled([world.clock.advance("30d")]);
      await until("the receiver is called", () => received.length > before);
      return { world, moved };
    };
    // An attempt alone takes twenty seconds.
    const isSoon = async (ends: Promise<unknown>): Promise<void> => {
      const began = performance.now();
      await ends;
      assert.ok(performance.now() - began < 15_000, String(performance.now() - began));
    };
    const { world, moved } = await hanging();
    await isSoon(Promise.all([world.delete(), moved]));
    const other = await hanging();
    await isSoon(Promise.all([cofre.close(), other.moved]));
  });

  test("is reset and restored at once though its receiver hangs, and the caller that moves its time is informed", async (context) => {
    const received: string[] = [];
    let hangs = true;
    const url = await startReceiver(context, ({ url: path = "" }, response) => {
      received.push(path);
      if (!hangs) response.end();
    });
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({
      seed: "hangs",
      settings: { notificationEndpoints: [{ id: "shop", url }] },
    });
    await world.snapshot("empty");
    for (const begin of [() => world.reset(), () => world.restore("empty")]) {
      await pay(cofre, world, "order", { auto_capture: false });
      const before = received.length;
      const moved = assert.rejects(world.clock.advance("30d"), /COFRE-162/);
      await until("the receiver is called", () => received.length > before);
      await begin();
      await moved;
      assert.equal(
        received.length,
        before + 1,
        "another attempt would have begun after twenty seconds",
      );
      assert.equal((await world.clock.now()).toISOString(), started);
      await assert.rejects(world.payments.timeline("order"), /BP-QRY-2/);
    }
    hangs = false;
    const before = received.length;
    assert.deepEqual(await world.clock.advance("30d"), { payments: 0, deliveries: 0, cards: 0 });
    assert.equal(received.length, before);
    // Control: new notifications are delivered.
    await pay(cofre, world, "order");
    await world.clock.advance("1d");
    assert.equal(received.length, before + 1);
  });

  test("is moved at once though its clock runs and its acquirer never answers", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ settings: { simulator: { loseRequest: 1_000 } } });
    const began = performance.now();
    // A client that waits for the acquirer's answer receives a timeout when the time is moved past
    // the deadline.
    const pending = pay(cofre, world, "order");
    await isRequested(cofre, world);
    assert.ok((await world.clock.advance("1d")).payments >= 30);
    assert.equal((await pending)["status"], "SUCCESS");
    assert.ok(performance.now() - began < 20_000);
  });
});

test("worlds of one seed try again at the same times, in whatever order their receivers answer", async (context) => {
  await using cofre = await startCofre();
  const timesOf = async (slow: "1" | "2"): Promise<readonly string[]> => {
    const received: string[] = [];
    const url = await startReceiver(context, ({ headers }, response) => {
      received.push(
        `${String(headers["x-cofre-sequence"])} ${String(headers["x-cofre-attempt"])} ${String(headers["webhook-timestamp"])}`,
      );
      setTimeout(
        () => response.writeHead(500).end(),
        headers["x-cofre-sequence"] === slow ? 300 : 0,
      );
    });
    const world = await cofre.worlds.create({
      seed: "order",
      settings: { notificationEndpoints: [{ id: "shop", url }] },
    });
    for (const code of ["one", "two"]) {
      await pay(cofre, world, code, { auto_capture: false });
      await post(cofre, world, "/ws/capture", { merchant_payment_code: code });
    }
    await world.clock.advance("2h");
    return received.toSorted();
  };
  const [first, second] = [await timesOf("1"), await timesOf("2")];
  assert.ok(first.length >= 6, JSON.stringify(first));
  assert.deepEqual(second, first);
});

test("a stop waits for no time that is being moved, nor for a receiver that hangs", async (context) => {
  const reached = Promise.withResolvers<void>();
  const url = await startReceiver(context, () => reached.resolve());
  const world = await startTestServer();
  const settings = { notificationEndpoints: [{ id: "shop", url }] };
  const made = (await world.postJson("/__cofre/worlds", { seed: "stop", settings })).body[
    "world"
  ] as { readonly integration_key: string };
  const key = { integrationKey: made.integration_key };
  await post(world, key, "/ws/direct", orderOf("order"));
  const [moving, waiting] = [1, 2].map(() =>
    post(world, key, "/__cofre/clock", { advance: "30d" }),
  );
  await reached.promise;
  const from = performance.now();
  assert.equal(await world.cofre.close(), "drained");
  assert.ok(performance.now() - from < 5_000);
  for (const moved of [await moving, await waiting])
    assert.deepEqual([moved?.["status"], moved?.["complete"]], ["SUCCESS", false]);
});

describe("what a world is asked for", () => {
  test("no time in which hashes, times or signatures could not be written", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({ seed: "times" });
    for (const time of ["0000-01-01", "1969-12-31T23:59:59.999Z", "9900-01-01", "9999-12-31"]) {
      assert.equal(
        (await post(cofre, world, "/__cofre/clock", { set: time }))["status_code"],
        "COFRE-73",
        time,
      );
      assert.equal(
        (await post(cofre, world, "/__cofre/worlds", { clock: time }))["status_code"],
        "COFRE-73",
        time,
      );
    }
    assert.equal((await world.clock.now()).toISOString(), started);
    for (const time of [
      "1970-01-01T00:00:00.000Z",
      "2106-02-07T06:28:16.000Z",
      "9899-12-31T23:59:59.999Z",
    ]) {
      await world.clock.set(new Date(time));
      const answer = await pay(cofre, world, `at ${time.slice(0, 4)}`, {
        card_due_date: `12/${Number(time.slice(0, 4)) + 5}`,
      });
      const { payment = {} } = answer as { readonly payment?: Fields };
      assert.equal(answer["status"], "SUCCESS", `${time} ${JSON.stringify(answer)}`);
      assert.match(String(payment["hash"]), /^[0-9a-f]{48}$/, time);
      assert.equal(
        (await post(cofre, world, "/ws/query", { hash: payment["hash"] }))["status"],
        "SUCCESS",
      );
    }
    await assert.rejects(world.clock.advance("1d"), /COFRE-73/);
  });

  test("no time after the last by what falls due then", async () => {
    await using cofre = await startCofre();
    const world = await cofre.worlds.create({
      seed: "end",
      clock: new Date("9899-12-29T00:00:00.000Z"),
    });
    const isPaid = (
      await pay(cofre, world, "held", { card_due_date: "12/9905", auto_capture: false })
    )["status"];
    assert.equal(isPaid, "SUCCESS");
    await assert.rejects(world.clock.advance("next"), /COFRE-73/);
    assert.equal((await world.clock.now()).toISOString(), "9899-12-29T00:00:00.000Z");
  });

  test("no route to an acquirer that is not there", async () => {
    await using cofre = await startCofre();
    await assert.rejects(
      cofre.worlds.create({ settings: { routes: [{ connectors: ["elsewhere"] }] } }),
      /COFRE-31/,
    );
    assert.deepEqual(await cofre.worlds.list(), []);
  });
});

describe("an anonymous world whose acquirer is slow", () => {
  const sockets = 1_030;

  test("locks no client out, with more connections than there are places", async (context) => {
    await using server = await startTestServer();
    const { world } = (await post(server, { integrationKey }, "/__cofre/worlds", {})) as {
      readonly world?: { readonly integration_key: string };
    };
    assert.ok(world !== undefined);
    const own = { integrationKey: world.integration_key };
    await post(server, own, "/__cofre/settings", {
      settings: { simulator: { latencyMs: 20_000 } },
    });
    const crowd = Array.from({ length: sockets }, (_, at) => {
      const body = JSON.stringify({
        integration_key: own.integrationKey,
        ...orderOf(`crowd-${at}`),
      });
      const socket = connect(server.port, "127.0.0.1");
      socket.on("error", () => undefined).resume();
      socket.write(
        `POST /ws/direct HTTP/1.1\r\nHost: x\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      return socket;
    });
    context.after(() => crowd.forEach((socket) => socket.destroy()));
    await until("nearly all connections have a payment under way", async () => {
      const { world: shown } = (await post(server, own, "/__cofre/world", {})) as {
        readonly world?: { readonly payments?: number };
      };
      return (shown?.payments ?? 0) >= sockets - 100;
    });
    const sale = (await post(
      server,
      { integrationKey },
      "/ws/direct",
      orderOf("another account"),
    )) as { readonly payment?: Fields };
    assert.equal(sale.payment?.["status"], "CO");
    const other = (await post(server, { integrationKey }, "/__cofre/worlds", {})) as {
      readonly world?: { readonly integration_key: string };
    };
    assert.ok(other.world !== undefined);
    const elsewhere = (await post(
      server,
      { integrationKey: other.world.integration_key },
      "/ws/direct",
      orderOf("another world"),
    )) as {
      readonly payment?: Fields;
    };
    assert.equal(elsewhere.payment?.["status"], "CO");
    assert.equal(
      (await post(server, own, "/ws/query", { merchant_payment_code: "crowd-0" }))["status"],
      "SUCCESS",
      "the world itself is served",
    );
    // Otherwise the server waits for the acquirer when it stops.
    await post(server, own, "/__cofre/world", { action: "delete" });
  });
});
