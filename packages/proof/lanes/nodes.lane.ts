import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { postgresBinaries, startCluster } from "../../server/test/postgres/cluster.ts";
import { query, TestDatabases } from "../../server/test/postgres/databases.ts";
import { Chance } from "../../server/test/support/chance.ts";
import { directBody } from "../../server/test/server.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { serverRoot } from "../../server/test/support/planted-copy.ts";
import { merchants, NodeGroup, until } from "./support/node-group.ts";

const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

/**
 * Longer than any step takes on a busy machine: recovery makes its third inquiry only after 4.5
 * minutes.
 */
const patienceS = 600;

test(
  "control: a group of nodes that does not start leaves no process that keeps this file from ending",
  { skip },
  async () => {
    const settings = {
      get country(): never {
        throw new Error("planted");
      },
    };
    await assert.rejects(NodeGroup.start(settings), { message: "planted" });
    const children = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === "ProcessWrap").length;
    // The `close` event of a child comes one turn or more after its end is known.
    assert.ok(
      await until(30, async () => children() === 0),
      `${children()} processes keep this file from ending`,
    );
  },
);

test(
  "nodes that come take their share, and each notification is sent once, by the node that holds its merchant",
  { skip },
  async (context) => {
    await using group = await NodeGroup.start();
    await group.add();
    assert.ok(await until(patienceS, () => group.isLevel()), "two nodes share");
    await group.add();
    assert.ok(await until(patienceS, () => group.isLevel()), "three nodes share");

    let paid = 0;
    const chance = new Chance(1);
    /**
     * Makes a payment of each merchant on each node; returns whether all slots kept their holders.
     */
    const round = async (number: number): Promise<boolean> => {
      const before = await group.holders();
      const requests = merchants.flatMap(({ key }) =>
        group.nodes.map((node) => ({ key, port: node.port })),
      );
      for (const { key, port } of requests) {
        const body = { ...directBody(`round-${number}-${port}`), integration_key: key };
        const answer = await group.client.ask(port, "/ws/direct", body);
        assert.equal(answer?.["status"], "SUCCESS", JSON.stringify(answer));
        paid += 1;
        if (chance.happens(100)) await sleep(50);
      }
      assert.ok(
        await until(
          patienceS,
          async () => new Set(group.received.map(({ id }) => id)).size === paid,
        ),
        "all are heard",
      );
      assert.ok(
        await until(
          patienceS,
          async () => (await group.count("delivery WHERE state = 'waiting'")) === 0,
        ),
      );
      return JSON.stringify(await group.holders()) === JSON.stringify(before);
    };
    // If the machine stalls for seconds a lease may expire, and then a message may arrive twice.
    let calm = false;
    for (let number = 0; number < 3 && !calm; number += 1) {
      const receivedBefore = group.received.length;
      const paidBefore = paid;
      calm = await round(number);
      if (calm)
        assert.equal(
          group.received.length - receivedBefore,
          paid - paidBefore,
          "each is received once",
        );
    }
    assert.ok(calm, "in one of three rounds no slot changed hands");

    for (const node of group.nodes) {
      const own = new Set<unknown>(await group.merchantsOf(node));
      const delivered = new Set(
        node.process.events("notification_delivered").map(({ merchantId }) => merchantId),
      );
      context.diagnostic(
        `${node.id} holds ${own.size} merchants and delivered for ${delivered.size}`,
      );
      assert.ok(
        [...own].every((merchant) => delivered.has(merchant)),
        "each node delivers for the merchants that it holds",
      );
    }

    // The other nodes see an account change that one node makes.
    const [one, other] = group.nodes;
    const [merchant] = merchants;
    assert.ok(one !== undefined && other !== undefined && merchant !== undefined);
    const ask = { integration_key: merchant.key };
    const partialCaptureOn = async (port: number) =>
      JSON.stringify(await group.client.ask(port, "/__cofre/settings", ask)).includes(
        '"partialCapture":true',
      );
    assert.equal(await partialCaptureOn(other.port), false);
    await group.client.ask(one.port, "/__cofre/settings", {
      ...ask,
      settings: { partialCapture: true },
    });
    assert.ok(await until(patienceS, () => partialCaptureOn(other.port)));

    await one.process.end("SIGTERM");
    group.nodes.shift();
    assert.equal(
      (await group.holders()).filter(({ holder }) => holder === one.id).length,
      0,
      "a node that closes releases at once",
    );
    assert.ok(await until(patienceS, () => group.isLevel()), "what it held is taken");
  },
);

