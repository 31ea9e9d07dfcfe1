import type { MerchantId } from "../kernel/ids.ts";

/** What a rotation has left to do, as the answering node knows it. */
export interface RotationState {
  /** The current epoch key. */
  readonly epoch: number;
  /** The epoch key that waits until every node has opened it. */
  readonly nextEpoch: number | undefined;
  /** Keys that earlier epoch keys wrap. */
  readonly keysToWrap: number;
  /** Cards that each node may encrypt again in a second; 0: paused. */
  readonly cardsPerSecond: number;
  /** Merchants' cards that this node is encrypting again now. */
  readonly resealing: readonly ResealState[];
}

export interface ResealState {
  readonly merchantId: MerchantId;
  /** Version of the earlier key. */
  readonly keyVersion: number;
  /** How many of the merchant's cards were read, by the place of the last token digest. */
  readonly percent: number;
  /** At the speed so far; undefined in the first second. */
  readonly secondsLeft: number | undefined;
}
