import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { startWorld } from "../world.ts";

describe("an installation whose keys are lost", () => {
  // A later start would have made new keys without an error, and every stored card would have
  // become unreadable.
  for (const lost of ["root.key", /^keys\..*\.json$/, /key/]) {
    test(`does not start with new ones: ${lost}`, async (context) => {
      const directory = newDirectory(context);
      const environment = { COFRE_DATA_DIR: directory };
      await (await startWorld({ environment }))[Symbol.asyncDispose]();
      for (const file of readdirSync(directory))
        if (typeof lost === "string" ? file === lost : lost.test(file))
          rmSync(join(directory, file));

      await assert.rejects(startWorld({ environment }), {
        name: "KeyringError",
        message: /missing.*backup/,
      });
    });
  }

  test("starts again when nothing is lost", async (context) => {
    const environment = { COFRE_DATA_DIR: newDirectory(context) };
    await (await startWorld({ environment }))[Symbol.asyncDispose]();
    await (await startWorld({ environment }))[Symbol.asyncDispose]();
  });
});

function newDirectory(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), "cofre-lost-keys-"));
  context.after(() => rmSync(directory, { recursive: true }));
  return join(directory, "data");
}
