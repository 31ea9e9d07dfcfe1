import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The caller sleeps after each sync of a file. dlsym finds the system's own function. */
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
 * Runs `start` so that each sync of the programs that it starts takes `delayMs` longer, as on a
 * slower disk: a small library, compiled here with gcc, is preloaded before the system's. For
 * measurements only.
 */
export async function withSlowFsync<T>(delayMs: number, start: () => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "cofre-slow-fsync-"));
  try {
    // PostgreSQL runs as another user, which must be able to read it.
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
    // The started programs have the library in memory.
    rmSync(folder, { recursive: true });
  }
}
