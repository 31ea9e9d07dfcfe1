import { tellingProblems } from "./client-problem.ts";
import { clientOptions, keylessClientOf, printable } from "./cofre-client.ts";
import { type ClientCommand, exitCodes } from "./command.ts";

/** Shorter than the interval of health checks of containers, in milliseconds. */
const waitMs = 3_000;

/** For health checks where there is no other HTTP client, as in the container image. */
export const healthCommand: ClientCommand = {
  summary: "check whether a running Cofre accepts payments",
  options: { "--url": clientOptions["--url"], "--json": { doc: "one JSON object" } },
  examples: ["cofre health"],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const client = keylessClientOf(call, host);
      const { isReady, fields } = await client.readiness(waitMs);
      if (call.flags.has("--json")) host.print(JSON.stringify(fields));
      else host.print(host.styled(isReady ? "success" : "failure", lineOf(fields)));
      return isReady ? exitCodes.done : exitCodes.failed;
    }),
};

/** `ready`, or the state and its reason; jobs that fail are named. */
function lineOf({ status, message, failing }: Readonly<Record<string, unknown>>): string {
  const jobs = Array.isArray(failing) ? failing.map(printable).join(", ") : "";
  const reason = jobs === "" ? printable(message) : `jobs that fail: ${jobs}`;
  return reason === "" ? printable(status) : `${printable(status)} (${reason})`;
}
