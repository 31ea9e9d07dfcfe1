import type { CommandHost } from "./command.ts";

/** Interval between progress messages, in milliseconds; also the delay of the first one. */
export const reportIntervalMs = 2_000;

/** Waits for `task`, and prints the result of `progress` at intervals until it ends. */
export async function reportingProgress<T>(
  { say, scheduler }: Pick<CommandHost, "say" | "scheduler">,
  task: Promise<T>,
  progress: () => Promise<string>,
): Promise<T> {
  const ended = new AbortController();
  const report = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await scheduler.sleep(reportIntervalMs, ended.signal);
      const line = await progress();
      // No progress is printed after the result.
      if (!ended.signal.aborted) say(line);
    }
  };
  // A failure to get the progress is ignored: the task reports its own.
  report().catch(() => undefined);
  try {
    return await task;
  } finally {
    ended.abort();
  }
}
