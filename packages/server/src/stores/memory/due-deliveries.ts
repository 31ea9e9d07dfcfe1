import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import { queueOf } from "../../notification/endpoint.ts";
import type { Delivery, QueueId, QueueKey } from "../../notification/events.ts";
import type { DueMerchant, DueQueue } from "../store.ts";
import { SortedList } from "./sorted-list.ts";

interface Queue {
  readonly merchant: Merchant;
  readonly queue: QueueId;
  readonly deliveries: SortedList<Delivery>;
  parkedUntil: Instant | undefined;
  dueAt: Instant | undefined;
}

interface Merchant {
  readonly merchantId: MerchantId;
  readonly queues: SortedList<DueQueue>;
  dueAt: Instant | undefined;
}

/**
 * Deliveries by the time from which they may be attempted: the in-memory form of the tables of the
 * embedded store's migration 008-due-queues.ts.
 */
export class DueDeliveries {
  /** Waiting deliveries to one endpoint about one payment, ordered by number. */
  readonly #chains = new Map<string, readonly Delivery[]>();
  readonly #queues = new Map<string, Queue>();
  readonly #merchants = new Map<MerchantId, Merchant>();
  readonly #dueMerchants = new SortedList<DueMerchant>((left, right) =>
    firstOf(left.dueAt - right.dueAt, compare(left.merchantId, right.merchantId)),
  );

  /** Must be called with each version of each delivery. */
  write(next: Delivery): void {
    const name = `${next.merchantId} ${next.endpoint} ${next.paymentId}`;
    const before = this.#chains.get(name) ?? [];
    const others = before.filter(({ number }) => number !== next.number);
    const chain =
      next.state === "waiting"
        ? [...others, next].toSorted((left, right) => left.number - right.number)
        : others;
    if (chain.length === 0) this.#chains.delete(name);
    else this.#chains.set(name, chain);
    const [wereFree, areFree] = [unblocked(before), unblocked(chain)];
    const queue = this.#queueOf({ merchantId: next.merchantId, queue: queueOf(next.endpoint) });
    for (const each of wereFree) if (!areFree.includes(each)) queue.deliveries.remove(each);
    for (const each of areFree) if (!wereFree.includes(each)) queue.deliveries.add(each);
    this.#place(queue);
  }

  park({ merchantId, queue: name }: QueueKey, until: Instant): void {
    const queue = this.#queues.get(`${merchantId} ${name}`);
    if (queue === undefined) return;
    queue.parkedUntil = until;
    this.#place(queue);
  }

  /** Ends the parking of all queues of the merchant. */
  unpark(merchantId: MerchantId): void {
    for (const queue of this.#queues.values()) {
      if (queue.merchant.merchantId !== merchantId || queue.parkedUntil === undefined) continue;
      queue.parkedUntil = undefined;
      this.#place(queue);
    }
  }

  copy(): DueDeliveries {
    const copy = new DueDeliveries();
    for (const chain of this.#chains.values()) for (const delivery of chain) copy.write(delivery);
    for (const { merchant, queue, parkedUntil } of this.#queues.values()) {
      if (parkedUntil !== undefined)
        copy.park({ merchantId: merchant.merchantId, queue }, parkedUntil);
    }
    return copy;
  }

  merchants(now: Instant, after: DueMerchant | undefined): Iterable<DueMerchant> {
    return this.#dueMerchants.between(after, ({ dueAt }) => dueAt <= now);
  }

  queues(merchantId: MerchantId, now: Instant, after: DueQueue | undefined): Iterable<DueQueue> {
    return (
      this.#merchants.get(merchantId)?.queues.between(after, ({ dueAt }) => dueAt <= now) ?? []
    );
  }

  deliveries({ merchantId, queue }: QueueKey, now: Instant): Iterable<Delivery> {
    return (
      this.#queues
        .get(`${merchantId} ${queue}`)
        ?.deliveries.between(undefined, ({ dueAt }) => dueAt <= now) ?? []
    );
  }

  /** The first moment after `now` at which a delivery is due; undefined if none is. */
  nextAfter(now: Instant): Instant | undefined {
    let next: Instant | undefined;
    for (const { deliveries } of this.#queues.values()) {
      const at = deliveries.firstWhere(({ dueAt }) => dueAt > now)?.dueAt;
      if (at !== undefined && (next === undefined || at < next)) next = at;
    }
    return next;
  }

  #queueOf({ merchantId, queue }: QueueKey): Queue {
    const name = `${merchantId} ${queue}`;
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const made: Queue = {
      merchant: this.#merchantOf(merchantId),
      queue,
      deliveries: new SortedList((left, right) =>
        firstOf(
          left.dueAt - right.dueAt,
          left.number - right.number,
          compare(left.endpoint, right.endpoint),
        ),
      ),
      parkedUntil: undefined,
      dueAt: undefined,
    };
    this.#queues.set(name, made);
    return made;
  }

  #merchantOf(merchantId: MerchantId): Merchant {
    const known = this.#merchants.get(merchantId);
    if (known !== undefined) return known;
    const queues = new SortedList<DueQueue>((left, right) =>
      firstOf(left.dueAt - right.dueAt, compare(left.queue, right.queue)),
    );
    const made: Merchant = { merchantId, queues, dueAt: undefined };
    this.#merchants.set(merchantId, made);
    return made;
  }

  /** Moves a queue and its merchant to their current positions. */
  #place(place: Queue): void {
    const { merchant, queue, deliveries, parkedUntil } = place;
    const firstAt = deliveries.first?.dueAt;
    const dueAt =
      firstAt !== undefined && parkedUntil !== undefined && parkedUntil > firstAt
        ? parkedUntil
        : firstAt;
    if (dueAt !== place.dueAt) {
      if (place.dueAt !== undefined) merchant.queues.remove({ queue, dueAt: place.dueAt });
      if (dueAt !== undefined) merchant.queues.add(Object.freeze({ queue, dueAt }));
      place.dueAt = dueAt;
    }
    if (dueAt === undefined) this.#queues.delete(`${merchant.merchantId} ${queue}`);
    const { merchantId } = merchant;
    const merchantDueAt = merchant.queues.first?.dueAt;
    if (merchantDueAt !== merchant.dueAt) {
      if (merchant.dueAt !== undefined)
        this.#dueMerchants.remove({ merchantId, dueAt: merchant.dueAt });
      if (merchantDueAt !== undefined)
        this.#dueMerchants.add(Object.freeze({ merchantId, dueAt: merchantDueAt }));
      merchant.dueAt = merchantDueAt;
    }
    if (merchantDueAt === undefined) this.#merchants.delete(merchantId);
  }
}

/** The deliveries up to the first that is in order: later ones wait for it. */
function unblocked(chain: readonly Delivery[]): readonly Delivery[] {
  const first = chain.findIndex(({ inOrder }) => inOrder);
  return first < 0 ? chain : chain.slice(0, first + 1);
}

/** The first non-zero difference, or 0. */
function firstOf(...differences: readonly number[]): number {
  return differences.find((each) => each !== 0) ?? 0;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
