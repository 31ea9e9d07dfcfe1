import type { SimulatedAuthenticator } from "../../authentication/simulated-authenticator.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { ServiceError, serviceErrors } from "../../payment/service-error.ts";
import type { Account } from "../../merchant/account.ts";
import type { AddressCheck } from "../../merchant/receiver-address.ts";
import type { Credential } from "../../operations/account-directory.ts";
import type { IdempotentRequests } from "../../operations/idempotent-requests.ts";
import type { Operation } from "../../operations/operation.ts";
import { StoreError } from "../../stores/store.ts";
import type { WireResponse } from "../answers/answer.ts";
import type { CardLikeNames } from "../decode/card-like-names.ts";
import { type ErrorMappings, wireErrorOf } from "../answers/errors.ts";
import { answerOf } from "../answers/refusal-answer.ts";
import { WireError } from "../decode/wire-error.ts";
import type { PageAddresses } from "../requests/page-addresses.ts";

/** What endpoints need from the rest of the program. */
export interface EndpointDeps {
  readonly runner: OperationRunner;
  /** The clock of the account: each world has its own. */
  readonly clockOf: (account: Account) => Clock;
  /** Resolves an integration key; undefined for an unknown key. */
  readonly holderOf: (key: string) => Credential | undefined | Promise<Credential | undefined>;
  /** Called with an account that was changed: cached copies are outdated. */
  readonly forget: (merchantId: MerchantId) => void;
  /** The random source of the account. */
  readonly randomOf: (account: Account) => Random;
  /** Checks whether notifications of this account may be sent to an address. */
  readonly addressCheck: (account: Account) => AddressCheck;
  /** Processes requests with an Idempotency-Key. */
  readonly requests: Pick<IdempotentRequests, "answer">;
  /** Accepted names that looked like card numbers. */
  readonly cardLikeNames: CardLikeNames;
  /** The account's simulated 3-D Secure; undefined if its payments are not simulated. */
  readonly authenticatorOf: (account: Account) => SimulatedAuthenticator | undefined;
  readonly pages: PageAddresses;
  /** Additional functions of the sandbox; undefined in production. */
  readonly sandbox: SandboxDeps | undefined;
}

export interface SandboxDeps {
  /** The account's next authorization is carried out, and its answer is lost. */
  readonly loseNextAuthorization: (merchantId: MerchantId) => void | Promise<void>;
}

/** Runs an operation for an account; rejects with ServiceError only. */
export interface OperationRunner {
  run<Input, Output>(
    operation: Operation<Input, Output>,
    account: Account,
    input: Input,
  ): Promise<Output>;
}

/**
 * Answers 200 with the body, or the refusal in the endpoint's codes. Any other error is an internal
 * failure, which is rethrown for the server to log.
 */
export function answering(
  errors: ErrorMappings,
  work: () => Promise<string>,
): Promise<WireResponse> {
  return answeringAnswer(errors, async () => ({ status: 200, body: await work() }));
}

/** As `answering`, for work that returns more than a body. */
export async function answeringAnswer(
  errors: ErrorMappings,
  work: () => Promise<WireResponse>,
): Promise<WireResponse> {
  try {
    return await work();
  } catch (error) {
    if (
      !(error instanceof WireError || error instanceof ServiceError || error instanceof StoreError)
    )
      throw error;
    const refusal = answerOf(wireErrorOf(error, errors));
    // A refusal that a retry may change is not final.
    const open =
      error instanceof StoreError ||
      (error instanceof ServiceError && serviceErrors[error.code] !== "never");
    return open ? { ...refusal, keep: false } : refusal;
  }
}
