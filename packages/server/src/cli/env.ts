import { isTlsPrepared, tlsFiles } from "../certificates/authority-files.ts";
import type { Config } from "../config/settings.ts";
import { environmentOfChildren } from "../config/environment.ts";
import { baseUrl } from "./banner.ts";
import {
  clientEnvironment,
  clientNames,
  everyClientsVariables,
  type Variables,
} from "./client-variables.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type ClientCommand, type CommandCall, type CommandHost, exitCodes } from "./command.ts";
import { settingsOf } from "./settings-of.ts";
import { settingLine, shellNames } from "./shells.ts";

/** Prints variables for a shell. */
export const envCommand: ClientCommand = {
  summary: "print the variables that connect unmodified clients",
  details:
    "The client libraries reach this Cofre through the proxy. The variables are for one kind of client, or for all.",
  words: clientNames,
  options: {
    "--shell": {
      form: "SHELL",
      doc: `one of ${shellNames.join(", ")}; posix by default`,
      values: shellNames,
    },
    "--proxy-port": { form: "N", doc: "port of the proxy" },
    "--data-dir": { form: "D", doc: "the data directory of the Cofre that listens with --tls" },
    "--no-proxy": { doc: "only COFRE_URL and the keys, for clients with a configurable address" },
    "--json": { doc: "one JSON object" },
  },
  examples: [
    'eval "$(cofre env)" && npm test',
    'eval "$(cofre env ruby)" && ruby shop.rb',
    "cofre env --shell fish | source",
    "cofre env --shell powershell | Out-String | Invoke-Expression",
    "cofre env --shell dotenv | tee .env",
  ],

  run: (call, host) =>
    tellingProblems(host.fail, async () => {
      const given = call.flags.get("--shell") ?? "posix";
      const shell = shellNames.find((each) => each === given);
      if (shell === undefined)
        throw new ClientProblem(`--shell must be one of ${shellNames.join(", ")}.`, {
          misuse: true,
        });
      const variables = variablesFor(call, host);
      if (call.flags.has("--json")) host.print(JSON.stringify(variables));
      else
        for (const [variable, value] of Object.entries(variables))
          host.print(settingLine(shell, variable, value));
      return exitCodes.done;
    }),
};

function variablesFor(call: CommandCall, host: CommandHost): Variables {
  const config = settingsOf(call, host);
  const { dataDirectory, proxyPort } = config;
  const name = clientNames.find((each) => each === call.word);
  if (call.flags.has("--no-proxy")) {
    if (name === undefined) return addressOf(config);
    throw new ClientProblem(`--no-proxy sets the same for all clients: leave out ${name}.`, {
      misuse: true,
    });
  }
  if (proxyPort === 0)
    throw new ClientProblem("--proxy-port must be the port that `cofre proxy` has printed.", {
      misuse: true,
    });
  if (!isTlsPrepared(dataDirectory)) {
    throw new ClientProblem(
      `There is no certificate authority in ${dataDirectory} yet: \`cofre start --tls\` creates it. --data-dir names another directory.`,
    );
  }
  const proxy = `http://127.0.0.1:${proxyPort}`;
  const files = tlsFiles(dataDirectory);
  if (name === undefined)
    return {
      ...everyClientsVariables(proxy, files, environmentOfChildren()),
      ...addressOf(config),
    };
  const { variables, note } = clientEnvironment(name, proxy, files);
  if (note !== undefined) host.say(note);
  return variables;
}

/** The keys as far as the settings have them. */
function addressOf({
  host,
  port,
  sandboxIntegrationKey: key,
  sandboxPublicIntegrationKey: publicKey,
}: Config): Variables {
  return {
    COFRE_URL: baseUrl(host, port),
    ...(key === undefined ? {} : { COFRE_INTEGRATION_KEY: key.reveal() }),
    ...(publicKey === undefined ? {} : { COFRE_PUBLIC_INTEGRATION_KEY: publicKey.reveal() }),
  };
}
