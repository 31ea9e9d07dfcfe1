import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { describeStoreContract } from "./store.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "cofre-test-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;

describeStoreContract("the embedded store on a file", () => {
  files += 1;
  return openEmbeddedStore({ file: join(folder, `store-${files}.db`) });
});

describeStoreContract("the embedded store in memory", () => openEmbeddedStore({ file: ":memory:" }));
