import { generateKeyPairSync } from "node:crypto";
import { assert } from "../../server/src/kernel/assert.ts";
import type { Clock } from "../../server/src/kernel/clock.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { Scheduler } from "../../server/src/kernel/scheduler.ts";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { readConfig } from "../../server/src/config/read-config.ts";
import type { RsaPair } from "../../server/src/delivery/notification-keys.ts";
import { sharedKeyRecords } from "../../server/src/start/key-record-storage.ts";
import { openRecordKeys } from "../../server/src/start/open-record-keys.ts";
import type { IdentityStore } from "../../server/src/stores/identity.ts";
import type {
  KeyChange,
  KeyRecordStore,
  KeyResult,
} from "../../server/src/stores/key-record-store.ts";
import { MemoryAudit } from "../../server/src/stores/memory/memory-audit.ts";
import { MemoryKeyRecords } from "../../server/src/stores/memory/memory-key-records.ts";
import { createMemoryUsers } from "../../server/src/stores/memory/memory-users.ts";
import { StoreError } from "../../server/src/stores/store.ts";
import type { UserStore } from "../../server/src/user/user-store.ts";
import { createMemoryKeyProvider } from "../../server/src/vault/memory-key-provider.ts";
import { keyNameOf, type KeyRecord } from "../../server/src/vault/records/key-record.ts";
import type { RecordKeyring } from "../../server/src/vault/records/record-keyring.ts";
import type { Vault } from "../../server/src/vault/vault.ts";
import { type KeyMove, wrongMoves } from "./audit-keys.ts";
import type { Step } from "./store-in-steps.ts";

/**
 * Faults of a commit of key records: rejected and nothing applied; rejected as unknown and never,
 * already, or later applied; applied and answered late.
 */
export const keyFaults = [
  "unavailable",
  "commit_unknown_not_applied",
  "commit_unknown_applied",
  "commit_unknown_applied_late",
  "slow",
] as const;
export type KeyFault = (typeof keyFaults)[number];

interface RecordKeysOptions {
  readonly seed: number;
  readonly scheduler: Scheduler;
  readonly slowMs: number;
  /** Called at each commit of key records, and at each read of them. */
  readonly commitFault: () => KeyFault | undefined;
  readonly readFails: () => boolean;
  readonly violation: (text: string) => void;
  readonly note: (what: string) => void;
  readonly mark: (what: string) => void;
}

/** The parts of one process that open keys: each call of the store is a step of the process. */
export interface KeyPorts {
  readonly step: Step;
  readonly clock: Clock;
}

/** What a process opened. `records`: undefined if its keys are files. */
export interface OpenedKeys {
  readonly vault: Vault;
  readonly records: { readonly keyring: RecordKeyring; readonly keys: KeyRecordStore } | undefined;
}

/** What a database has of keys. */
interface Tables {
  readonly keys: MemoryKeyRecords;
  readonly users: UserStore;
  /** The installation id. */
  installation: string | undefined;
  /** Every applied change, in order. */
  readonly changes: KeyChange[];
}

const configReading = readConfig({
  environment: { COFRE_DATA_DIR: ":memory:" },
  flags: new Map(),
  readFile: () => ({ problem: "is not read in the simulation" }),
});

/**
 * One pair for all runs, because it takes longer to make than most of a run; made at once, because
 * virtual time does not wait for threads.
 */
let pair: RsaPair | undefined;

/**
 * Keys that an installation has as records in its database: made by the first process that starts,
 * opened by each later one, and by every server for itself. The root key and the database outlive
 * the processes.
 */
export class RecordKeys {
  readonly #options: RecordKeysOptions;
  readonly #random: SeededRandom;
  readonly #root: ReturnType<typeof createMemoryKeyProvider>;
  #tables = newTables();
  #backup: Tables | undefined;
  /** Opened from what is stored now, by no server. */
  #judge: ReturnType<typeof openRecordKeys> | undefined;

  constructor(options: RecordKeysOptions) {
    this.#options = options;
    this.#random = new SeededRandom(`simulation key records ${options.seed}`);
    this.#root = createMemoryKeyProvider(this.#random);
  }

