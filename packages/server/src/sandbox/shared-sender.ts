import type { Sender, SendOutcome, SendRequest } from "../delivery/sender.ts";
import { ConcurrencyLimit } from "../kernel/concurrency-limit.ts";

const aborted: SendOutcome = { kind: "failed", cause: "aborted" };

/**
 * The sender of all worlds' notifications: at most `max` at once, so that hanging receivers, of
 * any number of worlds, leave the process connections for other work. First come, first served;
 * waiting does not count towards a message's timeout.
 */
export class SharedSender implements Sender {
  readonly #sender: Sender;
  readonly #limit: ConcurrencyLimit;

  constructor(sender: Sender, max: number) {
    this.#sender = sender;
    // Each world's own limits bound the number of those that wait.
    this.#limit = new ConcurrencyLimit(max, Infinity);
  }

  send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome> {
    return this.#limit.run(
      () => this.#sender.send(request, signal),
      () => aborted,
      signal,
    );
  }
}
