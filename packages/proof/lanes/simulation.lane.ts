import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { amount } from "./support/amount.ts";
import { plantedBugs } from "../simulation/planted-bugs.ts";
import { plantedPageBugs } from "../simulation/planted-page-bugs.ts";
import type { DeliveryEvent } from "../../server/src/delivery/dispatcher.ts";
import type { FactSource, HistoryFact } from "../../server/src/stores/change.ts";
import { type PlantedBug, sourcesWith } from "../../server/test/support/planted-bug.ts";

const repository = fileURLToPath(new URL("../../..", import.meta.url));
/** Relative to the repository, and to a copy of the parts that the simulation imports. */
const sources = join("packages", "server", "src");
const imported = [
  ...[
    "package.json",
    "test/support",
    "test/vectors",
    "test/contract",
    "test/acquirer",
    "test/upstream",
  ].map((part) => join("packages", "server", part)),
  join("packages", "proof", "package.json"),
  join("packages", "proof", "simulation"),
];
/** Shared compile cache: there are more than a hundred processes, and most run only a few seeds. */
const compiled = mkdtempSync(join(tmpdir(), "cofre-compiled-"));
after(() => rmSync(compiled, { recursive: true, force: true }));

/** Two processes run in parallel. */
const seeds = amount({ quick: 2_000, ci: 20_000, night: 1_000_000 });
const pages = amount({ quick: 5_000, ci: 10_000, night: 500_000 });
const seedsForBug = 2_000;
const seedsTwice = amount({ quick: 200, ci: 1_000, night: 1_000 });
const deaths = amount({ quick: 1, ci: 2, night: 2 });
/** All are planted at night: each takes up to half a minute. */
const bugs = plantedBugs.filter((_, index) => index % amount({ quick: 3, ci: 2, night: 1 }) === 0);

/** Of the code's own names; the types find one that was renamed. */
const namedMarks: readonly (
  | `delivery ${DeliveryEvent["kind"]}`
  | `${HistoryFact} by ${FactSource}`
)[] = [
  "attempt_repeated by recovery",
  "authorization_approved by recovery",
  "authorization_declined by recovery",
  "authorization_held by merchant",
  "authorization_lapsed by clock",
  "authorization_rerouted by merchant",
  "capture_approved by operator",
  "capture_approved by recovery",
  "capture_declined by merchant",
  "chargeback_credited by operator",
  "chargeback_opened by operator",
  "delivery delivered",
  "delivery failed",
  "delivery gone",
  "delivery resting",
  "delivery retry",
  "lapse_approved by clock",
  "lapse_approved by recovery",
  "refund_approved by clock",
  "refund_approved by recovery",
  "refund_cancelled by merchant",
  "refund_declined by clock",
  "refund_not_done by recovery",
  "reversal_approved by recovery",
  "review_accepted by operator",
  "review_rejected by operator",
  "sale_approved by recovery",
  "void_approved by operator",
  "void_approved by recovery",
  "void_declined by clock",
  "void_declined_in_review by operator",
];

