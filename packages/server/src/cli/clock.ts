import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, type CofreClient, isRecord, printable } from "./cofre-client.ts";
import { type ClientCommand, type CommandHost, exitCodes } from "./command.ts";
import { reportingProgress } from "./progress.ts";
import { clockLine } from "./world.ts";

type Answer = Readonly<Record<string, unknown>>;

const moves = ["--set", "--advance", "--run", "--stop"] as const;

/** Shows and moves a world's clock (docs/test-worlds.md). */
export const clockCommand: ClientCommand = {
  summary: "show, move, start or stop a world's clock",
  details: "A clock that is moved does everything that is due on the way.",
  options: {
    "--set": {
      form: "TIME",
      doc: "set the clock to this time, such as 2026-01-31 or 2026-01-31T12:00:00Z",
    },
    "--advance": {
      form: "SPAN",
      doc: "advance the clock by this span: 10s, 30min, 36h, 4d, 14months; or next, to the next due event",
    },
    "--run": { doc: "start the clock" },
    "--stop": { doc: "stop the clock" },
    ...clientOptions,
  },
  examples: [
    "cofre clock",
    "cofre clock --advance 4d",
    "cofre clock --advance next",
    "cofre clock --set 2026-01-31T12:00:00Z",
  ],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const { flags } = call;
      if (moves.filter((flag) => flags.has(flag)).length > 1)
        throw new ClientProblem(`Only one of ${moves.join(", ")} can be given.`, { misuse: true });
      const run = flags.has("--run") ? "true" : flags.has("--stop") ? "false" : undefined;
      const answer = await moved(clientOf(call, host), host, {
        set: flags.get("--set"),
        advance: flags.get("--advance"),
        run,
      });
      if (flags.has("--json")) {
        const { clock, processed, complete, target } = answer;
        host.print(JSON.stringify({ clock, processed, complete, target }));
        return exitCodes.done;
      }
      const { clock, processed, complete, target } = answer;
      host.print(clockLine(clock));
      if (isRecord(processed)) {
        const counts = Object.entries(processed).map(
          ([name, count]) => `${printable(name)} ${Number(count)}`,
        );
        host.print(`  processed ${counts.join(", ")}`);
      }
      const next = isRecord(clock) ? printable(clock["next_due"]) : "";
      if (next !== "") host.print(`  next due  ${next}`);
      if (complete === false)
        host.say(
          `The due work is not complete after a minute: \`cofre clock --set ${printable(target)}\` continues.`,
        );
      return exitCodes.done;
    }),
};

/**
 * Moves the time as requested, in several calls when more falls due than one call does, and reports
 * progress. Ends when the time no longer advances.
 */
async function moved(client: CofreClient, host: CommandHost, first: Answer): Promise<Answer> {
  const sum = new Map<string, number>();
  let before: string | undefined;
  for (let next = first; ;) {
    const answer = await reportingProgress(
      host,
      client.clock(next),
      async () => `on the way: ${timeOf(await client.clock())}`,
    );
    if (!isRecord(answer["processed"])) return answer;
    for (const [name, count] of Object.entries(answer["processed"]))
      sum.set(name, (sum.get(name) ?? 0) + Number(count));
    const at = timeOf(answer);
    if (answer["complete"] !== false || at === before)
      return { ...answer, processed: Object.fromEntries(sum) };
    before = at;
    next = { set: answer["target"] };
  }
}

function timeOf({ clock }: Answer): string {
  return isRecord(clock) ? printable(clock["now"]) : "";
}
