/** What a merchant asks about one payment of 100.00. */
export type Ask =
  | { readonly kind: "direct"; readonly sale: boolean }
  | { readonly kind: "capture" | "cancel" | "query" }
  | { readonly kind: "refund" | "cancel refund"; readonly refund: RefundName };

/** The refunds that may be asked for, by their merchant_refund_code, and how much each gives back of the 100.00. */
export const refundAmounts = { r0: 40, r1: 70, r2: 100, r3: 30 } as const;
export type RefundName = keyof typeof refundAmounts;
export const refundNames: readonly RefundName[] = ["r0", "r1", "r2", "r3"];

/** A payment as its merchant can tell it apart, and what is kept under the merchant's Idempotency-Keys. */
export interface PaymentState {
  /** Authorizing: there, and the call of this index waits for the acquirer. */
  readonly phase: "absent" | "open" | "captured" | "cancelled" | { readonly authorizing: number };
  readonly refunds: Readonly<Partial<Record<RefundName, "asked" | "cancelled">>>;
  readonly kept: Readonly<Record<string, string>>;
}

export const nothingYet: PaymentState = { phase: "absent", refunds: {}, kept: {} };

/** A call that takes effect: the state that it leaves, and what its caller is told. Undefined told: it is not over yet. */
export interface Effect {
  readonly next: PaymentState;
  readonly told: string | undefined;
}

/** In words of the wire: an error's code, or the state that the answer shows. */
export function effectOf(state: PaymentState, ask: Ask, index: number): Effect {
  const { phase } = state;
  const is = (told: string): Effect => ({ next: state, told });
  const moves = (next: Partial<PaymentState>, told: string): Effect => ({ next: { ...state, ...next }, told });
  const isAuthorizing = typeof phase === "object";
  switch (ask.kind) {
    case "direct": {
      if (phase === "absent") return { next: { ...state, phase: { authorizing: index } }, told: undefined };
      if (!isAuthorizing || phase.authorizing !== index) return is("BP-DR-0");
      const done = ask.sale ? "captured" : "open";
      return moves({ phase: done }, done);
    }
    case "capture":
      if (isAuthorizing) return is("BP-CAP-5");
      if (phase === "absent") return is("BP-CAP-2");
      if (phase === "cancelled") return is("BP-CAP-3");
      return phase === "captured" ? is("BP-CAP-4") : moves({ phase: "captured" }, "captured");
    case "cancel":
      if (isAuthorizing) return is("COFRE-20");
      if (phase === "absent") return is("BP-CAN-2");
      return phase === "open" ? moves({ phase: "cancelled" }, "cancelled") : is("BP-CAN-3");
    case "query":
      return is(isAuthorizing ? "authorizing" : phase === "absent" ? "BP-QRY-2" : shown(phase, state.refunds));
    case "refund":
      return refundEffect(state, ask.refund);
    default:
      if (state.refunds[ask.refund] === undefined) return is("BP-REF-9");
      if (state.refunds[ask.refund] === "cancelled") return is("BP-REF-10");
      return moves({ refunds: { ...state.refunds, [ask.refund]: "cancelled" } }, "done");
  }
}

function refundEffect(state: PaymentState, name: RefundName): Effect {
  const is = (told: string): Effect => ({ next: state, told });
  if (state.phase === "absent") return is("BP-REF-CAN-2");
  if (state.phase !== "captured") return is("BP-REF-7");
  const left = refundNames.reduce((rest, each) => (state.refunds[each] === "asked" ? rest - refundAmounts[each] : rest), 100);
  if (left === 0) return is("BP-REF-12");
  if (refundAmounts[name] > left) return is("BP-REF-5");
  if (state.refunds[name] !== undefined) return is("BP-REF-11");
  return { next: { ...state, refunds: { ...state.refunds, [name]: "asked" } }, told: "done" };
}

/** A payment in words: its status, and its refunds by their codes. */
export function shown(phase: string, refunds: PaymentState["refunds"]): string {
  return [phase, ...refundNames.flatMap((name) => (refunds[name] === undefined ? [] : [`${name} ${refunds[name]}`]))].join(", ");
}

/** Answers that are no last word, so that none is kept under an Idempotency-Key. */
export function isKept(told: string): boolean {
  return told !== "COFRE-20";
}
