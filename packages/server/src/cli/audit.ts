import { parseInstant } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";
import { entryOf, type AuditHead } from "../user/audit-chain.ts";
import type { AuditEntry } from "../user/audit.ts";
import {
  type AuditLog,
  headOf,
  headText,
  type VerifiedAudit,
  verifyAuditLog,
} from "../user/audit-log.ts";
import { shownEntry } from "../user/audit-view.ts";
import { nameKeyOf } from "../user/user-store.ts";
import { bytesOf, problemOf } from "../scan/files.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { printable } from "./cofre-client.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
  type OpenAudit,
} from "./command.ts";
import type { Styled } from "./styled.ts";

const piece = 1_000;
/** Enough for some hundred years with one head per hour; a larger file is not a list of heads. */
const longestHeads = 128 * 1024 * 1024;

const filters = ["--user", "--action", "--since", "--until", "--after"] as const;
const witnesses = ["--head", "--heads"] as const;
const wordOf: ReadonlyMap<string, string> = new Map([
  ...filters.map((flag) => [flag, "list"] as const),
  ...witnesses.map((flag) => [flag, "verify"] as const),
]);

/** Reads the audit log from the store: needs neither a server nor a signed-in user. */
export const auditCommand: ClientCommand = {
  summary: "print and verify the console's audit log",
  details:
    "Oldest entry first. `head` prints what is to be stored elsewhere, so that a removed end is found. `due` finds due payments that the jobs would miss.",
  words: ["list", "verify", "head", "due"],
  options: {
    "--user": { form: "NAME", doc: "list: only actions by this user or on this user" },
    "--action": { form: "ACTION", doc: "list: only this action, such as sign_in or capture" },
    "--since": {
      form: "TIME",
      doc: "list: only from this time on, such as 2026-01-31 or 2026-01-31T12:00:00Z",
    },
    "--until": { form: "TIME", doc: "list: only before this time" },
    "--after": { form: "N", doc: "list: only those with a higher number" },
    "--head": {
      form: "NUMBER:DIGEST",
      doc: "verify: that the log contains this head, stored earlier",
    },
    "--heads": {
      form: "FILE",
      doc: "verify: that it contains all heads in this file, the last word of each line; - for standard input",
    },
    "--data-dir": { form: "D", doc: "directory of the file, instead of COFRE_DATA_DIR" },
    "--json": { doc: "print one JSON object per line" },
  },
  examples: [
    "cofre audit --since 2026-01-31 --user ana",
    "cofre audit --action sign_in --json",
    "cofre audit head",
    "cofre audit verify",
    "cofre audit verify --heads noted-heads",
    "cofre audit due",
  ],
  run: (call, host) => tellingProblems(host.fail, () => run(call, host)),
};

async function run(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const { word = "list", flags } = call;
  const misplaced = [...flags.keys()].find((flag) => (wordOf.get(flag) ?? word) !== word);
  if (misplaced !== undefined)
    throw misuse(`${misplaced} is for \`cofre audit ${wordOf.get(misplaced)}\`, not for ${word}.`);
  // Errors of the command line are reported before anything is opened.
  const filter = filterOf(flags);
  const storedHeads = word === "verify" ? await readStoredHeads(flags, host) : [];
  const directory = flags.get("--data-dir");
  const reading = host.config(new Map(directory === undefined ? [] : [["--data-dir", directory]]));
  if ("problems" in reading) throw misuse(reading.problems.join("\n"));
  const { dataDirectory, databaseUrl } = reading.config;
  if (dataDirectory === ":memory:" && databaseUrl === undefined)
    throw misuse("COFRE_DATA_DIR is :memory:, which keeps no log after the process.");
  try {
    const audit = await host.openAudit(reading.config);
    const { log } = audit;
    try {
      if (word === "verify") return await verify(log, storedHeads, call, host);
      if (word === "head") return await head(log, call, host);
      if (word === "due") return await due(audit, call, host);
      return await list(log, filter, call, host);
    } finally {
      await audit.close();
    }
  } catch (error) {
    // Errors of the stores have fixed texts, which quote no stored data.
    if (error instanceof ClientProblem || !(error instanceof Error) || !("code" in error))
      throw error;
    host.say(
      error.name === "StoreError"
        ? `The ${word === "due" ? "payments" : "audit log"} cannot be read now.`
        : `${error.message}.`,
    );
    return exitCodes.misused;
  }
}

// --- list ----------------------------------------------------------------------------------------

