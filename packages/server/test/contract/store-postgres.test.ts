import { after, test } from "node:test";
import { TestDatabases, testUrl } from "../postgres/databases.ts";
import { describeStoreContract } from "./store.contract.ts";

if (testUrl === undefined) {
  test("the PostgreSQL store keeps the store contract", { skip: "COFRE_TEST_POSTGRES_URL names no server" }, () => undefined);
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describeStoreContract("the PostgreSQL store", () => databases.openStore());
}
