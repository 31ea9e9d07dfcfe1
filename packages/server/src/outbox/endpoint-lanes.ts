import type { Instant } from "../kernel/instant.ts";
import type { Tenure } from "../kernel/share.ts";
import { Circuit } from "./circuit.ts";
import type { NotificationSettings, Target } from "./endpoint.ts";
import type { Delivery, EndpointKey } from "./events.ts";

/** Endpoints that something is known about; beyond that, what is known about the oldest is forgotten. */
const mostLanes = 10_000;

/** The queue of one endpoint, as far as this process has it in hand. */
export interface EndpointLane {
  readonly key: EndpointKey;
  readonly circuit: Circuit;
  /** Read from the store and not begun; each may be tried now. */
  queue: Delivery[];
  /** In which the queue was read; what is left of it when that is over is another process's. */
  tenure: Tenure | undefined;
  /** Begun, and what came of it not kept yet. */
  readonly underWay: Set<number>;
  /** Those of them that have no answer yet. */
  sending: number;
  /** How the endpoint is reached, as it was when the queue was read. */
  target: Target | undefined;
  settings: NotificationSettings | undefined;
  /** The receiver is back: what waits is sent without waiting for its time. */
  catchingUp: boolean;
  /** Something went wrong on our side: nothing is read again before the next round. */
  stuck: boolean;
  reading: boolean;
  /** Asked for while a read was on its way, which may not have seen what has happened since. */
  readAgain: boolean;
  /** When a message was last found that is not full and waits for those under way; undefined when there is none. */
  gatheringAt: Instant | undefined;
}

/** The lanes of all endpoints that something is known about; all of it may be lost at any moment. */
export class EndpointLanes {
  readonly #lanes = new Map<string, EndpointLane>();

  of(key: EndpointKey): EndpointLane {
    const name = laneName(key);
    const known = this.#lanes.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#lanes.values();
    if (oldest !== undefined && this.#lanes.size >= mostLanes && isIdle(oldest)) this.#lanes.delete(laneName(oldest.key));
    const lane = newLane(key);
    this.#lanes.set(name, lane);
    return lane;
  }

  catchingUp(): readonly EndpointLane[] {
    return [...this.#lanes.values()].filter((lane) => lane.catchingUp);
  }

  /** The first moment after `now` at which an endpoint that rests is asked again. */
  restsUntil(now: Instant): Instant | undefined {
    let first: Instant | undefined;
    for (const { circuit } of this.#lanes.values()) {
      const until = circuit.restUntil;
      if (until !== undefined && until > now && (first === undefined || until < first)) first = until;
    }
    return first;
  }

  /** What went wrong may be tried again, and of whom there is nothing to know is forgotten. */
  tidy(): void {
    for (const [name, lane] of this.#lanes) {
      lane.stuck = false;
      if (isIdle(lane) && lane.circuit.calm && !lane.catchingUp) this.#lanes.delete(name);
    }
  }
}

function newLane({ merchantId, endpoint }: EndpointKey): EndpointLane {
  return {
    key: { merchantId, endpoint },
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

function isIdle(lane: EndpointLane): boolean {
  return lane.queue.length === 0 && lane.underWay.size === 0 && !lane.reading;
}

function laneName({ merchantId, endpoint }: EndpointKey): string {
  return `${merchantId} ${endpoint}`;
}
