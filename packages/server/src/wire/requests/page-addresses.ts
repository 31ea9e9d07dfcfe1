import type { Payment } from "../../payment/payment.ts";

/** Addresses of hosted pages. */
export interface PageAddresses {
  /** The address of a payment's page. */
  readonly pageUrl: (payment: Payment) => string;
  /** Whether a page may send customers to this address. */
  readonly isReturnAddress: (url: string) => boolean;
}
