import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import type { RunningStore } from "../../src/stores/store.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

describeIdentity("the embedded store", () => openEmbeddedStore({ file: ":memory:" }));
if (databases !== undefined) describeIdentity("the PostgreSQL store", () => databases.openStore());

function describeIdentity(what: string, open: () => Promise<RunningStore>): void {
  describe(`what a database says of itself: ${what}`, () => {
    test("nothing at first, then what was raised, and nothing of it goes back", async (context) => {
      const store = await open();
      context.after(() => store.close());
      const { identity } = store;
      const first = await identity.read();
      assert.deepEqual(
        { ...first, presentServer: undefined },
        {
          keys: undefined,
          epoch: 0,
          beat: 0,
          isCopy: false,
          server: undefined,
          presentServer: undefined,
        },
      );
      const raised = await identity.raise({ keys: "one", epoch: 5, beat: 7, isServed: true });
      assert.deepEqual(raised, {
        ...first,
        keys: "one",
        epoch: 5,
        beat: 7,
        server: first.presentServer,
      });
      const later = await identity.raise({ keys: "other", epoch: 3, beat: 2 });
      assert.deepEqual(later, { ...raised, beat: 8 });
      assert.deepEqual(await identity.raise({ epoch: 6 }), { ...later, epoch: 6 });
      assert.deepEqual(await identity.read(), { ...later, epoch: 6 });
    });

    test("raises that come at once are all counted", async (context) => {
      const store = await open();
      context.after(() => store.close());
      await Promise.all(Array.from({ length: 20 }, () => store.identity.raise({ beat: 0 })));
      const { beat } = await store.identity.read();
      // The first call makes the row.
      assert.equal(beat, 19);
    });
  });
}
