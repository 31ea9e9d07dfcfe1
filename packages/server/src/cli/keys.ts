import type { Config } from "../config/settings.ts";
import { actNames } from "../key-acts/act-table.ts";
import { formatInstant } from "../kernel/calendar.ts";
import { day, type Instant } from "../kernel/instant.ts";
import { type KeyRecord, keyNameOf } from "../vault/records/key-record.ts";
import { recoverableKeyOf } from "../vault/recovery/recovery-wraps.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOptions } from "./cofre-client.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
  type StoredKeys,
} from "./command.ts";

/** Characters of a check value and of a recovery key's fingerprint that people compare. */
const shownCheck = 6;
const shownFingerprint = "sha256:".length + 12;

/** Lists keys from the database; sends acts to the running server. */
export const keysCommand: ClientCommand = {
  summary: "list and rotate keys, stop card operations, approve acts",
  details:
    "`status` reads the database, with or without a running server, opens no key, and omits keys of merchants; the check value identifies a key without revealing it. COFRE_ROOT_KEYS_FINGERPRINT may have the fingerprint of the set of root keys. All other words are for the running server. Where the console has sign-in, name an admin with --user: the password and the code of the authenticator app are read from standard input, one per line. docs/operate/keys.md describes the acts.",
  words: ["status", ...actNames, "orders", "approve"],
  needsWord: true,
  behindWord: { approve: "NUMBER" },
  options: {
    "--data-dir": {
      form: "D",
      doc: "status: directory of the database, instead of COFRE_DATA_DIR",
    },
    "--reason": { form: "TEXT", doc: "all acts: the reason, for the audit log" },
    "--root": { form: "KEYID", doc: "add-root, move-root: key id of the root key" },
    "--now": { doc: "move-root: drop the other root keys without waiting seven days" },
    "--target": {
      form: "KEY",
      doc: "rotate: epoch, merchants or merchant:ID; compromised: epoch or merchant:ID; destroy: a key such as epoch:1 or merchant:ID:1",
    },
    "--rate": {
      form: "N",
      doc: "reseal: cards that each node encrypts again in a second; 0 pauses that",
    },
    "--accept-outage": { doc: "destroy: also if keys or cards need the key, which are lost then" },
    "--check": { form: "CHECK", doc: "approve: the check that `orders` shows with the request" },
    "--user": { form: "NAME", doc: "name of an admin who signs in, instead of --key" },
    "--dry-run": { doc: "check the act on the server without carrying it out" },
    ...clientOptions,
  },
  examples: [
    "cofre keys status",
    "cofre keys stop --reason leak --user ana",
    "cofre keys resume --reason solved --user ana",
    "cofre keys rotate --target epoch --reason yearly --user ana",
    "cofre keys orders --user other",
    "cofre keys approve 2 --check 0a1b2c3d4e5f --user other",
  ],
  run: (call, host) =>
    tellingProblems(host.fail, async () =>
      call.word === "status"
        ? await status(call, host)
        : await (await import("./run-key-act.ts")).runKeyAct(call, host),
    ),
};

async function status({ flags }: CommandCall, host: CommandHost): Promise<ExitCode> {
  const from = flags.get("--data-dir");
  const reading = host.config(new Map(from === undefined ? [] : [["--data-dir", from]]));
  if ("problems" in reading) throw new ClientProblem(reading.problems.join("\n"), { misuse: true });
  const { dataDirectory: folder, databaseUrl } = reading.config;
  if (folder === ":memory:" && databaseUrl === undefined)
    throw new ClientProblem("COFRE_DATA_DIR is :memory:, which keeps no keys.", {
      misuse: true,
    });
  const stored = await storedKeys(reading.config, host);
  const now = host.clock.now();
  const keys = stored.records.filter(isKey).map((record) => shownKey(record, now));
  const set = rootSetIn(stored.records);
  if (flags.has("--json"))
    host.print(JSON.stringify({ installation: stored.installation, root_keys: set, keys }));
  else printTable(stored.installation, set, keys, host);
  return exitCodes.done;
}

