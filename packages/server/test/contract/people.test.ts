import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { createMemoryPeople } from "../../src/stores/memory/memory-people.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { describePeopleContract } from "./people.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "cofre-people-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

describePeopleContract("the memory store", async () => ({
  people: createMemoryPeople(),
  close: async () => undefined,
}));

describePeopleContract("the embedded store", () => {
  files += 1;
  return openEmbeddedStore({ file: join(folder, `people-${files}.db`) });
});

if (testUrl === undefined) {
  test(
    "people: the PostgreSQL store",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describePeopleContract("the PostgreSQL store", () => databases.openStore());
}
