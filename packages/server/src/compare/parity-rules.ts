import { wirePaths } from "../interface/paths.ts";
import type { Difference } from "./differences.ts";
import type { Outcome } from "./seen-answer.ts";

/** What a rule may depend on besides the difference. */
export interface Finding {
  /** `/ws/direct`, in lower case. */
  readonly endpoint: string;
  readonly difference: Difference;
  readonly upstream: Outcome;
  readonly cofre: Outcome;
  readonly request: RequestFacts;
  /** The two answers have different exchange rates, so their amounts differ too. */
  readonly hasOtherRate: boolean;
}

export interface RequestFacts {
  readonly country: string;
  readonly paymentType: string;
  /** The card is one of docs/wire/sandbox.md. undefined: the request has no card number. */
  readonly isTestCard: boolean | undefined;
  readonly hasNetworkToken: boolean;
  readonly hasCryptogram: boolean;
}

export interface ParityRule {
  /** As in the last column of docs/wire/parity.md, which a test compares with this table. */
  readonly id: string;
  /** The heading there. */
  readonly section: string;
  /** The difference in one sentence, for the report. */
  readonly summary: string;
  readonly covers: (finding: Finding) => boolean;
}

type Covers = ParityRule["covers"];

const refuses =
  (side: "upstream" | "cofre", ...codes: readonly string[]): Covers =>
  (finding) => {
    const outcome = finding[side];
    return (
      outcome.kind === "refused" &&
      codes.includes(outcome.code) &&
      ["outcome", "code"].includes(finding.difference.aspect)
    );
  };
const cofreRefuses = (...codes: readonly string[]): Covers => refuses("cofre", ...codes);
const upstreamRefuses = (...codes: readonly string[]): Covers => refuses("upstream", ...codes);
const member =
  (path: RegExp): Covers =>
  ({ difference }) =>
    path.test(difference.path);
const answered =
  (endpoint: RegExp): Covers =>
  (finding) =>
    endpoint.test(finding.endpoint);
const both =
  (...all: readonly Covers[]): Covers =>
  (finding) =>
    all.every((covers) => covers(finding));
const either =
  (...all: readonly Covers[]): Covers =>
  (finding) =>
    all.some((covers) => covers(finding));
const isOutcome: Covers = ({ difference }) => difference.aspect === "outcome";
const isDirect: Covers = ({ endpoint }) => endpoint === wirePaths.direct;
const areDecided: Covers = ({ upstream, cofre }) =>
  upstream.kind === "decided" && cofre.kind === "decided";

type Row = readonly [id: string, summary: string, covers: Covers];

function rulesOf(section: string, rows: readonly Row[]): readonly ParityRule[] {
  return rows.map(([id, summary, covers]) => ({ id, section, summary, covers }));
}