test(
  "of nodes that start at once on an empty database one makes the keys, and the others are refused",
  { skip },
  async () => {
    await using cluster = await startCluster({ log_parameter_max_length: "0" });
    const url = await new TestDatabases(cluster.url).create();
    const scratch = mkdtempSync(join(tmpdir(), "cofre-nodes-"));
    const processes = [1, 2, 3].map((number) =>
      CofreProcess.spawn({
        root: serverRoot,
        dataDirectory: join(scratch, `data-${number}`),
        logDirectory: scratch,
        name: `start-${number}`,
        environment: { COFRE_DATABASE_URL: url, COFRE_DATABASE_ALLOW_NO_STANDBY: "true" },
      }),
    );
    try {
      const ports = await Promise.all(processes.map((process) => process.listening()));
      assert.equal(ports.filter((port) => port !== undefined).length, 1, ports.join());
      for (const [index, process] of processes.entries()) {
        if (ports[index] !== undefined) continue;
        // The second message appears when the node starts after the account was created.
        assert.match(
          readFileSync(process.stderrFile, "utf8"),
          /another process is making the keys|root\.key/,
        );
      }
    } finally {
      await Promise.all(processes.map((process) => process.end("SIGKILL")));
      rmSync(scratch, { recursive: true, force: true });
    }
  },
);

test(
  "kill -9 of a node under load: its notifications, refunds and unknown outcomes are taken over, and the books agree",
  { skip },
  async (context) => {
    const simulator = {
      seed: "nodes",
      latencyMs: 20,
      loseAnswer: 60,
      loseRequest: 40,
      lateAnswer: 30,
      doubleRequest: 20,
    };
    await using group = await NodeGroup.start({
      refundRequestedMinutes: 0,
      refundPendingMinutes: 0,
      simulator,
    });
    await group.add();
    await group.add();
    assert.ok(await until(patienceS, () => group.isLevel()));
    // So slow that notifications queue up.
    group.receiverMs = 1_000;

    const chance = new Chance(2);
    let [codes, unanswered, refunds] = [0, 0, 0];
    const closing = new AbortController();
    const shop = async (): Promise<void> => {
      while (!closing.signal.aborted) {
        const { key } = chance.pick(merchants);
        const code = `nodes-${(codes += 1)}`;
        const { port } = chance.pick(group.nodes);
        const answer = await group.client.ask(port, "/ws/direct", {
          ...directBody(code),
          integration_key: key,
        });
        if (answer === undefined) unanswered += 1;
        const payment = answer?.["payment"] as
          | { readonly status?: unknown; readonly hash?: unknown }
          | undefined;
        if (payment?.status !== "CO" || !chance.happens(500)) continue;
        const requested = {
          integration_key: key,
          operation: "request",
          hash: payment.hash,
          amount: "40.00",
          description: "changed their mind",
        };
        const refunded = await group.client.ask(
          chance.pick(group.nodes).port,
          "/ws/refund",
          requested,
        );
        if (refunded?.["status"] === "SUCCESS") refunds += 1;
      }
    };
    const shops = Promise.all(Array.from({ length: 12 }, shop));
    const [victim] = group.nodes;
    assert.ok(victim !== undefined);
    const ofVictim = `get_byte(merchant, 3) & 31 IN (SELECT no FROM slot WHERE holder = '${victim.id}')`;
    const unsettled = `EXISTS (SELECT 1 FROM jsonb_array_elements(refunds::jsonb) AS refund WHERE refund ->> 1 NOT IN ('confirmed', 'cancelled'))`;
    const left = async () => ({
      notifications: await group.count(`delivery WHERE state = 'waiting' AND ${ofVictim}`),
      "unknown outcomes": await group.count(`payment WHERE attempt IS NOT NULL AND ${ofVictim}`),
      refunds: await group.count(`payment WHERE ${unsettled} AND ${ofVictim}`),
    });
    const isLoaded = async () =>
      Object.values(await left()).every((count) => count > 0) && refunds > 20;
    assert.ok(await until(patienceS, isLoaded), "there is something of everything to take over");
    const atKill = await left();
    const killed = performance.now();
    await group.kill(victim);
    assert.ok(await until(patienceS, () => group.isLevel()), "its slots are taken");
    const takenMs = performance.now() - killed;
    closing.abort();
    group.receiverMs = 0;
    await shops;
    const faultless = {
      settings: { simulator: { loseAnswer: 0, loseRequest: 0, lateAnswer: 0, doubleRequest: 0 } },
    };
    for (const { key } of merchants) {
      const answer = await group.client.ask(chance.pick(group.nodes).port, "/__cofre/settings", {
        ...faultless,
        integration_key: key,
      });
      assert.match(JSON.stringify(answer), /"loseAnswer":0,"loseRequest":0/);
    }
    const open = [
      "delivery WHERE state = 'waiting'",
      "payment WHERE attempt IS NOT NULL",
      `payment WHERE ${unsettled}`,
    ];
    const isSettled = async () =>
      (await Promise.all(open.map((from) => group.count(from)))).every((count) => count === 0);
    assert.ok(
      await until(patienceS, isSettled),
      JSON.stringify(await Promise.all(open.map((from) => group.count(from)))),
    );
    const settledMs = performance.now() - killed;

    const rows = await query<{
      readonly merchant: string;
      readonly number: number;
      readonly payment: string;
    }>(
      group.url,
      "SELECT encode(merchant, 'hex') AS merchant, number::integer AS number, encode(payment, 'hex') AS payment FROM outbox",
    );
    const first = new Map(
      group.received
        .map(({ merchantId, number }, index) => [`${merchantId} ${number}`, index] as const)
        .toReversed(),
    );
    const undelivered = rows.filter(({ merchant, number }) => !first.has(`${merchant} ${number}`));
    assert.deepEqual(undelivered, [], "every notification has been received");
    assert.equal(new Set(group.received.map(({ id }) => id)).size, rows.length, "and nothing else");
    const ofPayment = Map.groupBy(rows, ({ payment }) => payment);
    for (const notified of ofPayment.values()) {
      const receivedAt = notified
        .toSorted((one, other) => one.number - other.number)
        .map(({ merchant, number }) => first.get(`${merchant} ${number}`) ?? -1);
      assert.deepEqual(
        receivedAt,
        receivedAt.toSorted((one, other) => one - other),
        "a payment's notifications are heard in order",
      );
    }
    const compared = await compareBooks(group);
    const repeats = group.received.length - rows.length;
    const figures = {
      ...atKill,
      codes,
      unanswered,
      refunds,
      notifications: rows.length,
      repeats,
      ...compared,
    };
    context.diagnostic(
      `left by the killed node: ${JSON.stringify(atKill)}; ${JSON.stringify(figures)}`,
    );
    context.diagnostic(
      `slots taken after ${Math.round(takenMs)} ms, all settled after ${Math.round(settledMs)} ms`,
    );
    assert.ok(compared.refunded > 10 && compared.payments > 100, "control: there was a load");
  },
);

