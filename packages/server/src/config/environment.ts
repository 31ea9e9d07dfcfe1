import { readFileSync, statSync, writeFileSync } from "node:fs";
import { type ConfigReading, readConfig } from "./read-config.ts";
import type { Reading } from "./readers.ts";

/**
 * Enough for a chain of certificates; a device or a log that is named by mistake is not read
 * completely.
 */
const longestSecretFile = 65_536;

/**
 * Reads the configuration of this process: its environment variables and the files they name. Flags
 * take precedence.
 */
export function configOfThisProcess(flags: ReadonlyMap<string, string>): ConfigReading {
  return readConfig({ environment: process.env, flags, readFile: readSmallFile });
}

/** Whether npm started this process: `npm start`, `npm run cofre` or `npx cofre`. */
export function wasStartedByNpm(): boolean {
  return ["start", "cofre", "npx"].includes(process.env["npm_lifecycle_event"] ?? "");
}

/**
 * Makes Linux omit all memory from core dumps of this process and its children, because it contains
 * card numbers and keys. Node cannot set a limit that does this. Returns false when it failed;
 * other systems than Linux have no such setting.
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
