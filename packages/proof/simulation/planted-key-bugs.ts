import type { PlantedBug } from "../../server/test/support/planted-bug.ts";

const keyring = "vault/records/record-keyring.ts";
const rotation = "vault/records/key-rotation.ts";
const opening = "start/open-record-keys.ts";
const commit = `if (!(await this.#records.commit([{ next, before: undefined }]))) await this.refresh();`;
const cached = `
      const own = { version: 1, key: createSecretKey(secret) };
      this.#merchants.set(merchant, { current: own, versions: new Map([[1, own]]) });`;

/** Plausible mistakes with key records: each leaves cards that nothing opens, or two keys of a name. */
export const plantedKeyBugs: readonly PlantedBug[] = [
  {
    name: "a merchant's key seals cards while it is being stored",
    file: keyring,
    find: commit,
    replace: `${cached} ${commit}`,
  },
  {
    name: "a merchant's key seals cards although another server has stored one before",
    file: keyring,
    find: commit,
    replace: `${commit} ${cached}`,
    also: [
      {
        file: keyring,
        find: `const { current, versions } = await this.#read(merchantId);`,
        replace: `const { current, versions } = this.#merchants.get(merchantId) ?? (await this.#read(merchantId));`,
      },
      {
        file: keyring,
        find: `await this.#addMerchantKey(merchantId); this.#merchants.delete(merchantId);`,
        replace: `await this.#addMerchantKey(merchantId);`,
      },
    ],
  },
  {
    name: "a server uses the keys that it made although another one has stored some before",
    file: opening,
    find: `if (await storedKeyRecords(store, clock, macs).commit(steps)) return records;`,
    replace: `await storedKeyRecords(store, clock, macs).commit(steps);
  if (records.length > 0) return records;`,
  },
  {
    name: "a server uses the installation id that it drew although another one is stored",
    file: opening,
    find: `: await identity.raise({ keys: newInstallationId(environment, random) });`,
    replace: `: await (async (keys) => ({ ...(await identity.raise({ keys })), keys }))(newInstallationId(environment, random));`,
  },
  {
    name: "a key is made a second time, and takes the place of the first",
    file: "stores/memory/memory-key-records.ts",
    find: `if (this.#records.get(keyNameOf(next))?.sequence !== replaces) return { outcome: "stale" };`,
    replace: `if (replaces !== undefined && this.#records.get(keyNameOf(next))?.sequence !== replaces) return { outcome: "stale" };`,
    also: [
      {
        file: "stores/memory/memory-key-records.ts",
        find: `before === undefined || mayFollow(next, before)`,
        replace: `before === undefined || next.sequence === 1 || mayFollow(next, before)`,
      },
    ],
  },
  {
    name: "a merchant's old key is destroyed when a new one is made",
    file: rotation,
    find: `return this.#step({ ...before, state, wraps, sequence, changedAt: clock.now() }, before);`,
    replace: `const isOver = before.purpose === "merchant";
    return this.#step({ ...before, state: isOver ? "destroyed" : state, wraps: isOver ? [] : before.wraps, sequence, changedAt: clock.now() }, before);`,
  },
  {
    name: "a card that is sealed again is bound to its earlier version",
    file: "recovery/reseal-job.ts",
    find: `const next = { ...owner, recordVersion: version + 1 };`,
    replace: `const next = { ...owner };`,
  },
  {
    name: "a rotation that was interrupted is not continued",
    file: "recovery/key-rotation-job.ts",
    find: `if (version < current.version) rewrapped +=`,
    replace: `if (isNew && version < current.version) rewrapped +=`,
  },
  {
    name: "a merchant's first key is made when its money has moved",
    file: "operations/direct.ts",
    find: `await prepareVault(context);`,
    replace: ``,
    also: [
      {
        file: "operations/direct.ts",
        find: `if (error instanceof ServiceError) return undefined;`,
        replace: `if (error instanceof TypeError) return undefined;`,
      },
    ],
  },
];
