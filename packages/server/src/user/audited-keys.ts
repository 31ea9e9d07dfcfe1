import { createHash } from "node:crypto";
import { assert } from "../kernel/assert.ts";
import type { Instant } from "../kernel/instant.ts";
import { KeyedMutex } from "../kernel/keyed-mutex.ts";
import type { KeyChange, KeyRecordStore } from "../stores/key-record-store.ts";
import { StoreError } from "../stores/store.ts";
import { keyNameOf, type KeyRecord } from "../vault/records/key-record.ts";
import type { RowMacs } from "../vault/row-mac.ts";
import type { AuditEvent, KeyAction } from "./audit.ts";
import { keyedChain } from "./keyed-chain.ts";
import type { UserStore } from "./user-store.ts";

/** A record to be written, and the record that it replaces; undefined for a new one. */
export interface KeyStep {
  readonly next: KeyRecord;
  readonly before: KeyRecord | undefined;
}

/** Most retries of an append when other nodes move the head first. */
const maxAttempts = 16;

/**
 * Writes key records with their audit entries, which have MACs. `auditHead` reads the end of the
 * log in the same store.
 */
export class AuditedKeys {
  readonly #store: Pick<KeyRecordStore, "commitKeys">;
  readonly #log: Pick<UserStore, "auditHead">;
  readonly #macs: Pick<RowMacs, "of">;
  /** Commits of this process: each moves the head, so of two at once one would be repeated. */
  readonly #turns = new KeyedMutex();

  constructor(
    store: Pick<KeyRecordStore, "commitKeys">,
    log: Pick<UserStore, "auditHead">,
    macs: Pick<RowMacs, "of">,
  ) {
    this.#store = store;
    this.#log = log;
    this.#macs = macs;
  }

  /**
   * `stale`: nothing was written, because another process has changed one of the records or made a
   * key of the same name. Rejects as `KeyRecordStore.commitKeys` does.
   */
  async commit(
    at: Instant,
    steps: readonly [KeyStep, ...KeyStep[]],
    acceptsOutage = false,
  ): Promise<"committed" | "stale" | "in_use"> {
    const [first, ...rest] = steps;
    const change: KeyChange = {
      at,
      changes: [changeOf(first), ...rest.map(changeOf)],
      acceptsOutage,
      events: eventsOfAll(steps),
    };
    return await this.#turns.runExclusive("head", () => this.#commit(change));
  }

  async #commit(change: KeyChange): Promise<"committed" | "stale" | "in_use"> {
    for (let attempts = 1; attempts <= maxAttempts; attempts += 1) {
      const chain = keyedChain(this.#macs, await this.#log.auditHead(), change);
      const { outcome } = await this.#store.commitKeys({ ...change, chain });
      if (outcome !== "head_moved") return outcome;
    }
    throw new StoreError("unavailable");
  }
}

function changeOf({ next, before }: KeyStep): KeyChange["changes"][number] {
  return { next, replaces: before?.sequence };
}

/** Keys that another epoch wraps from now on have one entry together: there may be millions. */
function eventsOfAll(steps: readonly [KeyStep, ...KeyStep[]]): KeyChange["events"] {
  const moved = steps.filter(
    ({ next, before }) =>
      before !== undefined && before.state === next.state && before.epoch !== next.epoch,
  );
  const others = steps.filter((step) => !moved.includes(step));
  const [first, ...rest] =
    moved.length > 1
      ? [...others.flatMap(eventsOf), eventAboutMoved(moved)]
      : steps.flatMap(eventsOf);
  assert(first !== undefined, "a change of keys has an entry");
  return [first, ...rest];
}

/** The digest proves later which records were written, in their order. */
function eventAboutMoved(steps: readonly KeyStep[]): AuditEvent {
  const hash = createHash("sha256");
  for (const { next } of steps) hash.update(next.mac);
  const [first, last] = [steps[0], steps.at(-1)];
  assert(first !== undefined && last !== undefined, "keys were moved");
  return {
    ...keyAction("key_rewrapped"),
    target: `${steps.length} keys`,
    detail: `epoch ${first.next.epoch} from ${keyNameOf(first.next)} to ${keyNameOf(last.next)} records ${hash.digest("hex")}`,
  };
}

function eventsOf(step: KeyStep): readonly AuditEvent[] {
  return [eventOf(step), ...laterEvents(step)];
}

function eventOf({ next, before }: KeyStep): AuditEvent {
  if (before === undefined) return eventAbout(next, "key_made");
  return eventAbout(next, before.state === next.state ? "key_rewrapped" : `key_${next.state}`);
}

/** A key that is used from the start has two entries. */
function laterEvents({ next, before }: KeyStep): readonly AuditEvent[] {
  return before === undefined && next.state !== "made"
    ? [eventAbout(next, `key_${next.state}`)]
    : [];
}

/** The record's MAC in the entry proves later which record was written. */
function eventAbout(record: KeyRecord, action: KeyAction): AuditEvent {
  const [check, mac] = [record.check, record.mac].map((bytes) =>
    Buffer.from(bytes).toString("hex"),
  );
  return {
    ...keyAction(action),
    target: keyNameOf(record),
    detail: `sequence ${record.sequence} check ${check} record ${mac}`,
  };
}

function keyAction(action: KeyAction): Omit<AuditEvent, "target" | "detail"> {
  const actor = { kind: "server" } as const;
  return { actor, origin: undefined, action, result: "done", completes: undefined };
}
