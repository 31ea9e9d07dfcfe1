import { KeyOrders } from "../key-acts/key-orders.ts";
import type { OrdersState } from "../key-acts/key-order.ts";
import { formatInstant } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { collectGarbage } from "../kernel/collect-garbage.ts";
import { second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { RunningStore } from "../stores/store.ts";
import { stoppableVault } from "../vault/card-stop.ts";
import type { Keys } from "./keys.ts";

interface KeyOrderDependencies {
  readonly store: Pick<RunningStore, "keys" | "users" | "time">;
  readonly keys: Pick<Keys, "macs" | "keySetId" | "keyring">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

/** A stop order reaches every node within two seconds. */
const intervalMs = second;

/** Between two attempts to open the keys of cards again. */
const retryMs = second;

/**
 * Follows the list of orders about keys: while an order stops card operations, the keys of cards are
 * not in memory. A store that other nodes share is read once a second: a read by primary key.
 */
export class KeyOrderWatch {
  readonly orders: KeyOrders;
  readonly #options: KeyOrderDependencies;
  readonly #ended = new AbortController();
  /** The stop that this node has carried out. */
  #stop: OrdersState["stop"];
  #running: Promise<void> | undefined;
  #reopening: Promise<void> | undefined;

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

  /** Also while an order has ended and the root key has not opened the keys of cards yet. */
  get areCardsStopped(): boolean {
    return (
      this.orders.state.stop !== undefined ||
      this.#options.keys.keyring?.areCardKeysDropped === true
    );
  }

  /** The same keys, which seal and open no card while card operations are stopped. */
  stoppable(keys: Keys): Keys {
    return { ...keys, vault: stoppableVault(keys.vault, () => this.areCardsStopped) };
  }

  start(): void {
    if (this.#options.store.time !== undefined) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#ended.abort();
    await Promise.all([this.#running, this.#reopening]);
  }

  async #run(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      await this.#sleep(intervalMs);
      // While the store cannot be read, the last state stays in force.
      if (!signal.aborted) await this.orders.refresh().catch(() => undefined);
    }
  }

  async #onStop(stop: OrdersState["stop"]): Promise<void> {
    const before = this.#stop;
    this.#stop = stop;
    if (before?.number === stop?.number) return;
    const { log, keys } = this.#options;
    if (stop === undefined) {
      this.#reopening ??= this.#reopen().finally(() => (this.#reopening = undefined));
      // Where the root key answers, cards are served when this settles.
      await Promise.race([this.#reopening, this.#sleep(retryMs)]);
      return;
    }
    log.write({ event: "cards_stopped", order: stop.number, since: formatInstant(stop.at) });
    if (keys.keyring === undefined) return;
    keys.keyring.dropCardKeys();
    await collectGarbage();
  }

  /** Until the keys are open, another order stops cards, or the server ends. */
  async #reopen(): Promise<void> {
    const { keys, log } = this.#options;
    while (this.#stop === undefined && !this.#ended.signal.aborted) {
      const isOpen = await (keys.keyring?.reopenCardKeys() ?? Promise.resolve()).then(
        () => true,
        // The root key or the store does not answer.
        () => false,
      );
      if (isOpen) {
        log.write({ event: "cards_resumed" });
        return;
      }
      await this.#sleep(retryMs);
    }
  }

  /** Ends early with the server. */
  async #sleep(ms: number): Promise<void> {
    await this.#options.scheduler.sleep(ms, this.#ended.signal).catch(() => undefined);
  }
}
