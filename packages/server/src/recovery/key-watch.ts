import type { ElapsedMs } from "../kernel/elapsed.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { KeyRecordStore, KnownKeys, NewMerchantKey } from "../stores/key-record-store.ts";
import type { UserStore } from "../user/user-store.ts";
import type { KeyRecord } from "../vault/records/key-record.ts";

interface KeyWatchParts {
  readonly keys: Pick<KeyRecordStore, "newMerchantKeys" | "noteKeys">;
  readonly log: Pick<UserStore, "auditHead">;
  readonly keyring: {
    /** The records of the open epoch keys, after reading them again. */
    readonly epochs: () => Promise<readonly KeyRecord[]>;
    readonly forget: (merchantId: MerchantId) => void;
    readonly forgetAll: () => void;
  };
  /** Identifies this process among the nodes. */
  readonly node: string;
  readonly scheduler: Scheduler;
  readonly elapsedMs: ElapsedMs;
}

const checkMs = 2 * second;
/** A node's lease (SlotLeaseKeeper): without one, other nodes do not wait for this node. */
const freshMs = 10 * second;
const pageSize = 1_000;

/**
 * Follows the changes of keys that other nodes make: opens their epochs, forgets the cached keys of
 * merchants that have new ones, and notes in the store what this node knows. So a rotation can wait
 * for all nodes. Owns one timer.
 */
export class KeyWatch {
  readonly #parts: KeyWatchParts;
  #known: number | undefined;
  #everywhere: KnownKeys | undefined;
  /** When the last complete round began, in this node's monotonic time. */
  #readAt: number | undefined;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: KeyWatchParts) {
    this.#parts = parts;
  }

  /** Resolves after the first round, which is repeated if it fails. */
  async start(): Promise<void> {
    await this.#runRound();
    this.#schedule();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
  }

  /** What every live node knows at least; undefined before the first note. */
  get everywhere(): KnownKeys | undefined {
    return this.#everywhere;
  }

  /**
   * false: other nodes may no longer wait for this one, so what is cached about keys that seal may
   * be outdated.
   */
  get isFresh(): boolean {
    return this.#readAt !== undefined && this.#parts.elapsedMs() - this.#readAt < freshMs;
  }

  /** Reads what is new. Rejects with StoreError and KeyringError. */
  async runOnce(): Promise<void> {
    const { keys, keyring, node, elapsedMs } = this.#parts;
    const beganAt = elapsedMs();
    const epochs = await keyring.epochs();
    const number = await this.#forgetReplaced();
    const epoch = epochs.at(-1)?.version ?? 0;
    const everywhere = await keys.noteKeys?.(node, { epoch, number });
    if (everywhere === undefined) return;
    this.#everywhere = everywhere;
    this.#readAt = beganAt;
  }

  /** Resolves with the number of the audit entry up to which this node knows the merchants' keys. */
  async #forgetReplaced(): Promise<number> {
    const { keys, log, keyring } = this.#parts;
    let known = this.#known;
    if (known === undefined) {
      known = (await log.auditHead()).number;
      keyring.forgetAll();
    }
    for (let isLast = false; !isLast;) {
      const page: readonly NewMerchantKey[] = (await keys.newMerchantKeys?.(known, pageSize)) ?? [];
      for (const { merchantId } of page) keyring.forget(merchantId);
      known = page.at(-1)?.number ?? known;
      isLast = page.length < pageSize;
    }
    this.#known = known;
    return known;
  }

  #schedule(): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(checkMs, () => {
      this.#round = this.#runRound();
      void this.#round.then(() => this.#schedule());
    });
  }

  async #runRound(): Promise<void> {
    // After a failure the round is repeated; meanwhile `isFresh` becomes false.
    await this.runOnce().catch(() => undefined);
  }
}
