import { minute, second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { KeyProvider, RootKeyFailure } from "../vault/key-provider.ts";

interface RootKeyWatchOptions {
  readonly provider: Pick<KeyProvider, "keyId" | "health">;
  readonly scheduler: Scheduler;
  readonly log: Log;
}

const intervalMs = minute;
/** After a failure. */
const retryMs = 10 * second;

/**
 * Asks a key service once a minute whether the root key is usable, which also renews a token, and
 * logs each change. Cards are opened with keys in memory, so the server runs on without the service.
 */
export class RootKeyWatch {
  readonly #options: RootKeyWatchOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: RootKeyWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { provider, scheduler } = this.#options;
    const { signal } = this.#stopped;
    let last: "ok" | RootKeyFailure = "ok";
    while (!signal.aborted) {
      const now = await provider.health(signal);
      if (signal.aborted) return;
      if (now !== last) this.#report(now);
      last = now;
      await scheduler
        .sleep(now === "ok" ? intervalMs : retryMs, signal)
        // Stopped.
        .catch(() => undefined);
    }
  }

  #report(state: "ok" | RootKeyFailure): void {
    const { log, provider } = this.#options;
    const { keyId } = provider;
    log.write(
      state === "ok"
        ? { event: "root_key_usable", keyId }
        : { event: "root_key_unusable", keyId, failure: state },
    );
  }
}
