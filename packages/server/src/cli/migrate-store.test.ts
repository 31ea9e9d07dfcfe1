import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test } from "node:test";
import { openMoveSides } from "../start/commands.ts";
import { readConfig } from "../config/read-config.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { readCommandLine } from "./command-line.ts";
import { migrateStoreCommand } from "./migrate-store.ts";
import { plain } from "./styled.ts";

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly problems: string;
}

/**
 * The migration itself is tested in test/e2e/migrate-store.test.ts, which needs a PostgreSQL
 * server.
 */
async function run(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<Ended> {
  let [output, problems] = ["", ""];
  const call = readCommandLine(["migrate-store", ...args]);
  if ("problem" in call) return { code: 2, output, problems: call.problem };
  const code = await migrateStoreCommand.run(call, {
    input: Readable.from([]),
    print: (line) => (output += `${line}\n`),
    say: (line) => (problems += `${line}\n`),
    fail: (line) => (problems += `${line}\n`),
    isTerminal: false,
    config: (flags = new Map()) =>
      readConfig({ environment, flags, readFile: () => ({ problem: "is not read in tests" }) }),
    openMove: openMoveSides,
    backUp: () => assert.fail("no backup is made"),
    styled: plain,
    onStopSignal: () => assert.fail("no signal is awaited"),
    startTemporary: () => assert.fail("no Cofre is started"),
    beginIncarnation: () => assert.fail("no incarnation begins"),
    recoverKeys: () => assert.fail("no keys are recovered"),
    storedKeys: () => assert.fail("no keys are read"),
    initialize: () => assert.fail("no installation is made"),
    examine: () => assert.fail("no installation is examined"),
    printNow: () => assert.fail("nothing is shown once"),
    restore: () => assert.fail("nothing is restored"),
    openAudit: () => assert.fail("a move reads no audit log"),
    stopRequested: () => assert.fail("a move ends by itself"),
    clock: systemClock,
    random: new SystemRandom(),
    scheduler: systemScheduler,
    version: "1.2.3",
  });
  return { code, output, problems };
}

const someDatabase = { COFRE_DATABASE_URL: "postgres://cofre:hunter2@127.0.0.1:1/cofre" };

describe("cofre migrate-store", () => {
  const misuses: readonly (readonly [
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    said: RegExp,
  ])[] = [
    [[], {}, /^COFRE_DATABASE_URL is not set: it names the PostgreSQL database /m],
    [["--verify", "--rollback"], someDatabase, /^--verify and --rollback cannot be combined/],
    [["--discard-changes"], someDatabase, /^--discard-changes needs --rollback\.$/m],
    [["--data-dir", ":memory:"], {}, /^COFRE_DATA_DIR is :memory:, which keeps nothing/],
    [[], { COFRE_DATABASE_URL: "mysql://x" }, /COFRE_DATABASE_URL/],
    [["now"], someDatabase, /^migrate-store takes no arguments/],
  ];
  for (const [args, environment, said] of misuses) {
    test(`refuses, with 2: ${args.join(" ")} ${JSON.stringify(environment)}`, async () => {
      const { code, output, problems } = await run(args, environment);
      assert.deepEqual([code, output], [2, ""]);
      assert.match(problems, said);
    });
  }

  test("refuses a directory without a file, and names no address", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-move-"));
    context.after(() => rmSync(folder, { recursive: true }));
    const plain = await run(["--data-dir", folder], someDatabase);
    assert.equal(plain.code, 1);
    assert.match(plain.problems, /^there is no cofre\.db .*: nothing can be moved\.$/m);
    const json = await run(["--data-dir", folder, "--json"], someDatabase);
    assert.deepEqual(
      { ...(JSON.parse(json.output) as object), message: "" },
      { result: "refused", code: "no_file", message: "" },
    );
    assert.doesNotMatch(JSON.stringify([plain, json]), /hunter2/);
  });
});
