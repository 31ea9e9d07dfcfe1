import type { startCofre } from "../../../src/app.ts";
import { Chance } from "../../simulation/chance.ts";
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
 * What may follow from the middle digits: the sealed card, what shows that two cards are the same,
 * and the MAC of the row, which covers both. All three are made with keys that are in no dump. That
 * the MAC is made so is an artefact of its own, which may not differ (noninterference.ts).
 */
const ofTheNumber = new Set(["column card.ref", "column card.fingerprint", "column card.mac"]);

export interface PairsOptions {
  readonly pairs: number;
  /** The first seed; the others follow. */
  readonly first?: number;
  readonly kind: "cvv" | "middle";
  readonly receiver: Receiver;
  readonly start?: typeof startCofre;
}

export interface Pairs {
  /** What differed and may not, and in how many pairs. */
  readonly different: ReadonlyMap<string, number>;
  /** What differed and may. */
  readonly allowed: ReadonlyMap<string, number>;
  /** Where the first of them differed. */
  readonly example: string | undefined;
  /** Bytes of a pair's artefacts that were compared, of all pairs. */
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

/** What both have around the first byte that they have not. */
function firstDifference(one: string, other: string): string {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const [from, to] = [Math.max(0, at - 80), at + 40];
  return `at ${at}: ${JSON.stringify(one.slice(from, to))} and ${JSON.stringify(other.slice(from, to))}`;
}
