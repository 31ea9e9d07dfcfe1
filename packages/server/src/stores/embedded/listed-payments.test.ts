import { test } from "node:test";
import {
  assertListedAsAll,
  pageLimits,
  searchedNames,
} from "../../../test/contract/listed-as-all.ts";
import { openEmbeddedStore } from "./embedded-store.ts";

test("a list that SQLite has narrowed down is that of all payments, page after page", async (context) => {
  const store = await openEmbeddedStore({ file: ":memory:" });
  context.after(() => store.close());
  await assertListedAsAll(store, pageLimits, [...searchedNames, "lone \ud800 João"]);
});
