import { BoundedMap } from "../kernel/bounded-map.ts";
import { CircuitBreaker } from "../kernel/circuit-breaker.ts";
import { type Instant, minute, second } from "../kernel/instant.ts";
import type { SlotLease } from "../kernel/slot-assignment.ts";
import type { NotificationSettings, Target } from "../notification/endpoint.ts";
import type { Delivery, QueueKey } from "../notification/events.ts";

/** Maximum number of queues with state; beyond that, the state of the oldest is dropped. */
export const mostLanes = 4_096;

/** While the circuit of a receiver is open, no attempts are counted against deliveries. */
const receiverCircuit = {
  failuresToOpen: 5,
  firstOpenMs: 30 * second,
  longestOpenMs: 5 * minute,
};

/** The state of one queue in this process. */
export interface QueueLane {
  readonly key: QueueKey;
  readonly circuit: CircuitBreaker;
  /** Read from the store but not begun; each may be tried now. */
  queue: readonly Delivery[];
  /**
   * The slot lease under which the queue was read; when it has ended, the rest belongs to another
   * process.
   */
  lease: SlotLease | undefined;
  /** Numbers of the deliveries that were begun and whose result is not stored yet. */
  readonly underWay: Set<number>;
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
  stuck: boolean;
  reading: boolean;
  /** Requested during a read, which may have missed the latest deliveries. */
  readAgain: boolean;
  /** When a message that is not full last waited for those under way; undefined if none does. */
  gatheringAt: Instant | undefined;
}

/** The lanes of all queues with state, all of which may be lost at any moment. */
export class QueueLanes {
  /** Places and look-ahead limit the number of busy lanes to fewer than are kept. */
  readonly #lanes = new BoundedMap<string, QueueLane>(mostLanes, isIdle);

  get size(): number {
    return this.#lanes.size;
  }

  of(key: QueueKey): QueueLane {
    const name = laneName(key);
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const lane = newLane(key);
    this.#lanes.set(name, lane);
    return lane;
  }

  catchingUp(): readonly QueueLane[] {
    return [...this.#lanes.values()].filter((lane) => lane.catchingUp);
  }

  /** The first moment after `now` at which an open circuit allows a trial. */
  restsUntil(now: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const { circuit } of this.#lanes.values()) {
      const until = circuit.openUntil;
      if (until !== undefined && until > now && (first === undefined || until < first))
        first = until;
    }
    return first;
  }

  /** Allows retries after errors, and drops lanes without state. */
  tidy(): void {
    for (const [name, lane] of this.#lanes) {
      lane.stuck = false;
      if (isIdle(lane) && lane.circuit.calm && !lane.catchingUp) this.#lanes.delete(name);
    }
  }
}

function newLane({ merchantId, queue }: QueueKey): QueueLane {
  return {
    key: { merchantId, queue },
    circuit: new CircuitBreaker(receiverCircuit),
    queue: [],
    lease: undefined,
    underWay: new Set(),
    sending: 0,
    target: undefined,
    settings: undefined,
    catchingUp: false,
    stuck: false,
    reading: false,
    readAgain: false,
    gatheringAt: undefined,
  };
}

function isIdle(lane: QueueLane): boolean {
  return lane.queue.length === 0 && lane.underWay.size === 0 && !lane.reading;
}

function laneName({ merchantId, queue }: QueueKey): string {
  return `${merchantId} ${queue}`;
}