/** Events that a run must contain even if it finds no violation; without them it proves little. */
const marksToMeet = [
  ...namedMarks,
  "a card is erased",
  "a key of merchant is current",
  "a lie raises an alarm",
  "a late approval raises an alarm",
  "a read of key records fails",
  "a request arrives later than declared",
  "a server does not start",
  "a server stands still",
  "an acquirer lies about a reversal",
  "an answer is garbled",
  "an answer of the upstream is garbled",
  "an endpoint stays off",
  "an older copy of the store is put back",
  "an endpoint that was gone is switched on",
  "another merchant's token is refused",
  "cards are sealed again",
  "commit commit_unknown",
  "commit duplicate payment_code",
  "commit duplicate refund_code",
  "commit stale",
  "commit unavailable",
  "deliveries that had failed are asked for again",
  "heard again",
  "key commit commit_unknown_applied",
  "key commit commit_unknown_applied_late",
  "key commit commit_unknown_not_applied",
  "key commit stale",
  "keys are wrapped again",
  "one clock is set forward",
  "refused BP-CAN-3",
  "refused BP-CAN-4",
  "refused BP-CAP-11",
  "refused BP-CAP-3",
  "refused BP-CAP-4",
  "refused BP-CAP-5",
  "refused BP-CAP-6",
  "refused BP-CAP-7",
  "refused BP-DR-0",
  "refused BP-DR-119",
  "refused BP-DR-64",
  "refused BP-DR-65",
  "refused BP-REF-10",
  "refused BP-REF-11",
  "refused BP-REF-12",
  "refused BP-REF-5",
  "refused BP-REF-7",
  "refused COFRE-20",
  "refused COFRE-21",
  "refused COFRE-22",
  "refused COFRE-24",
  "refused COFRE-25",
  "refused COFRE-28",
  "refused COFRE-44",
  "refused COFRE-45",
  "sent again",
  "sent again under its key",
  "set back, and something waits",
  "slots clock_off",
  "slots database_clock_off",
  "the clock is set back",
  "the clock is set forward",
  "the disk is full",
  "the opposite is asked for when a copy was put back",
  "told again",
  "told CA",
  "told CO",
  "told PE",
  "told refund CA",
  "verified OK",
  "verified RETRY",
];

/** What thousands of pages must contain; without it they prove little. */
const marksOfPages = [
  "authorized by attempt 3",
  "dies after sending",
  "dies before sending",
  "ends authorized",
  "ends captured",
  "ends declined",
  "ends expired",
  "ends in_review",
  "ends voided",
  "authorized with A",
  "authorized with I",
  "authorized with U",
  "authorized with Y",
  "fact authentication_failed",
  "fact authentication_passed",
  "fact authentication_unanswered",
  "fact authorization_rerouted",
  "fact try_not_authenticated",
  "fact page_cancelled",
  "fact page_lapsed",
  "fact reversal_approved",
  "page shows CA",
  "page shows CO",
  "page shows PE",
  "status OP to CA",
  "status OP to CO",
  "status OP to PE",
  "status PE to CO",
  "status PE to OP",
  "submit_on_page card_exhausted",
  "submit_on_page payment_already_captured",
  "submit_on_page payment_cancelled",
  "submit_on_page payment_in_flight",
];

/** Bugs that a single crash at the wrong moment reveals. */
const foundByCrashes = [
  "the acquirer is asked before the intention is written down",
  "recovery never runs",
  "a refund is sent before it is written down as sending",
  "another acquirer is asked before that is written down",
];

describe("the simulation", () => {
  test(`finds nothing in ${seeds} seeds, and meets what it should`, async () => {
    const half = seeds / 2;
    const [one, other] = await Promise.all([
      simulate(repository, ["--kept", "--seeds", String(half)]),
      simulate(repository, ["--seeds", String(half), "--from", String(half + 1)]),
    ]);
    for (const { code, output } of [one, other]) {
      assert.equal(code, 0, output);
      // Ten thousand seeds meet all of them; fewer may not.
      for (const mark of half < 10_000 ? [] : marksToMeet)
        assert.match(output, new RegExp(`^  ${mark}: \\d+$`, "m"), `the runs meet: ${mark}`);
    }
  });

  test(`leaves the same traces in two runs of ${seedsTwice} seeds`, async () => {
    const { code, output } = await simulate(repository, [
      "--seeds",
      String(seedsTwice),
      "--from",
      "20001",
      "--twice",
    ]);
    assert.equal(code, 0, output);
  });
});

describe("the model of hosted pages", () => {
  test(`finds nothing in ${pages} pages, and meets what it should`, async (context) => {
    const { code, output } = await simulate(repository, ["--pages", "--seeds", String(pages)]);
    assert.equal(code, 0, output);
    for (const mark of marksOfPages)
      assert.match(output, new RegExp(`^  ${mark}: \\d+$`, "m"), `the pages meet: ${mark}`);
    context.diagnostic(output.trim().split("\n").at(-1) ?? "");
  });
});

