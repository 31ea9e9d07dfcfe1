import type { Config } from "../../config/settings.ts";
import {
  opensCanary,
  printRecoveryKeyFile,
  readRecoveryKeyFile,
  recoveryKeyOf,
  type RecoveryKeyFile,
  recoverySeedLength,
} from "../../vault/recovery/recovery-key.ts";
import { joinShares, makeShares, mostShares, readShare } from "../../vault/recovery/slip39.ts";
import { ClientProblem } from "../client-problem.ts";
import {
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
  type RecoveredKeys,
} from "../command.ts";
import { handOver } from "./ceremony.ts";
import { collectShares } from "./collect-shares.ts";
import { refuseExisting, textOfFile, writeNewFiles } from "./files.ts";
import { keyFile, recordFile, recoveryWords } from "./names.ts";
import { printRecord, readRecord, timeText } from "./record.ts";
import { openScreen } from "./screen.ts";

const acts = { init, renew, drill, open } as const satisfies Record<
  (typeof recoveryWords)[number],
  (call: CommandCall, host: CommandHost) => Promise<ExitCode>
>;

export async function runRecovery(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  return acts[wordOf(call)](call, host);
}

function wordOf({ word }: CommandCall): (typeof recoveryWords)[number] {
  const found = recoveryWords.find((each) => each === word);
  if (found === undefined) throw misuse(`recovery needs one of ${recoveryWords.join(", ")}.`);
  return found;
}

// --- init, renew ---------------------------------------------------------------------------------

interface Plan {
  readonly threshold: number;
  /** One for each share. */
  readonly names: readonly string[];
  /** Fingerprint of the recovery key that is replaced. */
  readonly replaces?: string;
}

async function init(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const given = namesOf(call.flags.get("--custodians"));
  const count = numberOf(call, "--shares") ?? given?.length ?? 5;
  const names = given ?? Array.from({ length: count }, (_, at) => `custodian ${at + 1}`);
  if (names.length !== count)
    throw misuse(`--custodians has ${names.length} names for ${count} shares.`);
  return make({ threshold: numberOf(call, "--threshold") ?? 3, names }, call, host);
}

async function renew(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const path = call.flags.get("--record");
  if (path === undefined)
    throw misuse(`renew needs --record, the ${recordFile} of the key to replace.`);
  const { recoveryKey: replaces, threshold, names } = readRecord(textOfFile(path), path);
  return make(
    {
      threshold: numberOf(call, "--threshold") ?? threshold,
      names: namesOf(call.flags.get("--custodians")) ?? names,
      replaces,
    },
    call,
    host,
  );
}

async function make(plan: Plan, { flags }: CommandCall, host: CommandHost): Promise<ExitCode> {
  const { names, threshold } = plan;
  if (names.length < 2 || names.length > mostShares || threshold < 2 || threshold > names.length)
    throw misuse(`There can be 2 to ${mostShares} shares, of which 2 or more are needed.`);
  const isJson = flags.has("--json");
  if (!isJson && !host.isTerminal)
    throw misuse("Shares are shown at a terminal. --json prints them without a terminal.");
  const folder = flags.get("--out") ?? ".";
  refuseExisting(folder, [keyFile, recordFile]);

  const seed = host.random.bytes(recoverySeedLength);
  const key = recoveryKeyOf(seed).public;
  const shares = makeShares({ secret: seed, threshold, count: names.length, random: host.random });
  refuseUnless(opensWith(shares, threshold, key.fingerprint));
  seed.fill(0);
  const screen = isJson ? undefined : openScreen(host);
  const custodians = [];
  for (const [at, name] of names.entries()) {
    const title = `Share ${at + 1} of ${names.length}, for ${name}.`;
    if (screen !== undefined)
      await handOver({ words: shares[at] ?? "", title }, screen, host.random);
    custodians.push({
      share: at + 1,
      name,
      acknowledged: screen === undefined ? ("skipped" as const) : ("typed_back" as const),
      at: timeText(host.clock.now()),
    });
  }
  const record = {
    recoveryKey: key.fingerprint,
    createdAt: timeText(host.clock.now()),
    threshold,
    custodians,
    replaces: plan.replaces,
  };
  const files = writeNewFiles(folder, [
    [keyFile, printRecoveryKeyFile(key, host.random)],
    [recordFile, printRecord(record)],
  ]);
  if (isJson) {
    host.print(
      JSON.stringify({
        recovery_key: key.fingerprint,
        threshold,
        files,
        shares: shares.map((share, at) => ({ share: at + 1, custodian: names[at], words: share })),
        skipped: ["one share at a time", "words typed back"],
      }),
    );
  } else {
    host.print(`Recovery key ${key.fingerprint}`);
    host.print(`Any ${threshold} of ${names.length} shares open it. Written: ${files.join(", ")}.`);
  }
  return exitCodes.done;
}

