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

/** Beside the keys, so that it does not come and go with the database. */
const name = "incarnation.json";
const format = "cofre incarnation 1";
const largest = 4_096;

/** What was noted in the directory; undefined when there is nothing that can be read. */
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
 * Replaces the note whole. `durable`: it outlives a loss of power; without, an earlier one may be
 * there then. Throws what the system says.
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
 * Tells a file from a copy of it, on systems that number files and note when they were made;
 * undefined where that cannot be told. The name of the file is not part of it: a directory may be
 * moved.
 */
export function placeOf(file: string): string | undefined {
  const look = (): BigIntStats => statSync(file, { bigint: true });
  return placeBy(look, () => chmodSync(file, Number(look().mode & 0o7777n)));
}

/**
 * The same by what the system says of a file. Where a file system has no time of birth, Node gives
 * the time of the last change, which every commit moves. The two are also equal for a copy on which
 * nothing was changed yet, so `change` changes nothing but the time of the last change.
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
