import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

/**
 * `--import` of this file into a server: each SIGUSR2 writes the longest delay of its event loop
 * since the last one, in ms, into LOOP_DELAY_FILE.
 */
const file = process.env["LOOP_DELAY_FILE"];
if (isMainThread && file !== undefined) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  process.on("SIGUSR2", () => {
    writeFileSync(file, String(delay.max / 1e6));
    delay.reset();
  });
}
