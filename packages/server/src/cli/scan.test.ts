import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test, type TestContext } from "node:test";
import type { Clock } from "../kernel/clock.ts";
import { instant } from "../kernel/instant.ts";
import { systemClock } from "../kernel/system-clock.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { systemScheduler } from "../kernel/system-scheduler.ts";
import { readCommandLine } from "./command-line.ts";
import { scanCommand } from "./scan.ts";
import { plain } from "./styled.ts";

const pan = "4111111111111111";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-scan-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function run(
  args: readonly string[],
  input = "",
  clock: Clock = systemClock,
): Promise<{ readonly code: number; readonly output: string; readonly problems: string }> {
  let [output, problems] = ["", ""];
  const call = readCommandLine(["scan", ...args]);
  // As in main.ts.
  if ("problem" in call) return { code: 2, output, problems: call.problem };
  const code = await scanCommand.run(call, {
    input: Readable.from([Buffer.from(input)]),
    print: (line) => (output += `${line}\n`),
    say: (line) => (problems += `${line}\n`),
    fail: (line) => (problems += `${line}\n`),
    isTerminal: false,
    config: () => assert.fail("a scan needs no settings"),
    openMove: () => assert.fail("a scan moves nothing"),
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
    openAudit: () => assert.fail("a scan reads no audit log"),
    stopRequested: () => assert.fail("a scan ends by itself"),
    clock,
    random: new SystemRandom(),
    scheduler: systemScheduler,
    version: "1.2.3",
  });
  return { code, output, problems };
}

describe("cofre scan", () => {
  test("says 2 when it is asked for nothing, for what is not there, or for an option that it has not", async (context) => {
    const folder = folderOf(context);
    for (const [args, expected] of [
      [[], /^scan needs arguments: PATH\.\.\.$/],
      [["--json"], /^scan needs arguments: PATH\.\.\.$/],
      [["--all", folder], /^Unknown option --all\./],
      [["--known", "-", "-"], /not both/],
    ] as const) {
      const { code, problems } = await run(args);
      assert.equal(code, 2);
      assert.match(problems, expected);
    }
    const { code, problems } = await run([join(folder, "nothing")]);
    assert.equal(code, 2);
    assert.match(problems, /nothing: does not exist\n1? ?0 files/);
    // An unreadable file takes precedence over hits: a script that checks only the exit code must
    // not assume a complete scan.
    writeFileSync(join(folder, "card"), pan);
    assert.equal((await run([join(folder, "card"), join(folder, "nothing")])).code, 2);
  });

  test("says 0 for a clean folder, and looks into folders but not behind links", async (context) => {
    const [folder, elsewhere] = [folderOf(context), folderOf(context)];
    mkdirSync(join(folder, "logs"));
    writeFileSync(join(folder, "logs", "one.log"), "411111xxxxxx1111");
    writeFileSync(join(elsewhere, "card"), pan);
    symlinkSync(elsewhere, join(folder, "link"));
    const { code, output, problems } = await run([folder]);
    assert.deepEqual([code, output, problems], [0, "", "1 files, 16 bytes: 0 findings\n"]);
    assert.equal((await run([join(folder, "link")])).code, 1);
  });

  test("says 1 and where, in words or in JSON, and never which", async (context) => {
    const folder = folderOf(context);
    const file = join(folder, "one.log");
    writeFileSync(file, `{"card":"${pan}"}`);
    const words = await run([folder]);
    assert.deepEqual([words.code, words.output], [1, `${file}: 411111xxxxxx1111 at 9, plain\n`]);
    const json = await run(["--json", folder]);
    assert.deepEqual(
      json.output
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
      [
        { path: file, offset: 9, encoding: "plain", maskedPan: "411111xxxxxx1111" },
        { files: 1, bytes: 27, findings: 1, unread: 0 },
      ],
    );
    for (const { output, problems } of [words, json])
      assert.ok(!(output + problems).includes(pan.slice(6, 12)));
  });

  test(
    "shows no name of a file that would move a terminal's cursor",
    { skip: process.platform === "win32" },
    async (context) => {
      const folder = folderOf(context);
      writeFileSync(join(folder, "\u001b]0;title\u0007\u001b[2J\nclean"), pan);
      const { code, output } = await run([folder]);
      assert.deepEqual(
        [code, output],
        [1, `${folder}/]0;title[2Jclean: 411111xxxxxx1111 at 0, plain\n`],
      );
    },
  );

  test("says every two seconds how far it is", async (context) => {
    const folder = folderOf(context);
    for (const name of ["a", "b", "c", "d", "e"]) writeFileSync(join(folder, name), "0123456789");
    let seconds = 0;
    const clock = { now: () => instant((seconds += 1) * 1_000) };
    const { code, output, problems } = await run([folder], "", clock);
    assert.equal(code, 0);
    assert.equal(output, "");
    const [b, d] = [join(folder, "b"), join(folder, "d")];
    assert.equal(
      problems,
      `2 files, 20 bytes so far; at ${b}\n4 files, 40 bytes so far; at ${d}\n5 files, 50 bytes: 0 findings\n`,
    );
  });

  test("reads standard input", async () => {
    assert.deepEqual((await run(["-"], `card ${pan}`)).output, "-: 411111xxxxxx1111 at 5, plain\n");
  });

  test("looks for the numbers of a file alone, from a pipe too", async (context) => {
    const folder = folderOf(context);
    const [known, file] = [join(folder, "known"), join(folder, "data")];
    writeFileSync(known, "5555 5555 5555 4444\n\n");
    writeFileSync(
      file,
      Buffer.concat([Buffer.from(`${pan} `), Buffer.from("5555555555554444", "hex")]),
    );
    assert.deepEqual(
      (await run(["--known", known, file])).output,
      `${file}: 555555xxxxxx4444 at 17, packed bcd\n`,
    );
    assert.equal(
      (await run(["--known", "-", file], pan)).output,
      `${file}: 411111xxxxxx1111 at 0, ascii\n`,
    );
    assert.deepEqual(
      (await run(["--known", "-", file], "12345\n")).problems,
      "-: number 1 does not have 14 to 19 digits\n",
    );
    assert.deepEqual((await run(["--known", "-", file], "\n")).problems, "-: holds no numbers\n");
  });

  test(
    "reports a file that may not be read",
    { skip: process.getuid?.() === 0 },
    async (context) => {
      const file = join(folderOf(context), "closed");
      writeFileSync(file, pan);
      chmodSync(file, 0);
      const { code, problems } = await run([file]);
      assert.equal(code, 2);
      assert.match(problems, /closed: may not be read/);
    },
  );
});
