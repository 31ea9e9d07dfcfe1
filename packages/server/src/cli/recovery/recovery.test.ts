import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, test, type TestContext } from "node:test";
import { instant } from "../../kernel/instant.ts";
import { SystemRandom } from "../../kernel/system-random.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { readShare } from "../../vault/recovery/slip39.ts";
import { readCommandLine } from "../command-line.ts";
import { plain } from "../styled.ts";
import { recoveryCommand } from "./recovery.ts";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-recovery-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

interface Ended {
  readonly code: number;
  readonly output: string;
  readonly problems: string;
}

/** Answers at a terminal what was said last; `all` is everything so far. undefined ends the input. */
type Typist = (last: string, all: string) => string | undefined;

async function run(args: readonly string[], input: string | Typist = ""): Promise<Ended> {
  let [output, problems, last] = ["", "", ""];
  const call = readCommandLine(["recovery", ...args]);
  if ("problem" in call) return { code: 2, output, problems: call.problem };
  async function* typed(type: Typist): AsyncGenerator<Uint8Array> {
    for (let line = type(last, problems); line !== undefined; line = type(last, problems))
      yield Buffer.from(`${line}\n`);
  }
  const code = await recoveryCommand.run(call, {
    input: typeof input === "string" ? Readable.from([Buffer.from(input)]) : typed(input),
    print: (line) => (output += `${line}\n`),
    say: (line) => {
      problems += `${line}\n`;
      last = line;
    },
    isTerminal: typeof input !== "string",
    config: () => assert.fail("the ceremony needs no settings"),
    openMove: () => assert.fail("nothing is moved"),
    backUp: () => assert.fail("no backup is made"),
    fail: (line) => (problems += `${line}\n`),
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
    openAudit: () => assert.fail("no audit log is read"),
    stopRequested: () => assert.fail("the ceremony ends by itself"),
    clock: { now: () => instant(Date.UTC(2026, 0, 31, 12)) },
    random: new SystemRandom(),
    scheduler: systemScheduler,
    version: "1.2.3",
  });
  return { code, output, problems };
}

interface Made {
  readonly folder: string;
  readonly fingerprint: string;
  readonly shares: readonly string[];
  readonly publicFile: string;
  readonly record: string;
}

async function made(context: TestContext, args: readonly string[] = []): Promise<Made> {
  const folder = folderOf(context);
  const { code, output, problems } = await run(["init", "--json", "--out", folder, ...args]);
  assert.deepEqual([code, problems], [0, ""]);
  const result = JSON.parse(output) as {
    recovery_key: string;
    shares: { words: string }[];
  };
  return {
    folder,
    fingerprint: result.recovery_key,
    shares: result.shares.map(({ words }) => words),
    publicFile: join(folder, "recovery.pub"),
    record: join(folder, "recovery-record.json"),
  };
}

const drill = (file: string, shares: readonly string[], ...more: readonly string[]) =>
  run(["drill", "--recovery-key", file, ...more], `${shares.join("\n")}\n`);

/**
 * A custodian at the terminal: reads the share that was shown last, and types what is asked for.
 * `slips`: number of words that are typed wrong.
 */
function custodian(slips = 0): Typist {
  let left = slips;
  return (said, all) => {
    if (said.startsWith("Type show")) return "show";
    if (said.startsWith("Write the 33 words")) return "written";
    const [, position] = /^Type word (\d+):$/.exec(said) ?? [];
    assert.ok(position !== undefined, `an answer to: ${said}`);
    if (left > 0) {
      left -= 1;
      return "wrong";
    }
    return shownShares(all).at(-1)?.[Number(position) - 1];
  };
}

/** The words of each table of 33 words, in the order of their numbers. */
function shownShares(text: string): string[][] {
  return [...text.matchAll(/Share \d+ of \d+, for [^\n]*\n\n((?:[ \n]*\d+ {2}[a-z]+)+)/g)].map(
    ([, table = ""]) => {
      const cells = [...table.matchAll(/(\d+) {2}([a-z]+)/g)];
      const words: string[] = [];
      for (const [, number, word = ""] of cells) words[Number(number) - 1] = word;
      return words;
    },
  );
}

