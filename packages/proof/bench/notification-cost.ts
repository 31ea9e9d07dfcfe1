import { performance } from "node:perf_hooks";
import { Client } from "./client.ts";
import { type Acknowledged, Loads } from "./loads.ts";
import type { BenchServer } from "./process.ts";
import { integrationKey } from "./product.ts";
import { Receiver } from "./receiver.ts";
import { median, quantile } from "./statistics.ts";
import { sendAll } from "./window.ts";

/** The variants of notification whose cost per payment is compared. */
const arms = ["unnotified", "outbox", "delivered", "hmac", "gathered", "gatheredHmac"] as const;
type Arm = (typeof arms)[number];

/** The endpoint settings of each variant that delivers. */
const endpoints: Readonly<Partial<Record<Arm, Readonly<Record<string, unknown>>>>> = {
  delivered: {},
  hmac: { signatures: ["hmac"] },
  gathered: { hashesPerCall: 20 },
  gatheredHmac: { hashesPerCall: 20, signatures: ["hmac"] },
};

type Spread = readonly [median: number, q1: number, q3: number];

/**
 * CPU of the product per charge by token, in microseconds: all threads, including a database
 * server's processes, until the last message was answered.
 */
export interface NotificationCost {
  readonly rounds: number;
  readonly chargesPerWindow: number;
  readonly cpuMicros: Readonly<Record<Arm, number>>;
  /** CPU of each round's windows / CPU of its `unnotified` window: median and quartiles. */
  readonly ratios: Readonly<Record<Arm, Spread>>;
  /**
   * The same for charges answered per second. Messages are sent while charges are answered, and
   * some after the last one.
   */
  readonly rateRatios: Readonly<Record<Arm, Spread>>;
  /** Charges answered per second in the median window. */
  readonly perSecond: Readonly<Record<Arm, number>>;
  /** Payments in the received messages: one per charge, more if a message came twice. */
  readonly received: number;
  /** Number of messages with these payments. */
  readonly messages: number;
}

interface Window {
  readonly cpuMicros: number;
  readonly perSecond: number;
}

const outstanding = 64;
const discarded = 2;

/**
 * One product, one account, windows in turn: no notification (`notifySynchronous` off); a
 * notification row per charge without an endpoint; delivery to a receiver on loopback, one payment
 * per message and all signatures; with one signature; with several payments per message; with both.
 * Taking turns exposes all variants to the same disturbances of the machine. Stops the product at
 * the end.
 */
export async function notificationCost(
  product: BenchServer,
  rounds: number,
  chargesPerWindow: number,
): Promise<{ readonly cost: NotificationCost; readonly acknowledged: Acknowledged }> {
  const receiver = await Receiver.open();
  const client = new Client(product.ports);
  const loads = new Loads(integrationKey, "hearsy", true);
  const spent: Record<Arm, Window[]> = {
    unnotified: [],
    outbox: [],
    delivered: [],
    hmac: [],
    gathered: [],
    gatheredHmac: [],
  };
  try {
    await client.ensureOpen(outstanding);
    await sendAll(client, loads.approvedToken(), 2_000, outstanding);
    for (let round = 0; round < rounds + discarded; round += 1) {
      // The order alternates, so that what one variant leaves behind affects each of the others.
      for (const arm of round % 2 === 0 ? arms : arms.toReversed()) {
        await configure(product, arm, receiver.url);
        const until = receiver.received + (arm in endpoints ? chargesPerWindow : 0);
        await client.ensureOpen(outstanding);
        const [before, from] = [cpuOf(product), performance.now()];
        await sendAll(client, loads.directByToken(), chargesPerWindow, outstanding);
        const perSecond = (chargesPerWindow * 1_000) / (performance.now() - from);
        await receiver.reaches(until);
        if (round >= discarded)
          spent[arm].push({ cpuMicros: (cpuOf(product) - before) / chargesPerWindow, perSecond });
      }
    }
  } finally {
    client.close();
    await product.stop();
    receiver.close();
  }
  const ratiosOf = (arm: Arm, of: keyof Window): Spread => {
    const ratios = spent[arm].map(
      (window, round) => window[of] / (spent.unnotified[round]?.[of] ?? Number.NaN),
    );
    return [median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)];
  };
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const cost: NotificationCost = {
    rounds,
    chargesPerWindow,
    cpuMicros: mapArms((arm) => mean(spent[arm].map(({ cpuMicros }) => cpuMicros))),
    ratios: mapArms((arm) => ratiosOf(arm, "cpuMicros")),
    rateRatios: mapArms((arm) => ratiosOf(arm, "perSecond")),
    perSecond: mapArms((arm) => median(spent[arm].map(({ perSecond }) => perSecond))),
    received: receiver.received,
    messages: receiver.messages,
  };
  return { cost, acknowledged: loads.acknowledged };
}

function mapArms<Value>(valueOf: (arm: Arm) => Value): Record<Arm, Value> {
  return Object.fromEntries(arms.map((arm) => [arm, valueOf(arm)])) as Record<Arm, Value>;
}

async function configure(
  { ports: [port] }: BenchServer,
  arm: Arm,
  receiver: string,
): Promise<void> {
  const endpoint = endpoints[arm];
  const notificationEndpoints =
    endpoint === undefined ? [] : [{ id: "shop", url: receiver, ...endpoint }];
  const body = JSON.stringify({
    integration_key: integrationKey,
    settings: { notifySynchronous: arm !== "unnotified", notificationEndpoints },
  });
  const answer = await fetch(`http://127.0.0.1:${String(port)}/__cofre/settings`, {
    method: "POST",
    body,
  });
  if (!(await answer.text()).includes('"SUCCESS"')) throw new Error("the settings were refused");
}

function cpuOf(product: BenchServer): number {
  const micros = product.cpuMicros();
  if (micros === undefined) throw new Error("this system does not tell what a process costs");
  return micros;
}
