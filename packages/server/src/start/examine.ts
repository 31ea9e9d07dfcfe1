import type { ShownFinding } from "../cli/command.ts";
import type { SecretOrigins } from "../config/read-config.ts";
import type { Config } from "../config/settings.ts";
import type { Finding } from "../production/check.ts";
import { remoteRootKeys } from "./open-root-key.ts";
import { openStore } from "./open-store.ts";
import { type Ports, systemPorts } from "./ports.ts";
import { alarmFindings } from "./production-alarms.ts";
import { installationFindings, rootKeyFindings, settingFindings } from "./production-gate.ts";

const noLog = { write: () => undefined };

/** The checks of a start in production, without a start, and its alarms. Changes nothing. */
export async function examine(
  config: Config,
  secrets: SecretOrigins,
  ports: Ports = systemPorts,
): Promise<readonly ShownFinding[]> {
  const refusing: Finding[] = [...(await settingFindings(config, secrets, true))];
  refusing.push(await rootKeyFinding(config, ports));
  refusing.push(...(await rootKeyFindings(config, ports)));
  const alarms: Finding[] = [];
  if (config.databaseUrl !== undefined) {
    await using parts = new AsyncDisposableStack();
    let fault: string | undefined;
    try {
      const store = await openStore(config, noLog, ports, parts);
      refusing.push(...(await installationFindings(config, store)));
      const { keys, users } = store;
      alarms.push(...(await alarmFindings({ config, keys, users, clock: ports.clock })));
    } catch (error) {
      // Errors of the stores have fixed texts, which quote no stored data.
      fault = sentence(error instanceof Error ? error.message : "the database does not open");
    }
    refusing.push({
      name: "database_opens",
      rule: "The database can be used.",
      fault,
      remedy: "docs/operate/postgres.md explains what is refused.",
    });
  }
  return [
    ...refusing.map((finding) => ({ ...finding, effect: "refuses" as const })),
    ...alarms.map((finding) => ({ ...finding, effect: "alarm" as const })),
  ];
}

async function rootKeyFinding(config: Config, ports: Ports): Promise<Finding> {
  const { first, next } = remoteRootKeys(config, ports);
  const states: string[] = [];
  for (const provider of [first, next]) {
    const health = await provider?.health();
    provider?.close?.();
    if (health !== undefined && health !== "ok") states.push(health);
  }
  return {
    name: "root_key_usable",
    rule: "The root keys can be used.",
    fault: states.length === 0 ? undefined : `A root key is ${states.join(", another ")}.`,
    remedy: "docs/operate/key-services.md explains each state.",
  };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
