import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { createMemoryUsers } from "../../src/stores/memory/memory-users.ts";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { describeUserStoreContract } from "./user-store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "cofre-people-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

describeUserStoreContract("the memory store", async () => ({
  users: createMemoryUsers(),
  close: async () => undefined,
}));

describeUserStoreContract("the embedded store", () => {
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
  describeUserStoreContract("the PostgreSQL store", () => databases.openStore());
}
