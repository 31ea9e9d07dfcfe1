import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { connect } from "node:net";
import { describe, test, type TestContext } from "node:test";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { amount } from "./support/amount.ts";
import { until } from "./support/faulty-run.ts";
import { type SentRequest, latencies, quantile, saleBody } from "./support/overload-load.ts";
import { integrationKey, OverloadRun } from "./support/overload-run.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";
import { SlowClients } from "./support/slow-clients.ts";

/** Duration of each load. */
const loadMs = Number(
  process.env["COFRE_OVERLOAD_MS"] ?? amount({ quick: 1_500, ci: 2_500, night: 60_000 }),
);
/** In-flight limit (COFRE_MAX_IN_FLIGHT), called places below. */
const places = 48;
const environment = {
  COFRE_MAX_IN_FLIGHT: String(places),
  // All sales are of one account, and its share is not tested here.
  COFRE_MAX_IN_FLIGHT_OF_ACCOUNT: "65536",
  COFRE_MAX_CONNECTIONS: "300",
  COFRE_ACQUIRER_TIMEOUT_MS: "10000",
  COFRE_SHUTDOWN_TIMEOUT_MS: "3000",
};
/**
 * The acquirer's latency for each sale. It is so long that the machine adds little, and that
 * capacity is places / latency on any machine.
 */
const usualLatencyMs = 400;

/*
 * The bounds, and why a slow machine meets them:
 *
 * - A place is occupied for the acquirer's whole latency, which a timer measures: at most places *
 *   time / latency sales can be accepted, at any speed of the machine. Exact.
 * - Goodput is places in use / duration of a sale. Under load all places are in use all the time
 *   (the next request takes a free one), and a sale takes about as long as before. Both are ratios
 *   of times within one run, which a stalled machine lengthens alike. On a quiet machine 0.95 and
 *   1.05. The bounds are 0.65, because a slow store frees places in batches, and 6, because the
 *   load itself takes processor time from the server and the machine may be busy during one half
 *   only: a server that leaks places uses less than 0.5 of them, and where work piles up without a
 *   bound the second ratio grows with the duration of the load.
 * - A refusal takes at most half as long as an accepted sale at the same time: in the median a
 *   millisecond, as long as the client's process is not kept waiting.
 * - The cost of a refusal is the server's own processor time, which other processes do not affect.
 *   A server that spends a share r of a sale's cost on a refusal still gives (1 - 2r) / (1 - r) of
 *   its capacity at twice the load: 0.9 for the goal of 0.09. Measured: 0.03. The bound is 0.15,
 *   because processor time is counted in hundredths of a second and runs are short.
 * - Memory may grow by what is bounded (places, connections, 64 MiB of bodies) and by what V8 has
 *   not yet collected.
 * - Recovery time ("back") is limited to five seconds of a server without other work; it takes
 *   milliseconds.
 */
const minInUse = 0.65;
const maxSlowdown = 6;
const dearestRefusal = 0.15;
const maxMemoryMebibytes = 160;
const longestBackMs = 5_000;

function showReport(
  context: TestContext,
  name: string,
  sent: readonly SentRequest[],
  ms: number,
): void {
  const [accepted, refused] = [latencies(sent, "accepted"), latencies(sent, "refused")];
  const times = (of: readonly number[]): string =>
    `${quantile(of, 0.5).toFixed(1)} / ${quantile(of, 0.99).toFixed(1)} ms`;
  context.diagnostic(
    `${name}: ${accepted.length} accepted, ${Math.round((accepted.length * 1_000) / ms)} a second, ${times(accepted)} (median / 99 %); ` +
      `${refused.length} refused, ${times(refused)}`,
  );
}

const wrong = (name: string, sent: readonly SentRequest[]): string[] =>
  [...new Set(sent.filter(({ end }) => end === "wrong").map(({ instead }) => instead))].map(
    (instead) => `${name}: neither accepted nor refused as the interface says: ${instead}`,
  );

const refusedIn = (sent: readonly SentRequest[]): number =>
  sent.filter(({ end }) => end === "refused").length;

interface SlowAcquirer {
  /** Duration of the load. */
  readonly ms: number;
  readonly latencyMs: number;
  /** Offered load as a multiple of the acquirer's capacity. */
  readonly times: number;
}

