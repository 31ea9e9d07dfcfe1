import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { clientOf, clientOptions, isRecord, printable } from "./cofre-client.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { clockLine } from "./world.ts";

const moves = ["--set", "--advance", "--run", "--stop"] as const;

/** Shows and moves a world's clock (docs/twin.md). */
export const clockCommand: ClientCommand = {
  summary: "show a world's clock; move it, and everything that falls due with it; let it go on or stand",
  options: {
    "--set": { form: "TIME", doc: "it is to be this time, such as 2026-01-31 or 2026-01-31T12:00:00Z" },
    "--advance": { form: "SPAN", doc: "it is to be so much later: 10s, 30min, 36h, 4d, 14months; or next, to when something falls due" },
    "--run": { doc: "the time goes on by itself" },
    "--stop": { doc: "the time stands" },
    ...clientOptions,
  },
  examples: ["cofre clock", "cofre clock --advance 4d", "cofre clock --advance next", "cofre clock --set 2026-01-31T12:00:00Z"],

  run: (call, host) =>
    tellingProblems(host.say, async () => {
      const { flags } = call;
      if (moves.filter((flag) => flags.has(flag)).length > 1)
        throw new ClientProblem(`Only one of ${moves.join(", ")} can be given.`, { misuse: true });
      const run = flags.has("--run") ? "true" : flags.has("--stop") ? "false" : undefined;
      const answer = await clientOf(call, host).clock({ set: flags.get("--set"), advance: flags.get("--advance"), run });
      if (flags.has("--json")) {
        const { clock, done, complete, to } = answer;
        host.print(JSON.stringify({ clock, done, complete, to }));
        return exitCodes.done;
      }
      const { clock, done, complete, to } = answer;
      host.print(clockLine(clock));
      if (isRecord(done)) {
        const counts = Object.entries(done).map(([name, count]) => `${printable(name)} ${Number(count)}`);
        host.print(`  done      ${counts.join(", ")}`);
      }
      const next = isRecord(clock) ? printable(clock["next_due"]) : "";
      if (next !== "") host.print(`  next due  ${next}`);
      if (complete === false) host.say(`More fell due than one call goes through: \`cofre clock --set ${printable(to)}\` goes on.`);
      return exitCodes.done;
    }),
};
