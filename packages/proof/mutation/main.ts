import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Mutation testing of the critical parts: amounts, state machines, decisions, operations, the
 * vault, authorization, deliveries. Each mutant is one small change to a copy of the source; it
 * counts as killed when the tests beside the file fail or never end. `node
 * packages/proof/mutation/main.ts [group ...]` prints each survivor and the score of each file, and
 * exits 1 when a file's score is below the minimum. The first run installs Stryker in this folder,
 * which `npm ci` of the repository does not install.
 */

const minPercent = 85;
const source = "packages/server/src";

/** A group's tests run once per mutant, so they are few and quick. */
interface Group {
  readonly name: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
}

const groups: readonly Group[] = [
  { name: "money", mutate: ["kernel/money"], tests: ["kernel/money"] },
  {
    name: "pricing",
    mutate: ["kernel/currency", "payment/pricing"],
    tests: ["kernel/currency", "payment/pricing"],
  },
  {
    name: "machines",
    mutate: ["kernel/machine", "payment/payment-machine", "payment/refund"],
    tests: ["kernel/machine", "payment/payment-machine", "payment/refund"],
  },
  {
    name: "steps",
    mutate: ["decisions/steps"],
    tests: ["decisions/steps", "decisions/payment-decisions", "decisions/refund-decisions"],
  },
  {
    name: "payment",
    mutate: ["decisions/payment-decisions"],
    tests: ["decisions/payment-decisions"],
  },
  { name: "refund", mutate: ["decisions/refund-decisions"], tests: ["decisions/refund-decisions"] },
  {
    name: "card",
    mutate: ["vault/pan", "vault/mask", "vault/token"],
    tests: ["vault/pan", "vault/mask", "vault/token"],
  },
  { name: "envelope", mutate: ["vault/envelope"], tests: ["vault/envelope"] },
  { name: "keyring", mutate: ["vault/keyring"], tests: ["vault/keyring"] },
  { name: "secret", mutate: ["vault/sealed-secret"], tests: ["vault/sealed-secret"] },
  { name: "vault", mutate: ["vault/local-vault"], tests: ["vault/local-vault"] },
  { name: "users", mutate: ["sign-in/user-service"], tests: ["sign-in/user-service"] },
  {
    name: "marks",
    mutate: ["user/user", "sign-in/device-cookie", "sign-in/totp"],
    tests: ["sign-in/device-cookie", "sign-in/totp"],
  },
  { name: "sign-in", mutate: ["sign-in/sign-in-limits"], tests: ["sign-in/sign-in-limits"] },
  {
    name: "authorizer",
    mutate: ["http/sign-in/console-authorizer"],
    tests: ["http/sign-in/console-authorizer"],
  },
  {
    name: "caller",
    mutate: ["http/sign-in/caller", "http/sign-in/audit-texts"],
    tests: ["http/sign-in/caller", "http/sign-in/audit-texts"],
  },
  {
    name: "keys",
    mutate: ["wire/key-check", "http/admin/typed-settings"],
    tests: ["wire/key-check", "http/admin/typed-settings"],
  },
  { name: "framing", mutate: ["http/framing"], tests: ["http/framing"] },
  { name: "cross-site", mutate: ["http/cross-site"], tests: ["http/cross-site"] },
  { name: "change", mutate: ["stores/change-rules"], tests: ["stores/change-rules"] },
  {
    name: "idempotency",
    mutate: ["operations/idempotent-requests"],
    tests: ["operations/idempotent-requests"],
  },
  { name: "keyed-mutex", mutate: ["kernel/keyed-mutex"], tests: ["kernel/keyed-mutex"] },
  {
    name: "commit",
    mutate: ["operations/commit", "operations/payment-change"],
    tests: ["operations/commit", "operations/payment-change", "operations/follow-up"],
  },
  {
    name: "follow-up",
    mutate: [
      "operations/capture",
      "operations/cancel",
      "operations/refund",
      "operations/review",
      "operations/follow-up",
    ],
    tests: ["operations/follow-up"],
  },
  {
    name: "direct",
    mutate: ["operations/direct"],
    tests: ["operations/direct", "operations/reroute"],
  },
  { name: "route", mutate: ["operations/route", "merchant/routing"], tests: ["operations/route"] },
  {
    name: "retries",
    mutate: ["notification/backoff", "kernel/circuit-breaker"],
    tests: ["notification/backoff", "kernel/circuit-breaker"],
  },
  {
    name: "delivery",
    mutate: ["delivery/delivery", "notification/message"],
    tests: ["delivery/delivery", "notification/message"],
  },
];

