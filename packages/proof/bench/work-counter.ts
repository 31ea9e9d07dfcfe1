import { createHook } from "node:async_hooks";
import { writeFileSync } from "node:fs";
import { getHeapStatistics } from "node:v8";
import { isMainThread } from "node:worker_threads";

/**
 * Work of the main thread so far, as written by the server that loads this file with `--import`.
 */
export interface Work {
  readonly promises: number;
  /** Bytes allocated in V8's heap; undefined in versions of Node.js that do not count them. */
  readonly heapBytes: number | undefined;
}

const file = process.env["COUNT_WORK_FILE"];
if (isMainThread && file !== undefined) {
  let promises = 0;
  createHook({
    init: (_, type) => {
      if (type === "PROMISE") promises += 1;
    },
  }).enable();
  process.on("SIGUSR2", () => {
    const heap: object = getHeapStatistics();
    const heapBytes =
      "total_allocated_bytes" in heap ? Number(heap.total_allocated_bytes) : undefined;
    writeFileSync(file, JSON.stringify({ promises, heapBytes } satisfies Work));
  });
}