async function storedKeys(config: Config, host: CommandHost): Promise<StoredKeys> {
  let stored: StoredKeys | undefined;
  try {
    stored = await host.storedKeys(config);
  } catch (error) {
    // Errors of the stores have fixed texts, which quote no stored data.
    if (!(error instanceof Error) || !("code" in error)) throw error;
    throw new ClientProblem(`${error.message}.`);
  }
  if (stored === undefined || stored.records.length === 0)
    throw new ClientProblem(
      "The database has no key records: it is new, or its installation keeps its keys in keys.<n>.json.",
    );
  return stored;
}

interface ShownKey {
  readonly key: string;
  readonly state: string;
  readonly made: string;
  readonly age_days: number;
  readonly wrapped_by: readonly string[];
  readonly check: string;
  /** `due_soon`: its period ends within 30 days. */
  readonly period: "due" | "due_soon" | undefined;
}

/** How long an epoch key may be current, and when its end is announced; in days. */
const epochDays = 365;
const announcedDays = 30;

function periodOf({ purpose, state }: KeyRecord, ageDays: number): ShownKey["period"] {
  if (purpose !== "epoch" || state !== "current" || ageDays < epochDays - announcedDays)
    return undefined;
  return ageDays < epochDays ? "due_soon" : "due";
}

function shownKey(record: KeyRecord, now: Instant): ShownKey {
  const ageDays = Math.max(0, Math.floor((now - record.createdAt) / day));
  return {
    key: keyNameOf(record),
    state: record.state,
    made: formatInstant(record.createdAt),
    age_days: ageDays,
    wrapped_by: record.wraps.flatMap(({ root, bytes }) => {
      const recovery = recoverableKeyOf(bytes)?.recoveryKey;
      return recovery === undefined ? [root] : [root, `recovery ${recovery}`];
    }),
    check: Buffer.from(record.check).toString("hex").slice(0, shownCheck).toUpperCase(),
    period: periodOf(record, ageDays),
  };
}

const heads = ["key", "state", "made", "days", "wrapped by", "check"] as const;

interface ShownRootSet {
  readonly version: number;
  readonly fingerprint: string;
}

function isKey({ purpose }: KeyRecord): boolean {
  return purpose !== "roots";
}

/** Undefined in a database of an earlier version. */
function rootSetIn(records: readonly KeyRecord[]): ShownRootSet | undefined {
  const set = records.find((record) => !isKey(record) && record.state === "current");
  if (set === undefined) return undefined;
  return { version: set.version, fingerprint: Buffer.from(set.check).toString("hex") };
}

function printTable(
  installation: string,
  set: ShownRootSet | undefined,
  keys: readonly ShownKey[],
  host: CommandHost,
): void {
  const rows = keys.map(({ key, state, made, age_days: days, wrapped_by: roots, check }) => [
    key,
    state,
    made.slice(0, 10),
    String(days),
    roots
      .map((root) =>
        root.replace(
          /^recovery (.*)$/,
          (_, name: string) => `recovery ${name.slice(0, shownFingerprint)}`,
        ),
      )
      .join(", "),
    check,
  ]);
  const widths = heads.map((head, at) =>
    Math.max(head.length, ...rows.map((row) => row[at]?.length ?? 0)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join("  ")
      .trimEnd();
  host.print(`installation ${installation}`);
  if (set !== undefined)
    host.print(`set ${set.version} of root keys, fingerprint ${set.fingerprint}`);
  host.print(host.styled("heading", line(heads)));
  for (const row of rows) host.print(line(row));
  for (const { key, period, age_days: days } of keys)
    if (period !== undefined)
      host.print(
        `warning: ${key} is ${days} days old; an epoch key is replaced after ${epochDays} days: cofre keys rotate --target epoch`,
      );
}
