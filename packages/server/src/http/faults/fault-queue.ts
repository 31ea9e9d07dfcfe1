import type { MerchantId } from "../../kernel/ids.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import { appliesTo, type FaultKind, type FaultTarget } from "./fault-kinds.ts";

/** A fault for requests of one account. */
export interface Fault {
  /** `f1`, `f2` and so on, in the order in which the account's faults were added. */
  readonly id: string;
  readonly kind: FaultKind;
  /** How many requests it matches; 0: all, until it is cleared. */
  readonly times: number;
  /** Only requests of this operation, spelled as its endpoint's path. */
  readonly path: string | undefined;
  /** Only requests about the payment with this merchant_payment_code. */
  readonly code: string | undefined;
  readonly delayMs: number;
  /** The reason of a `decline`. */
  readonly reason: DeclineReason | undefined;
}

export interface WaitingFault extends Fault {
  /** Requests that it has matched. */
  readonly injected: number;
}

export const maxTimes = 1_000;
export const maxFaults = 100;
const maxAccounts = 10_000;

interface Entry {
  made: number;
  waiting: readonly WaitingFault[];
}

/**
 * The active faults by account, in memory: at most 100 per account, for at most 10,000 accounts.
 * They are lost when the process ends. A request meets only the first fault that matches it.
 */
export class FaultQueue {
  readonly #entries = new Map<MerchantId, Entry>();

  /** Whether the account has active faults. Called for every request. */
  waitsFor(merchantId: MerchantId): boolean {
    const entry = this.#entries.get(merchantId);
    return entry !== undefined && entry.waiting.length > 0;
  }

  /** Undefined: a limit is reached. */
  add(merchantId: MerchantId, fault: Omit<Fault, "id">): WaitingFault | undefined {
    const entry = this.#entries.get(merchantId) ?? this.#open(merchantId);
    if (entry === undefined || entry.waiting.length >= maxFaults) return undefined;
    entry.made += 1;
    const added = { ...fault, id: `f${entry.made}`, injected: 0 };
    entry.waiting = [...entry.waiting, added];
    return added;
  }

  /** In the order in which they were added. */
  list(merchantId: MerchantId): readonly WaitingFault[] {
    return this.#entries.get(merchantId)?.waiting ?? [];
  }

  /** Removes one fault, or all; returns how many were removed. */
  clear(merchantId: MerchantId, id?: string): number {
    const entry = this.#entries.get(merchantId);
    if (entry === undefined) return 0;
    const before = entry.waiting.length;
    entry.waiting = id === undefined ? [] : entry.waiting.filter((fault) => fault.id !== id);
    return before - entry.waiting.length;
  }

  /** Resets the account: its next fault is `f1` again. */
  forget(merchantId: MerchantId): void {
    this.#entries.delete(merchantId);
  }

  /** Whether a fault that matches requests of this operation requires a certain payment. */
  needsCode(merchantId: MerchantId, endpoint: FaultTarget): boolean {
    return this.list(merchantId).some(
      (fault) => fault.code !== undefined && matches(fault, endpoint),
    );
  }

  /**
   * The fault that matches a request of this operation about the payment with this code, if any.
   * Counts the match.
   */
  take(merchantId: MerchantId, endpoint: FaultTarget, code: string | undefined): Fault | undefined {
    const entry = this.#entries.get(merchantId);
    const fault = entry?.waiting.find(
      (each) => matches(each, endpoint) && (each.code === undefined || each.code === code),
    );
    if (entry === undefined || fault === undefined) return undefined;
    const injected = fault.injected + 1;
    const isOver = injected === fault.times;
    entry.waiting = entry.waiting.flatMap((each) =>
      each !== fault ? [each] : isOver ? [] : [{ ...fault, injected }],
    );
    return fault;
  }

  /** Adds an account, if necessary in place of one without active faults. */
  #open(merchantId: MerchantId): Entry | undefined {
    if (this.#entries.size >= maxAccounts) {
      const idle = [...this.#entries].find(([, { waiting }]) => waiting.length === 0);
      if (idle === undefined) return undefined;
      this.#entries.delete(idle[0]);
    }
    const entry: Entry = { made: 0, waiting: [] };
    this.#entries.set(merchantId, entry);
    return entry;
  }
}

function matches({ kind, path }: Fault, endpoint: FaultTarget): boolean {
  return path === undefined ? appliesTo(kind, endpoint) : path === endpoint.path;
}
