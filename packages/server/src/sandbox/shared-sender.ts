import type { Sender, SendOutcome, SendRequest } from "../delivery/sender.ts";

const aborted: SendOutcome = { kind: "failed", cause: "aborted" };

/**
 * What all worlds send their notifications through: at most `most` at once, so that receivers that
 * hang, of however many worlds, leave the process connections for everybody else. Who comes first
 * is sent first; waiting takes nothing of a message's time.
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

  /** false: given up before there was room. */
  async #enter(signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#underWay < this.#most) {
      this.#underWay += 1;
      return true;
    }
    const { promise, resolve } = Promise.withResolvers<boolean>();
    // Whoever leaves hands the place on.
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
