import type { PaymentOrder, StoredCredential } from "../payment/payment.ts";
import type { RefundId } from "../payment/refund.ts";
import type { Card } from "../vault/card.ts";
import type { Cryptogram, Cvv } from "../vault/pan.ts";

/** What may name a request of the merchant, beside the codes in it. */
export interface NamedByKey {
  /** SHA-256 that names the request, when it came with an Idempotency-Key. */
  readonly request?: string | undefined;
}

/**
 * /ws/direct as validated: what does not depend on which card pays. Brand, mask and pricing are
 * added by the operation.
 */
export type DirectOrder = Omit<PaymentOrder, "card" | "pricing">;

/**
 * Where the card comes from. The caller wipes card, cvv and cryptogram when the operation has
 * settled.
 */
export type CardSource = (
  | { readonly kind: "pan" | "network_token"; readonly card: Card }
  | { readonly kind: "token"; readonly token: string }
) & {
  readonly cvv: Cvv | undefined;
  /** A network token's, or what 3-D Secure gave. */
  readonly cryptogram: Cryptogram | undefined;
};

export interface DirectInput extends NamedByKey {
  readonly order: DirectOrder;
  readonly source: CardSource;
  /** Processed within the country: no tax of a cross-border payment (interface 8). */
  readonly local: boolean;
  /**
   * Store the card too, under a token of the merchant's choice or a fresh one. Never with a token
   * source.
   */
  readonly createToken: { readonly token: string | undefined } | undefined;
}

export interface TokenizeInput {
  readonly card: Card;
  /** 32 to 128 characters, or undefined for a fresh one. */
  readonly token: string | undefined;
}

/** A payment of the merchant, by either of its names; the hash wins when both are given. */
export type PaymentSelector = { readonly hash: string } | { readonly code: string };

export interface CaptureInput extends NamedByKey {
  readonly selector: PaymentSelector;
  /** Decimal text in the payment's currency; undefined means everything. */
  readonly amount: string | undefined;
}

export interface RefundInput extends NamedByKey {
  readonly selector: PaymentSelector;
  /** Decimal text in the payment's currency; undefined means all that is left. */
  readonly amount: string | undefined;
  readonly description: string;
  /** merchant_refund_code. */
  readonly code: string | undefined;
}

/** A refund of the merchant, by either of its names. */
export type RefundSelector = { readonly id: RefundId } | { readonly code: string };

export interface VerifyInput {
  readonly source: CardSource;
  readonly country: string;
  readonly paymentType: "credit" | "debit";
  readonly storedCredential: StoredCredential | undefined;
}