describe("the crash matrix", () => {
  test(`finds nothing with up to ${deaths} deaths, at every wait of every scenario`, async (context) => {
    const { code, output } = await simulate(repository, [
      "--crashes",
      ...(deaths === 2 ? ["--pairs"] : []),
    ]);
    assert.equal(code, 0, output);
    context.diagnostic(output.trim().split("\n").at(-1) ?? "");
  });
});

/** Two halves run in parallel, each with its own copy. */
describe(`each planted bug is found within ${seedsForBug} seeds`, { concurrency: 2 }, () => {
  for (const half of [0, 1])
    describe(`half ${half + 1}`, { concurrency: 1 }, () => plantHalf(half));
});

function plantHalf(half: number): void {
  let copy: string;

  before(async () => {
    copy = await mkdtemp(join(tmpdir(), "cofre-planted-"));
    for (const part of imported)
      await cp(join(repository, part), join(copy, part), { recursive: true });
    // The copy finds dependencies in the same relative place as the original.
    await symlink(join(repository, "node_modules"), join(copy, "node_modules"));
  });

  after(async () => {
    await rm(copy, { recursive: true, force: true });
  });

  test("and the copy without a bug is found sound", async () => {
    await copySources(copy);
    const { code, output } = await simulate(copy, ["--seeds", "200", "--stop"]);
    assert.equal(code, 0, output);
  });

  for (const name of foundByCrashes.filter((_, index) => index % 2 === half)) {
    test(`by the crash matrix too: ${name}`, async () => {
      await copySources(copy);
      const bug = plantedBugs.find((each) => each.name === name);
      assert.ok(bug !== undefined);
      await plant(copy, bug);
      const { code, output } = await simulate(copy, ["--crashes", "--stop"]);
      assert.equal(code, 1, `not found: ${output}`);
      // A run that failed to start exits with 1 too.
      assert.match(output, /, dies at (?:no wait|\d+)/);
    });
  }

  for (const bug of plantedPageBugs.filter((_, index) => index % 2 === half)) {
    test(`on a page: ${bug.name}`, async (context) => {
      await copySources(copy);
      await plant(copy, bug);
      const { code, output } = await simulate(copy, [
        "--pages",
        "--seeds",
        String(seedsForBug),
        "--stop",
      ]);
      assert.equal(code, 1, `not found: ${output}`);
      assert.match(output, /^seed \d+: \d+ violations/m);
      context.diagnostic(output.split("\n").slice(0, 2).join(" "));
    });
  }

  for (const bug of bugs.filter((_, index) => index % 2 === half)) {
    test(bug.name, async (context) => {
      await copySources(copy);
      await plant(copy, bug);
      const { code, output } = await simulate(copy, [
        "--kept",
        "--seeds",
        String(seedsForBug),
        "--stop",
      ]);
      assert.equal(code, 1, `not found: ${output}`);
      assert.match(output, /^seed \d+: \d+ violations/m);
      context.diagnostic(output.split("\n").slice(0, 2).join(" "));
    });
  }
}

/** Overwrites those of an earlier planted bug. */
async function copySources(copy: string): Promise<void> {
  await cp(join(repository, sources), join(copy, sources), { recursive: true });
}

async function plant(copy: string, bug: PlantedBug): Promise<void> {
  const changed = sourcesWith(bug, (file) => readFileSync(join(copy, sources, file), "utf8"));
  for (const [file, source] of changed) await writeFile(join(copy, sources, file), source);
}

function simulate(
  root: string,
  options: readonly string[],
): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(
      process.execPath,
      [join(root, "packages", "proof", "simulation", "main.ts"), ...options],
      {
        stdio: ["ignore", "pipe", "pipe"],
        env: { ...process.env, NODE_COMPILE_CACHE: compiled },
      },
    );
    let output = "";
    const collect = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}
