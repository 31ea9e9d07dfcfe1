import { connectSimulator } from "../../src/connectors/simulator/link-http.ts";
import type { Personality } from "../../src/connectors/simulator/personality.ts";
import { createSimulator } from "../../src/connectors/simulator/simulator-connector.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { instant } from "../../src/kernel/instant.ts";
import type { Instant } from "../../src/kernel/instant.ts";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { startAcquirer } from "../acquirer/start-acquirer.ts";
import type { ConnectorHarness } from "./connector.contract.ts";

/** A clock that only advances when a test does so. */
export class StillTime implements Clock, Scheduler {
  #now = Date.UTC(2026, 10, 28);
  #tasks: { readonly at: number; readonly run: () => void }[] = [];

  now(): Instant {
    return instant(this.#now);
  }

  /** Number of waiting tasks. */
  get waiting(): number {
    return this.#tasks.length;
  }

  after(ms: number, run: () => void): () => void {
    const task = { at: this.#now + ms, run };
    this.#tasks.push(task);
    return () => {
      this.#tasks = this.#tasks.filter((other) => other !== task);
    };
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      const next = this.#tasks.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#tasks = this.#tasks.filter((task) => task !== next);
      this.#now = next.at;
      next.run();
      // Promises that the task resolved continue before time does.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    this.#now = end;
  }
}

export async function inProcess(personality: Partial<Personality> = {}): Promise<ConnectorHarness> {
  const time = new StillTime();
  const simulator = createSimulator({ clock: time, scheduler: time, ...personality });
  return {
    connector: simulator,
    instruct: async (merchantId, instruction) => simulator.instruct(merchantId, instruction),
    books: async () => simulator.books(),
    now: () => time.now(),
    patienceMs: 5_000,
    pass: (ms) => time.pass(ms),
    close: async () => undefined,
  };
}

export async function inProcessOfItsOwn(args: readonly string[] = []): Promise<ConnectorHarness> {
  const acquirer = await startAcquirer(args);
  const simulator = await connectSimulator({
    clock: systemClock,
    scheduler: systemScheduler,
    address: acquirer.address,
  });
  return {
    connector: simulator,
    instruct: (merchantId, instruction) => simulator.instruct(merchantId, instruction),
    books: () => simulator.books(),
    now: () => systemClock.now(),
    patienceMs: 250,
    pass: (ms) => systemScheduler.sleep(ms),
    close: async () => {
      simulator.close();
      await acquirer.stop();
    },
  };
}
