import type { MerchantId } from "../kernel/ids.ts";
import type { DeclineReason } from "../payment/payment.ts";
import type { Route } from "./routing.ts";
import type { NotificationChaos, NotificationEndpoint } from "../notification/endpoint.ts";

/** A merchant account: plain data. */
export interface Account {
  readonly id: MerchantId;
  readonly version: number;
  readonly name: string;
  readonly settings: AccountSettings;
}

/** What can be switched per account. Defaults are in settings.ts, one row each. */
export interface AccountSettings {
  /** ISO 3166-1 alpha-2, lower case: taken when a request names no country. */
  readonly country: string;
  /** X: cross-border hosts, B: hosts local to Brazil (interface 0). */
  readonly profile: "X" | "B";
  /** Name of a rate table in pricing-tables.ts. */
  readonly rateTable: string;
  /** Name of a tax policy in pricing-tables.ts. */
  readonly taxPolicy: string;
  /** Who pays the tax: added on top of what the customer pays, or borne by the merchant. */
  readonly taxPaidBy: "customer" | "merchant";
  readonly partialCapture: boolean;
  /**
   * Payments above so many whole USD wait for a reviewer when the issuer approves them; 0: none
   * does for its amount.
   */
  readonly reviewAboveUsd: number;
  /**
   * Days in which an authorization can be captured; then it is given up (interface 4.2: 4, up to 5
   * or 7).
   */
  readonly captureWindowDays: number;
  /** Days after the capture in which a refund may be asked for; 0: no limit. */
  readonly refundWindowDays: number;
  /**
   * Minutes that a refund stays requested (RE), and then pending (PE), before it is sent to the
   * acquirer.
   */
  readonly refundRequestedMinutes: number;
  readonly refundPendingMinutes: number;
  /**
   * true: only a requested refund can be cancelled, not a pending one (interface 4.4 has both
   * readings).
   */
  readonly strictRefundCancel: boolean;
  /**
   * true: a stored-credential payment must name the mandate of an initial one with the same card.
   */
  readonly strictMandates: boolean;
  /** true: declines tell `iso_code` and `mac_code` (interface 4.3). */
  readonly declineCodes: boolean;
  /** true: transaction_status describes outcomes in the sandbox texts of 2017 (interface 4.3). */
  readonly legacyDescriptions: boolean;
  /** transaction_status.acquirer. */
  readonly acquirerName: string;
  /** false: create_token is refused with BP-DR-62. */
  readonly createToken: boolean;
  /** true: a PAN without a security code is refused with BP-DR-54. */
  readonly requireCvv: boolean;
  /** true: the simulated issuer declines Brazilian debit payments without 3-D Secure. */
  readonly requireDebitThreeDSecure: boolean;
  /** Upper limit per payment in whole USD, converted by the rate table; interface 3.5: 10000. */
  readonly maximumAmountUsd: number;
  /**
   * Where merchants are told of changes unless a payment names another address; empty: nowhere
   * (interface 5.7, 6).
   */
  readonly notificationUrl: string;
  /** Where the hosted page sends customers back to; empty: nowhere. */
  readonly responseUrl: string;
  /** Who gets receipts; empty: nobody. */
  readonly receiptEmail: string;
  /** The merchant's picture on the hosted page; empty: none. */
  readonly imageUrl: string;
  /** Printed on statements; a payment's soft_descriptor takes its place. */
  readonly descriptor: string;
  /** true: a form body whose JSON is cut by a raw `&` is refused instead of repaired. */
  readonly strictForms: boolean;
  /** true: an amount with more decimals than the wire has is refused instead of rounded. */
  readonly strictAmounts: boolean;
  /**
   * true: a merchant_payment_code or merchant_refund_code that is a card number is refused
   * (docs/decisions/0007).
   */
  readonly refuseCardLikeCodes: boolean;
  /** Tell of a payment that is paid or declined within the request itself too (interface 4.2). */
  readonly notifySynchronous: boolean;
  /**
   * Which acquirers payments go to; the first that fits counts, and without one the installation's
   * first acquirer.
   */
  readonly routes: readonly Route[];
  /** Receivers of all notifications but those of payments that bring an address of their own. */
  readonly notificationEndpoints: readonly NotificationEndpoint[];
  /** What the sandbox does to deliveries. */
  readonly notificationChaos: NotificationChaos;
  readonly simulator: SimulatorSettings;
}

/**
 * How the simulated acquirer behaves towards this account. Chances are in 1/1000 and drawn from
 * `seed`.
 */
export interface SimulatorSettings {
  readonly seed: string;
  readonly latencyMs: number;
  /** The acquirer does the work, its answer is lost. */
  readonly loseAnswer: number;
  /** The request is lost: the acquirer never hears of it. */
  readonly loseRequest: number;
  /** The answer comes after the deadline. */
  readonly lateAnswer: number;
  /** The network delivers the request twice. */
  readonly doubleRequest: number;
}

/**
 * How the simulated acquirer treats one request: as it treats the account, unless a fault met the
 * request. Never kept.
 */
export interface SimulatorTreatment extends SimulatorSettings {
  /**
   * Passed each wait of this request, and passes it on: what waits for something simulated needs no
   * place for work.
   */
  readonly waits?: <Value>(wait: Promise<Value>) => Promise<Value>;
  /** What happens to each message of this request, before any instruction and any chance. */
  readonly fault?: AcquirerFault;
}

export type AcquirerFault = "lose_request" | "lose_answer" | { readonly decline: DeclineReason };
