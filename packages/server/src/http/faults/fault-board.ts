import type { MerchantId } from "../../kernel/ids.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import { type FaultKind, rowOf } from "./fault-kinds.ts";

/** What waits for requests of one account. */
export interface Fault {
  /** `f1`, `f2` and so on, in the order in which the account's were added. */
  readonly id: string;
  readonly kind: FaultKind;
  /** How many requests it meets; 0: all, until it is cleared. */
  readonly times: number;
  /** Only requests of this operation, spelled as its endpoint is. */
  readonly path: string | undefined;
  /** Only requests about the payment with this merchant_payment_code. */
  readonly code: string | undefined;
  readonly delayMs: number;
  /** Why a `decline` declines. */
  readonly reason: DeclineReason | undefined;
}

export interface WaitingFault extends Fault {
  /** Requests that it has met. */
  readonly met: number;
}

export const mostTimes = 1_000;
export const mostFaults = 100;
const mostAccounts = 10_000;

interface Entry {
  made: number;
  waiting: readonly WaitingFault[];
}

/**
 * The faults that wait, by account, in memory: at most 100 of an account and of 10,000 accounts,
 * gone when the process ends. The first that fits a request meets it, and no other one does.
 */
export class FaultBoard {
  readonly #entries = new Map<MerchantId, Entry>();

  /** Whether any waits for this account's requests. Asked by every request. */
  waitsFor(merchantId: MerchantId): boolean {
    const entry = this.#entries.get(merchantId);
    return entry !== undefined && entry.waiting.length > 0;
  }

  /** Undefined: there is no room for it. */
  add(merchantId: MerchantId, fault: Omit<Fault, "id">): WaitingFault | undefined {
    const entry = this.#entries.get(merchantId) ?? this.#open(merchantId);
    if (entry === undefined || entry.waiting.length >= mostFaults) return undefined;
    entry.made += 1;
    const added = { ...fault, id: `f${entry.made}`, met: 0 };
    entry.waiting = [...entry.waiting, added];
    return added;
  }

  /** In the order in which they were added. */
  list(merchantId: MerchantId): readonly WaitingFault[] {
    return this.#entries.get(merchantId)?.waiting ?? [];
  }

  /** Takes one away, or all; tells how many that were. */
  clear(merchantId: MerchantId, id?: string): number {
    const entry = this.#entries.get(merchantId);
    if (entry === undefined) return 0;
    const before = entry.waiting.length;
    entry.waiting = id === undefined ? [] : entry.waiting.filter((fault) => fault.id !== id);
    return before - entry.waiting.length;
  }

  /** As if the account had never had any: its next fault is `f1` again. */
  forget(merchantId: MerchantId): void {
    this.#entries.delete(merchantId);
  }

  /** Whether one that waits for requests of this operation wants a certain payment. */
  asksForCode(merchantId: MerchantId, path: string): boolean {
    return this.list(merchantId).some(
      (fault) => fault.code !== undefined && meetsPath(fault, path),
    );
  }

  /**
   * The fault that meets a request of this operation about the payment with this code, if any: it
   * has met one more then.
   */
  take(merchantId: MerchantId, path: string, code: string | undefined): Fault | undefined {
    const entry = this.#entries.get(merchantId);
    const fault = entry?.waiting.find(
      (each) => meetsPath(each, path) && (each.code === undefined || each.code === code),
    );
    if (entry === undefined || fault === undefined) return undefined;
    const met = fault.met + 1;
    const isOver = met === fault.times;
    entry.waiting = entry.waiting.flatMap((each) =>
      each !== fault ? [each] : isOver ? [] : [{ ...fault, met }],
    );
    return fault;
  }

  /** A place for an account, if need be that of another one for which nothing waits. */
  #open(merchantId: MerchantId): Entry | undefined {
    if (this.#entries.size >= mostAccounts) {
      const idle = [...this.#entries].find(([, { waiting }]) => waiting.length === 0);
      if (idle === undefined) return undefined;
      this.#entries.delete(idle[0]);
    }
    const entry: Entry = { made: 0, waiting: [] };
    this.#entries.set(merchantId, entry);
    return entry;
  }
}

function meetsPath({ kind, path }: Fault, asked: string): boolean {
  return path === undefined ? (rowOf(kind).paths?.includes(asked) ?? true) : path === asked;
}
