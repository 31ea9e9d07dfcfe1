import { chaosCommand } from "./chaos.ts";
import type { CommandRow } from "./command.ts";
import { listenCommand } from "./listen.ts";
import { migrateStoreCommand } from "./migrate-store.ts";
import { scanCommand } from "./scan.ts";

const settingOptions = {
  "--port": { form: "N", doc: "listen on this port; 0 takes a free one" },
  "--host": { form: "H", doc: "listen on this address" },
  "--data-dir": { form: "D", doc: "keep everything there; :memory: keeps nothing" },
} as const;

/** One row per command, in the order of the help. */
export const commands = {
  start: { summary: "serve until SIGTERM or SIGINT (also without a command)", options: settingOptions },
  config: { summary: "check the settings and show what holds, without secrets", options: settingOptions },
  "migrate-store": migrateStoreCommand,
  scan: scanCommand,
  listen: listenCommand,
  chaos: chaosCommand,
  help: { summary: "this text", options: {} },
} as const satisfies Readonly<Record<string, CommandRow>>;

export type CommandName = keyof typeof commands;

/** The rows in order, as one type. */
export const commandRows: readonly (readonly [CommandName, CommandRow])[] = namesOf(commands).map((name) => [name, commands[name]]);

function namesOf<Table extends object>(table: Table): (keyof Table)[] {
  return Object.keys(table) as (keyof Table)[];
}
