import { after, test } from "node:test";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { assertListedAsAll, pageLimits, searchedNames } from "./listed-as-all.ts";

if (testUrl === undefined) {
  test(
    "a list that PostgreSQL has narrowed down is that of all payments",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  // Each read of a list is followed by a pause (list-scheduler.ts).
  const ranges = pageLimits.filter((_, index) => index % 3 === 0);

  test("a list that PostgreSQL has narrowed down is that of all payments, page after page", async (context) => {
    const store = await databases.openStore();
    context.after(() => store.close());
    await assertListedAsAll(store, ranges, searchedNames);
  });
}
