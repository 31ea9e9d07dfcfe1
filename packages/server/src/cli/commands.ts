import { auditCommand } from "./audit.ts";
import { backupCommand, incarnationCommand, restoreCommand } from "./backup.ts";
import { chaosCommand } from "./chaos.ts";
import { clockCommand } from "./clock.ts";
import type { CommandRow } from "./command.ts";
import { compareCommand } from "./compare.ts";
import { doctorCommand } from "./doctor.ts";
import { envCommand } from "./env.ts";
import { faultCommand } from "./fault.ts";
import { healthCommand } from "./health.ts";
import { initCommand } from "./init.ts";
import { keysCommand } from "./keys.ts";
import { listenCommand } from "./listen.ts";
import { logsCommand } from "./logs.ts";
import { mcpCommand } from "./mcp/mcp.ts";
import { migrateStoreCommand } from "./migrate-store.ts";
import { notificationCommand } from "./notification.ts";
import { paymentCommand } from "./payment.ts";
import { proxyCommand } from "./proxy.ts";
import { recoveryCommand } from "./recovery/recovery.ts";
import { runCommand } from "./run.ts";
import { scanCommand } from "./scan.ts";
import { seedCommand } from "./seed.ts";
import { triggerCommand } from "./trigger.ts";
import { worldCommand } from "./world.ts";

export const completedShells = ["bash", "zsh", "fish"] as const;
export type CompletedShell = (typeof completedShells)[number];

const settingOptions = {
  "--port": { form: "N", doc: "listen on this port; 0 chooses a free one" },
  "--host": { form: "H", doc: "listen on this address" },
  "--data-dir": { form: "D", doc: "directory of all data; :memory: keeps nothing" },
  "--tls": { doc: "also listen with TLS, for clients with fixed host names" },
  "--tls-port": { form: "N", doc: "listen with TLS on this port; 0 chooses a free one" },
  "--ready-file": {
    form: "FILE",
    doc: "write the address as JSON into this file when requests are accepted; it is removed at the stop",
  },
  "--fixtures": {
    form: "FILE",
    doc: "begin with the worlds, cards, payments and faults of this JSON file (docs/fixtures.md)",
  },
} as const;

/** One row per command, in the groups and in the order of the overview. */
const groups = {
  Server: {
    start: {
      summary: "serve until SIGTERM or SIGINT (also without a command)",
      options: settingOptions,
      examples: [
        "cofre start",
        "cofre start --port 0 --data-dir :memory: --ready-file ready.json",
        "cofre start --tls",
        "cofre start --data-dir :memory: --fixtures cofre.json",
      ],
    },
    config: {
      summary: "check the settings and show their values, without secrets",
      options: settingOptions,
      examples: ["cofre config", "cofre config --port 9000"],
    },
    init: initCommand,
    health: healthCommand,
    doctor: doctorCommand,
  },
  Applications: {
    run: runCommand,
    env: envCommand,
    proxy: proxyCommand,
    compare: compareCommand,
    mcp: mcpCommand,
  },
  Sandbox: {
    world: worldCommand,
    clock: clockCommand,
    seed: seedCommand,
    trigger: triggerCommand,
    fault: faultCommand,
    chaos: chaosCommand,
  },
  Payments: {
    payment: paymentCommand,
    logs: logsCommand,
    notification: notificationCommand,
    listen: listenCommand,
  },
  Data: {
    audit: auditCommand,
    backup: backupCommand,
    restore: restoreCommand,
    incarnation: incarnationCommand,
    keys: keysCommand,
    recovery: recoveryCommand,
    "migrate-store": migrateStoreCommand,
    scan: scanCommand,
  },
  "Command line": {
    completion: {
      summary: "print a script that completes command lines in a shell",
      details:
        "The start file of the shell loads it. It completes commands, their arguments and options, the values of options, and the names of worlds.",
      words: completedShells,
      needsWord: true,
      options: {},
      examples: [
        "source <(cofre completion bash)",
        "source <(cofre completion zsh)",
        "cofre completion fish | source",
      ],
    },
    help: {
      summary: "show this text, or the help of one command",
      mayName: "COMMAND",
      options: {},
      examples: ["cofre help", "cofre help listen"],
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, CommandRow>>>>;

/** The groups of the overview: title, and the names and rows of its commands. */
export const commandGroups: readonly (readonly [
  title: string,
  rows: readonly (readonly [name: string, CommandRow])[],
])[] = Object.entries(groups).map(([title, rows]) => [title, Object.entries(rows)]);

export const commands = {
  ...groups.Server,
  ...groups.Applications,
  ...groups.Sandbox,
  ...groups.Payments,
  ...groups.Data,
  ...groups["Command line"],
} as const satisfies Readonly<Record<string, CommandRow>>;

export type CommandName = keyof typeof commands;

/** The rows in order, as one type. */
export const commandRows: readonly (readonly [CommandName, CommandRow])[] = namesOf(commands).map(
  (name) => [name, commands[name]],
);

function namesOf<Table extends object>(table: Table): (keyof Table)[] {
  return Object.keys(table) as (keyof Table)[];
}
