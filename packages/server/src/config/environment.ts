import { readFileSync, statSync, writeFileSync } from "node:fs";
import { type ConfigReading, readConfig } from "./read-config.ts";
import type { Reading } from "./readers.ts";

/**
 * Room for a chain of certificates; a device or a log that is named by mistake is not read to its
 * end.
 */
const longestSecretFile = 65_536;

/**
 * Reads the configuration of this process: its environment variables and the files they name. Flags
 * win.
 */
export function configOfThisProcess(flags: ReadonlyMap<string, string>): ConfigReading {
  return readConfig({ environment: process.env, flags, readFile: readSmallFile });
}

/** Whether npm started this process: `npm start`, `npm run cofre` or `npx cofre`. */
export function wasStartedByNpm(): boolean {
  return ["start", "cofre", "npx"].includes(process.env["npm_lifecycle_event"] ?? "");
}

/**
 * Has Linux leave all memory out of core dumps of this process and of those that it starts: card
 * numbers and keys are in it. No limit that Node could set does that. false when it was not
 * possible; elsewhere than on Linux there is nothing to set.
 */
export function leaveMemoryOutOfCoreDumps(): boolean {
  try {
    writeFileSync("/proc/self/coredump_filter", "0");
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  }
}

function readSmallFile(path: string): Reading<string> {
  try {
    const { size } = statSync(path);
    if (size > longestSecretFile) return { problem: `has more than ${longestSecretFile} bytes` };
    return { value: readFileSync(path, "utf8") };
  } catch {
    return { problem: "cannot be read" };
  }
}
