/**
 * A property that the code relies on does not hold: the current work is aborted. Must not be caught
 * to continue the same work.
 */
export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}

/**
 * Assertions stay enabled in production. `property` is the expected property, stated positively,
 * without data of the case.
 */
export function assert(condition: boolean, property: string): asserts condition {
  if (!condition) throw new BrokenInvariant(property);
}

export function unreachable(value: never, property: string): never {
  void value;
  throw new BrokenInvariant(property);
}