/** Offers more than a slow acquirer can handle, in an open loop; returns the violations. */
async function overloadBySlowAcquirer(
  context: TestContext,
  root: string,
  { ms, latencyMs, times }: SlowAcquirer,
): Promise<readonly string[]> {
  const capacity = (places * 1_000) / latencyMs;
  const run = await OverloadRun.start({ root, environment, connections: 280 });
  try {
    // The first requests run code that is not yet compiled.
    await run.received(run.load.closed(8, 500));
    await run.setAcquirer({ latencyMs });
    const before = await run.received(run.load.closed(places / 2, latencyMs * 2));
    const memory = run.memory;
    const begin = performance.now();
    const under = await run.received(run.load.open(capacity * times, ms));
    const tookMs = performance.now() - begin;
    const memoryUnder = run.memory;
    const backMs = await run.backWithin(longestBackMs);
    const after = await run.received(run.load.closed(places / 2, latencyMs));
    const violations = [...(await run.judge(root === serverRoot ? 60_000 : 5_000))];

    showReport(context, "before", before, latencyMs * 2);
    showReport(context, `at ${times} times the capacity`, under, tookMs);
    showReport(context, "afterwards", after, latencyMs);
    const is = (holds: boolean, what: string): void => void (holds || violations.push(what));
    violations.push(
      ...wrong("before", before),
      ...wrong("under load", under),
      ...wrong("afterwards", after),
    );
    const accepted = latencies(under, "accepted");
    is(
      accepted.length <= places * (tookMs / latencyMs + 1),
      `no more is taken up than there are places for: ${accepted.length}`,
    );
    violations.push(...checkGoodput(context, before, under));
    const refusing = quantile(latencies(under, "refused"), 0.5);
    is(refusing <= quantile(accepted, 0.5) / 2, `a refusal comes early: ${refusing.toFixed(0)} ms`);
    context.diagnostic(
      `back after ${backMs} ms; memory ${memory.toFixed(0)} to ${memoryUnder.toFixed(0)} MiB`,
    );
    is(
      memoryUnder - memory <= maxMemoryMebibytes,
      `memory is bounded: ${(memoryUnder - memory).toFixed(0)} MiB more`,
    );
    is(backMs !== undefined, "the server is back to normal soon afterwards");
    is(refusedIn(after) === 0, `nothing is refused afterwards: ${refusedIn(after)}`);
    return violations;
  } finally {
    await run.close();
  }
}

/**
 * Checks that places were in use and sales took no longer than usual; together this means that
 * goodput was near the capacity.
 */
function checkGoodput(
  context: TestContext,
  before: readonly SentRequest[],
  under: readonly SentRequest[],
): readonly string[] {
  const accepted = under.filter(({ end }) => end === "accepted");
  // The load lasts until the last request is sent; after that no request waits for a place.
  const [from, until] = [under.at(0)?.sent ?? 0, under.at(-1)?.sent ?? 0];
  const held = accepted.reduce(
    (sum, { sent, ended }) => sum + Math.min(ended, until) - Math.min(sent, until),
    0,
  );
  const inUse = held / (places * (until - from));
  const slower =
    quantile(latencies(under, "accepted"), 0.5) / quantile(latencies(before, "accepted"), 0.5);
  context.diagnostic(
    `places in use ${inUse.toFixed(2)}, sales take ${slower.toFixed(2)} times as long`,
  );
  return [
    ...(inUse < minInUse ? [`places are in use while others wait: ${inUse.toFixed(2)}`] : []),
    ...(slower > maxSlowdown
      ? [`accepted work takes no longer than usual: ${slower.toFixed(2)} times`]
      : []),
  ];
}

/** Settling mostly waits for timers, so the other tests run at the same time. */
let settledAfterDeadAcquirer: Promise<readonly string[]> = Promise.resolve([
  "the load did not end",
]);
let deadAcquirer: OverloadRun | undefined;

test("an acquirer that says nothing: what piles up is bounded, the rest is refused or declined early, and the server is back", async (context) => {
  const run = await OverloadRun.start({
    root: serverRoot,
    environment: { ...environment, COFRE_ACQUIRER_TIMEOUT_MS: "1000" },
    connections: 280,
  });
  deadAcquirer = run;
  await run.received(run.load.closed(8, 500));
  await run.setAcquirer({ loseAnswer: 1_000 });
  const under = await run.received(run.load.open(300, loadMs));
  await run.setAcquirer({ loseAnswer: 0 });
  // The circuit stays open for 5 s, and twice as long after each further failure, up to a minute.
  const backMs = await run.backWithin(75_000);
  // Recovery inquires about unanswered requests after 5 s, half a minute, and then every 4 minutes.
  settledAfterDeadAcquirer = run.judge(600_000);
  settledAfterDeadAcquirer.catch(() => undefined);

  showReport(context, "while it says nothing", under, loadMs);
  const unknown = under.filter(({ reported }) => reported?.status === "PE").length;
  context.diagnostic(
    `${unknown} without an outcome; sales are captured again ${backMs} ms after it speaks`,
  );
  assert.deepEqual(wrong("under load", under), []);
  assert.ok(unknown > 0, "control: some were sent and not answered");
  // The circuit opens after 20 failures in a row; until then only requests that have a place are
  // sent.
  assert.ok(unknown <= 2 * places, `what piles up is bounded: ${unknown}`);
  assert.ok(refusedIn(under) > 0, "control: places were short");
  assert.ok(backMs !== undefined, "sales are captured again");
});

