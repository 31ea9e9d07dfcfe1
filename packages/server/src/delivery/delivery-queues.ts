import { BoundedMap } from "../kernel/bounded-map.ts";
import { CircuitBreaker } from "../kernel/circuit-breaker.ts";
import { type Instant, minute, second } from "../kernel/instant.ts";
import type { SlotLease } from "../kernel/slot-assignment.ts";
import type { NotificationSettings, Target } from "../notification/endpoint.ts";
import type { Delivery, QueueKey } from "../notification/events.ts";

/** Maximum number of queues with state; beyond that, the state of the oldest is dropped. */
export const maxQueues = 4_096;

/** While the circuit of a receiver is open, no attempts are counted against deliveries. */
const receiverCircuit = {
  failuresToOpen: 5,
  firstOpenMs: 30 * second,
  longestOpenMs: 5 * minute,
};

/** The state of one queue in this process. */
export interface DeliveryQueue {
  readonly key: QueueKey;
  readonly circuit: CircuitBreaker;
  /** Read from the store but not begun; each may be tried now. */
  deliveries: readonly Delivery[];
  /**
   * The slot lease under which the queue was read; when it has ended, the rest belongs to another
   * process.
   */
  lease: SlotLease | undefined;
  /** Numbers of the deliveries that were begun and whose result is not stored yet. */
  readonly inFlight: Set<number>;
  /** Number of their messages that have no answer yet. */
  sending: number;
  /**
   * The address and secrets of an account's endpoint when the queue was read; undefined for
   * payments' own addresses.
   */
  target: Target | undefined;
  settings: NotificationSettings | undefined;
  /** The receiver is back: waiting deliveries are sent before their time. */
  catchingUp: boolean;
  /** An error on our side: nothing is read before the next poll. */
  isPaused: boolean;
  reading: boolean;
  /** Requested during a read, which may have missed the latest deliveries. */
  readAgain: boolean;
  /** When a message that is not full last waited for those under way; undefined if none does. */
  batchingSince: Instant | undefined;
}

/** All queues with state, which may be lost at any moment. */
export class DeliveryQueues {
  /** The limits of attempts and of reading ahead keep the busy queues below the maximum. */
  readonly #queues = new BoundedMap<string, DeliveryQueue>(maxQueues, isIdle);

  get size(): number {
    return this.#queues.size;
  }

  of(key: QueueKey): DeliveryQueue {
    const name = queueName(key);
    const known = this.#queues.get(name);
    if (known !== undefined) return known;
    const queue = newQueue(key);
    this.#queues.set(name, queue);
    return queue;
  }

  catchingUp(): readonly DeliveryQueue[] {
    return [...this.#queues.values()].filter((queue) => queue.catchingUp);
  }

  /** The first moment after `now` at which an open circuit allows a trial. */
  circuitOpenUntil(now: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const { circuit } of this.#queues.values()) {
      const until = circuit.openUntil;
      if (until !== undefined && until > now && (first === undefined || until < first))
        first = until;
    }
    return first;
  }

  /** Allows retries after errors, and drops queues without state. */
  tidy(): void {
    for (const [name, queue] of this.#queues) {
      queue.isPaused = false;
      if (isIdle(queue) && queue.circuit.calm && !queue.catchingUp) this.#queues.delete(name);
    }
  }
}

function newQueue({ merchantId, queue }: QueueKey): DeliveryQueue {
  return {
    key: { merchantId, queue },
    circuit: new CircuitBreaker(receiverCircuit),
    deliveries: [],
    lease: undefined,
    inFlight: new Set(),
    sending: 0,
    target: undefined,
    settings: undefined,
    catchingUp: false,
    isPaused: false,
    reading: false,
    readAgain: false,
    batchingSince: undefined,
  };
}

function isIdle(queue: DeliveryQueue): boolean {
  return queue.deliveries.length === 0 && queue.inFlight.size === 0 && !queue.reading;
}

function queueName({ merchantId, queue }: QueueKey): string {
  return `${merchantId} ${queue}`;
}
