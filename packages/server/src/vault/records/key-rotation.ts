import { assert } from "../../kernel/assert.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { newKeyBytes } from "../new-key-bytes.ts";
import type { Instant } from "../../kernel/instant.ts";
import { KeyringError } from "../key-provider.ts";
import type { RowMacs } from "../row-mac.ts";
import { type KeyRecord, keyNameOf } from "./key-record.ts";
import { checkValueOf } from "./key-wrap.ts";
import { isAltered } from "./opened-key.ts";
import type { KeyRecords, RecordStep } from "./key-records.ts";
import { isGenuineRecord, type UnsealedRecord, withRecordMac } from "./record-mac.ts";
import { newRecord, type OpenKey, type RecordPorts, rewrappedRecord } from "./wrapped-record.ts";

interface KeyRotationOptions extends RecordPorts {
  /** The wraps of a new epoch key by the root keys, proven. */
  readonly wrapsOfEpoch: (secret: Uint8Array, version: number) => Promise<KeyRecord["wraps"]>;
  /** Makes a commit fail if the set of root keys has changed since it was read. */
  readonly rootSetStep: () => RecordStep;
  readonly macs: RowMacs;
  readonly records: KeyRecords;
  /** The open epoch keys, by version. */
  readonly epochs: () => ReadonlyMap<number, OpenKey>;
  /** Reads the epoch keys again. Rejects with KeyringError. */
  readonly refresh: () => Promise<void>;
  /** Called when a merchant has a new key. */
  readonly forget: (merchantId: MerchantId) => void;
}

/** A key that only opens. `compromised`: others may know it. */
export type OldKeyState = "retired" | "compromised";

/** Most attempts of a change while other processes change the same keys. */
const maxAttempts = 8;

/**
 * Makes new versions of an installation's keys. Each method writes one commit, so a process may end
 * at any point: what is left to do follows from the stored records. Methods reject with KeyringError
 * and StoreError.
 */
export class KeyRotation {
  readonly #options: KeyRotationOptions;

  constructor(options: KeyRotationOptions) {
    this.#options = options;
  }

