import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { cleanEnvironment, temporaryFolder } from "./command.ts";
import { until } from "./until.ts";

describe("a wait for a fact", () => {
  test("ends as soon as the fact is there", async () => {
    let looks = 0;
    await until("the third look", () => (looks += 1) === 3, { everyMs: 0 });
    assert.equal(looks, 3);
    await until("a fact that is there at once", async () => true, { maxMs: 0 });
  });

  test("fails after its bound with what was awaited, and passes on an error of the look", async () => {
    const never = until("the shop is paid", () => false, { maxMs: 20 });
    await assert.rejects(never, { message: "not within 20 ms: the shop is paid" });
    const fails = until("the shop is paid", () => assert.fail("the shop has no account"));
    await assert.rejects(fails, { message: "the shop has no account" });
  });

  test("ends with the test that waits, so that its file ends too", async (context) => {
    const file = join(temporaryFolder(context), "waits.test.mjs");
    const shared = new URL("until.ts", import.meta.url).href;
    // Without its own bound: if it did not end with its test, this process would not end.
    writeFileSync(
      file,
      `import { test } from "node:test";
       import { until } from ${JSON.stringify(shared)};
       for (const everyMs of [0, 10, 2 ** 30]) {
         test("polls every " + everyMs + " ms", { timeout: 200 }, () =>
           until("it is paid", () => false, { maxMs: Infinity, everyMs }).catch((error) => {
             console.log(everyMs + ": " + error.message);
             throw error;
           }));
       }`,
    );
    const { code, said } = await new Promise<{ code: unknown; said: string }>((resolve) => {
      const child = execFile(
        process.execPath,
        [file],
        { env: { ...cleanEnvironment } },
        (error, stdout) => resolve({ code: error?.code, said: stdout }),
      );
      context.signal.addEventListener("abort", () => child.kill("SIGKILL"));
    });
    assert.equal(code, 1, said);
    for (const everyMs of [0, 10, 2 ** 30])
      assert.match(
        said,
        new RegExp(`${everyMs}: the test ended before this was so: it is paid`),
        said,
      );
  });
});
