import type { Config } from "../config/settings.ts";
import { formatInstant } from "../kernel/calendar.ts";
import { reachableHost } from "./banner.ts";
import { ClientProblem, tellingProblems } from "./client-problem.ts";
import { type ClientCommand, type CommandHost, exitCodes, type Initialized } from "./command.ts";

const defaultAdmins = "admin,admin-2";
const leastAdmins = 2;
const mostAdmins = 16;

/** Makes an installation in production. */
export const initCommand: ClientCommand = {
  summary: "make an installation in production: keys, account and admins",
  details:
    "It prints the installation id for the settings, one-time links for admins, and the keys of the account. It may be repeated: what exists is kept, admins who have not enrolled get new links, and an account's keys are shown by the run that makes it only. With COFRE_DATABASE_OWNER_URL_FILE it makes the tables, or migrates them to this version.",
  options: {
    "--admins": {
      form: "NAMES",
      doc: `names of the first admins, two or more, with commas between them; ${defaultAdmins} by default`,
    },
    "--data-dir": { form: "D", doc: "directory of the installation, instead of COFRE_DATA_DIR" },
    "--json": { doc: "print a JSON object" },
  },
  examples: ["cofre init --admins ana,bruno", "cofre init --json"],
  run: ({ flags }, host) =>
    tellingProblems(host.fail, async () => {
      const from = flags.get("--data-dir");
      const reading = host.config(new Map(from === undefined ? [] : [["--data-dir", from]]));
      if ("problems" in reading)
        throw new ClientProblem(reading.problems.join("\n"), { misuse: true });
      const { config, secrets } = reading;
      if (config.environment !== "production")
        throw new ClientProblem(
          "COFRE_ENVIRONMENT is sandbox, whose first start makes everything: run cofre start, or set COFRE_ENVIRONMENT=production.",
          { misuse: true },
        );
      const admins = adminsOf(flags.get("--admins") ?? defaultAdmins);
      const show = async (made: Initialized): Promise<void> =>
        flags.has("--json") ? printJson(made, config, host) : printText(made, config, host);
      try {
        await host.initialize(config, { secrets, admins }, show);
      } catch (error) {
        // Errors of a start have fixed texts, which quote no secret.
        throw new ClientProblem(
          `The installation is not complete: ${error instanceof Error ? error.message : "an unknown failure"}`,
        );
      }
      return exitCodes.done;
    }),
};

function adminsOf(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const keys = new Set(names.map((name) => name.toLowerCase()));
  if (names.length < leastAdmins || names.length > mostAdmins || keys.size < names.length)
    throw new ClientProblem(
      `--admins must be ${leastAdmins} to ${mostAdmins} different names with commas between them: some acts need two people.`,
      { misuse: true },
    );
  return names;
}

/** Where admins open the console. */
function consoleUrl({ host, port, ownNames, tlsCertificateFile, tlsPort }: Config): string {
  const name = ownNames?.[0] ?? reachableHost(host);
  const shown = name.includes(":") ? `[${name}]` : name;
  return tlsCertificateFile === undefined
    ? `http://${shown}:${port}`
    : `https://${shown}:${tlsPort}`;
}

async function printJson(
  { installationId, rootKeysFingerprint, admins, keys }: Initialized,
  config: Config,
  host: CommandHost,
): Promise<void> {
  const url = consoleUrl(config);
  await host.printNow(
    JSON.stringify({
      installation_id: installationId,
      root_keys_fingerprint: rootKeysFingerprint,
      admins: admins.map(({ name, invitation, endsAt }) => ({
        name,
        link: `${url}/#invite=${invitation.reveal()}`,
        ends: formatInstant(endsAt),
      })),
      integration_key: keys?.integrationKey,
      public_integration_key: keys?.publicIntegrationKey,
    }),
  );
}

async function printText(
  { installationId, rootKeysFingerprint, admins, keys }: Initialized,
  config: Config,
  host: CommandHost,
): Promise<void> {
  const url = consoleUrl(config);
  const links = admins.flatMap(({ name, invitation }) => [
    `  ${name}`,
    `    ${url}/#invite=${invitation.reveal()}`,
  ]);
  const lines = [
    `The installation ${installationId} is complete. Set on every server:`,
    `  COFRE_INSTALLATION_ID=${installationId}`,
    `  COFRE_ROOT_KEYS_FINGERPRINT=${rootKeysFingerprint}`,
    ...(links.length === 0
      ? []
      : ["", "Admins enrol with these links, which work once and for 24 hours:", ...links]),
    ...(keys === undefined
      ? []
      : [
          "",
          "The keys of its account, shown only now:",
          `  integration key         ${keys.integrationKey}`,
          `  public integration key  ${keys.publicIntegrationKey}`,
        ]),
  ];
  await host.printNow(lines.join("\n"));
}
