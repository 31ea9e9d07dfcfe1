/**
 * A property that the code relies on did not hold: the piece of work stops here. Never caught to
 * carry on with the same work.
 */
export class BrokenInvariant extends Error {
  override readonly name = "BrokenInvariant";
}

/**
 * Assertions stay on in production. `property` states what should hold, positively, and holds no
 * data of the case.
 */
export function assert(condition: boolean, property: string): asserts condition {
  if (!condition) throw new BrokenInvariant(property);
}

export function unreachable(value: never, property: string): never {
  void value;
  throw new BrokenInvariant(property);
}
