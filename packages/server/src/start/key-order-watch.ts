import { KeyOrders } from "../key-acts/key-orders.ts";
import type { OrdersState } from "../key-acts/key-order.ts";
import type { Clock } from "../kernel/clock.ts";
import { formatInstant } from "../kernel/calendar.ts";
import { second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { RunningStore } from "../stores/store.ts";
import { stoppableVault } from "../vault/card-stop.ts";
import type { Keys } from "./keys.ts";

interface KeyOrderDependencies {
  readonly store: Pick<RunningStore, "keys" | "users" | "time">;
  readonly keys: Pick<Keys, "macs" | "keySetId">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** A stop order reaches every node within two seconds. */
const intervalMs = second;

/**
 * Follows the list of orders about keys, and logs when card operations stop and resume. A store that other nodes
 * share is read once a second: a read by primary key.
 */
export class KeyOrderWatch {
  readonly orders: KeyOrders;
  readonly #options: KeyOrderDependencies;
  readonly #stopped = new AbortController();
  #stop: OrdersState["stop"];
  #running: Promise<void> | undefined;

  /** Reads the list first, so that a node that starts while cards are stopped opens none. */
  static async open(options: KeyOrderDependencies): Promise<KeyOrderWatch> {
    const watch = new KeyOrderWatch(options);
    await watch.orders.refresh();
    return watch;
  }

  private constructor(options: KeyOrderDependencies) {
    const { store, keys, clock, log } = options;
    this.#options = options;
    this.orders = new KeyOrders({
      store: store.keys,
      log: store.users,
      macs: keys.macs,
      installation: keys.keySetId,
      clock,
      changed: ({ stop }) => this.#onStop(stop),
      refused: (number) => log.write({ event: "row_refused", kind: "key_order", id: `${number}` }),
    });
  }

  get areCardsStopped(): boolean {
    return this.orders.state.stop !== undefined;
  }

  /** The same keys, which seal and open no card while card operations are stopped. */
  stoppable(keys: Keys): Keys {
    return { ...keys, vault: stoppableVault(keys.vault, () => this.areCardsStopped) };
  }

  start(): void {
    if (this.#options.store.time !== undefined) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#options.scheduler
        .sleep(intervalMs, signal)
        // Stopped.
        .catch(() => undefined);
      // While the store cannot be read, the last state stays in force.
      if (!signal.aborted) await this.orders.refresh().catch(() => undefined);
    }
  }

  #onStop(stop: OrdersState["stop"]): void {
    const before = this.#stop;
    this.#stop = stop;
    if (before?.number === stop?.number) return;
    const { log } = this.#options;
    if (stop === undefined) log.write({ event: "cards_resumed" });
    else log.write({ event: "cards_stopped", order: stop.number, since: formatInstant(stop.at) });
  }
}
