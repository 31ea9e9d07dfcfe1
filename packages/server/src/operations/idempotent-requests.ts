import { KeyedMutex } from "../kernel/keyed-mutex.ts";
import { ServiceError } from "../payment/service-error.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Clock } from "../kernel/clock.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { second } from "../kernel/instant.ts";
import type { SlotAssignment } from "../kernel/slot-assignment.ts";
import type { IdempotentRequest } from "../stores/change.ts";
import type { Store } from "../stores/store.ts";
import { commitDecision, read } from "./commit.ts";
import { requestQueue } from "./request-queue.ts";

export interface StoredResponse {
  readonly status: number;
  readonly body: string;
  /**
   * false: not final (the outcome is open, or nothing was done), or it has data that must not be
   * stored. It is not replayed.
   */
  readonly keep: boolean;
}

/**
 * How long a request that another process has claimed may still run without a trace. After that it
 * has committed its intention or its process is dead, so the same request finds what it did.
 */
const recentMs = 10 * second;
/**
 * Claims of this process that are kept in memory: practically all that are younger than `recentMs`.
 */
const maxClaims = 10_000;

/**
 * Requests with an Idempotency-Key. The same key and request get the first answer again; another
 * request with the key is refused; a duplicate waits for the first. If the process dies before it
 * has an answer, the same request runs again and finds what the first one did (repeated-requests.ts). A
 * duplicate that may be running in another process is refused for a moment: running both would be
 * safe, but one of them would be refused because of the other's payment.
 */
export class IdempotentRequests {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #slotAssignment: Pick<SlotAssignment, "isAlone">;
  readonly #mutex = new KeyedMutex(requestQueue);
  /**
   * Claims of this process. Requests of one key run one at a time, so a claim in this set has ended
   * when the next request runs.
   */
  readonly #claims = new BoundedMap<string, true>(maxClaims);

  constructor(store: Store, clock: Clock, slotAssignment: Pick<SlotAssignment, "isAlone">) {
    this.#store = store;
    this.#clock = clock;
    this.#slotAssignment = slotAssignment;
  }

  /**
   * Rejects with `request_key_reused`, `request_key_taken` (a duplicate on another node), a store
   * failure, or what `run` rejects with. `refuseKey` throws if a new key may not be used; a key
   * that was accepted before has an answer, whatever the rule is now.
   */
  answer<A extends StoredResponse>(
    merchantId: MerchantId,
    key: string,
    digest: string,
    run: () => Promise<A>,
    refuseKey?: () => Promise<void>,
  ): Promise<A | (StoredResponse & { readonly replayed: true })> {
    return this.#mutex.runExclusive(`${merchantId} ${key}`, async () => {
      const stored = await read(this.#store.namedRequest(merchantId, key));
      if (stored !== undefined && stored.digest !== digest)
        throw new ServiceError("request_key_reused");
      if (stored?.answer !== undefined) return { ...stored.answer, keep: true, replayed: true };
      if (stored !== undefined && this.#mayRunElsewhere(merchantId, stored))
        throw new ServiceError("request_key_taken");
      if (stored === undefined) await refuseKey?.();
      const claim: IdempotentRequest = stored ?? {
        key,
        digest,
        claimedAt: this.#clock.now(),
        answer: undefined,
      };
      if (stored === undefined) {
        await this.#write(merchantId, claim, "nothing");
        this.#remember(claimName(merchantId, claim));
      }
      const answer = await run();
      if (answer.keep)
        await this.#write(
          merchantId,
          { ...claim, answer: { status: answer.status, body: answer.body } },
          "claim",
        ).catch(ignore);
      return answer;
    });
  }

  #mayRunElsewhere(merchantId: MerchantId, claim: IdempotentRequest): boolean {
    const ageMs = this.#clock.now() - claim.claimedAt;
    return (
      !this.#slotAssignment.isAlone &&
      Math.abs(ageMs) < recentMs &&
      !this.#claims.has(claimName(merchantId, claim))
    );
  }

  #remember(claim: string): void {
    this.#claims.set(claim, true);
  }

  async #write(
    merchantId: MerchantId,
    next: IdempotentRequest,
    replaces: "nothing" | "claim",
  ): Promise<void> {
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

function claimName(merchantId: MerchantId, { key, claimedAt }: IdempotentRequest): string {
  return `${merchantId} ${claimedAt} ${key}`;
}

function ignore(): void {
  // The work is done and the answer is correct. If it cannot be stored, it is produced again when
  // the request is repeated.
}
