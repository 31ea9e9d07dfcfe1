import { isTreeObject, Lifted } from "./tree.ts";
import type { Tree, TreeObject } from "./tree.ts";
import { isGuarded, knownNameOfText } from "./known-names.ts";
import { repeatedField } from "./request-errors.ts";

/** A tree under construction. */
export interface GrowingObject {
  [name: string]: Tree;
}

/**
 * An object whose only ancestor is an empty, frozen one without a prototype: no name is special in
 * it, and unlike with `Object.create(null)` the engine does not use a hash table (measured: half
 * the time to fill 20 members).
 */
class Bare {
  [name: string]: Tree;

  static {
    Object.setPrototypeOf(this.prototype, null);
    Reflect.deleteProperty(this.prototype, "constructor");
    Object.freeze(this.prototype);
  }
}

export function emptyObject(): GrowingObject {
  return new Bare();
}

/**
 * Merges `under` into `over` and returns `over`. A guarded name with two values is refused; for
 * other names the value of `over` wins.
 */
export function mergeLayers(under: TreeObject, over: GrowingObject): GrowingObject {
  for (const name in under) {
    const below = under[name];
    if (below === undefined) continue;
    const above = over[name];
    if (above === undefined) over[name] = below;
    else if (isTreeObject(below) && isTreeObject(above)) mergeLayers(below, above);
    else if (isGuarded(knownNameOfText(name)) && !sameValue(below, above))
      throw repeatedField(name);
  }
  return over;
}

function sameValue(a: Tree, b: Tree): boolean {
  if (a instanceof Lifted && b instanceof Lifted) {
    // Two values that are not card numbers are equal: neither is ever used.
    return a.wellFormed === b.wellFormed && Buffer.compare(a.bytes, b.bytes) === 0;
  }
  return typeof a === "string" && a === b;
}
