/** A payment as its calls can tell it apart. */
export type Told = "absent" | "open" | "captured" | "cancelled";

/** One call and what came of it. Times are in milliseconds of one clock. */
export interface Call {
  readonly kind: "direct" | "capture" | "cancel" | "query";
  readonly began: number;
  readonly ended: number;
  /** What the answer said; undefined when it did not tell: a refusal, no answer, a payment between two states. */
  readonly told: Told | undefined;
}

const all: readonly Told[] = ["absent", "open", "captured", "cancelled"];

/** States that the payment may be in after the call took effect in `state`; none when the answer could not have been given then. */
function after(state: Told, { kind, told }: Call): readonly Told[] {
  const next: Told = kind === "direct" && state === "absent" ? "open" : state;
  const moved: Told = state !== "open" ? next : kind === "capture" ? "captured" : kind === "cancel" ? "cancelled" : next;
  // Whoever did not hear what came of it must reckon with both.
  if (told === undefined) return moved === state ? [state] : [state, moved];
  return moved === told ? [moved] : [];
}

/**
 * Whether the calls on one payment can be put in an order that keeps to the times (a call that ended before another began comes
 * first) and in which each answer is true: the search of Wing and Gong, which remembers where it has been as Lowe's does. A call
 * without an outcome may take effect at any time after it began.
 */
export function hasLegalOrder(calls: readonly Call[]): boolean {
  const ends = calls.map(({ told, ended }) => (told === undefined ? Infinity : ended));
  const seen = new Set<string>();
  const search = (done: bigint, state: Told): boolean => {
    const key = `${done} ${all.indexOf(state)}`;
    if (seen.has(key)) return false;
    seen.add(key);
    const open = [...calls.keys()].filter((index) => (done & (1n << BigInt(index))) === 0n);
    // What nobody heard of need not have happened.
    if (open.every((index) => calls[index]?.told === undefined)) return true;
    const firstEnd = Math.min(...open.map((index) => ends[index] ?? Infinity));
    return open.some((index) => {
      const call = calls[index];
      if (call === undefined || call.began > firstEnd) return false;
      return after(state, call).some((next) => search(done | (1n << BigInt(index)), next));
    });
  };
  return search(0n, "absent");
}
