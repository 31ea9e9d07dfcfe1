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
  const names = Object.keys(row?.parameters ?? {});
  for (const option of ["reason", "check", "root"]) {
    const isOwn = names.includes(option) || (word === "approve" && option === "check");
    if (flags.has(`--${option}`) === isOwn) continue;
    throw new ClientProblem(
      isOwn
        ? `\`cofre keys ${printable(word)}\` needs --${option}.`
        : `--${option} is not for \`cofre keys ${printable(word)}\`.`,
      { misuse: true },
    );
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
      .filter((name) => flags.has(`--${name}`))
      .map((name) => [name, name === "now" ? "true" : flags.get(`--${name}`)]),
  );
  return { ...given, act, ...(flags.has("--dry-run") ? { dry_run: "true" } : {}) };
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

function printState({ cards, requests }: Answer, host: CommandHost): void {
  const { state, cause, since, by, reason } = isRecord(cards) ? cards : {};
  host.print(
    cause === "root_denied"
      ? `cards  stopped since ${printable(since)}: the root key is disabled or deleted`
      : state === "stopped"
        ? `cards  stopped since ${printable(since)} by ${printable(by)}: ${printable(reason)}`
        : `cards  ${printable(state)}`,
  );
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
