import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import {
  type Delivery,
  type DeliveryState,
  type EndpointId,
  type EndpointKey,
  openMessage,
} from "../../notification/events.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { DeliverySum, OpenDeliveryState } from "../store.ts";
import { SortedList } from "./sorted-list.ts";

type Place = Pick<Delivery, "number" | "endpoint">;

/** Lists of one merchant's deliveries, ordered by number, then by endpoint name. */
interface Lists extends Readonly<Record<OpenDeliveryState, SortedList<Place>>> {
  readonly all: SortedList<Place>;
}

/**
 * The current version of each delivery, and its positions in the lists, so that reading a page
 * costs only its own rows.
 */
export class Deliveries {
  readonly #current = new Map<string, Delivery>();
  readonly #lists = new Map<MerchantId, Lists>();
  /** By merchant, endpoint and message. */
  readonly #messages = new Map<string, SortedList<Place>>();
  /** By merchant and payment, in no particular order. */
  readonly #payments = new Map<string, readonly Place[]>();

  get size(): number {
    return this.#current.size;
  }

  find(of: EndpointKey & Place): Delivery | undefined {
    return this.#current.get(nameOf(of));
  }

  /** Must be called with each version of each delivery. */
  write(next: Delivery): void {
    const { merchantId } = next;
    const before = this.find(next);
    this.#current.set(nameOf(next), next);
    const lists = this.#lists.get(merchantId) ?? {
      all: inOrder(),
      waiting: inOrder(),
      failed: inOrder(),
    };
    this.#lists.set(merchantId, lists);
    if (before === undefined) {
      lists.all.add(next);
      const name = paymentNameOf(merchantId, next.paymentId);
      const { number, endpoint } = next;
      this.#payments.set(name, [...(this.#payments.get(name) ?? []), { number, endpoint }]);
    }
    if (before?.state !== next.state) {
      if (before !== undefined && before.state !== "delivered") lists[before.state].remove(before);
      if (next.state !== "delivered") lists[next.state].add(next);
    }
    if (before?.message === next.message) return;
    if (before !== undefined)
      this.#messages.get(messageNameOf(before, before.message))?.remove(before);
    if (next.message === undefined || next.message === openMessage) return;
    const name = messageNameOf(next, next.message);
    const message = this.#messages.get(name) ?? inOrder();
    this.#messages.set(name, message);
    message.add(next);
  }

  /** Deliveries with numbers `from` to `to`; with `state`, only those in that state. */
  *of(
    merchantId: MerchantId,
    from: number,
    state: OpenDeliveryState | undefined,
    to = Number.POSITIVE_INFINITY,
  ): Generator<Delivery> {
    const places =
      this.#lists
        .get(merchantId)
        ?.[state ?? "all"].between(beforeAllOf(from), ({ number }) => number <= to) ?? [];
    for (const place of places) yield this.#at(merchantId, place);
  }

  ofMessage(to: EndpointKey, message: number): readonly Delivery[] {
    const places =
      this.#messages.get(messageNameOf(to, message))?.between(undefined, () => true) ?? [];
    return Array.from(places, (place) => this.#at(to.merchantId, place));
  }

  /** What became of the deliveries about a payment; undefined if it has none. */
  sumOf(merchantId: MerchantId, paymentId: PaymentId): DeliverySum | undefined {
    const places = this.#payments.get(paymentNameOf(merchantId, paymentId));
    if (places === undefined) return undefined;
    const deliveries = places.map((place) => this.#at(merchantId, place));
    const receivers = new Set(places.map(({ endpoint }) => endpoint));
    const endpointsIn = (...states: readonly DeliveryState[]): ReadonlySet<EndpointId> =>
      new Set(
        deliveries.filter(({ state }) => states.includes(state)).map(({ endpoint }) => endpoint),
      );
    const waiting = deliveries.filter(({ state }) => state === "waiting");
    return {
      paymentId,
      receivers: receivers.size,
      notified: receivers.size - endpointsIn("waiting", "failed").size,
      failed: endpointsIn("failed").size,
      waitingSince: waiting
        .map(({ requestedAt }) => requestedAt)
        .toSorted((left, right) => left - right)[0],
    };
  }

  /** Scans all deliveries. Earliest end first. */
  endedBefore(before: Instant): readonly Delivery[] {
    return [...this.#current.values()]
      .filter((each) => hasEndedBefore(each, before))
      .toSorted((left, right) => left.dueAt - right.dueAt);
  }

  /** Deletes a delivery unless it is waiting or ended at `before` or later. */
  deleteEnded(of: EndpointKey & Place, before: Instant): void {
    const stored = this.find(of);
    if (stored === undefined || !hasEndedBefore(stored, before)) return;
    this.#current.delete(nameOf(of));
    const lists = this.#lists.get(of.merchantId);
    lists?.all.remove(stored);
    const name = paymentNameOf(of.merchantId, stored.paymentId);
    const others = this.#payments
      .get(name)
      ?.filter(({ number, endpoint }) => number !== of.number || endpoint !== of.endpoint);
    if (others === undefined || others.length === 0) this.#payments.delete(name);
    else this.#payments.set(name, others);
    if (stored.state === "failed") lists?.failed.remove(stored);
    if (stored.message !== undefined && stored.message !== openMessage)
      this.#messages.get(messageNameOf(stored, stored.message))?.remove(stored);
  }

  copy(): Deliveries {
    const copy = new Deliveries();
    for (const delivery of this.#current.values()) copy.write(delivery);
    return copy;
  }

  #at(merchantId: MerchantId, { number, endpoint }: Place): Delivery {
    const delivery = this.find({ merchantId, number, endpoint });
    assert(delivery !== undefined, "a delivery that has a place is stored");
    return delivery;
  }
}

function hasEndedBefore({ state, dueAt: endedAt }: Delivery, before: Instant): boolean {
  return state !== "waiting" && endedAt < before;
}

function inOrder(): SortedList<Place> {
  return new SortedList((left, right) =>
    left.number === right.number
      ? compare(left.endpoint, right.endpoint)
      : left.number - right.number,
  );
}

/** Sorts before all deliveries with this number, because endpoint names are never empty. */
function beforeAllOf(number: number): Place {
  return { number, endpoint: "" as EndpointId };
}

function nameOf({ merchantId, number, endpoint }: EndpointKey & Place): string {
  return `${merchantId} ${number} ${endpoint}`;
}

function paymentNameOf(merchantId: MerchantId, paymentId: PaymentId): string {
  return `${merchantId} ${paymentId}`;
}

function messageNameOf({ merchantId, endpoint }: EndpointKey, message: number | undefined): string {
  return `${merchantId} ${endpoint} ${message ?? openMessage}`;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
