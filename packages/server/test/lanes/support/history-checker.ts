import {
  type Ask,
  effectsOf,
  keptOf,
  noLastWord,
  nothingYet,
  type PaymentState,
} from "./payment-model.ts";

/** One call and what came of it. Times are in milliseconds of one clock. */
export interface Call {
  readonly ask: Ask;
  /** Idempotency-Key: the same key comes with the same request. */
  readonly key: string | undefined;
  readonly began: number;
  readonly ended: number;
  /**
   * What the answer said, in the words of payment-model.ts; undefined when nobody heard: it may
   * have happened, at any time.
   */
  readonly told: string | undefined;
}

interface Step {
  readonly next: PaymentState;
  readonly isOver: boolean;
}

/**
 * The states after the call, or a part of it, took effect in `state`; none when the answer could
 * not have been given then.
 */
function after(state: PaymentState, call: Call, index: number): readonly Step[] {
  const { ask, key, told } = call;
  const fits = (answer: string): boolean => told === undefined || told === answer;
  const kept = key === undefined ? undefined : state.kept[key];
  if (kept !== undefined && kept !== noLastWord)
    return fits(kept) ? [{ next: state, isOver: true }] : [];
  // While a capture or a cancellation is with the acquirer, an answer that shows the payment shows
  // one with which nothing can be done.
  const isBusy = told === "busy" && state.phase === "open";
  return effectsOf(state, ask, index, key).flatMap((effect): readonly Step[] => {
    if (effect.told === undefined) return [{ next: effect.next, isOver: false }];
    if (!fits(effect.told) && !(isBusy && effect.next === state)) return [];
    const { next } = effect;
    const word = isBusy ? noLastWord : keptOf(effect.told);
    return [
      {
        next: key === undefined ? next : { ...next, kept: { ...next.kept, [key]: word } },
        isOver: true,
      },
    ];
  });
}

/**
 * Whether the calls on one payment can be put in an order that keeps to the times (a call that
 * ended before another began comes first) and in which each answer, a refusal too, is what the
 * model says there: the search of Wing and Gong, which remembers where it has been as Lowe's does.
 * A call that nobody heard of may take effect at any time after it began, or never. A payment is
 * made in two steps, as others can see it before the acquirer has answered.
 */
export function hasLegalOrder(calls: readonly Call[]): boolean {
  const ends = calls.map(({ told, ended }) => (told === undefined ? Infinity : ended));
  const seen = new Set<string>();
  const search = (done: bigint, state: PaymentState): boolean => {
    const place = `${done} ${JSON.stringify(state)}`;
    if (seen.has(place)) return false;
    seen.add(place);
    const open = [...calls.keys()].filter((index) => (done & (1n << BigInt(index))) === 0n);
    if (open.every((index) => calls[index]?.told === undefined)) return true;
    const firstEnd = Math.min(...open.map((index) => ends[index] ?? Infinity));
    const { phase } = state;
    const maker = typeof phase === "object" ? phase.authorizing : undefined;
    return open.some((index) => {
      const call = calls[index];
      if (call === undefined || call.began > firstEnd) return false;
      // A twin under the same key waits until the first has its answer.
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
