import { isTlsPrepared, tlsFiles } from "../certificates/authority-files.ts";
import { clientEnvironment, clientNames } from "./client-variables.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type ClientCommand, exitCodes } from "./command.ts";
import { settingsOf } from "./settings-of.ts";

/** Prints variables for a shell. */
export const envCommand: ClientCommand = {
  summary:
    "print the environment variables that connect an unmodified client library to this Cofre through the proxy",
  words: clientNames,
  needsWord: true,
  options: {
    "--proxy-port": { form: "N", doc: "port of the proxy" },
    "--data-dir": { form: "D", doc: "the data directory of the Cofre that listens with --tls" },
    "--json": { doc: "one JSON object" },
  },
  examples: [
    'eval "$(cofre env node)" && node shop.js',
    'eval "$(cofre env ruby)" && ruby shop.rb',
  ],

  run: (call, host) =>
    tellingProblems(host.say, async () => {
      const { dataDirectory, proxyPort } = settingsOf(call, host);
      const name = clientNames.find((each) => each === call.word);
      if (name === undefined)
        throw new ClientProblem(`Name a client: one of ${clientNames.join(", ")}.`, {
          misuse: true,
        });
      if (proxyPort === 0)
        throw new ClientProblem("--proxy-port must be the port that `cofre proxy` has printed.", {
          misuse: true,
        });
      if (!isTlsPrepared(dataDirectory)) {
        throw new ClientProblem(
          `There is no certificate authority in ${dataDirectory} yet: \`cofre start --tls\` creates it. --data-dir names another directory.`,
        );
      }
      const { variables, note } = clientEnvironment(
        name,
        `http://127.0.0.1:${proxyPort}`,
        tlsFiles(dataDirectory),
      );
      if (note !== undefined) host.say(note);
      if (call.flags.has("--json")) host.print(JSON.stringify(variables));
      else
        for (const [variable, value] of Object.entries(variables))
          host.print(`export ${variable}=${quoted(value)}`);
      return exitCodes.done;
    }),
};

/** For any POSIX shell. */
function quoted(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
