import { KeyOrders } from "../key-acts/key-orders.ts";
import { type OrdersState, reportMs, type RootState } from "../key-acts/key-order.ts";
import { formatInstant } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { collectGarbage } from "../kernel/collect-garbage.ts";
import { type Instant, laterBy, second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { KeyActAction } from "../user/audit.ts";
import type { RunningStore } from "../stores/store.ts";
import { stoppableVault } from "../vault/card-stop.ts";
import type { Keys } from "./keys.ts";

interface KeyOrderDependencies {
  readonly store: Pick<RunningStore, "keys" | "users" | "time">;
  readonly keys: Pick<Keys, "macs" | "keySetId" | "keyring">;
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly slotAssignment: { readonly isAlone: boolean };
  /** The name of this node. */
  readonly node: string;
  /** Number of root keys in the configuration. */
  readonly rootKeys: number;
}

/** Why card operations are stopped. */
export interface CardStop {
  readonly cause: "order" | "root_denied";
  readonly since: Instant;
}

/** The order counts first: it is ended by people only. */
export function cardStopOf({ stop, root }: OrdersState): CardStop | undefined {
  if (stop !== undefined) return { cause: "order", since: stop.at };
  if (root.state === "ok" || root.since === undefined) return undefined;
  return { cause: "root_denied", since: root.since };
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
  #stop: CardStop | undefined;
  /** The last steady state of each root key. */
  readonly #roots = new Map<string, RootState>();
  #reported: { readonly root: RootState; readonly at: Instant } | undefined;
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
      changed: (state) => this.#onStop(cardStopOf(state)),
      refused: (number) => log.write({ event: "row_refused", kind: "key_order", id: `${number}` }),
    });
  }

  /** Also while an order has ended and the root key has not opened the keys of cards yet. */
  get areCardsStopped(): boolean {
    return (
      cardStopOf(this.orders.state) !== undefined ||
      this.#options.keys.keyring?.areCardKeysDropped === true
    );
  }

  /** The same keys, which seal and open no card while card operations are stopped. */
  stoppable(keys: Keys): Keys {
    return { ...keys, vault: stoppableVault(keys.vault, () => this.areCardsStopped) };
  }

  /**
   * A root key has steadily been in this state. Reports it to the other nodes if they agree in
   * another one: `denied` if every root key is, `ok` if one is. Never rejects.
   */
  async rootConfirmed(keyId: string, state: RootState): Promise<void> {
    const { clock, node, slotAssignment, rootKeys } = this.#options;
    this.#roots.set(keyId, state);
    const isOk = [...this.#roots.values()].includes("ok");
    if (!isOk && this.#roots.size < rootKeys) return;
    const root: RootState = isOk ? "ok" : "denied";
    const agreed = this.orders.state.root;
    if (agreed.state === root && agreed.reports.every((report) => report.node !== node)) return;
    const now = clock.now();
    const last = this.#reported;
    if (last?.root === root && now < laterBy(last.at, reportMs / 2)) return;
    this.#reported = { root, at: now };
    const event = {
      actor: { kind: "server" },
      origin: undefined,
      action: "root_key_reported" satisfies KeyActAction,
      target: root,
      result: "done",
      completes: undefined,
      detail: `node ${node}`,
    } as const;
    await this.orders
      .append(() => ({
        body: { kind: "report", node, root, isAlone: slotAssignment.isAlone },
        event,
      }))
      // The store does not answer: the next check reports it.
      .catch(() => (this.#reported = undefined));
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

  async #onStop(stop: CardStop | undefined): Promise<void> {
    const before = this.#stop;
    this.#stop = stop;
    if (before?.cause === stop?.cause && before?.since === stop?.since) return;
    const { log, keys } = this.#options;
    if (stop === undefined) {
      this.#reopening ??= this.#reopen().finally(() => (this.#reopening = undefined));
      // Where the root key answers, cards are served when this settles.
      await Promise.race([this.#reopening, this.#sleep(retryMs)]);
      return;
    }
    const { cause, since } = stop;
    log.write({ event: "cards_stopped", cause, since: formatInstant(since) });
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
