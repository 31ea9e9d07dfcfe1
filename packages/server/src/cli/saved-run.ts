import { formatTimestamp } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";
import { Secret } from "../kernel/secret.ts";
import { type CofreClient, printable } from "./cofre-client.ts";
import { writeReportFiles } from "./report-files.ts";
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
  const { folder, isOwnFolder } = run;
  const files = writeReportFiles(
    { folder, isOwnFolder, what: "The timelines", option: "--save-to" },
    [
      ["timelines.txt", reportAsText(report)],
      ["timelines.html", reportAsHtml(report)],
      ["cofre.log", run.logLines.join("")],
    ],
  );
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