/** The known differences. The first rule that covers a difference explains it. */
export const parityRules: readonly ParityRule[] = [
  ...rulesOf("Unknown outcomes", [
    [
      "pending-outcome",
      "Cofre waits for its acquirer and answers PENDING or COFRE-22.",
      either(
        cofreRefuses("COFRE-22"),
        ({ cofre, upstream }) => isPending(cofre) !== isPending(upstream),
      ),
    ],
  ]),
  ...rulesOf("What differs", [
    [
      "debit-three-d-secure",
      "Brazilian debit cards need 3-D Secure at the original.",
      both(
        isOutcome,
        isDirect,
        ({ request }) => request.country === "br" && request.paymentType === "debitcard",
      ),
    ],
    [
      "network-token-cryptogram",
      "Cofre accepts a network token without a cryptogram.",
      both(isOutcome, isDirect, ({ request }) => request.hasNetworkToken && !request.hasCryptogram),
    ],
    ["country-of-customer", "Cofre never sends BP-DR-98.", upstreamRefuses("BP-DR-98")],
    ["duplicate-period", "Cofre never sends BP-DR-84.", upstreamRefuses("BP-DR-84")],
    [
      "mexican-debit-currency",
      "Cofre accepts only the country's currency, USD and EUR.",
      both(cofreRefuses("BP-DR-4"), ({ request }) => request.country === "mx"),
    ],
    ["countries", "Cofre has the countries of Latin America only.", cofreRefuses("BP-DR-77")],
    [
      "partial-capture",
      "Partial captures depend on the setting partialCapture, not on the country.",
      either(cofreRefuses("BP-CAP-11"), upstreamRefuses("BP-CAP-11")),
    ],
    [
      "risk-members",
      "Cofre scores no risks and has no amounts in US dollars.",
      both(
        member(/(?:^|\.)(?:risk_analysis|amount_usd|currency_rate_usd)(?:$|\.)/),
        ({ difference }) => difference.aspect === "missing",
      ),
    ],
    [
      "address-bytes",
      "Cofre refuses raw UTF-8 and blanks in an address.",
      cofreRefuses("COFRE-132"),
    ],
    ["zipcode", "Cofre knows two zip codes.", answered(/^\/ws\/zipcode$/)],
    [
      "document-balance",
      "Cofre always answers the month's 3000 USD.",
      answered(/^\/ws\/documentbalance$/),
    ],
    [
      "sandbox-numbers",
      "Cofre's sandbox accepts only published test numbers.",
      both(cofreRefuses("BP-DR-75"), ({ upstream }) => upstream.kind !== "refused"),
    ],
    [
      "issuer-decisions",
      "The simulated issuers decide differently about a card other than the published test cards.",
      both(isOutcome, areDecided, ({ request }) => request.isTestCard === false),
    ],
    [
      "sandbox-rates",
      "The two servers have different exchange rates or taxes.",
      either(
        member(/(?:^|\.)currency_rate(?:$|\.rate$)/),
        both(member(/(?:^|\.)amount_(?:br|iof|usd)$/), ({ hasOtherRate }) => hasOtherRate),
      ),
    ],
    [
      "account-values",
      "The two accounts have other settings.",
      either(
        member(/(?:^|\.)(?:billing_descriptor|acquirer)$/),
        both(answered(/^\/ws\/merchantintegrationproperties\/get$/), member(/^body\./)),
      ),
    ],
  ]),
  ...rulesOf("What is not available", [
    [
      "three-d-secure-challenge",
      "Cofre has no 3-D Secure challenge inside a payment.",
      both(isDirect, member(/(?:^|\.)redirect_url$/)),
    ],
    ["other-methods", "Cofre takes cards only.", cofreRefuses("BP-DR-36", "BP-DR-38")],
    ["other-operations", "Cofre does not have this operation.", cofreRefuses("COFRE-23")],
    ["payouts", "Cofre has no payouts, reports and wallets.", cofreRefuses("COFRE-9")],
  ]),
  ...rulesOf("Ambiguous values", [
    ["two-values", "Cofre refuses two values of one field.", cofreRefuses("COFRE-6")],
    ["operation-word", "Cofre takes only the operation request.", cofreRefuses("BP-DR-1")],
  ]),
  ...rulesOf("Amounts, countries and dates", [
    [
      "amount-text",
      "Cofre refuses amounts with a sign, an exponent or a comma, and zero.",
      cofreRefuses("BP-DR-5", "BP-DR-6"),
    ],
    ["amount-parts", "Cofre refuses parts whose sum is not the total.", cofreRefuses("BP-DR-8")],
    [
      "amount-name",
      "Cofre refuses an amount that it does not find under its name.",
      cofreRefuses("BP-CAP-6", "BP-REF-4"),
    ],
    [
      "due-date-codes",
      "Cofre's codes of wrong due dates are a choice.",
      cofreRefuses("BP-DR-58", "BP-DR-59", "BP-DR-67"),
    ],
    [
      "mask-length",
      "Cofre's masks are as long as the number.",
      member(/(?:^|\.)masked_card_number$/),
    ],
  ]),
  ...rulesOf("Stored cards and 3-D Secure", [
    ["chosen-token", "Cofre refuses a chosen token with the public key.", cofreRefuses("BP-DR-66")],
    ["network-token-storage", "Cofre does not store a network token.", cofreRefuses("BP-DR-61")],
    ["authentication-proof", "Cofre refuses an indicator without proof.", cofreRefuses("COFRE-27")],
    [
      "credential-words",
      "Cofre refuses an unknown cof_type or initiator.",
      cofreRefuses("COFRE-26"),
    ],
    [
      "mandate-required",
      "The setting strictMandates refuses a payment without a known mandate.",
      cofreRefuses("COFRE-28"),
    ],
    [
      "mandate-position",
      "The place of the mandate in answers is Cofre's choice.",
      member(/(?:^|\.)cof_info(?:$|\.)/),
    ],
    [
      "created-token-members",
      "The members of a payment that created a token are Cofre's choice.",
      both(isDirect, member(/^payment\.token$/), ({ difference }) =>
        ["missing", "added"].includes(difference.aspect),
      ),
    ],
  ]),
  ...rulesOf("Order of errors, repeats and refunds", [
    [
      "repeat-first",
      "Cofre reports a repeated code before other errors.",
      both(cofreRefuses("BP-DR-0"), ({ upstream }) => upstream.kind === "refused"),
    ],
    [
      "idempotency",
      "Cofre refuses another request under a used Idempotency-Key.",
      cofreRefuses("COFRE-44"),
    ],
    [
      "refund-without-amount",
      "Cofre refuses a refund without an amount.",
      cofreRefuses("BP-REF-3"),
    ],
    ["refund-period", "The setting refundWindowDays limits refunds.", cofreRefuses("COFRE-24")],
    [
      "refund-of-chargeback",
      "Cofre refuses a refund of a charged-back payment.",
      cofreRefuses("COFRE-25"),
    ],
    [
      "refund-times",
      "A refund stays requested and pending for other times.",
      member(/(?:^|\.)refunds?(?:\[\])?\.(?:status|pending_date|confirm_date)$/),
    ],
  ]),
  ...rulesOf("Transport", [
    [
      "unread-body",
      "Cofre refuses a body that it cannot read.",
      cofreRefuses("COFRE-7", "COFRE-1"),
    ],
    ["charset", "Cofre refuses text that is not in its charset.", cofreRefuses("COFRE-164")],
    [
      "request-end",
      "Cofre refuses a request without a clear end or length.",
      cofreRefuses("COFRE-134", "COFRE-167"),
    ],
    ["repeated-header", "Cofre refuses a header with two values.", cofreRefuses("COFRE-163")],
  ]),
  ...rulesOf("Card numbers in other fields", [
    [
      "card-like-codes",
      "Cofre refuses codes that contain the card number.",
      cofreRefuses("BP-DR-9", "COFRE-47", "COFRE-151"),
    ],
    [
      "card-like-phone",
      "Cofre refuses a telephone number with the digits of a card.",
      cofreRefuses("BP-DR-32"),
    ],
  ]),
];

function isPending(outcome: Outcome): boolean {
  return outcome.kind === "decided" && outcome.verdict.endsWith("PENDING");
}

/** The rule that explains a finding; undefined: the difference is unknown. */
export function ruleFor(finding: Finding): ParityRule | undefined {
  return parityRules.find(({ covers }) => covers(finding));
}
