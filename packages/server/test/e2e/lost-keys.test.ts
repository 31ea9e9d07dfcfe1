import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { startTestServer } from "../server.ts";
import { earlierFolder } from "./earlier-installation.ts";

describe("an installation whose keys are lost", () => {
  // A later start would have made new keys without an error, and every stored card would have
  // become unreadable.
  test("does not start with new ones: root.key", async (context) => {
    const directory = newDirectory(context);
    await startOnce(directory);
    rmSync(join(directory, "root.key"));
    await refuses(directory);
  });

  test("does not start with new ones: key records", async (context) => {
    const directory = newDirectory(context);
    await startOnce(directory);
    const database = new DatabaseSync(join(directory, "cofre.db"));
    database.exec("DROP TRIGGER key_record_is_kept; DELETE FROM key_record");
    database.close();
    await refuses(directory);
  });

  for (const lost of ["root.key", /^keys\..*\.json$/, /key/])
    test(`does not start with new ones where keys are files: ${lost}`, async (context) => {
      const directory = earlierFolder(context);
      await startOnce(directory);
      for (const file of readdirSync(directory))
        if (typeof lost === "string" ? file === lost : lost.test(file))
          rmSync(join(directory, file));
      await refuses(directory);
    });

  // The error advised to remove a file that such an installation never has.
  test("does not start with rows that have no MAC, and says that another program wrote them", async (context) => {
    const directory = newDirectory(context);
    await startOnce(directory);
    const database = new DatabaseSync(join(directory, "cofre.db"));
    database.exec("UPDATE account_key SET mac = NULL");
    database.close();
    await assert.rejects(startTestServer({ environment: { COFRE_DATA_DIR: directory } }), {
      name: "KeyringError",
      message: /another program wrote them\. Restore the database from its backup/,
    });
  });

  test("starts again when nothing is lost", async (context) => {
    const directory = newDirectory(context);
    await startOnce(directory);
    await startOnce(directory);
  });
});

async function startOnce(directory: string): Promise<void> {
  const environment = { COFRE_DATA_DIR: directory };
  await (await startTestServer({ environment }))[Symbol.asyncDispose]();
}

async function refuses(directory: string): Promise<void> {
  await assert.rejects(startTestServer({ environment: { COFRE_DATA_DIR: directory } }), {
    name: "KeyringError",
    message: /missing.*backup/,
  });
}

function newDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "cofre-lost-keys-"));
  context.after(() => rmSync(directory, { recursive: true }));
  return join(directory, "data");
}
