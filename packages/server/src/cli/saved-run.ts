import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatTimestamp } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";
import { Secret } from "../kernel/secret.ts";
import { codeOf } from "../logging/error-facts.ts";
import { ClientProblem } from "./client-problem.ts";
import { type CofreClient, printable } from "./cofre-client.ts";
import { type AccountReport, reportAsHtml, reportAsText } from "./run-report.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Payments of an account, and worlds, whose timelines are saved: the newest. */
const mostPayments = 1_000;
const mostWorlds = 100;
const mostRefusals = 200;

export interface SavedRun {
  readonly client: CofreClient;
  readonly folder: string;
  /** The default folder, which Git is to ignore. */
  readonly isOwnFolder: boolean;
  readonly what: string;
  readonly now: Instant;
  readonly proxyLines: readonly string[];
  readonly logLines: readonly string[];
}

/**
 * Saves the timelines of all payments of the account and of its worlds as `timelines.txt` and
 * `timelines.html`, and the log as `cofre.log`, in place of those of an earlier run. Without a
 * payment and a refused request it writes nothing. Throws ClientProblem when a file cannot be
 * written.
 */
export async function saveRun(
  run: SavedRun,
): Promise<{ readonly payments: number; readonly requests: number; readonly files: string[] }> {
  const own = await accountOf(run.client, undefined);
  const accounts = [own.report];
  let { requests } = own;
  for (const world of (await run.client.worlds()).slice(-mostWorlds)) {
    const key = new Secret(printable(world["integration_key"]));
    const found = await accountOf(run.client.withKey(key), nameOf(world));
    accounts.push(found.report);
    requests += found.requests;
  }
  const payments = accounts.reduce((sum, { timelines }) => sum + timelines.length, 0);
  if (accounts.every(({ timelines, refusals }) => timelines.length + refusals.length === 0))
    return { payments, requests, files: [] };
  const report = {
    what: run.what,
    at: formatTimestamp(run.now),
    accounts: accounts.filter(
      ({ timelines, refusals }, index) => index === 0 || timelines.length + refusals.length > 0,
    ),
    proxyLines: run.proxyLines,
  };
  const files = writeFiles(run, [
    ["timelines.txt", reportAsText(report)],
    ["timelines.html", reportAsHtml(report)],
    ["cofre.log", run.logLines.join("")],
  ]);
  return { payments, requests, files };
}

async function accountOf(
  client: CofreClient,
  world: string | undefined,
): Promise<{ readonly report: AccountReport; readonly requests: number }> {
  const { payments, isComplete } = await client.newestPayments(mostPayments);
  const timelines: Fields[] = [];
  for (const payment of payments.toReversed())
    timelines.push(await client.timeline(printable(payment["hash"])));
  const all: Fields[] = [];
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: Awaited<ReturnType<CofreClient["requests"]>> = await client.requests(after);
    all.push(...page.requests);
    after = page.next;
  }
  const refusals = all.filter(
    ({ status_code: code, path }) => typeof code === "string" && isOfClients(path),
  );
  return {
    report: { world, timelines, isComplete, refusals: refusals.slice(-mostRefusals) },
    requests: all.filter(({ path }) => isOfClients(path)).length,
  };
}

function isOfClients(path: unknown): boolean {
  return typeof path === "string" && path.startsWith("/ws/");
}

function nameOf({ id, name }: Fields): string {
  return `${printable(id)} ${printable(name)}`.trim();
}

type NamedText = readonly [name: string, text: string];

/** Each file is complete or absent. */
function writeFiles({ folder, isOwnFolder }: SavedRun, texts: readonly NamedText[]): string[] {
  const ignored: readonly NamedText[] = isOwnFolder ? [[".gitignore", "*\n"]] : [];
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of [...ignored, ...texts]) {
      const path = join(folder, name);
      const temporary = `${path}.new`;
      try {
        writeFileSync(temporary, text);
        renameSync(temporary, path);
      } finally {
        rmSync(temporary, { force: true });
      }
    }
  } catch (error) {
    throw new ClientProblem(
      `The timelines could not be saved in ${folder}: ${reasonOf(error)}. --save-to names another folder.`,
    );
  }
  return texts.map(([name]) => join(folder, name));
}

const reasons: ReadonlyMap<string, string> = new Map([
  ["ENOSPC", "the disk is full"],
  ["EDQUOT", "the disk quota is used up"],
  ["EACCES", "this user cannot write there"],
  ["EPERM", "this user cannot write there"],
  ["EROFS", "the file system is read-only"],
  ["ENOTDIR", "a part of its path is a file"],
  ["EEXIST", "there is a file of this name"],
  ["EISDIR", "a folder has the name of one of its files"],
]);

function reasonOf(error: unknown): string {
  const code = error instanceof Error ? codeOf(error) : undefined;
  return reasons.get(code ?? "") ?? code ?? "an unknown failure";
}