interface AuditFilter {
  readonly user: string | undefined;
  readonly action: string | undefined;
  readonly since: Instant | undefined;
  readonly until: Instant | undefined;
  readonly after: number;
}

function filterOf(flags: ReadonlyMap<string, string>): AuditFilter {
  const after = flags.get("--after") ?? "0";
  if (!/^\d{1,15}$/.test(after)) throw misuse("--after needs the number of an entry.");
  const time = (flag: string): Instant | undefined => {
    const text = flags.get(flag);
    const at = text === undefined ? undefined : parseInstant(text);
    if (text !== undefined && at === undefined)
      throw misuse(`${flag} needs a time, such as 2026-01-31 or 2026-01-31T12:00:00Z.`);
    return at;
  };
  return {
    user: flags.get("--user"),
    action: flags.get("--action"),
    since: time("--since"),
    until: time("--until"),
    after: Number(after),
  };
}

async function list(
  log: AuditLog,
  filter: AuditFilter,
  { flags }: CommandCall,
  host: CommandHost,
): Promise<ExitCode> {
  const { user } = filter;
  const id = user === undefined ? undefined : (await log.userByName(nameKeyOf(user)))?.id;
  if (user !== undefined && id === undefined) throw new ClientProblem("No user has this name.");
  let printed = 0;
  for (let { after } = filter; ;) {
    const rows = await log.auditAfter(after, piece);
    for (const entry of rows.map(entryOf).filter((each) => fits(each, filter, id))) {
      host.print(
        flags.has("--json") ? JSON.stringify(shownEntry(entry)) : lineOf(entry, host.styled),
      );
      printed += 1;
    }
    after = rows.at(-1)?.number ?? after;
    if (rows.length < piece) break;
  }
  if (printed === 0 && !flags.has("--json")) host.say("No entries match.");
  return exitCodes.done;
}

function fits(
  { at, actor, action, target }: AuditEntry,
  filter: AuditFilter,
  user: string | undefined,
): boolean {
  if (filter.action !== undefined && action !== filter.action) return false;
  if (
    (filter.since !== undefined && at < filter.since) ||
    (filter.until !== undefined && at >= filter.until)
  )
    return false;
  return user === undefined || target === user || (actor.kind === "user" && actor.id === user);
}

/**
 * `17  2026-01-31T12:00:00.000Z  ana  capture  done  6f...  account 0a1b2c3d, status 200; result of
 * 16; from 192.0.2.1`.
 */
function lineOf(entry: AuditEntry, styled: Styled): string {
  const { number, at, actor, action, result, target, detail, completes, origin } =
    shownEntry(entry);
  const more = [
    printable(detail),
    completes === null ? "" : `result of ${completes}`,
    origin === null ? "" : `from ${printable(origin)}`,
  ];
  const words = [
    number,
    at,
    printable(actor),
    printable(action),
    result,
    printable(target ?? "-"),
    more.filter((each) => each !== "").join("; "),
  ];
  const line = words.join("  ").trimEnd();
  return result === "refused" ? styled("failure", line) : line;
}

// --- verify and head -----------------------------------------------------------------------------

async function head(log: AuditLog, { flags }: CommandCall, host: CommandHost): Promise<ExitCode> {
  const newest = await log.auditHead();
  if (newest.number === 0) throw new ClientProblem("The audit log is empty.");
  host.print(flags.has("--json") ? JSON.stringify(newest) : headText(newest));
  return exitCodes.done;
}

async function verify(
  log: AuditLog,
  storedHeads: readonly AuditHead[],
  { flags }: CommandCall,
  host: CommandHost,
): Promise<ExitCode> {
  const verified = await verifyAuditLog(log, storedHeads);
  const { entries, head: last, fault, matchingHead } = verified;
  if (flags.has("--json")) {
    const facts = {
      entries,
      head: entries === 0 ? null : headText(last),
      stored_heads: storedHeads.length,
      matching_head: matchingHead === undefined ? null : headText(matchingHead),
      macs: log.isGenuine === undefined ? "not checked" : "checked",
    };
    host.print(
      JSON.stringify(
        fault === undefined
          ? { result: "intact", ...facts }
          : { result: fault.kind, entry: fault.entry, ...facts },
      ),
    );
  } else {
    host.print(
      fault === undefined
        ? host.styled("success", intactText(verified, storedHeads.length))
        : host.styled("failure", faultText(fault, matchingHead)),
    );
    if (log.isGenuine === undefined)
      host.say("There are no keys in COFRE_DATA_DIR, so the MACs of the entries were not checked.");
    if (storedHeads.length === 0)
      host.say(
        "No stored head was given: a log that was truncated or completely recomputed would not be detected.",
      );
  }
  return fault === undefined ? exitCodes.done : exitCodes.failed;
}

