import type { Clock } from "../kernel/clock.ts";
import type { Instant } from "../kernel/instant.ts";
import type { KeyRecordStore } from "../stores/key-record-store.ts";
import { StoreError } from "../stores/store.ts";
import type { AuditEvent } from "../user/audit.ts";
import { keyedChain } from "../user/keyed-chain.ts";
import type { UserStore } from "../user/user-store.ts";
import { isGenuineOrder, type KeyOrderRow, withOrderMac } from "../vault/records/key-order.ts";
import type { RowMacs } from "../vault/row-mac.ts";
import { afterOrder, bodyText, noOrders, type OrderBody, type OrdersState } from "./key-order.ts";

export interface KeyOrdersParts {
  readonly store: Pick<KeyRecordStore, "keyOrders" | "commitOrder">;
  /** The end of the audit log in the same store. */
  readonly log: Pick<UserStore, "auditHead">;
  readonly macs: Pick<RowMacs, "of" | "accepts">;
  /** The installation id. */
  readonly installation: string;
  readonly clock: Clock;
  /** Called after entries were read or written; both wait until it has settled. */
  readonly changed: (state: OrdersState) => void | Promise<void>;
  /** Called with the number of an entry that was not written with the installation's keys. */
  readonly refused: (number: number) => void;
}

/** What is appended next, with its entry of the audit log. */
export interface NextOrder {
  readonly body: OrderBody;
  readonly event: AuditEvent;
}

const pageSize = 100;
/** Most attempts to append while other nodes do the same. */
const maxAttempts = 16;

/**
 * The list of orders about keys, as far as this node has read it. Owns the state that results from
 * it: every node reads the same list, so all reach the same state. Entries without a valid MAC are
 * skipped.
 */
export class KeyOrders {
  readonly #parts: KeyOrdersParts;
  #state: OrdersState = noOrders;
  /** Reads and appends run one at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(parts: KeyOrdersParts) {
    this.#parts = parts;
  }

  get state(): OrdersState {
    return this.#state;
  }

  /** Reads entries of other nodes. Rejects with StoreError. */
  refresh(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#read();
      await this.#parts.changed(this.#state);
    });
  }

  /**
   * Appends what `decide` returns for the present state, which is read before; again with the newer
   * state when another node was faster. Returns the entry. Rejects with StoreError and with what
   * `decide` throws.
   */
  append(
    decide: (state: OrdersState, now: Instant) => NextOrder | Promise<NextOrder>,
  ): Promise<KeyOrderRow> {
    return this.#inTurn(async () => {
      const { store, log, macs, installation, clock } = this.#parts;
      for (let attempts = 1; attempts <= maxAttempts; attempts += 1) {
        await this.#read();
        const at = clock.now();
        const { body, event } = await decide(this.#state, at);
        const row = { number: this.#state.last + 1, at, body: bodyText(body) };
        const order = withOrderMac(macs, installation, row);
        const change = { at, order, events: [event] as const };
        const chain = keyedChain(macs, await log.auditHead(), change);
        const { outcome } = await store.commitOrder({ ...change, chain });
        if (outcome !== "committed") continue;
        this.#follow(order);
        await this.#parts.changed(this.#state);
        return order;
      }
      throw new StoreError("unavailable");
    });
  }

  async #read(): Promise<void> {
    for (;;) {
      const page = await this.#parts.store.keyOrders(this.#state.last, pageSize);
      for (const row of page) this.#follow(row);
      if (page.length < pageSize) return;
    }
  }

  #follow(row: KeyOrderRow): void {
    const { macs, installation, refused } = this.#parts;
    if (isGenuineOrder(macs, installation, row)) this.#state = afterOrder(this.#state, row);
    else {
      this.#state = { ...this.#state, last: row.number };
      refused(row.number);
    }
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}
