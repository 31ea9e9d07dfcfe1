import type { MerchantId } from "../kernel/ids.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Account } from "../merchant/account.ts";
import type { PaymentService } from "../payment-service.ts";
import type { Credential } from "../operations/account-directory.ts";
import type { IdempotentRequests } from "../operations/idempotent-requests.ts";
import type { Operation } from "../operations/operation.ts";
import type { World } from "./world.ts";
import type { Worlds } from "./worlds.ts";

export interface PaymentServicesParts {
  /** The server's own payment service. */
  readonly own: PaymentService;
  /** Accounts in its store at startup. */
  readonly ownIds: Iterable<MerchantId>;
  readonly worlds: Pick<Worlds, "of" | "byKey">;
  /** Creates the refusal for an account whose world was deleted. */
  readonly worldDeleted: () => Error;
}

/** Finds the payment service of an account: the server's, or that of the account's world. */
export class PaymentServices {
  readonly #own: PaymentService;
  readonly #ownIds: Set<MerchantId>;
  readonly #worlds: PaymentServicesParts["worlds"];
  readonly #worldDeleted: () => Error;

  constructor({ own, ownIds, worlds, worldDeleted }: PaymentServicesParts) {
    this.#own = own;
    this.#ownIds = new Set(ownIds);
    this.#worlds = worlds;
    this.#worldDeleted = worldDeleted;
  }

  /** Whether the server's own store is known to hold the account. */
  isOwn(id: MerchantId): boolean {
    return this.#ownIds.has(id);
  }

  isWorld(id: MerchantId): boolean {
    return this.#worlds.of(id) !== undefined;
  }

  /**
   * The account's world; undefined for an account of the server. Throws when the world was deleted:
   * its requests have no effect.
   */
  worldOf(id: MerchantId): World | undefined {
    if (this.#ownIds.has(id)) return undefined;
    const world = this.#worlds.of(id);
    if (world === undefined) throw this.#worldDeleted();
    return world;
  }

  /** Throws as `worldOf` does. */
  of(id: MerchantId): PaymentService {
    return this.worldOf(id)?.paymentService ?? this.#own;
  }

  run<Input, Output>(
    operation: Operation<Input, Output>,
    account: Account,
    input: Input,
  ): Promise<Output> {
    return this.of(account.id).runner.run(operation, account, input);
  }

  /** Drops the cached data of an account that was changed. */
  invalidate(id: MerchantId): void {
    this.of(id).accounts.forget(id);
  }

  /** The credential for an integration key; undefined for an unknown key. */
  byKey(key: string): Credential | undefined | Promise<Credential | undefined> {
    const world = this.#worlds.byKey(key);
    if (world !== undefined) return world.paymentService.accounts.byKey(key);
    const found = this.#own.accounts.byKey(key);
    return found instanceof Promise
      ? found.then((holder) => this.#asOwn(holder))
      : this.#asOwn(found);
  }

  /** The account with this id; undefined when there is none. Counts as use of a world. */
  async account(id: MerchantId): Promise<Account | undefined> {
    const world = this.#worlds.of(id);
    if (world !== undefined) return (await this.byKey(world.plan.keys.integrationKey))?.account;
    const account = await this.#own.accounts.byId(id);
    if (account !== undefined) this.#ownIds.add(id);
    return account;
  }

  /** Answers a request with an Idempotency-Key, in the payment service of its account. */
  readonly requests: Pick<IdempotentRequests, "answer"> = {
    answer: (merchantId, key, digest, run, refuseKey) => {
      const service = this.of(merchantId);
      const runHere = async () => {
        // The world was reset or deleted while this request waited for its duplicate.
        if (this.of(merchantId) !== service) throw new ServiceError("store_unavailable");
        return run();
      };
      return service.requests.answer(merchantId, key, digest, runHere, refuseKey);
    },
  };

  #asOwn(holder: Credential | undefined): Credential | undefined {
    if (holder !== undefined) this.#ownIds.add(holder.account.id);
    return holder;
  }
}