test("three times what a slow acquirer lets through", async (context) => {
  assert.deepEqual(
    await overloadBySlowAcquirer(context, serverRoot, {
      ms: loadMs,
      latencyMs: usualLatencyMs,
      times: 3,
    }),
    [],
  );
});

test("a slow store: commits grow, excess is refused, nothing acknowledged is lost", async (context) => {
  const root = plantedCopy({
    name: "each commit takes 100 ms longer",
    file: "stores/embedded/batch-writer.ts",
    find: '      this.#database.exec("COMMIT");',
    replace:
      '      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);\n      this.#database.exec("COMMIT");',
  });
  const run = await OverloadRun.start({ root, environment, connections: 280 });
  try {
    await run.received(run.load.closed(8, 500));
    const capacityRun = await run.received(run.load.closed(places, 1_500));
    const atCapacity = latencies(capacityRun, "accepted");
    const perSecond = atCapacity.length / 1.5;
    const begin = performance.now();
    const under = await run.received(run.load.open(perSecond * 2, loadMs));
    const tookMs = performance.now() - begin;
    const backMs = await run.backWithin(longestBackMs);
    showReport(context, `${places} shops`, capacityRun, 1_500);
    showReport(context, "at twice the capacity", under, tookMs);
    context.diagnostic(`back after ${backMs} ms`);
    assert.deepEqual([...wrong("at capacity", capacityRun), ...wrong("under load", under)], []);
    assert.equal(refusedIn(capacityRun), 0, "as many shops as places: nobody is refused");
    assert.ok(refusedIn(under) > 0, "control: places were short");
    assert.deepEqual(checkGoodput(context, capacityRun, under), []);
    assert.ok(backMs !== undefined, "back to normal");
    assert.deepEqual(await run.judge(), []);
  } finally {
    await run.close();
    rmSync(root, { recursive: true, force: true });
  }
});

test("crowds: shops that never wait, connections beyond the limit, slow clients, and one that sends ahead", async (context) => {
  const run = await OverloadRun.start({ root: serverRoot, environment, connections: 200 });
  try {
    await run.received(run.load.closed(16, 1_000));
    const memory = run.memory;

    let cpu = run.cpuMs;
    const few = await run.received(run.load.closed(16, 2_000));
    const saleMs = (run.cpuMs - cpu) / latencies(few, "accepted").length;
    cpu = run.cpuMs;
    const many = await run.received(run.load.closed(200, loadMs));
    const refusalMs =
      (run.cpuMs - cpu - latencies(many, "accepted").length * saleMs) / refusedIn(many);
    showReport(context, "16 shops", few, 2_000);
    showReport(context, "200 shops that never wait", many, loadMs);
    context.diagnostic(
      `a refusal costs ${(refusalMs / saleMs).toFixed(3)} of a sale's processor time`,
    );
    assert.deepEqual([...wrong("16 shops", few), ...wrong("200 shops", many)], []);
    assert.equal(refusedIn(few), 0);
    assert.ok(refusedIn(many) > 0, "control: places were short");
    assert.ok(
      refusalMs <= dearestRefusal * saleMs,
      `a refusal is cheap: ${refusalMs} of ${saleMs} ms`,
    );

    const body = saleBody(integrationKey, "never whole");
    const head = `POST /ws/direct HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n`;
    using slowBodies = new SlowClients({
      port: run.port,
      count: 40,
      first: `${head}Content-Length: ${body.length}\r\n\r\n`,
      trickle: body,
      everyMs: 100,
    });
    using slowHeads = new SlowClients({
      port: run.port,
      count: 40,
      first: head,
      trickle: "X: a\r\n",
      everyMs: 100,
    });
    await until(
      "they are connected",
      async () => slowBodies.connected + slowHeads.connected === 80,
    );
    const besideSlow = await run.received(run.load.closed(16, 1_000));
    showReport(context, "16 shops beside 80 slow clients", besideSlow, 1_000);
    assert.deepEqual(wrong("beside slow clients", besideSlow), []);
    assert.equal(refusedIn(besideSlow), 0, "slow clients take no places");
    assert.equal(slowBodies.open + slowHeads.open, 80, "control: they are still there");

    {
      using crowd = new SlowClients({
        port: run.port,
        count: 1_000,
        first: "",
        trickle: "",
        everyMs: 0,
      });
      await until("those beyond the limit are gone", async () => crowd.open <= 300);
      const besideCrowd = await run.received(run.load.closed(16, 1_000));
      showReport(context, "16 shops beside a crowd of connections", besideCrowd, 1_000);
      assert.deepEqual(
        wrong("beside a crowd", besideCrowd),
        [],
        "who is connected stays connected",
      );
      assert.ok(crowd.open > 0, "control: the limit is reached by those who were let in");
      context.diagnostic(`of 1,000 connections ${crowd.open} were let in`);
    }
    assert.ok((await run.backWithin(longestBackMs)) !== undefined);

    await run.setAcquirer({ latencyMs: 100 });
    const ahead = connect({ host: "127.0.0.1", port: run.port });
    const requests = Array.from({ length: 400 }, (_, index) =>
      saleBody(integrationKey, `ahead-${index}`),
    );
    ahead.on("error", () => undefined).resume();
    ahead.write(
      requests.map((text) => `${head}Content-Length: ${text.length}\r\n\r\n${text}`).join(""),
    );
    const besideAhead = await run.received(run.load.closed(12, 1_000));
    ahead.destroy();
    showReport(context, "12 shops beside one that sends ahead", besideAhead, 1_000);
    assert.deepEqual(wrong("beside one that sends ahead", besideAhead), []);
    assert.equal(
      refusedIn(besideAhead),
      0,
      "a connection has no more than its share of the places",
    );
    const grown = run.memory - memory;
    context.diagnostic(`memory ${memory.toFixed(0)} MiB and ${grown.toFixed(0)} more`);
    assert.ok(grown <= maxMemoryMebibytes, `memory is bounded: ${grown} MiB more`);
    assert.deepEqual(await run.judge(), []);
  } finally {
    await run.close();
  }
});

