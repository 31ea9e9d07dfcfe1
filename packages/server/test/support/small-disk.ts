import { execFileSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Why no small file system can be mounted here; undefined: one can. */
export function whyNoSmallDisk(): string | undefined {
  if (process.platform !== "linux") return "tmpfs is Linux's";
  return process.getuid?.() === 0 ? undefined : "mounting needs root";
}

const block = Buffer.alloc(65_536, 1);

/** A small file system in memory, which can be filled up and emptied again. */
export class SmallDisk implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), "cofre-disk-"));

  constructor(mebibytes: number) {
    execFileSync("mount", [
      "-t",
      "tmpfs",
      "-o",
      `size=${mebibytes}m,mode=700`,
      "tmpfs",
      this.directory,
    ]);
  }

  /** Fills it to the last byte. */
  fill(): void {
    const file = openSync(join(this.directory, "ballast"), "a");
    try {
      for (let size = block.length; size >= 1;) {
        try {
          writeSync(file, block, 0, size);
        } catch (error) {
          if (!(error instanceof Error && "code" in error && error.code === "ENOSPC")) throw error;
          size = Math.floor(size / 2);
        }
      }
    } finally {
      closeSync(file);
    }
  }

  empty(): void {
    rmSync(join(this.directory, "ballast"));
  }

  [Symbol.dispose](): void {
    execFileSync("umount", [this.directory]);
    rmdirSync(this.directory);
  }
}
