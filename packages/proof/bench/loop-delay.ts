import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded into a server with `--import`: each SIGUSR2 writes the longest event-loop delay since the
 * last signal, in ms, to LOOP_DELAY_FILE.
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
