import { promises } from "node:fs";
import { errorFacts } from "../logging/error-facts.ts";
import { RootKeyError } from "../vault/key-provider.ts";

/** A token or a profile; a device or a log that is named by mistake is not read. */
const largest = 65_536;
/** Windows has no permission bits. */
const isPosix = process.platform !== "win32";

/**
 * Reads a file with credentials as it is now. Follows links and accepts files that a group may
 * read: mounts of container platforms are made of both. Rejects with RootKeyError (`unauthorized`)
 * when the file cannot be read or every user of the machine may read it. `variable` names it.
 */
export async function readCredentialFile(path: string, variable: string): Promise<Uint8Array> {
  const refuse = (problem: string): never => {
    throw new RootKeyError("unauthorized", `the file ${path} of ${variable} ${problem}`);
  };
  const file = await promises
    .open(path, "r")
    .catch((error: unknown) =>
      refuse(`cannot be read (${errorFacts(error).errorCode ?? "unknown"})`),
    );
  try {
    const facts = await file.stat();
    if (!facts.isFile()) return refuse("is not a plain file");
    if (isPosix && (facts.mode & 0o007) !== 0)
      return refuse("is open to all users: make it 0600, or 0440 with a group");
    if (facts.size > largest) return refuse("is too large");
    return await file.readFile();
  } finally {
    await file.close();
  }
}
