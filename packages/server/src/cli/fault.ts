import { faultKindNames, rowOf } from "../http/faults/fault-kinds.ts";
import { wirePaths } from "../interface/paths.ts";
import { declineReasons } from "../payment/payment.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, printable } from "./cofre-client.ts";
import {
  type ClientCommand,
  type CommandCall,
  type CommandHost,
  type ExitCode,
  exitCodes,
} from "./command.ts";

/** The wire name of each option of `add`. */
const members = {
  "--times": "times",
  "--path": "path",
  "--code": "merchant_payment_code",
  "--delay": "delay_ms",
  "--reason": "reason",
} as const satisfies Readonly<Record<`--${string}`, string>>;

/** Manages faults of the account's next requests. */
export const faultCommand: ClientCommand = {
  summary: "add faults to the account's next requests, list and clear them",
  words: ["add", "list", "clear"],
  behindWord: { add: "KIND", clear: "[ID]" },
  valuesBehind: { add: faultKindNames, clear: ["all"] },
  options: {
    "--times": {
      form: "N",
      doc: "add: number of affected requests; 1 by default, 0 for all until it is cleared",
    },
    "--path": {
      form: "P",
      doc: `add: only requests of this operation, such as ${wirePaths.direct}`,
      values: Object.values(wirePaths),
    },
    "--code": {
      form: "C",
      doc: "add: only requests about the payment with this merchant_payment_code",
    },
    "--delay": {
      form: "MS",
      doc: "add: delay of slow, late_answer and stall_in_body in milliseconds; 5000 by default",
    },
    "--reason": {
      form: "R",
      doc: `add: reason of a decline: ${declineReasons.join(", ")}`,
      values: declineReasons,
    },
    ...clientOptions,
  },
  choices: {
    // As plain text for a terminal.
    "Kinds, with what a client sees": faultKindNames.map((kind) => [
      kind,
      rowOf(kind).seen.replaceAll("`", ""),
    ]),
  },
  examples: [
    `cofre fault add drop_after_commit --path ${wirePaths.direct}`,
    "cofre fault add late_answer --delay 40000 --code order-1",
    "cofre fault add decline --reason insufficient_funds --times 0",
    "cofre fault list",
    "cofre fault clear",
  ],

  run: (call, host) =>
    tellingProblems(host.fail, () => (acts.get(call.word ?? "list") ?? list)(call, host)),
};

const acts: ReadonlyMap<string, (call: CommandCall, host: CommandHost) => Promise<ExitCode>> =
  new Map([
    ["add", add],
    ["list", list],
    ["clear", clear],
  ]);

async function add(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  const given = Object.entries(members).flatMap(([flag, member]) => {
    const value = call.flags.get(flag);
    return value === undefined ? [] : [[member, value] as const];
  });
  const { fault } = await clientOf(call, host).faults({
    add: { kind: call.paths[0], ...Object.fromEntries(given) },
  });
  if (fault !== undefined)
    host.print(call.flags.has("--json") ? JSON.stringify(fault) : lineOf(fault));
  return exitCodes.done;
}

async function list(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  refuseOptionsOfAdd(call, "list");
  const { faults } = await clientOf(call, host).faults({});
  for (const fault of faults)
    host.print(call.flags.has("--json") ? JSON.stringify(fault) : lineOf(fault));
  if (faults.length === 0)
    host.say("There are no active faults. `cofre help fault` shows how to add one, and the kinds.");
  return exitCodes.done;
}

async function clear(call: CommandCall, host: CommandHost): Promise<ExitCode> {
  refuseOptionsOfAdd(call, "clear");
  const { cleared = 0 } = await clientOf(call, host).faults({ clear: call.paths[0] ?? "all" });
  host.print(
    call.flags.has("--json")
      ? JSON.stringify({ cleared })
      : `${cleared} ${cleared === 1 ? "fault was" : "faults were"} cleared.`,
  );
  return exitCodes.done;
}

function refuseOptionsOfAdd({ flags }: CommandCall, word: string): void {
  const misplaced = Object.keys(members).find((flag) => flags.has(flag));
  if (misplaced !== undefined)
    throw new ClientProblem(`${misplaced} is for \`cofre fault add\`, not for ${word}.`, {
      misuse: true,
    });
}

/** `f1  drop_after_commit  affected 0 of 1  only /ws/direct, payment order-1`. */
function lineOf({
  id,
  kind,
  times,
  injected,
  path,
  merchant_payment_code: code,
  delay_ms: delayMs,
  reason,
}: Readonly<Record<string, unknown>>): string {
  const facts = [
    path === undefined ? "" : `only ${printable(path)}`,
    code === undefined ? "" : `payment ${printable(code)}`,
    delayMs === undefined ? "" : `${Number(delayMs)} ms`,
    printable(reason),
  ].filter((fact) => fact !== "");
  const count =
    Number(times) === 0
      ? `affected ${Number(injected)}, until it is cleared`
      : `affected ${Number(injected)} of ${Number(times)}`;
  return `${printable(id)}  ${printable(kind).padEnd(25)}  ${count}  ${facts.join(", ")}`.trimEnd();
}
