import { assert } from "../../kernel/assert.ts";
import {
  type ErrorCode,
  type PlainCode,
  refusalWith,
  type Values,
  type ValuesOf,
} from "../errors/refusal.ts";

/** The n of BP-DR-n. */
export type RuleCode = ErrorCode extends infer Code
  ? Code extends `BP-DR-${infer Digits extends number}`
    ? Digits
    : never
  : never;

/**
 * The result of a rule: false if the request complies, otherwise the values of the error's message,
 * or true if the message has none.
 */
export type Broken<Code extends RuleCode> = `BP-DR-${Code}` extends PlainCode
  ? boolean
  : false | ValuesOf<`BP-DR-${Code}`>;

/** One row of a validator: the number of its error, and its condition. */
export type Rule<Reading> = {
  [Code in RuleCode]: { readonly code: Code; readonly broken: (reading: Reading) => Broken<Code> };
}[RuleCode];

/** Rules in ascending order, each number once (interface 7.3). Throws otherwise. */
export function inOrder<Reading>(rules: readonly Rule<Reading>[]): readonly Rule<Reading>[] {
  for (const [index, rule] of rules.entries()) {
    const before = rules[index - 1];
    assert(
      before === undefined || before.code < rule.code,
      "rules are in ascending order, each once",
    );
  }
  return rules;
}

/** Throws the error of the first broken rule. */
export function keepRules<Reading>(rules: readonly Rule<Reading>[], reading: Reading): void {
  for (const { code, broken } of rules) {
    const found: boolean | Values = broken(reading);
    if (found !== false) throw refusalWith(`BP-DR-${code}`, found === true ? undefined : found);
  }
}

/** The interface's text for a maximum length (7.2). */
export type TooLong<Characters extends number> = `can have ${Characters} characters maximum`;
export function tooLong<Characters extends number>(characters: Characters): TooLong<Characters> {
  return `can have ${characters} characters maximum`;
}

/** `1-12`, or `1, 3, 6` if numbers are missing in between, or one number. */
export function rangeOf(counts: ReadonlySet<number>): string {
  const sorted = [...counts].toSorted((one, other) => one - other);
  const first = sorted[0] ?? 1;
  const last = sorted.at(-1) ?? first;
  return sorted.length > 1 && last - first + 1 === sorted.length
    ? `${first}-${last}`
    : sorted.join(", ");
}
