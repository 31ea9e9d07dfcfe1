import type { Config } from "../config/settings.ts";
import { ClientProblem } from "./client-problem.ts";
import type { CommandCall, CommandHost } from "./command.ts";

/** The settings that a command shares with the Cofre on this machine. Throws ClientProblem. */
export function settingsOf(
  { flags }: Pick<CommandCall, "flags">,
  { config }: Pick<CommandHost, "config">,
): Config {
  const reading = config(flags);
  if ("config" in reading) return reading.config;
  throw new ClientProblem(["These settings are invalid:", ...reading.problems].join("\n  "), {
    misuse: true,
  });
}
