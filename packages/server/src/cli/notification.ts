import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, isRecord, printable } from "./cofre-client.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
} from "./command.ts";
import type { Styled } from "./styled.ts";

/** Most calls, each of which lists or sends hundreds. */
const maxCalls = 1_000;

/** Lists and resends an account's notifications. */
export const notificationCommand: ClientCommand = {
  summary: "list an account's notifications and deliveries; send them again",
  words: ["list", "resend"],
  options: {
    "--after": { form: "N", doc: "list: only those with a higher number" },
    "--failed": { doc: "resend: those that could not be delivered" },
    "--payment": { form: "HASH", doc: "resend: all of this payment" },
    "--from": { form: "N", doc: "resend: from this number on; with --failed, the failed ones" },
    "--to": { form: "N", doc: "resend: up to this number" },
    ...clientOptions,
  },
  examples: [
    "cofre notification list",
    "cofre notification resend --failed",
    "cofre notification resend --from 3 --to 5",
  ],

  run: (call, host) =>
    tellingProblems(host.fail, () =>
      call.word === "resend" ? resend(call, host) : list(call, host),
    ),
};

async function list(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const misplaced = ["--failed", "--payment", "--from", "--to"].find((flag) =>
    call.flags.has(flag),
  );
  if (misplaced !== undefined)
    throw new ClientProblem(`${misplaced} is for \`cofre notification resend\`.`, { misuse: true });
  const client = clientOf(call, host);
  let after = numberOf(call.flags, "--after") ?? 0;
  for (let calls = 0; calls < maxCalls; calls += 1) {
    const page = await client.notifications(after);
    for (const each of page)
      host.print(call.flags.has("--json") ? JSON.stringify(each) : lineOf(each, host.styled));
    const last = page.at(-1)?.["number"];
    if (typeof last !== "number") break;
    after = last;
  }
  return exitCodes.done;
}

/** Red if a delivery was given up. */
function lineOf(
  { number, at, notification_type: kind, hash, deliveries }: Readonly<Record<string, unknown>>,
  styled: Styled,
): string {
  const list: unknown[] = Array.isArray(deliveries) ? deliveries : [];
  const shown = list
    .filter(isRecord)
    .map(({ endpoint, state, attempts, outcome, due_at: dueAt, message }) => {
      const facts = [
        printable(state),
        `attempts ${Number(attempts)}`,
        printable(outcome),
        dueAt === undefined ? "" : `due ${printable(dueAt)}`,
        message === undefined ? "" : `in the message of #${Number(message)}`,
      ];
      return `${printable(endpoint)}: ${facts.filter((fact) => fact !== "").join(", ")}`;
    });
  const receivers = shown.length === 0 ? "no receivers" : shown.join("; ");
  const line = `${printable(at)}  #${Number(number)}  ${printable(kind).padEnd(10)}  ${printable(hash)}  ${receivers}`;
  return list.filter(isRecord).some(({ state }) => state === "failed")
    ? styled("failure", line)
    : line;
}

async function resend(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const selection = selectionOf(call.flags);
  const deliveries = await clientOf(call, host).replayAll(selection);
  if (call.flags.has("--json")) host.print(JSON.stringify({ deliveries }));
  else
    host.print(
      `${deliveries} deliveries will be made again.${deliveries === 0 ? " `cofre notification list` lists the notifications." : ""}`,
    );
  return exitCodes.done;
}

type Selection = Readonly<Record<"replay" | "from" | "to" | "hash", string | undefined>>;

function selectionOf(flags: CommandCall["flags"]): Selection {
  if (flags.has("--after"))
    throw new ClientProblem("--after is for `cofre notification list`; resend has --from.", {
      misuse: true,
    });
  const [from, to, hash] = [
    numberOf(flags, "--from")?.toString(),
    numberOf(flags, "--to")?.toString(),
    flags.get("--payment"),
  ];
  const isFailed = flags.has("--failed") && hash === undefined && to === undefined;
  const isPayment =
    hash !== undefined && !flags.has("--failed") && from === undefined && to === undefined;
  const isRange =
    from !== undefined && to !== undefined && hash === undefined && !flags.has("--failed");
  if (!isFailed && !isPayment && !isRange) {
    throw new ClientProblem(
      "Select notifications with --failed, optionally with --from N; with --payment HASH; or with --from N --to N.",
      { misuse: true },
    );
  }
  return { replay: isFailed ? "failed" : isPayment ? "payment" : "range", from, to, hash };
}

function numberOf(flags: CommandCall["flags"], flag: string): number | undefined {
  const text = flags.get(flag);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new ClientProblem(`${flag} must be a notification's number.`, { misuse: true });
  return Number(text);
}
