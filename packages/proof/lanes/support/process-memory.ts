import { closeSync, existsSync, openSync, readFileSync, readSync } from "node:fs";

const pieceBytes = 1 << 20;
/** Longer than any form of a number, so a number across two pieces is complete in one of them. */
const overlapBytes = 1_024;
const untouched = Buffer.alloc(pieceBytes);

/** Whether another process's memory can be read here. */
export const canReadMemory = existsSync("/proc/self/maps");

/**
 * The memory that a core dump of the process would contain: its writable mappings, piece by piece.
 * The buffer is reused for the next piece.
 */
export function* memoryOf(pid: number): Generator<Buffer> {
  const memory = openSync(`/proc/${pid}/mem`, "r");
  const piece = Buffer.alloc(pieceBytes);
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, "latin1").split("\n")) {
      const range = /^([\da-f]+)-([\da-f]+) rw/.exec(line);
      if (range === null) continue;
      const to = Number(`0x${range[2]}`);
      for (let at = Number(`0x${range[1]}`); at < to; at += pieceBytes - overlapBytes) {
        const length = readAt(memory, piece, Math.min(pieceBytes, to - at), at);
        // Most mapped memory was never used.
        if (!untouched.subarray(0, length).equals(piece.subarray(0, length)))
          yield piece.subarray(0, length);
      }
    }
  } finally {
    closeSync(memory);
  }
}

/** Pages that were never touched cannot be read: they hold nothing. */
function readAt(file: number, into: Buffer, length: number, position: number): number {
  try {
    return readSync(file, into, 0, length, position);
  } catch {
    return 0;
  }
}
