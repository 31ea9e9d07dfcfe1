import type { CommandHost } from "./command.ts";

/**
 * How often whoever waits is told how far it is, in milliseconds; also how long nothing is said at
 * first.
 */
export const tellMs = 2_000;

/**
 * Waits for `task`, and says every now and then what `progress` tells of it, for as long as it
 * takes.
 */
export async function tellingProgress<T>(
  { say, scheduler }: Pick<CommandHost, "say" | "scheduler">,
  task: Promise<T>,
  progress: () => Promise<string>,
): Promise<T> {
  const ended = new AbortController();
  const tell = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await scheduler.sleep(tellMs, ended.signal);
      const line = await progress();
      // Whoever has the answer is told nothing of the way to it any more.
      if (!ended.signal.aborted) say(line);
    }
  };
  // What cannot be asked for meanwhile is not worth a failure: the task has its own.
  tell().catch(() => undefined);
  try {
    return await task;
  } finally {
    ended.abort();
  }
}
