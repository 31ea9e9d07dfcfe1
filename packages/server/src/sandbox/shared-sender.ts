import type { Sender, SendOutcome, SendRequest } from "../delivery/sender.ts";

const aborted: SendOutcome = { kind: "failed", cause: "aborted" };

/**
 * The sender of all worlds' notifications: at most `most` at once, so that hanging receivers, of
 * any number of worlds, leave the process connections for other work. First come, first served;
 * waiting does not count towards a message's timeout.
 */
export class SharedSender implements Sender {
  readonly #sender: Sender;
  readonly #most: number;
  readonly #waiting = new Set<() => void>();
  #underWay = 0;

  constructor(sender: Sender, most: number) {
    this.#sender = sender;
    this.#most = most;
  }

  async send(request: SendRequest, signal?: AbortSignal): Promise<SendOutcome> {
    if (!(await this.#enter(signal))) return aborted;
    try {
      return await this.#sender.send(request, signal);
    } finally {
      this.#leave();
    }
  }

  /** false: aborted before a slot was free. */
  async #enter(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#underWay < this.#most) {
      this.#underWay += 1;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // A finished message passes its slot to the next one.
    const enter = (): void => resolve(true);
    const giveUp = (): void => {
      if (this.#waiting.delete(enter)) resolve(false);
    };
    this.#waiting.add(enter);
    if (signal?.aborted === true) giveUp();
    signal?.addEventListener("abort", giveUp, { once: true });
    try {
      return await promise;
    } finally {
      signal?.removeEventListener("abort", giveUp);
    }
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#underWay -= 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
