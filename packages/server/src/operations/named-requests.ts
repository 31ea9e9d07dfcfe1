import { ServiceError } from "../kernel/service-error.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import type { NamedRequest } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import { commitDecision, read } from "./commit.ts";
import { Turns } from "./turns.ts";

export interface Answered {
  readonly status: number;
  readonly body: string;
  /** false: not the last word (an outcome is open, nothing was done), or it holds what must not be kept. It is not replayed. */
  readonly keep: boolean;
}

/**
 * Requests that the merchant names by an Idempotency-Key: the same key and the same request get the first answer again, another
 * request under the key is refused, a twin waits for the first. Should the process die before it has an answer, the same request
 * is taken up again (`resumed`), and finds what the first one did.
 */
export class NamedRequests {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #turns = new Turns();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Rejects with `request_key_reused`, `request_key_taken` (a twin on another node), a store failure, or what `run` rejects with. */
  answer<A extends Answered>(
    merchantId: MerchantId,
    key: string,
    digest: string,
    run: (resumed: boolean) => Promise<A>,
  ): Promise<A | (Answered & { readonly replayed: true })> {
    return this.#turns.take(`${merchantId} ${key}`, async () => {
      const known = await read(this.#store.namedRequest(merchantId, key));
      if (known !== undefined && known.digest !== digest) throw new ServiceError("request_key_reused");
      if (known?.answer !== undefined) return { ...known.answer, keep: true, replayed: true };
      const claim: NamedRequest = known ?? { key, digest, claimedAt: this.#clock.now(), answer: undefined };
      if (known === undefined) await this.#write(merchantId, claim, "nothing");
      const answer = await run(known !== undefined);
      if (answer.keep)
        await this.#write(merchantId, { ...claim, answer: { status: answer.status, body: answer.body } }, "claim").catch(ignore);
      return answer;
    });
  }

  async #write(merchantId: MerchantId, next: NamedRequest, replaces: "nothing" | "claim"): Promise<void> {
    await commitDecision(this.#store, async () => ({
      merchantId,
      at: this.#clock.now(),
      request: { next, replaces },
      facts: [],
      entries: [],
      notifications: [],
    }));
  }
}

function ignore(): void {
  // The work is done and the answer is right. Not kept, it is made again when the request comes again.
}
