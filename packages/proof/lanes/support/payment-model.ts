/** Requests of a merchant about one payment of 100.00, or about a token that the merchant chose. */
export type Ask =
  | { readonly kind: "direct"; readonly sale: boolean; readonly token?: TokenName }
  | { readonly kind: "capture"; readonly part?: boolean }
  | { readonly kind: "cancel" | "query" | "refund or cancel" }
  | { readonly kind: "refund" | "cancel refund"; readonly refund: RefundName }
  | { readonly kind: "token"; readonly token: TokenName };

/** The possible refunds, by merchant_refund_code, with their amounts. */
export const refundAmounts = { r0: 40, r1: 70, r2: 100, r3: 30 } as const;
export type RefundName = keyof typeof refundAmounts;
export const refundNames: readonly RefundName[] = ["r0", "r1", "r2", "r3"];
/** The refund of the remaining amount, which refundOrCancel requests. */
export const refundOfAll = "ra";
/** The amount of the 100 that a partial capture takes. */
export const capturedPart = 40;

export const tokenNames = ["t0", "t1"] as const;
export type TokenName = (typeof tokenNames)[number];

type Phase = "absent" | "open" | "captured" | "cancelled" | "authorizing" | "capturing" | "voiding";

interface RefundState {
  readonly amount: number;
  readonly isCancelled: boolean;
}

/**
 * A payment as its merchant sees it, the stored answers of the merchant's Idempotency-Keys, and
 * which keys had which effect.
 */
export interface PaymentState {
  /**
   * An object: it exists, and the call with this index waits for the acquirer. The names in -ing:
   * the acquirer's answer is lost, and recovery comes after the history.
   */
  readonly phase: Phase | { readonly authorizing: number };
  readonly captured: number;
  readonly refunds: Readonly<Record<string, RefundState>>;
  readonly tokens: readonly TokenName[];
  readonly kept: Readonly<Record<string, string>>;
  /**
   * By effect (`direct`, `capture`, `void`, `refund r0`, `cancel refund r0`, `token`) the key of
   * its request.
   */
  readonly owners: Readonly<Record<string, string>>;
}

export const nothingYet: PaymentState = {
  phase: "absent",
  captured: 0,
  refunds: {},
  tokens: [],
  kept: {},
  owners: {},
};

/**
 * A call that takes effect: the next state, and the caller's answer. `reported` undefined: it is not
 * finished.
 */
export interface Effect {
  readonly next: PaymentState;
  readonly reported: string | undefined;
}

/**
 * All possible effects of the call, in terms of the interface: an error's code, or the state in the
 * answer.
 */
export function effectsOf(
  state: PaymentState,
  ask: Ask,
  index: number,
  key: string | undefined,
): readonly Effect[] {
  const { phase } = state;
  const is = (reported: string): readonly Effect[] => [{ next: state, reported }];
  const isAuthorizing = phase === "authorizing" || typeof phase === "object";
  switch (ask.kind) {
    case "direct":
      return directEffects(state, ask, index, key);
    case "capture": {
      if (isAuthorizing) return is("BP-CAP-5");
      if (phase === "absent") return is("BP-CAP-2");
      if (phase === "cancelled") return is("BP-CAP-3");
      if (phase === "captured")
        return is(isOwn(state, "capture", key) ? phaseWord(state) : "BP-CAP-4");
      if (phase !== "open") return is("COFRE-20");
      const next = owned(
        { ...state, phase: "captured", captured: ask.part === true ? capturedPart : 100 },
        "capture",
        key,
      );
      return [
        { next, reported: phaseWord(next) },
        { next: { ...state, phase: "capturing" }, reported: "COFRE-22" },
      ];
    }
    case "cancel":
      return phase === "absent" ? is("BP-CAN-2") : cancelEffects(state, key);
    case "refund or cancel":
      if (phase === "absent") return is("BP-REF-CAN-2");
      // If a capture comes between this request's read and its cancellation, it is refused; the
      // client sends it again.
      return phase === "captured"
        ? [...refundEffects(state, refundOfAll, key), ...is("BP-CAN-3")]
        : cancelEffects(state, key);
    case "query":
      return is(phase === "absent" ? "BP-QRY-2" : shown(state));
    case "refund":
      return phase === "absent" ? is("BP-REF-CAN-2") : refundEffects(state, ask.refund, key);
    case "token":
      if (state.tokens.includes(ask.token)) return is("BP-DR-65");
      return [{ next: { ...state, tokens: [...state.tokens, ask.token] }, reported: "stored" }];
    default: {
      const { refund: name } = ask;
      const refund = state.refunds[name];
      const effect = `cancel refund ${name}`;
      if (refund === undefined) return is("BP-REF-9");
      if (refund.isCancelled) return is(isOwn(state, effect, key) ? "done" : "BP-REF-10");
      const refunds = { ...state.refunds, [name]: { ...refund, isCancelled: true } };
      return [{ next: owned({ ...state, refunds }, effect, key), reported: "done" }];
    }
  }
}

