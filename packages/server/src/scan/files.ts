import { createReadStream } from "node:fs";
import { lstat, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

/** An item to search: a file, or a path that could not be read, with the reason. */
export type Found =
  | { readonly path: string; readonly isFile: true }
  | { readonly path: string; readonly isFile: false; readonly problem: string };

/**
 * The files of a path, ordered by name. Links inside a directory are not followed (their target is
 * elsewhere, or would come twice); devices, pipes and sockets store nothing and are skipped.
 */
export async function* filesOf(path: string, isNamed = true): AsyncGenerator<Found> {
  try {
    const entry = await (isNamed ? stat(path) : lstat(path));
    if (entry.isFile()) yield { path, isFile: true };
    else if (entry.isDirectory()) {
      for (const name of (await readdir(path)).toSorted()) yield* filesOf(join(path, name), false);
    } else if (isNamed) yield { path, isFile: false, problem: "is neither a file nor a directory" };
  } catch (error) {
    yield { path, isFile: false, problem: problemOf(error) };
  }
}

/** A file's bytes, in chunks of one megabyte. */
export function bytesOf(path: string): AsyncIterable<Uint8Array> {
  return createReadStream(path, { highWaterMark: 1 << 20 });
}

/** The text of a file that is known to be small. */
export async function textOf(path: string): Promise<string> {
  return readFile(path, "latin1");
}

/** A human-readable reason why a path could not be read. */
export function problemOf(error: unknown): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return code === "ENOENT"
    ? "does not exist"
    : code === "EACCES" || code === "EPERM"
      ? "may not be read"
      : `cannot be read (${String(code)})`;
}
