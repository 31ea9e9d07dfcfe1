import type { Instant } from "../kernel/instant.ts";
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
  ): Promise<"committed" | "stale"> {
    const [first, ...rest] = steps;
    const change: KeyChange = {
      at,
      changes: [changeOf(first), ...rest.map(changeOf)],
      events: [eventOf(first), ...laterEvents(first), ...rest.flatMap(eventsOf)],
    };
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
    actor: { kind: "server" },
    origin: undefined,
    action,
    target: keyNameOf(record),
    result: "done",
    completes: undefined,
    detail: `sequence ${record.sequence} check ${check} record ${mac}`,
  };
}
