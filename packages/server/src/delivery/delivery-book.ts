import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Store } from "../stores/store.ts";
import { deliveryChange } from "./delivery.ts";
import { type Delivery, openMessage, type QueueKey } from "../notification/events.ts";
import { fixed, type Message } from "../notification/message.ts";

interface Waiting {
  readonly next: Message;
  readonly kept: () => void;
  readonly failed: (error: unknown) => void;
}

/** When so many deliveries are in a change, no further message goes with them. */
const mostTogether = 64;

/**
 * What is kept of messages: which deliveries go together, and what became of them. While one change
 * of a merchant is on its way, what ends meanwhile waits for it and then goes together: a change of
 * its own for each would cost more than all else about an attempt but its signature.
 */
export class DeliveryBook {
  readonly #store: Pick<Store, "deliveriesOfMessage" | "commit">;
  readonly #clock: Clock;
  /** What waits for the change that is on its way; merchants with none have no entry. */
  readonly #waiting = new Map<MerchantId, Waiting[]>();

  constructor(store: Pick<Store, "deliveriesOfMessage" | "commit">, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * The message as it is written down, before anything of it is sent; undefined when somebody else
   * has moved one of its deliveries.
   */
  async fix(message: Message): Promise<Message | undefined> {
    const [first] = message;
    if (first.message !== openMessage) return this.#messageOf(first);
    const next = fixed(message);
    const { outcome } = await this.#store.commit(deliveryChange(this.#clock.now(), ...next));
    return outcome === "committed" ? next : undefined;
  }

  /**
   * Deliveries that are over without another attempt, whole messages at a time; as they are now.
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

  /** Nothing of the queue is read until then, or until the account changes. */
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
   * Resolves when the next versions of a message's deliveries are kept, all of them, or when
   * somebody else has changed one meanwhile: theirs stands. Rejects as a commit does.
   */
  write(next: Message): Promise<void> {
    const [{ merchantId }] = next;
    return new Promise((kept, failed) => {
      const waiting = { next, kept, failed };
      const others = this.#waiting.get(merchantId);
      if (others !== undefined) others.push(waiting);
      else {
        this.#waiting.set(merchantId, []);
        void this.#writeAll(merchantId, waiting);
      }
    });
  }

  /** All that go with this delivery; undefined when it is no longer as it was read. */
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
  async #writeAll(merchantId: MerchantId, first: Waiting): Promise<void> {
    let together = [first];
    while (together.length > 0) {
      await this.#writeTogether(together);
      together = takenFrom(this.#waiting.get(merchantId) ?? []);
    }
    this.#waiting.delete(merchantId);
  }

  async #writeTogether(together: readonly Waiting[]): Promise<void> {
    try {
      const [first, ...others] = together.flatMap(({ next }) => next);
      if (first === undefined) return;
      const { outcome } = await this.#store.commit(
        deliveryChange(this.#clock.now(), first, ...others),
      );
      // One that was changed by somebody else must not keep the others from being written.
      if (outcome !== "committed" && together.length > 1)
        await Promise.all(together.map((each) => this.#writeTogether([each])));
      else for (const { kept } of together) kept();
    } catch (error) {
      for (const { failed } of together) failed(error);
    }
  }
}

/** The first of them, which are taken away. */
function takenFrom(waiting: Waiting[]): Waiting[] {
  let [count, deliveries] = [0, 0];
  for (const { next } of waiting) {
    if (deliveries >= mostTogether) break;
    count += 1;
    deliveries += next.length;
  }
  return waiting.splice(0, count);
}
