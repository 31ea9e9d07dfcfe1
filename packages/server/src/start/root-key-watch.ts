import type { ElapsedMs } from "../kernel/elapsed.ts";
import { minute, second } from "../kernel/instant.ts";
import type { RootState } from "../key-acts/key-order.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Log } from "../logging/log-event.ts";
import type { KeyProvider, RootKeyFailure } from "../vault/key-provider.ts";

interface RootKeyWatchOptions {
  readonly provider: Pick<KeyProvider, "keyId" | "health">;
  readonly scheduler: Scheduler;
  readonly log: Log;
  readonly elapsedMs: ElapsedMs;
  /**
   * Called at each check while the key has been in this state at all checks of the last two
   * minutes. Never rejects.
   */
  readonly confirmed: (state: RootState) => Promise<void>;
}

const intervalMs = minute;
/** After a failure. */
const retryMs = 10 * second;
/** A service may state falsely for a while, after a change of its own, that a key is disabled. */
const confirmMs = 2 * minute;

/**
 * Asks a key service once a minute whether the root key is usable, which also renews a token, and
 * logs each change. Cards are opened with keys in memory, so the server runs on without the service.
 * Only a steady statement that the key is disabled or deleted is an order to stop cards.
 */
export class RootKeyWatch {
  readonly #options: RootKeyWatchOptions;
  readonly #stopped = new AbortController();
  #running: Promise<void> | undefined;
  /** The state of the last checks, and when the first of them ended. */
  #steady: { readonly state: "ok" | RootKeyFailure; readonly since: number } | undefined;

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
      await this.#confirm(now);
      await scheduler
        .sleep(now === "ok" ? intervalMs : retryMs, signal)
        // Stopped.
        .catch(() => undefined);
    }
  }

  async #confirm(now: "ok" | RootKeyFailure): Promise<void> {
    const { elapsedMs, confirmed } = this.#options;
    const at = elapsedMs();
    if (this.#steady?.state !== now) this.#steady = { state: now, since: at };
    const isSteady = at - this.#steady.since >= confirmMs;
    if (isSteady && (now === "ok" || now === "denied")) await confirmed(now);
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
