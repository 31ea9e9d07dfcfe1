import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { startTestServer } from "../server.ts";

describe("an installation whose keys are lost", () => {
  // A later start would have made new keys without an error, and every stored card would have
  // become unreadable.
  for (const lost of ["root.key", /^keys\..*\.json$/, /key/]) {
    test(`does not start with new ones: ${lost}`, async (context) => {
      const directory = newDirectory(context);
      const environment = { COFRE_DATA_DIR: directory };
      await (await startTestServer({ environment }))[Symbol.asyncDispose]();
      for (const file of readdirSync(directory))
        if (typeof lost === "string" ? file === lost : lost.test(file))
          rmSync(join(directory, file));

      await assert.rejects(startTestServer({ environment }), {
        name: "KeyringError",
        message: /missing.*backup/,
      });
    });
  }

  test("starts again when nothing is lost", async (context) => {
    const environment = { COFRE_DATA_DIR: newDirectory(context) };
    await (await startTestServer({ environment }))[Symbol.asyncDispose]();
    await (await startTestServer({ environment }))[Symbol.asyncDispose]();
  });
});

function newDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "cofre-lost-keys-"));
  context.after(() => rmSync(directory, { recursive: true }));
  return join(directory, "data");
}
