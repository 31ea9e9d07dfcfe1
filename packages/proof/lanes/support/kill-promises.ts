/** The fields of an answered payment that a client relies on. */
export interface ReportedPayment {
  readonly hash: string;
  readonly code: string;
  readonly status: string;
  readonly captureAvailable: boolean;
  readonly preApproved: boolean;
  readonly amount: string;
}

/** Reads `payment` of an answer; undefined when there is none. */
export function reportedPaymentOf(
  answer: Readonly<Record<string, unknown>> | undefined,
): ReportedPayment | undefined {
  const payment = answer?.["payment"];
  if (typeof payment !== "object" || payment === null) return undefined;
  const fields = payment as Readonly<Record<string, unknown>>;
  return {
    hash: String(fields["hash"]),
    code: String(fields["merchant_payment_code"]),
    status: String(fields["status"]),
    captureAvailable: fields["capture_available"] === true,
    preApproved: fields["pre_approved"] === true,
    amount: String(fields["amount_ext"]),
  };
}

/**
 * All answers that clients received and that no crash may make untrue: an acknowledged write is a
 * promise.
 */
export class Promises {
  /** Masked number in the answer, by token. */
  readonly tokens = new Map<string, string>();
  readonly #payments = new Map<string, ReportedPayment[]>();
  /** Codes whose cancellation was requested, answered or not. */
  readonly cancelled = new Set<string>();
  /** By payment code: number of requests, and of answers that nothing was done. */
  readonly #sent = new Map<string, { requests: number; refused: number }>();
  /** Answers that acknowledged a write. */
  acknowledged = 0;

  reported(payment: ReportedPayment): void {
    const reported = this.#payments.get(payment.code);
    if (reported === undefined) this.#payments.set(payment.code, [payment]);
    else reported.push(payment);
  }

  sent(code: string): void {
    const of = this.#sent.get(code);
    if (of === undefined) this.#sent.set(code, { requests: 1, refused: 0 });
    else of.requests += 1;
  }

  reportedNothingDone(code: string): void {
    const of = this.#sent.get(code);
    if (of !== undefined) of.refused += 1;
  }

  /** Codes for which every request was answered that nothing was done. */
  get undone(): readonly string[] {
    return [...this.#sent]
      .filter(([, { requests, refused }]) => requests === refused)
      .map(([code]) => code);
  }

  get codes(): readonly string[] {
    return [...this.#payments.keys()];
  }

  /** Identifiers of all payments in answers. */
  get hashes(): readonly string[] {
    return [...this.#payments.values()].flatMap(([first]) =>
      first === undefined ? [] : [first.hash],
    );
  }

  /** Earlier answers for this code that contradict `now`, as sentences. */
  broken(code: string, now: ReportedPayment | undefined): string[] {
    const reported = this.#payments.get(code) ?? [];
    if (now === undefined) return [`${code} was acknowledged and is not there`];
    const problems: string[] = [];
    for (const before of reported) {
      if (before.hash !== now.hash) problems.push(`${code} had two identifiers`);
      if (before.amount !== now.amount) problems.push(`${code} was told with another amount`);
      if ((before.status === "CO" || before.status === "CA") && now.status !== before.status) {
        problems.push(`${code} was told ${before.status} and is ${now.status}`);
      }
      // Only the merchant can undo an approval.
      if (before.preApproved && now.status === "CA" && !this.cancelled.has(code))
        problems.push(`${code} was approved and is gone`);
      if (before.preApproved && now.status === "PE" && !now.captureAvailable)
        problems.push(`${code} was approved and is stuck`);
    }
    return problems;
  }
}
