import type { AuthenticationFault } from "../../authentication/test-cards.ts";
import type { AcquirerFaultKind, KeyedEndpoint } from "../../wire/endpoint.ts";

interface FaultKindRow {
  /**
   * What is done with the request: nothing, all of it, or all of it with a fault on the way to the
   * acquirer or in 3-D Secure, if the endpoint declares that the kind applies to it.
   */
  readonly work: "none" | "done" | "acquirer" | "authentication";
  /** Takes `delay_ms`. */
  readonly waits: boolean;
  /**
   * What the client sees, what the books contain then, and what a good client does: one cell each
   * of the table in docs/wire/sandbox.md.
   */
  readonly seen: string;
  readonly books: string;
  readonly advice: string;
}

const carriedOut = "the request was carried out";
const untouched = "no change";
const noAuthentication = "the cardholder is not authenticated; no payment is changed";
const payWithout = "offer another card, or pay without 3-D Secure at your own risk";
const anotherTry = "offer another try; never pay with values that you do not have";
const queryFirst = "query by `merchant_payment_code`";

/** All kinds of faults, one row each. */
export const faultKinds = {
  fail_before_commit: {
    work: "none",
    waits: false,
    seen: "HTTP 500, COFRE-14, like `error_after_commit`",
    books: untouched,
    advice: "query; if not found, send it again",
  },
  unavailable: {
    work: "none",
    waits: false,
    seen: "HTTP 503 with `Retry-After`, COFRE-21",
    books: untouched,
    advice: "wait as long as `Retry-After` says, then send it again",
  },
  throttle: {
    work: "none",
    waits: false,
    seen: "HTTP 429 with `Retry-After`, COFRE-12",
    books: untouched,
    advice: "as `unavailable`, with fewer requests at once",
  },
  drop_before_commit: {
    work: "none",
    waits: false,
    seen: "the connection is cut, like `drop_after_commit`",
    books: untouched,
    advice: "query; if not found, send it again",
  },
  drop_after_commit: {
    work: "done",
    waits: false,
    seen: "the connection is cut, without an answer",
    books: carriedOut,
    advice: queryFirst,
  },
  error_after_commit: {
    work: "done",
    waits: false,
    seen: "HTTP 500, COFRE-14",
    books: carriedOut,
    advice: queryFirst,
  },
  garbage_after_commit: {
    work: "done",
    waits: false,
    seen: "HTTP 502 with a proxy's HTML page",
    books: carriedOut,
    advice: queryFirst,
  },
  stall_in_body: {
    work: "done",
    waits: true,
    seen: "the head and half of the body, nothing for `delay_ms`, then the connection is cut",
    books: carriedOut,
    advice: `limit the time of the whole answer, then ${queryFirst}`,
  },
  late_answer: {
    work: "done",
    waits: true,
    seen: "the right answer, `delay_ms` after it was ready",
    books: carriedOut,
    advice: `wait, or ${queryFirst}`,
  },
  slow: {
    work: "done",
    waits: true,
    seen: "the right answer, `delay_ms` late, and so is the work, even if the client disconnects",
    books: "no change for `delay_ms`, then the request is carried out",
    advice: "wait, or query later: not found may change",
  },
  decline: {
    work: "acquirer",
    waits: false,
    seen: "a charge that is CA with the `reason`, an invalid card; BP-CAP-7 or BP-CAN-4",
    books: "`declined`; the authorization is unchanged",
    advice: "another card, under a new `merchant_payment_code`",
  },
  acquirer_unknown_then_yes: {
    work: "acquirer",
    waits: false,
    seen: "after the acquirer's time limit, a charge that is PE; COFRE-22 for a capture or a cancel",
    books:
      "in flight (`authorizing`, `capturing`, `voiding`) until recovery has asked, some seconds later; then done",
    advice: "wait for the notification, or query until the payment is no longer PE",
  },
  acquirer_unknown_then_no: {
    work: "acquirer",
    waits: false,
    seen: "after the acquirer's time limit, a charge that is PE",
    books: "`authorizing` for half a minute, until recovery is certain; then `voided` (CA)",
    advice: "wait for CA, then charge again under a new code",
  },
  directory_server_silent: {
    work: "authentication",
    waits: false,
    seen: "3-D Secure: AUTHENTICATION_FAILED, because no directory server answers",
    books: noAuthentication,
    advice: payWithout,
  },
  bank_silent: {
    work: "authentication",
    waits: false,
    seen: "3-D Secure: a challenge whose page stays empty, for any card; failed after 58 seconds",
    books: noAuthentication,
    advice: anotherTry,
  },
  bank_late: {
    work: "authentication",
    waits: true,
    seen: "3-D Secure: a challenge whose page is empty for `delay_ms`, in whole seconds, for any card",
    books: "the challenge has its usual outcome, if it is answered in time",
    advice: "wait with the customer",
  },
  result_lost: {
    work: "authentication",
    waits: false,
    seen: "3-D Secure: a challenge that the customer passes, for any card; failed after 58 seconds",
    books: noAuthentication,
    advice: anotherTry,
  },
  result_forged: {
    work: "authentication",
    waits: false,
    seen: "3-D Secure: a challenge that only the browser reports as passed (CRes), for any card; failed after 58 seconds",
    books: noAuthentication,
    advice: anotherTry,
  },
} as const satisfies Readonly<Record<string, FaultKindRow>> &
  Readonly<Record<AcquirerFaultKind, FaultKindRow & { readonly work: "acquirer" }>> &
  Readonly<Record<AuthenticationFault["kind"], FaultKindRow & { readonly work: "authentication" }>>;

export type FaultKind = keyof typeof faultKinds;

export const faultKindNames = Object.keys(faultKinds) as readonly FaultKind[];

export function rowOf(kind: FaultKind): FaultKindRow {
  return faultKinds[kind];
}

/** What decides whether a fault matches the requests of an endpoint. */
export type FaultTarget = Pick<KeyedEndpoint, "path" | "acquirerFaults" | "authenticates">;

/** Whether faults of this kind can match requests of the endpoint. */
export function appliesTo(
  kind: FaultKind,
  { acquirerFaults = [], authenticates }: FaultTarget,
): boolean {
  const { work } = rowOf(kind);
  if (work === "authentication") return authenticates === true;
  return work !== "acquirer" || acquirerFaults.some((each) => each === kind);
}

/** The kinds as a Markdown table for docs/wire/sandbox.md. */
export function faultKindsAsMarkdown(): string {
  const rows = faultKindNames.map((kind) => {
    const { seen, books, advice } = faultKinds[kind];
    return `| \`${kind}\` | ${seen} | ${books} | ${advice} |`;
  });
  return [
    "| kind | what the client sees | what Cofre has done | what the client should do |",
    "|---|---|---|---|",
    ...rows,
  ].join("\n");
}