/** Every mutant runs the same files: with a shared compile cache they take a third of the time. */
const compiled = mkdtempSync(join(tmpdir(), "cofre-mutation-"));
process.env["NODE_COMPILE_CACHE"] = compiled;
process.once("exit", () => rmSync(compiled, { recursive: true, force: true }));

/** What this file uses of a mutant's result. */
interface Mutant {
  readonly fileName: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
  readonly mutatorName: string;
  readonly replacement?: string;
  readonly status: string;
}

interface Stryker {
  runMutationTest(): Promise<readonly Mutant[]>;
}

type StrykerClass = new (options: Readonly<Record<string, unknown>>) => Stryker;

const { Stryker: StrykerRun } = await loadStryker();

/** Its types are described here, because type checks run without an installed Stryker. */
async function loadStryker(): Promise<{ readonly Stryker: StrykerClass }> {
  if (!existsSync(join(import.meta.dirname, "node_modules"))) {
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    execFileSync(npm, ["ci", "--no-audit", "--no-fund", "--prefix", import.meta.dirname], {
      cwd: import.meta.dirname,
      stdio: "inherit",
    });
  }
  const name: string = "@stryker-mutator/core";
  return (await import(name)) as { readonly Stryker: StrykerClass };
}

async function mutantsOf({ mutate, tests }: Group): Promise<readonly Mutant[]> {
  const files = tests.map((name) => `${source}/${name}.test.ts`).join(" ");
  const stryker = new StrykerRun({
    commandRunner: {
      command: `"${process.execPath}" --test --test-isolation=none --test-reporter=dot ${files}`,
    },
    mutate: mutate.map((name) => `${source}/${name}.ts`),
    configFile: `${import.meta.dirname}/stryker.json`,
  });
  return stryker.runMutationTest();
}

function isKilled({ status }: Mutant): boolean {
  return status === "Killed" || status === "Timeout";
}

function survivorLine({ fileName, location, mutatorName, replacement }: Mutant): string {
  const { line, column } = location.start;
  const shown = (replacement ?? "").replaceAll(/\s+/g, " ").slice(0, 100);
  return `  survived: ${relative(process.cwd(), fileName)}:${line}:${column} ${mutatorName} -> ${shown}`;
}

/**
 * Prints a file's line; returns its score in percent, rounded down so that 84.99 does not count as
 * 85.
 */
function score(name: string, mutants: readonly Mutant[]): number {
  const counted = mutants.filter(({ status }) => status !== "Ignored");
  const killed = counted.filter(isKilled).length;
  const percent = counted.length === 0 ? 0 : Math.floor((killed / counted.length) * 1_000) / 10;
  const endless = counted.filter(({ status }) => status === "Timeout").length;
  const shown = `${`${killed} of ${counted.length}`.padStart(12)}  ${percent.toFixed(1).padStart(5)} %`;
  console.log(`${name.padEnd(32)} ${shown}${endless === 0 ? "" : `  (${endless} never ended)`}`);
  return percent;
}

// Paths in the options are relative to the repository.
process.chdir(fileURLToPath(new URL("../../..", import.meta.url)));
const wanted = process.argv.slice(2);
const chosen = wanted.length === 0 ? groups : groups.filter(({ name }) => wanted.includes(name));
if (chosen.length < wanted.length)
  throw new Error(`groups are ${groups.map(({ name }) => name).join(", ")}`);

const all: Mutant[] = [];
for (const group of chosen) {
  const mutants = await mutantsOf(group);
  all.push(...mutants);
  for (const name of group.mutate) {
    const ofFile = mutants.filter(({ fileName }) => fileName.endsWith(`/${name}.ts`));
    if (score(`${name}.ts`, ofFile) < minPercent) process.exitCode = 1;
    for (const mutant of ofFile)
      if (!isKilled(mutant) && mutant.status !== "Ignored") console.log(survivorLine(mutant));
  }
}
score("all", all);
