import { execFileSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  constants,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  rmSync,
} from "node:fs";
import { join } from "node:path";
import { amount } from "./amount.ts";

/**
 * A night writes ten times as much; with a larger image each cut would mostly copy unused space.
 */
const imageBytes = amount({ quick: 96, ci: 96, night: 384 }) * 1024 * 1024;

/** Why no loop device can be mounted here; undefined: one can. */
export function whyNoLoopDisk(): string | undefined {
  if (process.platform !== "linux") return "loop devices are Linux's";
  if (process.getuid?.() !== 0) return "mounting needs root";
  if (!existsSync("/dev/loop-control")) return "there are no loop devices";
  const missing = ["mkfs.ext4", "losetup", "mount", "umount", "sync"].filter(
    (program) => !isInstalled(program),
  );
  return missing.length === 0 ? undefined : `${missing.join(", ")} is not installed`;
}

function isInstalled(program: string): boolean {
  const places = [...(process.env["PATH"] ?? "").split(":"), "/usr/sbin", "/sbin"];
  return places.some((place) => existsSync(join(place, program)));
}

/**
 * An ext4 file system on a loop device. Its file holds what a disk would hold: data that was not
 * synchronized is lost when the file is copied and the copy is mounted, as after a power failure.
 */
export class LoopDisk implements Disposable {
  /** Mount point, except during `cutPower`. */
  readonly directory: string;
  readonly #scratch: string;
  #image: string;
  #copies = 0;
  #device: string | undefined;
  #isMounted = false;

  constructor(scratch: string) {
    this.#scratch = scratch;
    this.directory = join(scratch, "disk");
    this.#image = join(scratch, "disk-0.img");
    mkdirSync(this.directory);
    const file = openSync(this.#image, "w");
    ftruncateSync(file, imageBytes);
    closeSync(file);
    run("mkfs.ext4", "-q", "-F", this.#image);
    this.#mount();
  }

  /** Writes everything to the disk, as on a machine that has been idle for long. */
  flush(): void {
    run("sync", "-f", this.directory);
  }

  /**
   * The disk loses power at this moment. Processes that write to it must be stopped; the caller
   * ends them before `powerOn`.
   */
  powerOff(): void {
    this.#copies += 1;
    copyFileSync(this.#image, this.#nextImage, constants.COPYFILE_FICLONE);
  }

  /** Mounts the disk as it was at `powerOff`. No process may have a file of the old mount open. */
  powerOn(): void {
    this.#unmount();
    rmSync(this.#image);
    this.#image = this.#nextImage;
    this.#mount();
  }

  get #nextImage(): string {
    return join(this.#scratch, `disk-${this.#copies}.img`);
  }

  #mount(): void {
    this.#device = run("losetup", "--find", "--show", this.#image).trim();
    // Metadata is written on an fsync or after this many seconds, so that little is written without
    // a request.
    run("mount", "-t", "ext4", "-o", "commit=60", this.#device, this.directory);
    this.#isMounted = true;
  }

  #unmount(): void {
    if (this.#isMounted) run("umount", this.directory);
    this.#isMounted = false;
    if (this.#device !== undefined) run("losetup", "--detach", this.#device);
    this.#device = undefined;
  }

  [Symbol.dispose](): void {
    this.#unmount();
    for (const name of readdirSync(this.#scratch)) {
      if (name.startsWith("disk-")) rmSync(join(this.#scratch, name));
    }
  }
}

function run(program: string, ...options: readonly string[]): string {
  const PATH = `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin`;
  return execFileSync(program, options, {
    encoding: "utf8",
    env: { PATH },
    stdio: ["ignore", "pipe", "inherit"],
  });
}
