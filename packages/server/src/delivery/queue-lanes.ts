import type { Instant } from "../kernel/instant.ts";
import type { Tenure } from "../kernel/share.ts";
import { Circuit } from "./circuit.ts";
import type { NotificationSettings, Target } from "../notification/endpoint.ts";
import type { Delivery, QueueKey } from "../notification/events.ts";

/**
 * Queues that something is known about; beyond that, what is known about the oldest is forgotten.
 */
export const mostLanes = 4_096;

/** One queue, as far as this process has it in hand. */
export interface QueueLane {
  readonly key: QueueKey;
  readonly circuit: Circuit;
  /** Read from the store and not begun; each may be tried now. */
  queue: readonly Delivery[];
  /** In which the queue was read; what is left of it when that is over is another process's. */
  tenure: Tenure | undefined;
  /** Begun, and what came of it not kept yet: the numbers of their deliveries. */
  readonly underWay: Set<number>;
  /** Messages of them that have no answer yet. */
  sending: number;
  /**
   * How an endpoint of the account is reached, as it was when the queue was read; undefined for
   * payments' own addresses.
   */
  target: Target | undefined;
  settings: NotificationSettings | undefined;
  /** The receiver is back: what waits is sent without waiting for its time. */
  catchingUp: boolean;
  /** Something went wrong on our side: nothing is read again before the next poll. */
  stuck: boolean;
  reading: boolean;
  /** Asked for while a read was on its way, which may not have seen what has happened since. */
  readAgain: boolean;
  /**
   * When a message was last found that is not full and waits for those under way; undefined when
   * there is none.
   */
  gatheringAt: Instant | undefined;
}

/** The lanes of all queues that something is known about; all of it may be lost at any moment. */
export class QueueLanes {
  readonly #lanes = new Map<string, QueueLane>();

  get size(): number {
    return this.#lanes.size;
  }

  of(key: QueueKey): QueueLane {
    const name = laneName(key);
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    if (this.#lanes.size >= mostLanes) this.#forgetOldest();
    const lane = newLane(key);
    this.#lanes.set(name, lane);
    return lane;
  }

  catchingUp(): readonly QueueLane[] {
    return [...this.#lanes.values()].filter((lane) => lane.catchingUp);
  }

  /** The first moment after `now` at which a queue that rests is tried again. */
  restsUntil(now: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const { circuit } of this.#lanes.values()) {
      const until = circuit.restUntil;
      if (until !== undefined && until > now && (first === undefined || until < first))
        first = until;
    }
    return first;
  }

  /**
   * What went wrong may be tried again, and queues of which there is nothing to know are forgotten.
   */
  tidy(): void {
    for (const [name, lane] of this.#lanes) {
      lane.stuck = false;
      if (isIdle(lane) && lane.circuit.calm && !lane.catchingUp) this.#lanes.delete(name);
    }
  }

  /** Of those that are not in use, which places and look-ahead hold to fewer than are kept. */
  #forgetOldest(): void {
    for (const [name, lane] of this.#lanes) {
      this.#lanes.delete(name);
      if (isIdle(lane)) return;
      this.#lanes.set(name, lane);
    }
  }
}

function newLane({ merchantId, queue }: QueueKey): QueueLane {
  return {
    key: { merchantId, queue },
    circuit: new Circuit(),
    queue: [],
    tenure: undefined,
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
