import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** After each sync of a file the caller sleeps. dlsym finds the system's own function. */
const source = (delayMicros: number): string => `#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
static int slowly(const char *name, int file) {
  int (*sync)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
  int result = sync(file);
  usleep(${String(delayMicros)});
  return result;
}
int fsync(int file) { return slowly("fsync", file); }
int fdatasync(int file) { return slowly("fdatasync", file); }
`;

/**
 * Runs `start` so that the programs that it starts take `delayMs` longer for each sync, as on a
 * slower disk: a library of a few lines, compiled here with gcc, stands before the system's. For
 * measurements only.
 */
export async function withSlowFsync<T>(delayMs: number, start: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-slow-fsync-"));
  try {
    // PostgreSQL runs as a user of its own, who must be able to read it.
    chmodSync(folder, 0o755);
    const library = join(folder, "slow-fsync.so");
    writeFileSync(join(folder, "slow-fsync.c"), source(delayMs * 1_000));
    execFileSync("gcc", [
      "-shared",
      "-fPIC",
      "-O2",
      "-o",
      library,
      join(folder, "slow-fsync.c"),
      "-ldl",
    ]);
    process.env["LD_PRELOAD"] = library;
    return await start();
  } finally {
    delete process.env["LD_PRELOAD"];
    // What was started has the library in memory.
    rmSync(folder, { recursive: true });
  }
}