/** Whether each share opens the recovery key together with the next ones. */
function opensWith(shares: readonly string[], threshold: number, fingerprint: string): boolean {
  const read = shares.map((share) => readShare(share));
  return read.every((_, first) => {
    const chosen = Array.from(
      { length: threshold },
      (_none, at) => read[(first + at) % read.length],
    );
    const seed = joinShares(chosen.filter((share) => share !== undefined));
    const made = recoveryKeyOf(seed).public.fingerprint;
    seed.fill(0);
    return made === fingerprint;
  });
}

function refuseUnless(opens: boolean): void {
  if (!opens) throw new ClientProblem("The shares do not open the key. No recovery key was made.");
}

/** undefined without the option. */
function namesOf(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const names = text.split(",").map((name) => name.trim());
  if (names.some((name) => !/^[^\p{C}]{1,64}$/u.test(name)) || new Set(names).size !== names.length)
    throw misuse("--custodians needs different names of at most 64 characters.");
  return names;
}

function numberOf({ flags }: CommandCall, flag: string): number | undefined {
  const text = flags.get(flag);
  if (text === undefined) return undefined;
  if (!/^\d{1,2}$/.test(text)) throw misuse(`${flag} needs a number.`);
  return Number(text);
}

// --- drill ---------------------------------------------------------------------------------------

async function drill(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const file = recoveryKeyFile(call);
  const { key, shares } = await collectShares(openScreen(host));
  const { fingerprint } = file.key;
  if (key.public.fingerprint !== fingerprint)
    throw new ClientProblem(
      `The shares are those of the recovery key ${key.public.fingerprint}, and the file is of ${fingerprint}.`,
    );
  if (!opensCanary(key, file))
    throw new ClientProblem("The shares do not open the canary in the file: the file was altered.");
  const opened = call.flags.has("--data-dir")
    ? await host.recoverKeys(configOf(call, host), key, false)
    : undefined;
  const at = timeText(host.clock.now());
  const keys = opened === undefined ? {} : { keys: opened.keys, secrets: opened.secrets };
  host.print(
    call.flags.has("--json")
      ? JSON.stringify({ at, drill: "opened", recovery_key: fingerprint, shares, ...keys })
      : `${at} shares ${shares.join(", ")} opened ${openedText(opened)} of the recovery key ${fingerprint}`,
  );
  return exitCodes.done;
}

function openedText(opened: RecoveredKeys | undefined): string {
  return opened === undefined
    ? "the canary"
    : `the canary, ${opened.keys} keys and ${opened.secrets} secrets`;
}

function recoveryKeyFile({ flags }: CommandCall): RecoveryKeyFile {
  const path = flags.get("--recovery-key");
  if (path === undefined)
    throw misuse(`--recovery-key is needed: the ${keyFile} of the recovery key.`);
  const file = readRecoveryKeyFile(textOfFile(path));
  if (file === undefined) throw new ClientProblem(`${path} is not a recovery key, or was altered.`);
  return file;
}

// --- open ----------------------------------------------------------------------------------------

async function open(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const config = configOf(call, host);
  const { key, shares } = await collectShares(openScreen(host));
  const recovered = await host.recoverKeys(config, key, true);
  const { keys, secrets, rootKeyId } = recovered;
  if (call.flags.has("--json"))
    host.print(
      JSON.stringify({
        recovery_key: key.public.fingerprint,
        shares,
        keys,
        secrets,
        root_key: rootKeyId,
      }),
    );
  else {
    host.print(
      `${keys} keys and ${secrets} secrets in ${config.dataDirectory} are wrapped by the root key ${rootKeyId ?? ""}.`,
    );
    host.say("Back up the keys, and the root key if it is a file, before Cofre starts.");
  }
  return exitCodes.done;
}

function configOf({ flags }: CommandCall, host: CommandHost): Config {
  const from = flags.get("--data-dir");
  const reading = host.config(new Map(from === undefined ? [] : [["--data-dir", from]]));
  if ("problems" in reading) throw misuse(reading.problems.join("\n"));
  if (reading.config.dataDirectory === ":memory:")
    throw misuse("COFRE_DATA_DIR is :memory:, which has no keys to recover.");
  return reading.config;
}

function misuse(problem: string): ClientProblem {
  return new ClientProblem(problem, { misuse: true });
}