/**
 * Compares each payment: the amounts captured, held and refunded in Cofre equal those in the
 * acquirer's books, booked once each.
 */
async function compareBooks(
  group: NodeGroup,
): Promise<Readonly<Record<"payments" | "captured" | "refunded", number>>> {
  const books = (await group.books()).merchants.flatMap(({ authorizations }) => authorizations);
  const payments = await query<
    Record<"id" | "state" | "captured" | "refunded", string> & { readonly needs_review: number }
  >(
    group.url,
    "SELECT encode(id, 'hex') AS id, state, captured::text, refunded::text, needs_review FROM payment",
  );
  const known = new Map(payments.map((payment) => [payment.id, payment]));
  const there = new Map<string, { captured: bigint; held: bigint; refunded: bigint }>();
  for (const { reference, approvals, captures, captured, held, refunds } of books) {
    assert.ok(approvals <= 1 && captures <= 1, `done once: ${reference}`);
    const id = reference.slice(0, 48);
    assert.ok(known.has(id), `nothing is sent before it is written down: ${reference}`);
    const sum = there.get(id) ?? { captured: 0n, held: 0n, refunded: 0n };
    there.set(id, {
      captured: sum.captured + captured,
      held: sum.held + held,
      refunded: refunds.reduce((total, { amount }) => total + amount, sum.refunded),
    });
  }
  for (const { id, state, captured, refunded, needs_review } of payments) {
    const booked = there.get(id) ?? { captured: 0n, held: 0n, refunded: 0n };
    assert.deepEqual(
      [booked.captured, booked.refunded, booked.held],
      [BigInt(captured), BigInt(refunded), 0n],
      `${id} is ${state}`,
    );
    assert.equal(needs_review, 0);
  }
  return {
    payments: payments.length,
    captured: payments.filter(({ captured }) => captured !== "0").length,
    refunded: payments.filter(({ refunded }) => refunded !== "0").length,
  };
}
