import {
  type Ask,
  effectsOf,
  keptOf,
  noLastWord,
  nothingYet,
  type PaymentState,
} from "./payment-model.ts";

/** One call and its result. Times are in milliseconds of one clock. */
export interface Call {
  readonly ask: Ask;
  /** Idempotency-Key: the same key is used with the same request only. */
  readonly key: string | undefined;
  readonly began: number;
  readonly ended: number;
  /**
   * The answer in the terms of payment-model.ts; undefined when none was received: the call may
   * have taken effect at any time.
   */
  readonly reported: string | undefined;
}

interface Step {
  readonly next: PaymentState;
  readonly isOver: boolean;
}

/**
 * The states after the call, or a part of it, took effect in `state`; none if the answer was not
 * possible then.
 */
function after(state: PaymentState, call: Call, index: number): readonly Step[] {
  const { ask, key, reported } = call;
  const fits = (answer: string): boolean => reported === undefined || reported === answer;
  const kept = key === undefined ? undefined : state.kept[key];
  if (kept !== undefined && kept !== noLastWord)
    return fits(kept) ? [{ next: state, isOver: true }] : [];
  // While a capture or a cancellation is at the acquirer, an answer shows the payment as one that
  // allows no action.
  const isBusy = reported === "busy" && state.phase === "open";
  return effectsOf(state, ask, index, key).flatMap((effect): readonly Step[] => {
    if (effect.reported === undefined) return [{ next: effect.next, isOver: false }];
    if (!fits(effect.reported) && !(isBusy && effect.next === state)) return [];
    const { next } = effect;
    const word = isBusy ? noLastWord : keptOf(effect.reported);
    return [
      {
        next: key === undefined ? next : { ...next, kept: { ...next.kept, [key]: word } },
        isOver: true,
      },
    ];
  });
}

/**
 * Whether the calls on one payment have an order that respects their times (a call that ended
 * before another began comes first) and in which each answer, a refusal too, is what the model
 * returns there: the search of Wing and Gong, with Lowe's memory of visited states. A call without
 * an answer may take effect at any time after it began, or never. A payment is created in two
 * steps, because others can see it before the acquirer has answered.
 */
export function hasLegalOrder(calls: readonly Call[]): boolean {
  const ends = calls.map(({ reported, ended }) => (reported === undefined ? Infinity : ended));
  const seen = new Set<string>();
  const search = (done: bigint, state: PaymentState): boolean => {
    const place = `${done} ${JSON.stringify(state)}`;
    if (seen.has(place)) return false;
    seen.add(place);
    const open = [...calls.keys()].filter((index) => (done & (1n << BigInt(index))) === 0n);
    if (open.every((index) => calls[index]?.reported === undefined)) return true;
    const firstEnd = Math.min(...open.map((index) => ends[index] ?? Infinity));
    const { phase } = state;
    const maker = typeof phase === "object" ? phase.authorizing : undefined;
    return open.some((index) => {
      const call = calls[index];
      if (call === undefined || call.began > firstEnd) return false;
      // A duplicate under the same key waits until the first has its answer.
      if (
        maker !== undefined &&
        maker !== index &&
        call.key !== undefined &&
        call.key === calls[maker]?.key
      )
        return false;
      return after(state, call, index).some((step) =>
        search(step.isOver ? done | (1n << BigInt(index)) : done, step.next),
      );
    });
  };
  return search(0n, nothingYet);
}
