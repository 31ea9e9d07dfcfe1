import type { MerchantId } from "../kernel/ids.ts";

/** How many attempts may be under way: to the server of one account's endpoints, of one account, of all. */
const mostPerServer = 4;
const mostPerMerchant = 16;
const most = 64;

/** A way to a receiver, which attempts take places on. */
export interface Way {
  readonly merchantId: MerchantId;
  /** Of the receiver's URL. */
  readonly origin: string;
}

/** Bounds the attempts under way. Another account's receiver on the same server has connections, and places, of its own. */
export class AttemptPlaces {
  readonly #oneByOne: () => boolean;
  readonly #perMerchant = new Map<string, number>();
  readonly #perServer = new Map<string, number>();
  #taken = 0;

  /** `oneByOne`: while it is true, a server and an account have one place each. */
  constructor(oneByOne: () => boolean) {
    this.#oneByOne = oneByOne;
  }

  /** To one server at once, at most. */
  get perServer(): number {
    return this.#bounded(mostPerServer);
  }

  isFree(way: Way): boolean {
    return (
      this.#taken < most &&
      countOf(this.#perServer, serverOf(way)) < this.perServer &&
      countOf(this.#perMerchant, way.merchantId) < this.#bounded(mostPerMerchant)
    );
  }

  /** Takes a place; whoever calls what it returns gives it back, once. */
  take(way: Way): () => void {
    const server = serverOf(way);
    const by = (change: 1 | -1): void => {
      this.#taken += change;
      count(this.#perServer, server, change);
      count(this.#perMerchant, way.merchantId, change);
    };
    by(1);
    let isHeld = true;
    return () => {
      if (isHeld) by(-1);
      isHeld = false;
    };
  }

  #bounded(many: number): number {
    return this.#oneByOne() ? 1 : many;
  }
}

function serverOf({ merchantId, origin }: Way): string {
  return `${merchantId} ${origin}`;
}

function countOf(counts: ReadonlyMap<string, number>, name: string): number {
  return counts.get(name) ?? 0;
}

function count(counts: Map<string, number>, name: string, by: 1 | -1): void {
  const after = countOf(counts, name) + by;
  if (after === 0) counts.delete(name);
  else counts.set(name, after);
}
