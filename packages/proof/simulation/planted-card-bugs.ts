import type { PlantedBug } from "../../server/test/support/planted-bug.ts";

const job = "recovery/card-expiry-job.ts";
const memoryStore = "stores/memory/memory-store.ts";

/** Plausible mistakes with stored cards, their keys, and the job that deletes expired cards. */
export const plantedCardBugs: readonly PlantedBug[] = [
  {
    name: "a charge is no use of the card until the acquirer has answered",
    file: "decisions/steps.ts",
    find: `  return tokenDigest === undefined ? {} : { cardUse: { tokenDigest, at } };`,
    replace: `  return tokenDigest === undefined && at < 0 ? { cardUse: { tokenDigest: "" as never, at } } : {};`,
  },
  {
    name: "a use of a card is not written down",
    file: memoryStore,
    find: `{ ...stored, lastUsedAt: later(stored.lastUsedAt, cardUse.at) }`,
    replace: `{ ...stored, lastUsedAt: later(stored.lastUsedAt, stored.createdAt) }`,
  },
  {
    name: "the last use of a card is the one that was written last",
    file: memoryStore,
    find: `lastUsedAt: later(stored.lastUsedAt, cardUse.at)`,
    replace: `lastUsedAt: cardUse.at`,
  },
  {
    name: "cards are forgotten after 13 months",
    file: job,
    find: `laterBy(tokenExpiresAt(lastUsedAt), graceMs) > now`,
    replace: `laterBy(tokenExpiresAt(lastUsedAt), -30 * day) > now`,
  },
  {
    name: "cards are never forgotten",
    file: job,
    find: `laterBy(tokenExpiresAt(lastUsedAt), graceMs) > now`,
    replace: `laterBy(tokenExpiresAt(lastUsedAt), graceMs) > 0`,
  },
  {
    name: "the job that forgets cards does so once",
    file: job,
    find: `      void this.#round.then(() => this.#schedule());`,
    replace: `      void this.#round;`,
  },
  {
    name: "a merchant's token opens another merchant's card",
    file: memoryStore,
    find: `    return frozenCopy(this.#cards.get(keyOf(merchantId, digest)));`,
    replace: `    return frozenCopy(this.#cards.get(keyOf(merchantId, digest)) ?? [...this.#cards.values()].find((card) => card.tokenDigest === digest));`,
    also: [
      // Without this, the digest that one merchant's key makes of the token is not in another
      // merchant's row.
      {
        file: "vault/token-digest-keys.ts",
        find: `createHmac("sha256", root).update(merchantId).digest();`,
        replace: `createHmac("sha256", root).digest();`,
      },
    ],
  },
  {
    name: "a card is opened with the key that seals now",
    file: "vault/local-vault.ts",
    find: `keyring.kek(id);`,
    replace: `keyring.kek(Math.max(id, keyring.currentKeyVersion));`,
  },
  {
    name: "a new epoch takes the place of the one before",
    file: "vault/keyring.ts",
    find: `    const next = [...this.#keks.values(), await this.#create("epoch", this.currentKeyVersion + 1)];`,
    replace: `    const next = [await this.#create("epoch", this.currentKeyVersion + 1)];`,
  },
];