function intactText({ entries, head: last }: VerifiedAudit, headCount: number): string {
  const heads =
    headCount === 0
      ? ""
      : ` ${headCount === 1 ? "It contains the stored head" : `It contains all ${headCount} stored heads`}.`;
  return entries === 0
    ? "The audit log is empty."
    : `The audit log is intact: ${entries} entries, up to ${headText(last)}.${heads}`;
}

function faultText(
  { kind, entry }: NonNullable<VerifiedAudit["fault"]>,
  matchingHead: AuditHead | undefined,
): string {
  const since =
    matchingHead === undefined
      ? ""
      : ` Up to entry ${matchingHead.number} it matches the stored heads.`;
  return `The audit log ${faultTexts[kind](entry)}${since}`;
}

const faultTexts = {
  broken: (entry) => `is broken at entry ${entry}: it or an earlier one was changed or removed.`,
  forged: (entry) =>
    `contains a forged entry ${entry}: a program without the keys of this installation wrote it or changed an earlier one.`,
  truncated: (entry) => `was truncated: entry ${entry} and the entries after it are missing.`,
  rewritten: (entry) =>
    `was rewritten: entry ${entry} differs from the stored head. It or an earlier one was changed, and the digests were recomputed.`,
} as const satisfies Record<NonNullable<VerifiedAudit["fault"]>["kind"], (entry: number) => string>;

// --- due -----------------------------------------------------------------------------------------

/**
 * On PostgreSQL the jobs find due payments in a separate table: this reports due payments without a
 * row there.
 */
async function due(
  { duePayments }: OpenAudit,
  { flags }: CommandCall,
  host: CommandHost,
): Promise<ExitCode> {
  if (duePayments === undefined) {
    host.say(
      "The embedded store finds due payments in the payments themselves: there is nothing to compare.",
    );
    return exitCodes.done;
  }
  let found = 0;
  for await (const payment of duePayments()) {
    host.print(
      flags.has("--json") ? JSON.stringify(payment) : `${payment.merchantId}  ${payment.paymentId}`,
    );
    found += 1;
  }
  host.say(
    found === 0
      ? "All due payments are found."
      : `Due payments that are not found: ${found}. What to do: docs/operate/postgres.md.`,
  );
  return found === 0 ? exitCodes.done : exitCodes.failed;
}

async function readStoredHeads(
  flags: ReadonlyMap<string, string>,
  host: CommandHost,
): Promise<readonly AuditHead[]> {
  const [given, file] = witnesses.map((flag) => flags.get(flag));
  if (given !== undefined && file !== undefined)
    throw misuse("--head and --heads cannot be combined.");
  if (given !== undefined)
    return [
      parsedHead(given) ?? never("--head needs NUMBER:DIGEST, as `cofre audit head` prints it."),
    ];
  if (file === undefined) return [];
  const lines = (await textIn(file, host)).split(/\r?\n/).filter((line) => line.trim() !== "");
  if (lines.length === 0) throw misuse("The file of --heads has no head.");
  return lines.map((line, index) => {
    // The head may follow other words, such as a time.
    const last = line.trim().split(/\s+/).at(-1) ?? "";
    return (
      parsedHead(last) ??
      never(`Line ${index + 1} of the file of --heads does not end with NUMBER:DIGEST.`)
    );
  });
}

async function textIn(file: string, { input }: CommandHost): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const bytes of file === "-" ? input : bytesOf(file)) {
      length += bytes.length;
      if (length > longestHeads) throw misuse("The file of --heads is too large.");
      pieces.push(bytes);
    }
  } catch (error) {
    throw error instanceof ClientProblem
      ? error
      : misuse(`The file of --heads ${problemOf(error)}.`);
  }
  return Buffer.concat(pieces).toString("latin1");
}

/** Also in the format of `--json`. */
function parsedHead(text: string): AuditHead | undefined {
  const [, number, digest] = /^\{"number":(\d+),"digest":"([0-9a-f]+)"\}$/.exec(text) ?? [];
  return headOf(number === undefined ? text : `${number}:${digest}`);
}

function never(problem: string): never {
  throw misuse(problem);
}

function misuse(problem: string): ClientProblem {
  return new ClientProblem(problem, { misuse: true });
}
