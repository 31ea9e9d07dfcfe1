import assert from "node:assert/strict";
import { test } from "node:test";
import { day, laterBy } from "../kernel/instant.ts";
import { createMemoryStore } from "../stores/memory/memory-store.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { listCards, maxCardsExamined } from "./list-cards.ts";
import type { OperationContext } from "./operation.ts";

test("stored cards are read a thousand at a time, the newest of each thousand first, and of one moment the last stored first", async () => {
  const store = createMemoryStore();
  for (let number = 1; number <= maxCardsExamined + 3; number += 1) {
    const card = given.newCard(number);
    // Their digests increase; every tenth card was stored a day after the others.
    const createdAt = number % 10 === 0 ? laterBy(given.start, day) : card.createdAt;
    await store.commit(given.cardChange({ ...card, createdAt, lastUsedAt: createdAt }));
  }
  // The operation uses no other part of the context.
  const context = {
    store,
    account: given.newAccount(given.merchantA),
  } as unknown as OperationContext;
  const list = (over: object = {}) =>
    listCards.run(context, {
      after: undefined,
      brand: undefined,
      mask: undefined,
      limit: 2,
      ...over,
    });

  const first = await list();
  assert.deepEqual(
    first.cards.map(({ tokenDigest }) => tokenDigest),
    [given.tokenDigest(1_000), given.tokenDigest(990)],
  );
  assert.deepEqual(
    [first.found, first.next],
    [maxCardsExamined, given.tokenDigest(maxCardsExamined)],
  );
  const rest = await list({ after: first.next });
  assert.deepEqual([rest.found, rest.next, rest.cards.length], [3, undefined, 2]);
  assert.equal((await list({ brand: "elo" })).found, 0);
  assert.equal((await list({ mask: "xx" })).found, 0);
});
