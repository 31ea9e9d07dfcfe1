import { ownValue } from "../kernel/own.ts";
import { type ActRow, actNames, actRows } from "../key-acts/act-table.ts";
import { ClientProblem } from "./client-problem.ts";
import {
  clientOf,
  type CofreClient,
  isRecord,
  keylessClientOf,
  printable,
} from "./cofre-client.ts";
import { type CommandCall, type CommandHost, type ExitCode, exitCodes } from "./command.ts";
import { openScreen } from "./recovery/screen.ts";

type Answer = Readonly<Record<string, unknown>>;

/** Sends the words of `cofre keys` that are for the server. Throws ClientProblem. */
export async function runKeyAct(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const fields = fieldsOf(call);
  const answer = await asked(call, host, fields);
  if (call.flags.has("--json")) host.print(JSON.stringify(answer));
  else if (call.word === "orders") printState(answer, host);
  else host.print(sentenceAbout(answer));
  return exitCodes.done;
}

function fieldsOf({ word, paths, flags }: CommandCall): Answer {
  const [number] = paths;
  const act = actNames.find((name) => name === word);
  const row: ActRow | undefined = act === undefined ? undefined : actRows[act];
  const parameters = row?.parameters ?? {};
  const names = Object.keys(parameters);
  for (const option of ["reason", "target", "rate", "accept-outage", "root", "check"]) {
    const parameter = ownValue(parameters, parameterOf(option));
    const isForApproval = word === "approve" && option === "check";
    const isGiven = flags.has(`--${option}`);
    if (isGiven && parameter === undefined && !isForApproval)
      throw new ClientProblem(`--${option} is not for \`cofre keys ${printable(word)}\`.`, {
        misuse: true,
      });
    if (!isGiven && (isForApproval || parameter?.isRequired === true))
      throw new ClientProblem(`\`cofre keys ${printable(word)}\` needs --${option}.`, {
        misuse: true,
      });
  }
  if (flags.has("--now") && !names.includes("now"))
    throw new ClientProblem(`--now is not for \`cofre keys ${printable(word)}\`.`, {
      misuse: true,
    });
  if (flags.has("--dry-run") && act === undefined)
    throw new ClientProblem("--dry-run is for acts only.", { misuse: true });
  if (word === "approve") return { approve: number, check: flags.get("--check") };
  if (act === undefined) return {};
  const given = Object.fromEntries(
    names
      .filter((name) => flags.has(optionOf(name)))
      .map((name) => [
        name,
        name === "now" || name === "accept_outage" ? "true" : flags.get(optionOf(name)),
      ]),
  );
  return { ...given, act, ...(flags.has("--dry-run") ? { dry_run: "true" } : {}) };
}

function parameterOf(option: string): string {
  return option.replace("-", "_");
}

function optionOf(parameter: string): string {
  return `--${parameter.replace("_", "-")}`;
}

/** Signs the admin of --user in for this call, and out again. */
async function asked(call: CommandCall, host: CommandHost, fields: Answer): Promise<Answer> {
  const name = call.flags.get("--user");
  if (name === undefined) return clientOf(call, host).keys(fields);
  const client: CofreClient = keylessClientOf(call, host);
  const screen = openScreen(host);
  if (host.isTerminal) host.say(`Password of ${printable(name)}:`);
  const password = await screen.answer();
  // It was visible while it was typed.
  screen.clear();
  if (host.isTerminal) host.say("Code of the authenticator app:");
  const signedIn = await client.signIn({ name, password, code: await screen.answer() });
  try {
    return await client.keys(fields, signedIn);
  } finally {
    // The session would end by itself.
    await client.signOut(signedIn).catch(() => undefined);
  }
}

function sentenceAbout({
  act,
  result,
  number,
  check,
  ends_at: endsAt,
  needs_approval: needs,
  state,
  waits,
  version,
  roots,
  fingerprint,
}: Answer) {
  const name = printable(act);
  if (result === "done" && state !== undefined)
    return `${name} (order ${Number(number)}): ${printable(state)}${waits === undefined ? "" : `, because ${printable(waits)}`}. Set ${Number(version)} of root keys: ${printable(roots)}; fingerprint ${printable(fingerprint)}`;
  if (result === "done") return `Done: ${name} (order ${Number(number)}).`;
  if (result === "checked")
    return needs === true
      ? `${name} is possible now. Another admin would have to approve it.`
      : `${name} is possible now.`;
  return `Requested: ${name}. Another admin approves it until ${printable(endsAt)} with: cofre keys approve ${Number(number)} --check ${printable(check)}`;
}

function printRotation(rotation: unknown, host: CommandHost): void {
  if (!isRecord(rotation)) return;
  const {
    epoch,
    next_epoch: next,
    keys_to_wrap: left,
    cards_per_second: rate,
    resealing,
  } = rotation;
  const waits = next === undefined ? "" : `, epoch ${Number(next)} waits for all nodes`;
  host.print(
    `keys   epoch ${Number(epoch)}${waits}, ${Number(left)} keys to wrap again, ${Number(rate)} cards per second`,
  );
  const list: readonly unknown[] = Array.isArray(resealing) ? resealing : [];
  for (const each of list.filter(isRecord)) {
    const { merchant, key_version: version, percent, seconds_left: seconds } = each;
    const ends = seconds === undefined ? "" : `, ${Number(seconds)} s left`;
    host.print(
      `cards  of merchant ${printable(merchant)} under key ${Number(version)}: ${Number(percent)} % read${ends}`,
    );
  }
}

function printState({ cards, requests, rotation }: Answer, host: CommandHost): void {
  const { state, cause, since, by, reason } = isRecord(cards) ? cards : {};
  host.print(
    cause === "root_denied"
      ? `cards  stopped since ${printable(since)}: the root key is disabled or deleted`
      : state === "stopped"
        ? `cards  stopped since ${printable(since)} by ${printable(by)}: ${printable(reason)}`
        : `cards  ${printable(state)}`,
  );
  printRotation(rotation, host);
  const list: readonly unknown[] = Array.isArray(requests) ? requests : [];
  for (const request of list.filter(isRecord)) {
    const { number, act, parameters, by: requester, ends_at: endsAt, check } = request;
    const given = Object.entries(isRecord(parameters) ? parameters : {})
      .map(([name, value]) => `${printable(name)}: ${printable(value)}`)
      .join("; ");
    host.print(
      `request ${Number(number)}  ${printable(act)}  by ${printable(requester)}  until ${printable(endsAt)}  check ${printable(check)}  ${given}`,
    );
  }
}