  /** The records of the epoch keys that are open, in ascending order, after reading them again. */
  async epochs(): Promise<readonly KeyRecord[]> {
    await this.#options.refresh();
    return [...this.#options.epochs().values()]
      .map(({ record }) => record)
      .toSorted((one, other) => one.version - other.version);
  }

  /**
   * Makes the next epoch key, which wraps nothing yet, unless there is one already. Resolves with its
   * version. Uses the root key.
   */
  async makeEpoch(): Promise<number> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const { records } = this.#options;
      const stored = (await records.shared()).filter(({ purpose }) => purpose === "epoch");
      const made = stored.find(({ state }) => state === "made");
      if (made !== undefined) return made.version;
      const version = Math.max(...stored.map((record) => record.version)) + 1;
      const isWritten = await records.commit([
        await this.#newEpoch(version),
        this.#options.rootSetStep(),
      ]);
      // Opened from what is stored: an epoch that does not open here is never used.
      await this.#options.refresh();
      if (isWritten) return version;
    }
    throw changedMeanwhile();
  }

  /**
   * From now on this epoch key, which was made, wraps new keys, and the one before only opens, in
   * state `before`. The caller has made sure that every node has opened it. False: it was not in
   * state `made`.
   */
  async useEpoch(version: number, before: OldKeyState): Promise<boolean> {
    const epochs = await this.epochs();
    const made = epochs.find((record) => record.version === version);
    const current = epochs.find(({ state }) => state === "current");
    if (made?.state !== "made") return false;
    assert(current !== undefined, "a keyring has a current epoch");
    const isWritten = await this.#options.records.commit([
      this.#moved(current, before),
      this.#moved(made, "current"),
    ]);
    await this.#options.refresh();
    return isWritten;
  }

  /**
   * Wraps these keys by the current epoch key. Those that were altered stay as they are. Resolves
   * with their names; undefined: nothing was written, because another process changed one of the
   * keys.
   */
  async rewrap(records: readonly KeyRecord[]): Promise<readonly string[] | undefined> {
    const { macs, installation } = this.#options;
    const [current, epochs] = [this.#current(), this.#options.epochs()];
    const refused: string[] = [];
    const steps: RecordStep[] = [];
    for (const record of records) {
      try {
        const from = epochs.get(record.epoch ?? 0)?.key;
        if (from === undefined || !isGenuineRecord(macs, installation, record))
          throw isAltered(record);
        steps.push(this.#step(rewrappedRecord(this.#options, record, from, current), record));
      } catch (error) {
        if (!(error instanceof KeyringError)) throw error;
        refused.push(keyNameOf(record));
      }
    }
    if (steps.length > 0 && !(await this.#options.records.commit(steps))) return undefined;
    return refused;
  }

  /** Moves a key that only opens to a later state, `destroyed` for example. */
  async move(
    record: KeyRecord,
    state: "compromised" | "destroyed",
    acceptsOutage = false,
  ): Promise<"committed" | "stale" | "in_use"> {
    const { macs, installation, records } = this.#options;
    if (!isGenuineRecord(macs, installation, record)) throw isAltered(record);
    const step = this.#moved(record, state);
    const outcome = await records.move(step, acceptsOutage);
    if (record.merchant === undefined) await this.#options.refresh();
    else this.#options.forget(record.merchant);
    return outcome;
  }

  /**
   * Makes a new key for a merchant, which seals from now on; the one before only opens, in state
   * `before`. Resolves with its version; undefined: the merchant has no key, or one that was made at
   * `from` or later.
   */
  async replaceMerchantKey(
    merchant: MerchantId,
    from: Instant,
    before: OldKeyState,
  ): Promise<number | undefined> {
    const { records, random, macs, installation } = this.#options;
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const stored = await records.ofMerchant(merchant);
      const current = stored.find(({ state }) => state === "current");
      if (current === undefined || current.createdAt >= from) return undefined;
      if (!isGenuineRecord(macs, installation, current)) throw isAltered(current);
      const version = Math.max(...stored.map((record) => record.version)) + 1;
      const secret = newKeyBytes(random);
      const key = { purpose: "merchant", merchant, version, secret } as const;
      const next = newRecord(this.#options, this.#current(), key);
      secret.fill(0);
      const steps = [this.#moved(current, before), this.#step(next)];
      try {
        if (await records.commit(steps)) return version;
      } finally {
        // Also if the result is unknown.
        this.#options.forget(merchant);
      }
      await this.#options.refresh();
    }
    throw changedMeanwhile();
  }

  async #newEpoch(version: number): Promise<RecordStep> {
    const { random, wrapsOfEpoch, installation, clock } = this.#options;
    const secret = newKeyBytes(random);
    try {
      const now = clock.now();
      const named = { installation, purpose: "epoch", merchant: undefined, version } as const;
      return this.#step({
        purpose: "epoch",
        version,
        state: "made",
        sequence: 1,
        epoch: undefined,
        check: checkValueOf(secret, named),
        wraps: await wrapsOfEpoch(secret, version),
        createdAt: now,
        changedAt: now,
      });
    } finally {
      secret.fill(0);
    }
  }

  #moved(before: KeyRecord, state: KeyRecord["state"]): RecordStep {
    const { clock } = this.#options;
    const sequence = before.sequence + 1;
    const wraps = state === "destroyed" ? [] : before.wraps;
    return this.#step({ ...before, state, wraps, sequence, changedAt: clock.now() }, before);
  }

  #step(record: UnsealedRecord, before?: KeyRecord): RecordStep {
    const { macs, installation } = this.#options;
    return { next: withRecordMac(macs, installation, record), before };
  }

  #current(): OpenKey {
    const open = [...this.#options.epochs().values()];
    const current = open.find(({ record }) => record.state === "current");
    assert(current !== undefined, "a keyring has a current epoch");
    return current;
  }
}

function changedMeanwhile(): KeyringError {
  return new KeyringError("the keys were changed meanwhile: repeat the command");
}

/** What failed about the keys; undefined for other errors. */
export function keyFailureOf(error: unknown): string | undefined {
  return error instanceof KeyringError ? error.message : undefined;
}