describe("controls: what a server does wrong under load is found", () => {
  const pipeline = "http/request-pipeline.ts";
  const usual: SlowAcquirer = { ms: 1_000, latencyMs: usualLatencyMs, times: 3 };
  const controls: readonly (readonly [bug: PlantedBug, says: RegExp, load: SlowAcquirer])[] = [
    [
      {
        name: "places have no bound",
        file: "http/places.ts",
        find: "return this.#taken >= this.#limits.max;",
        replace: "return this.#taken >= 1_000_000;",
      },
      /^no more is taken up than there are places for/,
      // All at once, to an acquirer so slow that a machine which takes seconds to send them serves
      // at most two rounds of places.
      { ms: 1_000, latencyMs: 2_000, times: 11 },
    ],
    [
      {
        name: "what is accepted while others wait is dropped",
        file: "stores/embedded/embedded-store.ts",
        find: "outcome = await this.#writer.submit(message);\n    } finally {",
        replace: `const isDropped = change.payment !== undefined && this.#writer.stats().queued > 2;
      outcome = isDropped ? "committed" : await this.#writer.submit(message);
    } finally {`,
      },
      /^(?:an acknowledged payment is there|nothing is sent before it is written down|a payment is as it was told)/,
      usual,
    ],
    [
      {
        name: "a request is carried out and then refused",
        file: pipeline,
        find: "    if (place !== undefined) this.#parts.admission.leave(request.socket, place);",
        replace:
          "    if (place !== undefined && this.#parts.admission.isFull) answer = answers.overloaded;\n    if (place !== undefined) this.#parts.admission.leave(request.socket, place);",
      },
      /^what was refused is not there/,
      usual,
    ],
    [
      {
        name: "a place is not given back while all are taken",
        file: pipeline,
        find: "    if (place !== undefined) this.#parts.admission.leave(request.socket, place);",
        replace:
          "    if (place !== undefined && !this.#parts.admission.isFull) this.#parts.admission.leave(request.socket, place);",
      },
      /^the server is back to normal soon afterwards/,
      usual,
    ],
  ];
  for (const [bug, says, load] of controls) {
    test(bug.name, async (context) => {
      const root = plantedCopy(bug);
      context.after(() => rmSync(root, { recursive: true, force: true }));
      const violations = await overloadBySlowAcquirer(context, root, load);
      for (const violation of violations.slice(0, 5)) context.diagnostic(`objection: ${violation}`);
      assert.ok(
        violations.some((violation) => says.test(violation)),
        `the lane says ${says.source}`,
      );
    });
  }
});

test("after the acquirer that said nothing: recovery has emptied, nothing was charged twice, every reported status is true", async (context) => {
  const violations = await settledAfterDeadAcquirer;
  context.after(() => deadAcquirer?.close());
  context.diagnostic(`recovery settled ${deadAcquirer?.events("recovery_settled").length}`);
  assert.deepEqual(violations, []);
  assert.ok((deadAcquirer?.events("recovery_settled").length ?? 0) > 0);
});