  /** As a process does at its start. Rejects with StoreError when the store fails. */
  async open({ step, clock }: KeyPorts): Promise<OpenedKeys> {
    const store = this.#store();
    const keys = inSteps(store.keys, step);
    const users = inSteps(store.users, step);
    const { vault, keyring } = await this.#open(
      { keys, users, identity: inSteps(store.identity, step) },
      clock,
    );
    assert(keyring !== undefined, "keys that are records have a keyring");
    return { vault, records: { keyring, keys } };
  }

  /** A vault from what is stored now: as after the loss of every server. */
  async vaultOfStored(clock: Clock): Promise<Vault> {
    const { keys, users } = this.#tables;
    this.#judge ??= this.#open({ keys, users, identity: identityIn(this.#tables) }, clock);
    return (await this.#judge).vault;
  }

  /** Names of keys that a rotation should have wrapped by the current epoch. */
  notRewrapped(): readonly string[] {
    const records = [...recordsOf(this.#tables).values()];
    const current = records.find(
      ({ purpose, state }) => purpose === "epoch" && state === "current",
    );
    return records
      .filter(({ purpose, state }) => purpose === "epoch" && state === "made")
      .concat(
        records.filter(
          ({ epoch, state }) =>
            epoch !== undefined && state !== "destroyed" && epoch !== current?.version,
        ),
      )
      .map(keyNameOf);
  }

  /** Version of the key that seals the merchant's cards; undefined before the first. */
  currentVersion(merchantId: MerchantId): number | undefined {
    return [...recordsOf(this.#tables).values()].find(
      ({ merchant, state }) => merchant === merchantId && state === "current",
    )?.version;
  }

  backUp(): void {
    this.#backup = copyOf(this.#tables);
  }

  putBack(): void {
    assert(this.#backup !== undefined, "a copy was taken");
    this.#tables = this.#backup;
    this.#judge = undefined;
  }

  async #open(
    store: Parameters<typeof openRecordKeys>[2]["store"],
    clock: Clock,
  ): ReturnType<typeof openRecordKeys> {
    assert("config" in configReading, "the simulation's settings are valid");
    pair ??= generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const stored = await sharedKeyRecords(store.keys);
    return await openRecordKeys(
      configReading.config,
      { clock, random: this.#random },
      {
        store,
        stored,
        remote: { first: this.#root, next: undefined },
        pair: Promise.resolve(pair),
      },
    );
  }

  /** The present tables, with faults. What is under way when a copy is put back reaches the old ones. */
  #store(): { keys: KeyRecordStore; users: UserStore; identity: IdentityStore } {
    const tables = this.#tables;
    const read = async <T>(reading: () => Promise<T>): Promise<T> => {
      if (!this.#options.readFails()) return await reading();
      this.#options.mark("a read of key records fails");
      throw new StoreError("unavailable");
    };
    const identity = identityIn(tables);
    return {
      keys: {
        keyRecords: (after, limit) => read(() => tables.keys.keyRecords(after, limit)),
        merchantKeyRecords: (merchantId, after, limit) =>
          read(() => tables.keys.merchantKeyRecords(merchantId, after, limit)),
        keyRecordsUnder: (epoch, after, limit) =>
          read(() => tables.keys.keyRecordsUnder(epoch, after, limit)),
        keysUnder: (epoch) => read(() => tables.keys.keysUnder(epoch)),
        oldMerchantKeys: (after, limit) => read(() => tables.keys.oldMerchantKeys(after, limit)),
        commitKeys: (change) => this.#commit(tables, change),
        keyOrders: (after, limit) => read(() => tables.keys.keyOrders(after, limit)),
        commitOrder: (change) => tables.keys.commitOrder(change),
      },
      users: new Proxy(tables.users, {
        get:
          (users, name: keyof UserStore) =>
          (...values: never[]) =>
            read(() =>
              (users[name] as (...given: never[]) => Promise<unknown>).call(users, ...values),
            ),
      }),
      identity: {
        read: () => read(() => identity.read()),
        raise: (raise) => read(() => identity.raise(raise)),
      },
    };
  }

  async #commit(tables: Tables, change: KeyChange): Promise<KeyResult> {
    const { commitFault, scheduler, slowMs, mark } = this.#options;
    const fault = commitFault();
    if (fault !== undefined) mark(`key commit ${fault}`);
    if (fault === "unavailable") throw new StoreError("unavailable");
    if (fault === "commit_unknown_applied_late")
      void scheduler.sleep(slowMs).then(() => this.#apply(tables, change));
    if (fault === "commit_unknown_applied") await this.#apply(tables, change);
    if (fault !== undefined && fault !== "slow") throw new StoreError("commit_unknown");
    const result = await this.#apply(tables, change);
    if (fault === "slow") await scheduler.sleep(slowMs);
    return result;
  }

  async #apply(tables: Tables, change: KeyChange): Promise<KeyResult> {
    const { violation, note, mark } = this.#options;
    const before = recordsOf(tables);
    const result = await tables.keys.commitKeys(change);
    mark(`key commit ${result.outcome}`);
    if (result.outcome !== "committed") return result;
    this.#judge = undefined;
    tables.changes.push(change);
    const moves: readonly KeyMove[] = change.changes.map(({ next }) => ({
      next,
      before: before.get(keyNameOf(next)),
    }));
    for (const { next } of moves) {
      note(`key ${keyNameOf(next)} is ${next.state}`);
      mark(`a key of ${next.purpose} is ${next.state}`);
    }
    for (const problem of wrongMoves(moves, [...recordsOf(tables).values()])) violation(problem);
    return result;
  }
}

function newTables(): Tables {
  const audit = new MemoryAudit();
  return {
    keys: new MemoryKeyRecords(audit),
    users: createMemoryUsers({ audit }),
    installation: undefined,
    changes: [],
  };
}

/** A memory store applies a change before commitKeys returns. */
function copyOf(tables: Tables): Tables {
  const copy = newTables();
  for (const change of tables.changes) void copy.keys.commitKeys(change);
  copy.changes.push(...tables.changes);
  copy.installation = tables.installation;
  return copy;
}

/** The latest state of each record, by name, as the applied changes left it. */
function recordsOf({ changes }: Tables): ReadonlyMap<string, KeyRecord> {
  return new Map(
    changes.flatMap((change) => change.changes.map(({ next }) => [keyNameOf(next), next])),
  );
}

/** Only the installation id: other jobs use the rest. */
function identityIn(tables: Tables): IdentityStore {
  const read: IdentityStore["read"] = async () => ({
    keys: tables.installation,
    epoch: 0,
    beat: 0,
    isCopy: false,
    server: undefined,
    presentServer: undefined,
  });
  return {
    read,
    async raise({ keys }) {
      tables.installation ??= keys;
      return await read();
    },
  };
}

function inSteps<T extends object>(store: T, step: Step): T {
  return new Proxy(store, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      assert(typeof method === "function", "a store has only methods");
      return (...values: readonly unknown[]) =>
        step(async () => (await Reflect.apply(method, target, values)) as unknown);
    },
  });
}
