import type { PaymentOrder, StoredCredential } from "../payment/payment.ts";
import type { RefundId } from "../payment/refund.ts";
import type { Card } from "../vault/card.ts";
import type { Cryptogram, Cvv } from "../vault/pan.ts";

/** Identification of a request, in addition to the merchant's codes in it. */
export interface IdempotentInput {
  /** SHA-256 of the Idempotency-Key and the request, if it had a key. */
  readonly request?: string | undefined;
}

/**
 * A validated /ws/direct request without what depends on the card: the operation adds brand, mask
 * and pricing.
 */
export type DirectOrder = Omit<PaymentOrder, "card" | "pricing" | "expectedLiability">;

/**
 * The source of the card. The caller wipes card, cvv and cryptogram when the operation has settled.
 */
export type CardSource = (
  | { readonly kind: "pan" | "network_token"; readonly card: Card }
  | { readonly kind: "token"; readonly token: string }
) & {
  readonly cvv: Cvv | undefined;
  /** The cryptogram of a network token or of 3-D Secure. */
  readonly cryptogram: Cryptogram | undefined;
};

export interface DirectInput extends IdempotentInput {
  readonly order: DirectOrder;
  readonly source: CardSource;
  /** Processed within the country: no cross-border tax (interface 8). */
  readonly local: boolean;
  /**
   * Also stores the card, under the given token or a new one. Never combined with a token source.
   */
  readonly createToken: { readonly token: string | undefined } | undefined;
}

export interface TokenizeInput {
  readonly card: Card;
  /** 32 to 128 characters; undefined creates a new token. */
  readonly token: string | undefined;
}

/** A payment of the merchant, by hash or by code; the hash takes precedence when both are given. */
export type PaymentSelector = { readonly hash: string } | { readonly code: string };

export interface CaptureInput extends IdempotentInput {
  readonly selector: PaymentSelector;
  /** Decimal text in the payment's currency; undefined means the full amount. */
  readonly amount: string | undefined;
}

export interface RefundInput extends IdempotentInput {
  readonly selector: PaymentSelector;
  /** Decimal text in the payment's currency; undefined means the rest. */
  readonly amount: string | undefined;
  readonly description: string;
  /** merchant_refund_code. */
  readonly code: string | undefined;
}

/** A refund of the merchant, by id or by code. */
export type RefundSelector = { readonly id: RefundId } | { readonly code: string };

export interface VerifyInput {
  readonly source: CardSource;
  readonly country: string;
  readonly paymentType: "credit" | "debit";
  readonly storedCredential: StoredCredential | undefined;
}
