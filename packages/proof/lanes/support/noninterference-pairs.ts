import type { startCofre } from "../../../server/src/app.ts";
import { Chance } from "../../../server/test/support/chance.ts";
import {
  differences,
  otherCvv,
  otherMiddle,
  type Receiver,
  runOnce,
  secretOf,
} from "./noninterference.ts";

export { scenarioCount } from "./noninterference.ts";

/**
 * Artefacts that may depend on the middle digits: the sealed card, and the MAC of the row, which
 * covers it. Both are made with keys that are in no dump. That the MAC is made this way is a separate artefact, which must not differ
 * (noninterference.ts).
 */
const ofTheNumber = new Set(["column card.ref", "column card.mac"]);

export interface PairsOptions {
  readonly pairs: number;
  /** The first seed; the others follow. */
  readonly first?: number;
  readonly kind: "cvv" | "middle";
  readonly receiver: Receiver;
  readonly start?: typeof startCofre;
}

export interface Pairs {
  /** Artefacts that differ and must not, with the number of pairs. */
  readonly different: ReadonlyMap<string, number>;
  /** Artefacts that differ and may. */
  readonly allowed: ReadonlyMap<string, number>;
  /** Where the first of the forbidden ones differs. */
  readonly example: string | undefined;
  /** Bytes compared, over all pairs. */
  readonly bytes: number;
}

export async function comparePairs({
  pairs,
  first = 0,
  kind,
  receiver,
  start,
}: PairsOptions): Promise<Pairs> {
  const [different, allowed] = [new Map<string, number>(), new Map<string, number>()];
  let bytes = 0;
  let example: string | undefined;
  for (let seed = first; seed < first + pairs; seed += 1) {
    const secret = secretOf(seed);
    const chance = new Chance(seed + 1);
    const other = kind === "cvv" ? otherCvv(secret, chance) : otherMiddle(secret, chance);
    const planted = start === undefined ? {} : { start };
    const one = await runOnce({ seed, secret, ...planted }, receiver);
    const two = await runOnce({ seed, secret: other, ...planted }, receiver);
    for (const value of one.values()) bytes += value.length;
    for (const name of differences(one, two)) {
      const into = kind === "middle" && ofTheNumber.has(name) ? allowed : different;
      if (into === different)
        example ??= `seed ${seed}, ${name}: ${firstDifference(one.get(name) ?? "", two.get(name) ?? "")}`;
      into.set(name, (into.get(name) ?? 0) + 1);
    }
  }
  return { different, allowed, example, bytes };
}

/** Both texts around the first difference. */
function firstDifference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [from, to] = [Math.max(0, at - 80), at + 40];
  return `at ${at}: ${JSON.stringify(one.slice(from, to))} and ${JSON.stringify(other.slice(from, to))}`;
}
