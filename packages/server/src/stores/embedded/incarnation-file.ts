import {
  type BigIntStats,
  chmodSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { instant } from "../../kernel/instant.ts";
import type { IncarnationNote } from "../identity.ts";

/** Kept beside the keys, so that it is not removed or restored with the database. */
const name = "incarnation.json";
const format = "cofre incarnation 1";
const largest = 4_096;

/** The note in the directory; undefined if there is no readable one. */
export function readIncarnation(directory: string): IncarnationNote | undefined {
  try {
    const path = join(directory, name);
    if (statSync(path).size > largest) return undefined;
    const note: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof note !== "object" || note === null || !("format" in note) || note.format !== format)
      return undefined;
    if (!("epoch" in note && isCount(note.epoch) && "beat" in note && isCount(note.beat)))
      return undefined;
    const place = "place" in note && typeof note.place === "string" ? note.place : undefined;
    const at = "at" in note && isCount(note.at) ? instant(note.at) : undefined;
    return { epoch: note.epoch, beat: note.beat, place, at };
  } catch {
    return undefined;
  }
}

/**
 * Replaces the whole note. `durable`: it survives a power loss; otherwise an earlier note may
 * reappear after one. Throws the system's errors.
 */
export function writeIncarnation(directory: string, note: IncarnationNote, durable: boolean): void {
  const path = join(directory, name);
  const partial = `${path}.new`;
  rmSync(partial, { force: true });
  writeFileSync(partial, `${JSON.stringify({ format, ...note })}\n`, { mode: 0o600, flag: "wx" });
  if (durable) {
    const descriptor = openSync(partial, "r+");
    fsyncSync(descriptor);
    closeSync(descriptor);
  }
  renameSync(partial, path);
}

/**
 * Distinguishes a file from a copy of it, on systems that number files and record their creation
 * time; undefined where this is impossible. The file's name is not included, because a directory
 * may be moved.
 */
export function placeOf(file: string): string | undefined {
  const look = (): BigIntStats => statSync(file, { bigint: true });
  return placeBy(look, () => chmodSync(file, Number(look().mode & 0o7777n)));
}

/**
 * The same, given functions that read and change the file's metadata. On a file system without a
 * creation time, Node reports the time of the last change, which every commit moves. The two times
 * are also equal for a copy that was never changed, so `change` updates only the time of the last
 * change.
 */
export function placeBy(look: () => FileFacts, change: () => void): string | undefined {
  const { ino, birthtimeNs, ctimeNs } = look();
  if (ino === 0n || birthtimeNs <= 0n) return undefined;
  if (birthtimeNs === ctimeNs) {
    change();
    const changed = look();
    if (changed.ctimeNs === ctimeNs || changed.birthtimeNs !== birthtimeNs) return undefined;
  }
  return `${ino}/${birthtimeNs}`;
}

type FileFacts = Pick<BigIntStats, "ino" | "birthtimeNs" | "ctimeNs">;

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
