import type { Instant } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Change } from "../stores/change.ts";
import { drawOf } from "../notification/chaos.ts";
import type { NotificationChaos } from "../notification/endpoint.ts";
import type { Delivery } from "../notification/events.ts";

/** Maximum wait of the client for a receiver that does not answer. */
const maxWaitMs = 5_000;

interface Waiter {
  readonly since: Instant;
  readonly resolve: () => void;
}

/**
 * Sandbox chaos: the receiver gets the notification of a change before the client gets its answer,
 * as sometimes happens in production. Requests wait here for the first attempt at each of their
 * deliveries.
 */
export class FirstAttemptWaits {
  readonly #scheduler: Scheduler;
  readonly #waiting = new Map<string, Set<Waiter>>();

  constructor(scheduler: Scheduler) {
    this.#scheduler = scheduler;
  }

  /**
   * Drawn by the payment and its version, because a request does not know the numbers of its
   * notifications. Resolves after the first attempt at each delivery, or after five seconds;
   * undefined if the answer need not wait. Must be called in the turn in which the commit resolves:
   * no attempt has ended then.
   */
  waitFor(
    { at, payment, endpoints = [] }: Change,
    { seed, beforeAnswer }: NotificationChaos,
  ): Promise<void> | undefined {
    if (
      beforeAnswer === 0 ||
      payment === undefined ||
      drawOf(seed, "beforeAnswer", payment.next.id, payment.next.version) >= beforeAnswer
    )
      return undefined;
    const { merchantId, id: paymentId } = payment.next;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#scheduler.after(maxWaitMs, resolve);
    const waits = endpoints.map((endpoint) => {
      const ended = Promise.withResolvers<void>();
      const waiting: Waiter = { since: at, resolve: ended.resolve };
      const name = nameOf({ merchantId, endpoint, paymentId });
      const others = this.#waiting.get(name) ?? new Set();
      this.#waiting.set(name, others.add(waiting));
      return { name, waiting, ended: ended.promise };
    });
    void Promise.all(waits.map(({ ended }) => ended)).then(() => resolve());
    return promise.then(() => {
      cancel();
      for (const { name, waiting } of waits) this.#forget(name, waiting);
    });
  }

  /** An attempt has ended, successfully or not, or was postponed. */
  attemptEnded(delivery: Delivery): void {
    for (const { since, resolve } of this.#waiting.get(nameOf(delivery)) ?? []) {
      // A delivery that was committed earlier belongs to another notification of the payment.
      if (delivery.requestedAt >= since) resolve();
    }
  }

  #forget(name: string, waiting: Waiter): void {
    const others = this.#waiting.get(name);
    others?.delete(waiting);
    if (others?.size === 0) this.#waiting.delete(name);
  }
}

function nameOf({
  merchantId,
  endpoint,
  paymentId,
}: Pick<Delivery, "merchantId" | "endpoint" | "paymentId">): string {
  return `${merchantId} ${endpoint} ${paymentId}`;
}
