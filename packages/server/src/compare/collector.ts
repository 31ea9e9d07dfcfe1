import type { Aspect } from "./differences.ts";
import { type Finding, ruleFor } from "./parity-rules.ts";
import type { ShownAnswer } from "./shown.ts";

/** Kinds of differences that are kept; others are only counted. */
const mostKinds = 500;
/** Endpoints with a total of their own. */
const mostEndpoints = 100;
const otherEndpoints = "others";

/** `equal`: no difference. `known`: every difference has a parity row, or is a consequence. */
export type Verdict = "equal" | "known" | "unknown" | "not_compared";

/** Why two answers were not compared. */
export const reasonsNotCompared = [
  "upstream_failed",
  "answer_cut",
  "answer_too_long",
  "key_not_replaced",
  "made_before",
  "twin_failed",
] as const;
export type ReasonNotCompared = (typeof reasonsNotCompared)[number];

/** The first example of a kind of difference, masked. */
export interface Example {
  /** UTC. */
  readonly at: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly content_type: string | null;
    readonly parameters: Readonly<Record<string, unknown>>;
    readonly parameters_omitted: number;
  };
  readonly upstream: ShownAnswer;
  readonly cofre: ShownAnswer;
}

export interface DifferenceKind {
  readonly endpoint: string;
  readonly aspect: Aspect;
  readonly path: string;
  /** Values or types, masked, of the first example. */
  readonly upstream: string;
  readonly cofre: string;
  /** Id of a row of docs/wire/parity.md; null: unknown. */
  readonly rule: string | null;
  /** What followed from an earlier difference, such as a query of a payment that only one has. */
  readonly isConsequence: boolean;
  count: number;
  readonly first: Example;
}

export type Totals = { requests: number } & Record<Verdict, number>;

const noTotals = (): Totals => ({ requests: 0, equal: 0, known: 0, unknown: 0, not_compared: 0 });

export interface CollectedFinding extends Finding {
  readonly isConsequence: boolean;
  /** Called for the first difference of a kind. */
  readonly example: () => Example;
}

/** Counts differences, and keeps the first example of each kind. Its memory is bounded. */
export class Collector {
  readonly #kinds = new Map<string, DifferenceKind>();
  readonly #endpoints = new Map<string, Totals>();
  readonly #reasons = new Map<ReasonNotCompared, number>();
  /** Differences of kinds that are not kept. */
  #dropped = 0;

  notCompared(endpoint: string, reason: ReasonNotCompared): void {
    this.#count(endpoint, "not_compared");
    this.#reasons.set(reason, (this.#reasons.get(reason) ?? 0) + 1);
  }

  /** `shown` masks a text of an answer. */
  compared(
    endpoint: string,
    findings: readonly CollectedFinding[],
    shown: (text: string) => string,
  ): void {
    let verdict: Verdict = "equal";
    for (const finding of findings) {
      const rule = ruleFor(finding)?.id ?? null;
      const isKnown = rule !== null || finding.isConsequence;
      if (!isKnown) verdict = "unknown";
      else if (verdict === "equal") verdict = "known";
      this.#add(finding, rule, shown);
    }
    this.#count(endpoint, verdict);
  }

  #add(
    { endpoint, difference, cofre, isConsequence, example }: CollectedFinding,
    rule: string | null,
    shown: (text: string) => string,
  ): void {
    const { aspect, isByValue } = difference;
    const [path, theirs, ours] = [difference.path, difference.upstream, difference.cofre].map(
      shown,
    ) as [string, string, string];
    const key = JSON.stringify([
      endpoint,
      aspect,
      path,
      rule,
      isConsequence,
      cofre.kind === "refused" ? cofre.code : "",
      ...(isByValue ? [theirs, ours] : []),
    ]);
    const known = this.#kinds.get(key);
    if (known !== undefined) known.count += 1;
    else if (this.#kinds.size >= mostKinds) this.#dropped += 1;
    else
      this.#kinds.set(key, {
        endpoint,
        aspect,
        path,
        upstream: theirs,
        cofre: ours,
        rule,
        isConsequence,
        count: 1,
        first: example(),
      });
  }

  #count(endpoint: string, verdict: Verdict): void {
    const name =
      this.#endpoints.has(endpoint) || this.#endpoints.size < mostEndpoints
        ? endpoint
        : otherEndpoints;
    const totals = this.#endpoints.get(name) ?? noTotals();
    totals.requests += 1;
    totals[verdict] += 1;
    this.#endpoints.set(name, totals);
  }

  /** The result so far: unknown kinds first, then by count. */
  result(): ComparisonResult {
    const rank = ({ rule, isConsequence }: DifferenceKind): number =>
      isConsequence ? 2 : rule === null ? 0 : 1;
    const endpoints = [...this.#endpoints].toSorted(([one], [other]) => (one < other ? -1 : 1));
    const totals = noTotals();
    for (const [, each] of endpoints)
      for (const name of Object.keys(totals) as (keyof Totals)[]) totals[name] += each[name];
    return {
      totals,
      endpoints: Object.fromEntries(endpoints),
      notCompared: Object.fromEntries(this.#reasons),
      kinds: [...this.#kinds.values()].toSorted((one, other) => {
        const byRank = rank(one) - rank(other);
        return byRank === 0 ? other.count - one.count : byRank;
      }),
      dropped: this.#dropped,
    };
  }
}

export interface ComparisonResult {
  readonly totals: Readonly<Totals>;
  readonly endpoints: Readonly<Record<string, Readonly<Totals>>>;
  readonly notCompared: Readonly<Partial<Record<ReasonNotCompared, number>>>;
  readonly kinds: readonly DifferenceKind[];
  /** Differences of further kinds, which were only counted. */
  readonly dropped: number;
}
