import assert from "node:assert/strict";
import { type Cofre, startCofre } from "../src/app.ts";
import type { Ports } from "../src/start/ports.ts";
import { readConfig } from "../src/config/read-config.ts";
import type { Clock } from "../src/kernel/clock.ts";
import { type Instant, instant } from "../src/kernel/instant.ts";
import { SeededRandom } from "../src/kernel/seeded-random.ts";
import { systemElapsed } from "../src/kernel/system-elapsed.ts";
import { systemScheduler } from "../src/kernel/system-scheduler.ts";
import type { Log, LogEvent } from "../src/logging/log-event.ts";

export const integrationKey = "test_ik_world";
export const publicIntegrationKey = "test_pk_world";

/** A clock that only a test moves. */
export class ManualClock implements Clock {
  #now: number;

  constructor(epochMs: number) {
    this.#now = epochMs;
  }

  now(): Instant {
    return instant(this.#now);
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

/** 2026-11-25T18:13:28Z: the start time of test servers. */
export const testEpoch = Date.UTC(2026, 10, 25, 18, 13, 28);

export interface TestServer {
  readonly url: string;
  readonly port: number;
  readonly cofre: Cofre;
  readonly clock: ManualClock;
  /** Every event that was logged. */
  readonly events: readonly LogEvent[];
  /** Sends a request and parses the answer as JSON. */
  get(path: string, parameters?: Readonly<Record<string, string>>): Promise<Answer>;
  postJson(path: string, body: unknown): Promise<Answer>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

export interface TestServerOptions {
  /** COFRE_* variables in addition to those of a quiet server on a free port. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly seed?: string;
  readonly ports?: Partial<Ports>;
  /** Another program's composition root: that of a copy with a planted bug. */
  readonly start?: typeof startCofre;
}

/**
 * The whole server on a free loopback port, with a clock that does not run and seeded random
 * numbers: two servers with one seed give the same answers.
 */
export async function startTestServer({
  environment = {},
  seed = "world",
  ports = {},
  start = startCofre,
}: TestServerOptions = {}): Promise<TestServer> {
  const reading = readConfig({
    environment: {
      COFRE_PORT: "0",
      COFRE_DATA_DIR: ":memory:",
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: publicIntegrationKey,
      ...environment,
    },
    flags: new Map(),
    readFile: () => ({ problem: "is not read in tests" }),
  });
  assert.ok("config" in reading, JSON.stringify(reading));
  const clock = new ManualClock(testEpoch);
  const events: LogEvent[] = [];
  const log: Log = { write: (event) => void events.push(event) };
  const cofre = await start(reading.config, log, {
    clock,
    random: new SeededRandom(seed),
    scheduler: systemScheduler,
    elapsedMs: systemElapsed,
    ...ports,
  });
  const { port } = cofre.address;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    cofre,
    clock,
    events,
    get: async (path, parameters = {}) =>
      answerOf(await fetch(`${url}${path}?${new URLSearchParams(parameters).toString()}`)),
    postJson: async (path, body) =>
      answerOf(await fetch(url + path, { method: "POST", body: JSON.stringify(body) })),
    [Symbol.asyncDispose]: async () => void (await cofre.close()),
  };
}

async function answerOf(response: Response): Promise<Answer> {
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

/** A valid payment; `changes` replace members of its `payment`. */
export function directBody(
  code: string,
  changes: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  return {
    integration_key: integrationKey,
    operation: "request",
    mode: "full",
    payment: {
      merchant_payment_code: code,
      amount_total: "100.00",
      currency_code: "USD",
      name: "Ana Lima",
      email: "ana.lima@example.com",
      document: "853.513.468-93",
      zipcode: "61919-230",
      address: "Rua E",
      street_number: "1040",
      city: "Maracanaú",
      state: "CE",
      country: "br",
      phone_number: "8522847035",
      payment_type_code: "creditcard",
      creditcard: testCard,
      ...changes,
    },
  };
}

export const testCard = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};
