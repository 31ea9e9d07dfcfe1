import type { CurrencyCode } from "../kernel/currency.ts";

export const ledgerAccounts = [
  /**
   * Amounts that issuers hold for us: debited when authorized, credited when captured or released.
   */
  "authorized_holds",
  /** Counter-account of the holds. */
  "cardholder_commitments",
  /** Owed by the acquirer for captures. */
  "acquirer_receivable",
  /** Owed to the merchant for captures. */
  "merchant_payable",
  /** Tax collected for the state. */
  "tax_payable",
] as const;
export type LedgerAccount = (typeof ledgerAccounts)[number];

/** One line: debits are positive, credits negative. */
export interface Posting {
  readonly account: LedgerAccount;
  readonly currency: CurrencyCode;
  readonly minor: bigint;
}

export const entryKinds = [
  "hold",
  "release",
  "capture",
  "refund",
  "chargeback",
  "chargeback_credit",
] as const;
export type EntryKind = (typeof entryKinds)[number];

/** An append-only entry of the double-entry journal: its postings sum to zero in each currency. */
export interface JournalEntry {
  readonly kind: EntryKind;
  readonly postings: readonly Posting[];
}
