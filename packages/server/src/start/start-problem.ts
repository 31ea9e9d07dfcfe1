import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../config/settings.ts";
import { codeOf } from "../logging/error-facts.ts";

/** The settings that a failed start is about. */
type Settings = Pick<Config, "host" | "port" | "tlsPort" | "dataDirectory">;

const otherDirectory = "--data-dir D chooses another directory, --data-dir :memory: keeps nothing.";
/** In-memory data needs a temporary file, which the database deletes at once. */
const otherTemporaryFolder =
  "A start with :memory: needs a writable folder for temporary files: set TMPDIR to one, or mount one (docker run --tmpfs /tmp).";

/**
 * Why a start failed, with the remedy, for the user. Reads the state of the data directory where
 * the error does not say why it cannot be used.
 */
export function startProblem(error: unknown, settings: Settings): string {
  if (!(error instanceof Error)) return "an unknown failure.";
  const { host, port, dataDirectory } = settings;
  const isInMemory = dataDirectory === ":memory:";
  const code = codeOf(error);
  switch (code) {
    case "EADDRINUSE":
      return portProblem(error, settings);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return `this machine has no address ${host}. --host 127.0.0.1 listens for this machine only, --host 0.0.0.0 on all its addresses.`;
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "ENOENT":
    case "ENOTDIR": {
      if (isListening(error))
        return `this user may not listen on port ${port}; ports below 1024 often need another user.`;
      const path = pathOf(error);
      if (path === undefined) return error.message;
      return isInMemory
        ? `${path} cannot be created: ${reasonOf(code)}. ${otherTemporaryFolder}`
        : `${path} cannot be used: ${reasonOf(code)}. ${otherDirectory}`;
    }
    case "ENOSPC":
      return isInMemory
        ? `the disk of the folder for temporary files is full. Free space, or set TMPDIR to a folder of another disk.`
        : `the disk of ${dataDirectory} is full. Free space and start again. ${otherDirectory}`;
    case "full":
      return isInMemory
        ? `${error.message}, or set TMPDIR to a folder of another disk.`
        : error.message;
    case "locked":
      return `${error.message}. Is a Cofre running with the directory ${dataDirectory}? A second one needs its own --data-dir D and --port N (npm start -- --data-dir D --port N).`;
    case "cannot_open":
      return `${error.message}. ${writeProblem(dataDirectory)} ${otherDirectory}`;
    default:
      return error.message;
  }
}

function portProblem(error: Error, { host, port, tlsPort }: Settings): string {
  const isTls = "port" in error && error.port === tlsPort && tlsPort !== port;
  const [used, variable, flag] = isTls
    ? [tlsPort, "COFRE_TLS_PORT", "--tls-port"]
    : [port, "COFRE_PORT", "--port"];
  return `port ${used} of ${host} is in use, perhaps by another Cofre. Choose another with ${variable}=N or ${flag} N (npm start -- ${flag} N); 0 chooses a free one.`;
}

function isListening(error: Error): boolean {
  return "syscall" in error && error.syscall === "listen";
}

function pathOf(error: Error): string | undefined {
  return "path" in error && typeof error.path === "string" ? error.path : undefined;
}

function reasonOf(code: string): string {
  switch (code) {
    case "EROFS":
      return "the file system is read-only";
    case "ENOENT":
      return "its folder does not exist";
    case "ENOTDIR":
      return "a part of the path is not a folder";
    default:
      return "this user has no permission";
  }
}

/** Why this process cannot write to the directory, or cannot create it. */
function writeProblem(directory: string): string {
  let folder = directory;
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (error) {
    return error instanceof Error && codeOf(error) === "EROFS"
      ? `The file system of ${folder} is read-only: mount a writable volume (docker run --volume cofre:/data).`
      : `This user may not write to ${folder}: give it another owner or mode.`;
  }
  return `Can this user read and write the files in ${folder}?`;
}
