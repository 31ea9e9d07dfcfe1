import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Store } from "../stores/store.ts";
import { deliveryChange } from "./delivery.ts";
import { type Delivery, openMessage, type QueueKey } from "../notification/events.ts";
import { withMessageNumber, type Message } from "../notification/message.ts";

interface PendingWrite {
  readonly next: Message;
  readonly stored: () => void;
  readonly failed: (error: unknown) => void;
}

/** Once a change has this many deliveries, no further message is added to it. */
const maxDeliveriesPerChange = 64;

/**
 * Writes the state of messages: which deliveries belong together, and their outcomes. While one
 * change of a merchant is being committed, later outcomes wait and are then committed together: one
 * change each would cost more than everything else in an attempt except its signature.
 */
export class DeliveryRecorder {
  readonly #store: Pick<Store, "deliveriesOfMessage" | "commit">;
  readonly #clock: Clock;
  /** Outcomes that wait for the current change; merchants without one have no entry. */
  readonly #waiting = new Map<MerchantId, PendingWrite[]>();

  constructor(store: Pick<Store, "deliveriesOfMessage" | "commit">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * The message as stored, before anything of it is sent; undefined if another process has changed
   * one of its deliveries.
   */
  async fixMembers(message: Message): Promise<Message | undefined> {
    const [first] = message;
    if (first.message !== openMessage) return this.#messageOf(first);
    const next = withMessageNumber(message);
    const { outcome } = await this.#store.commit(deliveryChange(this.#clock.now(), ...next));
    return outcome === "committed" ? next : undefined;
  }

  /**
   * Ends deliveries without another attempt, whole messages at a time. Resolves with their new
   * versions.
   */
  async end(
    deliveries: readonly Delivery[],
    decide: (delivery: Delivery, now: Instant) => Delivery,
  ): Promise<readonly Delivery[]> {
    const now = this.#clock.now();
    const ended = new Map<string, Delivery>();
    for (const each of deliveries) {
      for (const delivery of (await this.#messageOf(each)) ?? [])
        ended.set(`${delivery.number} ${delivery.endpoint}`, decide(delivery, now));
    }
    const [first, ...others] = ended.values();
    if (first === undefined) return [];
    const { outcome } = await this.#store.commit(
      deliveryChange(this.#clock.now(), first, ...others),
    );
    return outcome === "committed" ? [first, ...others] : [];
  }

  /** The queue is not read until then, or until the account changes. */
  async park(
    { merchantId, queue }: QueueKey,
    until: Instant,
    accountVersion: number,
  ): Promise<void> {
    const parking = { queue, until, accountVersion };
    await this.#store.commit({
      merchantId,
      at: this.#clock.now(),
      facts: [],
      entries: [],
      notifications: [],
      parking,
    });
  }

  /**
   * Resolves when all next versions of a message's deliveries are stored, or when another process
   * has changed one of them, whose version then stays. Rejects as a commit does.
   */
  write(next: Message): Promise<void> {
    const [{ merchantId }] = next;
    return new Promise((stored, failed) => {
      const waiting = { next, stored, failed };
      const others = this.#waiting.get(merchantId);
      if (others !== undefined) others.push(waiting);
      else {
        this.#waiting.set(merchantId, []);
        void this.#writeAll(merchantId, waiting);
      }
    });
  }

  /**
   * All deliveries of the message of this one; undefined if this one has changed since it was read.
   */
  async #messageOf(delivery: Delivery): Promise<Message | undefined> {
    if (delivery.message === undefined || delivery.message === openMessage) return [delivery];
    const [first, ...others] = await this.#store.deliveriesOfMessage(delivery, delivery.message);
    if (first === undefined) return undefined;
    const message: Message = [first, ...others];
    return message.some(
      ({ number, version }) => number === delivery.number && version === delivery.version,
    )
      ? message
      : undefined;
  }

  /** Never rejects. */
  async #writeAll(merchantId: MerchantId, first: PendingWrite): Promise<void> {
    let batch = [first];
    while (batch.length > 0) {
      await this.#writeBatch(batch);
      batch = takeFirst(this.#waiting.get(merchantId) ?? []);
    }
    this.#waiting.delete(merchantId);
  }

  async #writeBatch(together: readonly PendingWrite[]): Promise<void> {
    try {
      const [first, ...others] = together.flatMap(({ next }) => next);
      if (first === undefined) return;
      const { outcome } = await this.#store.commit(
        deliveryChange(this.#clock.now(), first, ...others),
      );
      // A delivery that another process changed must not prevent the others from being stored.
      if (outcome !== "committed" && together.length > 1)
        await Promise.all(together.map((each) => this.#writeBatch([each])));
      else for (const { stored } of together) stored();
    } catch (error) {
      for (const { failed } of together) failed(error);
    }
  }
}

/** Removes and returns the first messages. */
function takeFirst(waiting: PendingWrite[]): PendingWrite[] {
  let [count, deliveries] = [0, 0];
  for (const { next } of waiting) {
    if (deliveries >= maxDeliveriesPerChange) break;
    count += 1;
    deliveries += next.length;
  }
  return waiting.splice(0, count);
}
