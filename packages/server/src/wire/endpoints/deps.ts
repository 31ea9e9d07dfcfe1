import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Random } from "../../kernel/random.ts";
import { ServiceError, serviceErrors } from "../../payment/service-error.ts";
import type { Account } from "../../merchant/account.ts";
import type { AddressCheck } from "../../merchant/receiver-address.ts";
import type { KeyHolder } from "../../operations/account-directory.ts";
import type { NamedRequests } from "../../operations/named-requests.ts";
import type { Operation } from "../../operations/operation.ts";
import { StoreError } from "../../stores/store.ts";
import type { WireAnswer } from "../answers/answer.ts";
import type { CardLikeNames } from "../decode/card-like-names.ts";
import { wireErrorOf, type ErrorFamily } from "../answers/errors.ts";
import { answerOf } from "../answers/refusal-answer.ts";
import { WireError } from "../decode/wire-error.ts";

/** What endpoints need of the rest of the program. */
export interface EndpointDeps {
  readonly runner: OperationRunner;
  /** The account's own time: in the sandbox every account is a world of its own. */
  readonly clockOf: (account: Account) => Clock;
  /** What an integration key opens, by its text; undefined for a key that opens nothing. */
  readonly holderOf: (key: string) => KeyHolder | undefined | Promise<KeyHolder | undefined>;
  /** Called with an account that was changed: what is remembered of it is old. */
  readonly forget: (merchantId: MerchantId) => void;
  /** The account's own chance. */
  readonly randomOf: (account: Account) => Random;
  /** Where notifications of this account may go. */
  readonly addressCheck: (account: Account) => AddressCheck;
  /** Requests that come with an Idempotency-Key. */
  readonly requests: Pick<NamedRequests, "answer">;
  /** Accepted names that looked like card numbers. */
  readonly cardLikeNames: CardLikeNames;
  /** What the sandbox can do beside; undefined where money is real. */
  readonly sandbox: SandboxDeps | undefined;
}

export interface SandboxDeps {
  /** The account's next authorization is carried out, and nobody hears of it. */
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
 * 200 with this body, or the refusal in the family's codes. What is neither is the server's to log:
 * it is a failure of ours.
 */
export function answering(family: ErrorFamily, work: () => Promise<string>): Promise<WireAnswer> {
  return answeringAnswer(family, async () => ({ status: 200, body: await work() }));
}

/** As `answering`, for work that has more to say than a body. */
export async function answeringAnswer(
  family: ErrorFamily,
  work: () => Promise<WireAnswer>,
): Promise<WireAnswer> {
  try {
    return await work();
  } catch (error) {
    if (
      !(error instanceof WireError || error instanceof ServiceError || error instanceof StoreError)
    )
      throw error;
    const refusal = answerOf(wireErrorOf(error, family));
    // What may turn out otherwise when it is asked again is no last word.
    const open =
      error instanceof StoreError ||
      (error instanceof ServiceError && serviceErrors[error.code] !== "never");
    return open ? { ...refusal, keep: false } : refusal;
  }
}
