import { assert } from "../../kernel/assert.ts";
import { WireError } from "../decode/wire-error.ts";

/** One row of a validator: what makes the number true. */
export interface Rule<Reading> {
  /** The n of BP-DR-n. */
  readonly code: number;
  /** The message of the refusal, or false when all is well. Holds nothing of the request that could be card data. */
  readonly broken: (reading: Reading) => string | false;
}

/** Rules in the order in which they are asked: ascending, as interface 7.3 has it, each number once. Anything else does not load. */
export function inOrder<Reading>(rules: readonly Rule<Reading>[]): readonly Rule<Reading>[] {
  for (const [index, rule] of rules.entries()) {
    const before = rules[index - 1];
    assert(before === undefined || before.code < rule.code, "rules stand in ascending order and each once");
  }
  return rules;
}

/** Ends with the first broken rule's error. */
export function keepRules<Reading>(rules: readonly Rule<Reading>[], reading: Reading): void {
  for (const { code, broken } of rules) {
    const message = broken(reading);
    if (message !== false) throw new WireError(`BP-DR-${code}`, message);
  }
}

/** The interface's own patterns of messages (7.2). */
export const required = (field: string): string => `Field ${field} is required`;
export const invalid = (field: string): string => `Field ${field} is invalid`;
export const tooLong = (field: string, characters: number): string => `Field ${field} can have ${characters} characters maximum`;
export const parameterTooLong = (field: string, characters: number): string =>
  `Parameter ${field} can have ${characters} characters maximum`;

/** `1-12`, or `1, 3, 6` where numbers between are missing, or one number. */
export function rangeOf(counts: ReadonlySet<number>): string {
  const sorted = [...counts].toSorted((one, other) => one - other);
  const first = sorted[0] ?? 1;
  const last = sorted.at(-1) ?? first;
  return sorted.length > 1 && last - first + 1 === sorted.length ? `${first}-${last}` : sorted.join(", ");
}
