import { assert } from "../kernel/assert.ts";
import type { EntryKind, LedgerAccount } from "../ledger/journal.ts";
import type { FactSource, HistoryFact } from "./change.ts";

/**
 * Short codes for the long words of the history table, which has millions of rows. A code is never
 * changed or reused.
 */
export const factCodes: Codes<HistoryFact> = codesOf({
  authorization_sent: "as",
  authorization_approved: "aa",
  authorization_held: "ah",
  sale_approved: "sa",
  authorization_declined: "ad",
  page_opened: "po",
  page_submitted: "ps",
  try_declined: "td",
  page_cancelled: "pc",
  page_lapsed: "pl",
  authentication_started: "ts",
  authentication_passed: "ty",
  authentication_failed: "tn",
  authentication_unanswered: "tu",
  try_not_authenticated: "to",
  review_accepted: "ra",
  review_rejected: "rj",
  capture_sent: "cs",
  capture_approved: "ca",
  capture_declined: "cd",
  void_sent: "vs",
  void_approved: "va",
  void_declined: "vd",
  void_declined_in_review: "vi",
  reversal_sent: "rs",
  reversal_approved: "rv",
  authorization_lapsed: "al",
  lapse_approved: "la",
  refund_requested: "fr",
  refund_queued: "fq",
  refund_sent: "fs",
  refund_approved: "fa",
  refund_declined: "fd",
  refund_not_done: "fn",
  refund_cancelled: "fc",
  chargeback_opened: "bo",
  chargeback_credited: "bc",
  attempt_unanswered: "nu",
  attempt_repeated: "nr",
  authorization_rerouted: "ne",
  marked_for_review: "nm",
  notification_resent: "nn",
  approval_came_late: "nl",
  late_approval_undone: "nd",
});

/** The view `journal` decodes these: another account needs a migration that recreates the view. */
export const accountCodes: Codes<LedgerAccount> = codesOf({
  authorized_holds: "h",
  cardholder_commitments: "c",
  acquirer_receivable: "a",
  merchant_payable: "m",
  tax_payable: "t",
});

export const entryKindCodes: Codes<EntryKind> = codesOf({
  hold: "h",
  release: "r",
  capture: "c",
  refund: "f",
  chargeback: "b",
  chargeback_credit: "w",
});

export const factSourceCodes: Codes<FactSource> = codesOf({
  merchant: "m",
  recovery: "r",
  clock: "c",
  operator: "o",
});

interface Codes<Word extends string> {
  readonly codeOf: Readonly<Record<Word, string>>;
  /** Throws BrokenInvariant for an unknown code. */
  wordOf(code: string): Word;
}

function codesOf<Word extends string>(codeOf: Readonly<Record<Word, string>>): Codes<Word> {
  const words = new Map<string, Word>();
  for (const word in codeOf) {
    assert(!words.has(codeOf[word]), "a code has one word");
    words.set(codeOf[word], word);
  }
  const wordOf = (code: string): Word => {
    const word = words.get(code);
    assert(word !== undefined, "a stored code has a word");
    return word;
  };
  return { codeOf, wordOf };
}
