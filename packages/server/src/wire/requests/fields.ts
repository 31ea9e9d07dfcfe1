import { trimmed } from "../../kernel/separators.ts";
import { oneLine } from "../decode/card-like.ts";
import { repeatedField } from "../decode/request-errors.ts";
import { isTreeObject, Lifted, textOf, type Tree, type TreeObject } from "../decode/tree.ts";

/**
 * The text at `name` in one line, without surrounding blanks and invisible characters; undefined if
 * it is missing, blank or not a scalar.
 */
export function fieldOf(object: TreeObject, name: string): string | undefined {
  const text = textOf(object, name);
  if (text === undefined) return undefined;
  const line = trimmed(oneLine(text));
  return line === "" ? undefined : line;
}

/**
 * The payment's hash, without the blanks and line ends that it has if it comes from a file or from
 * a list that was split at its commas. Undefined if it is missing, blank or not a scalar.
 */
export function hashOf(object: TreeObject): string | undefined {
  const text = textOf(object, "hash")?.trim();
  return text === "" ? undefined : text;
}

/**
 * A boolean in any of its spellings (interface 1.2, step 6); `unclear` for any other value,
 * undefined if it is missing.
 */
export function flagOf(object: TreeObject, name: string): boolean | "unclear" | undefined {
  const value: Tree | undefined = object[name];
  if (value === undefined) return undefined;
  if (typeof value !== "string") return "unclear";
  switch (trimmed(value).toLowerCase()) {
    case "true":
    case "1":
      return true;
    case "false":
    case "0":
      return false;
    case "":
      return undefined;
    default:
      return "unclear";
  }
}

/** The bytes of a sensitive value; undefined if it is missing. */
export function liftedOf(object: TreeObject, name: string): Lifted | undefined {
  const value: Tree | undefined = object[name];
  return value instanceof Lifted && (value.bytes.length > 0 || !value.wellFormed)
    ? value
    : undefined;
}

/** The node at the first of the names that has one. */
export function nodeOf(object: TreeObject, ...names: readonly string[]): TreeObject | undefined {
  for (const name of names) {
    const value: Tree | undefined = object[name];
    if (isTreeObject(value)) return value;
  }
  return undefined;
}

/** Length in characters as people count them: a surrogate pair is one. */
export function lengthOf(text: string): number {
  let length = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff) length -= 1;
  }
  return length;
}

/**
 * The card node under either of its names (interface 2.1). Both may be given if they are equal; of
 * two different cards it is unclear which one is meant.
 */
export function cardNodeOf(object: TreeObject): TreeObject | undefined {
  const { creditcard, card } = object;
  if (isGiven(creditcard) && isGiven(card) && !sameTree(creditcard, card))
    throw repeatedField("creditcard");
  return isTreeObject(card) && !isGiven(creditcard) ? card : nodeOf(object, "creditcard", "card");
}

/**
 * Whether the value at `name` is not a scalar: a value that identifies a payment or an amount is
 * not ignored because of its shape.
 */
export function hasWrongShape(object: TreeObject, name: string): boolean {
  const value: Tree | undefined = object[name];
  return value !== undefined && typeof value !== "string" && isGiven(value);
}

/** Some clients send an empty list or object instead of nothing. */
function isGiven(value: Tree | undefined): value is Tree {
  if (value === undefined) return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isTreeObject(value) || Object.keys(value).length > 0;
}

const isList = (tree: Tree | undefined): tree is readonly Tree[] => Array.isArray(tree);

function sameTree(one: Tree | undefined, other: Tree | undefined): boolean {
  if (one instanceof Lifted && other instanceof Lifted) {
    return one.wellFormed === other.wellFormed && Buffer.compare(one.bytes, other.bytes) === 0;
  }
  if (isList(one) && isList(other))
    return (
      one.length === other.length && one.every((value, index) => sameTree(value, other[index]))
    );
  if (!isTreeObject(one) || !isTreeObject(other)) return one === other;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => sameTree(one[name], other[name]))
  );
}