function directEffects(
  state: PaymentState,
  { sale, token }: Extract<Ask, { kind: "direct" }>,
  index: number,
  key: string | undefined,
): readonly Effect[] {
  const { phase, tokens } = state;
  const isTaken = token !== undefined && tokens.includes(token);
  if (phase === "absent") {
    const begun: Effect = {
      next: owned({ ...state, phase: { authorizing: index } }, "direct", key),
      reported: undefined,
    };
    // The token is checked first: it may be stored after that check, and then the payment is made
    // without it.
    return isTaken ? [{ next: state, reported: "BP-DR-65" }, begun] : [begun];
  }
  if (typeof phase === "object" && phase.authorizing === index) {
    const stores = token !== undefined && !isTaken;
    const done: PaymentState = {
      ...state,
      phase: sale ? "captured" : "open",
      captured: sale ? 100 : 0,
    };
    const next = stores
      ? owned({ ...done, tokens: [...tokens, token] }, "token", key ?? "nobody")
      : done;
    return [
      { next, reported: phaseWord(next) + (stores ? ", token" : "") },
      { next: { ...state, phase: "authorizing" }, reported: "authorizing" },
    ];
  }
  if (!isOwn(state, "direct", key)) return [{ next: state, reported: "BP-DR-0" }];
  return [
    {
      next: state,
      reported:
        phaseWord(state) + (isOwn(state, "token", key) && token !== undefined ? ", token" : ""),
    },
  ];
}

function cancelEffects(state: PaymentState, key: string | undefined): readonly Effect[] {
  const is = (reported: string): readonly Effect[] => [{ next: state, reported }];
  if (state.phase === "captured") return is("BP-CAN-3");
  if (state.phase === "cancelled") return is(isOwn(state, "void", key) ? "cancelled" : "BP-CAN-3");
  if (state.phase !== "open") return is("COFRE-20");
  return [
    { next: owned({ ...state, phase: "cancelled" }, "void", key), reported: "cancelled" },
    { next: { ...state, phase: "voiding" }, reported: "COFRE-22" },
  ];
}

function refundEffects(
  state: PaymentState,
  name: string,
  key: string | undefined,
): readonly Effect[] {
  const is = (reported: string): readonly Effect[] => [{ next: state, reported }];
  const effect = `refund ${name}`;
  if (isOwn(state, effect, key)) return is("done");
  if (state.phase !== "captured") return is("BP-REF-7");
  if (state.refunds[name] !== undefined) return is("BP-REF-11");
  const left = Object.values(state.refunds).reduce(
    (rest, { amount, isCancelled }) => (isCancelled ? rest : rest - amount),
    state.captured,
  );
  if (left === 0) return is("BP-REF-12");
  const amount = name === refundOfAll ? left : refundAmounts[name as RefundName];
  if (amount > left) return is("BP-REF-5");
  return [
    {
      next: owned(
        { ...state, refunds: { ...state.refunds, [name]: { amount, isCancelled: false } } },
        effect,
        key,
      ),
      reported: "done",
    },
  ];
}

function isOwn({ owners }: PaymentState, effect: string, key: string | undefined): boolean {
  return key !== undefined && owners[effect] === key;
}

function owned(state: PaymentState, effect: string, key: string | undefined): PaymentState {
  return key === undefined ? state : { ...state, owners: { ...state.owners, [effect]: key } };
}

/** The state of a payment in one word, with the captured amount if it is a part. */
export function wordOf(phase: string, captured: number): string {
  return phase === "captured" && captured !== 100 ? `captured ${captured}` : phase;
}

function phaseWord({ phase, captured }: PaymentState): string {
  if (typeof phase === "object") return "authorizing";
  return phase === "capturing" || phase === "voiding" ? "busy" : wordOf(phase, captured);
}

/** A payment as text: its status, and its refunds by their codes. */
export function shownWith(
  word: string,
  refunds: Readonly<Record<string, Pick<RefundState, "isCancelled">>>,
): string {
  const reported = [...refundNames, refundOfAll].flatMap((name) => {
    const refund = refunds[name];
    return refund === undefined ? [] : [`${name} ${refund.isCancelled ? "cancelled" : "asked"}`];
  });
  return [word, ...reported].join(", ");
}

function shown(state: PaymentState): string {
  const word = phaseWord(state);
  return word === "busy" || word === "authorizing" ? word : shownWith(word, state.refunds);
}

/** What is stored under an Idempotency-Key: the answer, or that there is no final one yet. */
export function keptOf(reported: string): string {
  return reported === "COFRE-20" ||
    reported === "COFRE-22" ||
    reported === "authorizing" ||
    reported === "busy" ||
    reported.endsWith(", token")
    ? noLastWord
    : reported;
}

export const noLastWord = "no last word";
