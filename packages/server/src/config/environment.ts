import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
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

/** Settings of this process that also apply to a Cofre for the time of one command. */
const temporarySettings = [
  "COFRE_SANDBOX_INTEGRATION_KEY",
  "COFRE_SANDBOX_INTEGRATION_KEY_FILE",
  "COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY",
  "COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY_FILE",
  "COFRE_SANDBOX_CARDS",
  "COFRE_ACQUIRER_TIMEOUT_MS",
  "COFRE_NOTIFICATION_NETWORKS",
] as const;

/** A test suite that has ended does not wait for a request that hangs, in milliseconds. */
const temporaryShutdownMs = 1_000;

/**
 * The configuration of a Cofre for the time of one command: on 127.0.0.1, with all data in memory.
 * Port 0 chooses a free one.
 */
export function configOfTemporaryCofre(port: number): ConfigReading {
  const kept = temporarySettings.map((name) => [name, process.env[name]] as const);
  return readConfig({
    environment: {
      ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)),
      COFRE_PORT: String(port),
      COFRE_DATA_DIR: ":memory:",
      COFRE_SHUTDOWN_TIMEOUT_MS: String(temporaryShutdownMs),
    },
    flags: new Map(),
    readFile: readSmallFile,
  });
}

/** Set by bin/cofre.js for this process and its threads. */
const compileCache = join(import.meta.dirname, "../../.cache/compiled/");

/** The environment of another program that this process starts. */
export function environmentOfChildren(): Readonly<Record<string, string | undefined>> {
  const { NODE_COMPILE_CACHE: cache, ...others } = process.env;
  return cache === undefined || cache === compileCache
    ? others
    : { ...others, NODE_COMPILE_CACHE: cache };
}

/**
 * The environment of the process that calls a PKCS#11 module: modules have variables of their own,
 * and no use for the settings of Cofre and Node, which may be secrets or options.
 */
export function environmentOfModules(): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:COFRE|NODE|npm)_/i.test(name)),
  );
}

/** What a container platform of AWS has set: addresses and a file for credentials. */
export function containerVariables() {
  return {
    fullUri: process.env["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
    relativeUri: process.env["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"],
    tokenFile: process.env["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"],
  };
}

/** What EKS or another platform has set for a role of AWS with a web identity. */
export function webIdentityVariables() {
  return {
    tokenFile: process.env["AWS_WEB_IDENTITY_TOKEN_FILE"],
    roleArn: process.env["AWS_ROLE_ARN"],
    sessionName: process.env["AWS_ROLE_SESSION_NAME"],
    stsEndpoint: process.env["AWS_ENDPOINT_URL_STS"],
  };
}

/** Where the metadata of a machine of AWS are, and whether they are to be asked. */
export function instanceVariables() {
  return {
    isDisabled: process.env["AWS_EC2_METADATA_DISABLED"],
    endpoint: process.env["AWS_EC2_METADATA_SERVICE_ENDPOINT"],
  };
}

/** Whether npm started this process: `npm start`, `npm run cofre` or `npx cofre`. */
export function wasStartedByNpm(): boolean {
  return ["start", "cofre", "npx"].includes(process.env["npm_lifecycle_event"] ?? "");
}

/** Whether any script of npm started this process, such as `npm test`. */
export function isNpmScript(): boolean {
  return process.env["npm_lifecycle_event"] !== undefined;
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

/** Longest fixture file, in bytes. */
const longestFixtureFile = 1_048_576;

/** The text of a fixture file; a problem completes "the file ...". */
export function readFixtureText(path: string): Reading<string> {
  try {
    const { size } = statSync(path);
    if (size > longestFixtureFile) return { problem: `has more than ${longestFixtureFile} bytes` };
    return { value: readFileSync(path, "utf8") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    return { problem: readProblems.get(code) ?? `cannot be read (${code})` };
  }
}

const readProblems: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist"],
  ["EACCES", "cannot be read by this user"],
  ["EISDIR", "is a folder"],
]);

function readSmallFile(path: string): Reading<string> {
  try {
    const { size } = statSync(path);
    if (size > longestSecretFile) return { problem: `has more than ${longestSecretFile} bytes` };
    return { value: readFileSync(path, "utf8") };
  } catch {
    return { problem: "cannot be read" };
  }
}