describe("cofre recovery", () => {
  test("refuses what it cannot do, and writes nothing", async (context) => {
    const folder = folderOf(context);
    const out = ["--out", folder];
    for (const [args, expected] of [
      [[], /^recovery needs one of init, renew, drill, open\.$/],
      [["init", ...out], /at a terminal\. --json prints them/],
      [["init", "--json", ...out, "--shares", "1"], /^There can be 2 to 16 shares/],
      [["init", "--json", ...out, "--shares", "17"], /^There can be 2 to 16 shares/],
      [["init", "--json", ...out, "--threshold", "6"], /^There can be 2 to 16 shares/],
      [["init", "--json", ...out, "--threshold", "1"], /^There can be 2 to 16 shares/],
      [["init", "--json", ...out, "--shares", "five"], /^--shares needs a number\.$/],
      [["init", "--json", ...out, "--shares", "3", "--custodians", "Ana, Rui"], /2 names for 3/],
      [["init", "--json", ...out, "--custodians", "Ana,Ana,Rui"], /different names/],
      [["init", "--json", ...out, "--custodians", "Ana,,Rui"], /different names/],
      [["renew", "--json", ...out], /^renew needs --record/],
      [["drill"], /^--recovery-key is needed/],
    ] as const) {
      const { code, output, problems } = await run(args);
      assert.deepEqual([code, output], [2, ""], args.join(" "));
      assert.match(problems.trim(), expected);
    }
    assert.deepEqual(readdirSync(folder), []);
  });

  test("init makes a share for each custodian, a public file and a record without a word of a share", async (context) => {
    const { folder, fingerprint, shares, publicFile, record } = await made(context, [
      "--custodians",
      "Ana,Rui,Eva",
      "--threshold",
      "2",
    ]);
    assert.equal(shares.length, 3);
    assert.deepEqual(
      shares.map((share) => readShare(share).memberThreshold),
      [2, 2, 2],
    );
    assert.deepEqual(readdirSync(folder).toSorted(), ["recovery-record.json", "recovery.pub"]);
    const text = readFileSync(record, "utf8");
    const at = "2026-01-31T12:00:00Z";
    assert.deepEqual(JSON.parse(text), {
      format: "cofre recovery record 1",
      recovery_key: fingerprint,
      created_at: at,
      shares: 3,
      threshold: 2,
      custodians: ["Ana", "Rui", "Eva"].map((name, index) => ({
        share: index + 1,
        name,
        acknowledged: "skipped",
        at,
      })),
    });
    const words = new Set(shares.flatMap((share) => share.split(" ").slice(4)));
    const written = (text + readFileSync(publicFile, "utf8")).match(/[a-z]+/g) ?? [];
    // "public" and "share" are words of the list and of the files' own texts.
    const leaked = written.filter((word) => words.has(word) && !/^(?:public|share)$/.test(word));
    assert.deepEqual(leaked, []);
  });

  test("init overwrites no file", async (context) => {
    const { folder, publicFile } = await made(context);
    const before = readFileSync(publicFile);
    const { code, problems } = await run(["init", "--json", "--out", folder]);
    assert.equal(code, 1);
    assert.match(problems, /recovery\.pub exists, and is not overwritten/);
    assert.deepEqual(readFileSync(publicFile), before);
  });

  test("each three of five shares pass the drill, which prints a line without secrets", async (context) => {
    const { publicFile, shares, fingerprint } = await made(context);
    const [one = "", two = "", three = "", four = "", five = ""] = shares;
    for (const [chosen, numbers] of [
      [
        [one, two, three],
        [1, 2, 3],
      ],
      [
        [five, one, four],
        [1, 4, 5],
      ],
    ] as const) {
      const { code, output, problems } = await drill(publicFile, chosen, "--json");
      assert.deepEqual([code, problems], [0, ""]);
      assert.deepEqual(JSON.parse(output), {
        at: "2026-01-31T12:00:00Z",
        drill: "opened",
        recovery_key: fingerprint,
        shares: numbers,
      });
    }
    const { output } = await drill(publicFile, [one, two, three]);
    assert.equal(
      output,
      `2026-01-31T12:00:00Z shares 1, 2, 3 opened the canary of the recovery key ${fingerprint}\n`,
    );
  });

  test("two shares, a mistyped one, one given twice and those of another key fail the drill", async (context) => {
    const { publicFile, shares } = await made(context);
    const other = await made(context);
    const [one = "", two = "", three = ""] = shares;
    const words = three.split(" ");
    const mistyped = words.with(20, words[20] === "acid" ? "acne" : "acid").join(" ");
    for (const [given, expected] of [
      [[one, two], /^The input ended too early\. Nothing was changed\.$/],
      [
        [one, two, mistyped],
        /^Share 3 was not accepted: its checksum does not fit: word 21 is wrong\.$/,
      ],
      [[one, two, one], /^Share 3 was not accepted: it was given before\.$/],
      [[one, two, other.shares[2] ?? ""], /it belongs to another recovery key than the first one/],
      [
        other.shares,
        /^The shares are those of the recovery key sha256:[0-9a-f]+, and the file is of/,
      ],
    ] as const) {
      const { code, output, problems } = await drill(publicFile, given);
      assert.deepEqual([code, output], [1, ""]);
      assert.match(problems.trim(), expected);
    }
    // Control.
    assert.equal((await drill(publicFile, [one, two, three])).code, 0);
  });

  test("the drill finds a file that was altered", async (context) => {
    const { publicFile, shares } = await made(context);
    const other = await made(context);
    const text = readFileSync(publicFile, "utf8");
    const canary = (of: string) => /"canary": \{[^}]*\}/.exec(of)?.[0] ?? assert.fail("a canary");
    writeFileSync(
      publicFile,
      text.replace(canary(text), canary(readFileSync(other.publicFile, "utf8"))),
    );
    assert.match((await drill(publicFile, shares)).problems, /do not open the canary in the file/);
    writeFileSync(publicFile, text.replace('"sha256:', '"sha256:0'));
    assert.match(
      (await drill(publicFile, shares)).problems,
      /is not a recovery key, or was altered/,
    );
  });

  test("at a terminal each share is shown once, erased, and typed back in part", async (context) => {
    const folder = folderOf(context);
    const args = ["--shares", "3", "--threshold", "2", "--custodians", "Ana,Rui,Eva"];
    const { code, output, problems } = await run(["init", "--out", folder, ...args], custodian(1));
    assert.equal(code, 0, problems);
    const tables = shownShares(problems);
    assert.deepEqual(
      tables.map((words) => words.length),
      [33, 33, 33, 33],
    );
    // The first custodian's slip shows the first share again.
    assert.deepEqual(tables[0], tables[1]);
    assert.match(problems, /That is another word\. The share is shown again\./);
    // Nothing of a share is left on the screen when it is asked for.
    assert.equal([...problems.matchAll(/\[3J\nType word/g)].length, 4);
    assert.match(
      output,
      /^Recovery key sha256:[0-9a-f]{64}\nAny 2 of 3 shares open it\. Written: /,
    );
    const { custodians } = JSON.parse(
      readFileSync(join(folder, "recovery-record.json"), "utf8"),
    ) as {
      custodians: { acknowledged: string }[];
    };
    assert.deepEqual(
      custodians.map(({ acknowledged }) => acknowledged),
      ["typed_back", "typed_back", "typed_back"],
    );
    const shares = tables.slice(1).map((words) => words.join(" "));
    assert.equal((await drill(join(folder, "recovery.pub"), shares.slice(1))).code, 0);
  });

  test("a ceremony that ends early leaves no file", async (context) => {
    const folder = folderOf(context);
    const { code, problems } = await run(["init", "--out", folder], () => undefined);
    assert.equal(code, 1);
    assert.match(problems, /The input ended too early/);
    assert.deepEqual(readdirSync(folder), []);
  });

  test("at a terminal a mistyped share is asked for again", async (context) => {
    const { publicFile, shares } = await made(context);
    const [one = "", two = "", three = ""] = shares;
    const lines = [one, "no share", two, two, three];
    const { code, problems } = await run(["drill", "--recovery-key", publicFile], () =>
      lines.shift(),
    );
    assert.equal(code, 0, problems);
    assert.match(problems, /Share 2 was not accepted: words 1, 2 are not in the list|word 1 /);
    assert.match(problems, /Share 3 was not accepted: it was given before\./);
  });

  test("renew makes another key for the custodians of the record, or for others", async (context) => {
    const first = await made(context, ["--custodians", "Ana,Rui,Eva", "--threshold", "2"]);
    const renewed = async (...more: readonly string[]) => {
      const folder = folderOf(context);
      const args = ["renew", "--json", "--record", first.record, "--out", folder, ...more];
      const { code, output, problems } = await run(args);
      assert.equal(code, 0, problems);
      const record = JSON.parse(readFileSync(join(folder, "recovery-record.json"), "utf8")) as {
        recovery_key: string;
        replaces: string;
        threshold: number;
        custodians: { name: string }[];
      };
      assert.notEqual(record.recovery_key, first.fingerprint);
      assert.equal(record.replaces, first.fingerprint);
      const { shares } = JSON.parse(output) as { shares: { words: string }[] };
      const words = shares.map((share) => share.words);
      // The old shares do not open the new key, and the other way round.
      assert.equal((await drill(join(folder, "recovery.pub"), words)).code, 0);
      assert.equal((await drill(join(folder, "recovery.pub"), first.shares)).code, 1);
      assert.equal((await drill(first.publicFile, words)).code, 1);
      return [record.threshold, ...record.custodians.map(({ name }) => name)];
    };
    assert.deepEqual(await renewed(), [2, "Ana", "Rui", "Eva"]);
    assert.deepEqual(await renewed("--custodians", "Ana,Eva,Lea,Ivo", "--threshold", "3"), [
      3,
      "Ana",
      "Eva",
      "Lea",
      "Ivo",
    ]);
    writeFileSync(first.record, "{}");
    const { code, problems } = await run(["renew", "--json", "--record", first.record]);
    assert.equal(code, 1);
    assert.match(problems, /is not the record of a recovery key/);
  });
});
