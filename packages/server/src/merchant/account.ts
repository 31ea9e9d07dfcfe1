import type { MerchantId } from "../kernel/ids.ts";
import type { DeclineReason } from "../payment/payment.ts";
import type { Route } from "./routing.ts";
import type { SavedView } from "./saved-views.ts";
import type { NotificationChaos, NotificationEndpoint } from "../notification/endpoint.ts";

export const pageAuthentications = ["off", "normal", "strict"] as const;

/** A merchant account: plain data. */
export interface Account {
  readonly id: MerchantId;
  readonly version: number;
  readonly name: string;
  readonly settings: AccountSettings;
}

/** Settings of an account. settings.ts has a row with the default of each. */
export interface AccountSettings {
  /** ISO 3166-1 alpha-2, lower case: used if a request has no country. */
  readonly country: string;
  /** X: cross-border hosts, B: hosts local to Brazil (interface 0). */
  readonly profile: "X" | "B";
  /** Name of a rate table in pricing-tables.ts. */
  readonly rateTable: string;
  /** Name of a tax policy in pricing-tables.ts. */
  readonly taxPolicy: string;
  /** Whether the tax is added to what the customer pays, or paid by the merchant. */
  readonly taxPaidBy: "customer" | "merchant";
  readonly partialCapture: boolean;
  /** Approved payments above this amount in whole USD wait for a reviewer; 0: no limit. */
  readonly reviewAboveUsd: number;
  /**
   * Days within which an authorization can be captured; then it is voided (interface 4.2: 4, up to
   * 5 or 7).
   */
  readonly captureWindowDays: number;
  /** Days after the capture within which a refund may be requested; 0: no limit. */
  readonly refundWindowDays: number;
  /**
   * Minutes that a refund stays requested (RE), and then pending (PE), before it is sent to the
   * acquirer.
   */
  readonly refundRequestedMinutes: number;
  readonly refundPendingMinutes: number;
  /**
   * true: only a requested refund can be cancelled, not a pending one (interface 4.4 can be read
   * both ways).
   */
  readonly strictRefundCancel: boolean;
  /**
   * true: a stored-credential payment must have the mandate of an initial one with the same card.
   */
  readonly strictMandates: boolean;
  /** true: declines have `iso_code` and `mac_code` (interface 4.3). */
  readonly declineCodes: boolean;
  /** true: transaction_status describes outcomes with the sandbox texts of 2017 (interface 4.3). */
  readonly legacyDescriptions: boolean;
  /** transaction_status.acquirer. */
  readonly acquirerName: string;
  /** false: create_token is refused with BP-DR-62. */
  readonly createToken: boolean;
  /** true: a PAN without a security code is refused with BP-DR-54. */
  readonly requireCvv: boolean;
  /**
   * Whether a card on the hosted page is authenticated with 3-D Secure before it is authorized.
   * `strict`: it is authorized only if the bank authenticated the customer or attempted to (Y, A).
   * `normal`: also a credit card whose bank could not or only gave information (U, I). A challenge
   * that was begun and not passed is never authorized.
   */
  readonly pageAuthentication: (typeof pageAuthentications)[number];
  /** true: the simulated issuer declines Brazilian debit payments without 3-D Secure. */
  readonly requireDebitThreeDSecure: boolean;
  /**
   * Origins of the pages that may contain the card fields, separated by spaces; empty: none, in the
   * sandbox those of this machine.
   */
  readonly fieldOrigins: string;
  /**
   * Requests with the public key that one network may make in a minute, different cards that it may
   * store and requests of it that may be refused in ten minutes; 0: no limit.
   */
  readonly publicRequestsPerMinute: number;
  readonly publicCardsPerTenMinutes: number;
  readonly publicFailuresPerTenMinutes: number;
  /** Upper limit per payment in whole USD, converted by the rate table; interface 3.5: 10000. */
  readonly maximumAmountUsd: number;
  /**
   * Address for notifications of payments without their own address; empty: none (interface 5.7,
   * 6).
   */
  readonly notificationUrl: string;
  /** Where the hosted page sends customers back to; empty: none. */
  readonly responseUrl: string;
  /** E-mail address for receipts; empty: none. */
  readonly receiptEmail: string;
  /** The merchant's picture on the hosted page; empty: none. */
  readonly imageUrl: string;
  /** Printed on statements, unless a payment has a soft_descriptor. */
  readonly descriptor: string;
  /** true: a form body whose JSON is cut by a raw `&` is refused instead of repaired. */
  readonly strictForms: boolean;
  /** true: an amount with more decimals than the wire has is refused instead of rounded. */
  readonly strictAmounts: boolean;
  /**
   * true: a merchant_payment_code, merchant_refund_code or Idempotency-Key that contains the number
   * of the card is refused (docs/decisions/0007).
   */
  readonly refuseCardLikeCodes: boolean;
  /**
   * Also sends a notification for a payment that is paid or declined within its own request
   * (interface 4.2).
   */
  readonly notifySynchronous: boolean;
  /**
   * Acquirers of payments: the first matching route applies; without one, the installation's first
   * acquirer.
   */
  readonly routes: readonly Route[];
  /** Receivers of all notifications except those of payments with their own address. */
  readonly notificationEndpoints: readonly NotificationEndpoint[];
  /** Faults that the sandbox injects into deliveries. */
  readonly notificationChaos: NotificationChaos;
  readonly simulator: SimulatorSettings;
  /** Searches of the console's payment list. They change nothing of how payments are processed. */
  readonly savedViews: readonly SavedView[];
}

/**
 * How the simulated acquirer behaves towards this account. Probabilities are in 1/1000 and drawn
 * from `seed`.
 */
export interface SimulatorSettings {
  readonly seed: string;
  readonly latencyMs: number;
  /** The acquirer executes the request, but its answer is lost. */
  readonly loseAnswer: number;
  /** The request is lost before it reaches the acquirer. */
  readonly loseRequest: number;
  /** The answer comes after the deadline. */
  readonly lateAnswer: number;
  /** The network delivers the request twice. */
  readonly doubleRequest: number;
}

/**
 * How the simulated acquirer treats one request: like the account, unless a fault was injected into
 * the request. Never stored.
 */
export interface SimulatorBehaviour extends SimulatorSettings {
  /** Wraps each wait of this request: simulated waits give up their place in the work limit. */
  readonly waits?: <Value>(wait: Promise<Value>) => Promise<Value>;
  /**
   * Fault for each message of this request; takes precedence over instructions and probabilities.
   */
  readonly fault?: AcquirerFault;
}

export type AcquirerFault = "lose_request" | "lose_answer" | { readonly decline: DeclineReason };
