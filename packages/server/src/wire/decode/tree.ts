/**
 * The canonical tree of a request in any encoding (interface 1). Strings, numbers and booleans are
 * interchangeable on the wire, so every scalar is text: a number keeps its literal digits
 * (`100.50`, 19-digit numbers), a boolean is `true` or `false`. null, "" and missing mean the same,
 * so a member without a value is absent.
 */
export type Tree = string | Lifted | readonly Tree[] | TreeObject;

/** Has no prototype, so that no name (`__proto__`, `toString`) is special. */
export interface TreeObject {
  readonly [name: string]: Tree;
}

/** The names whose values never become strings, at any depth. */
export const liftedNames = [
  "card_number",
  "card_cvv",
  "network_token_pan",
  "network_token_cryptogram",
  "threeds_cryptogram",
] as const;

/**
 * The bytes of a sensitive value, lifted out of the request before anything else is read, and
 * overwritten there. Single blanks and dashes between the digits and invisible characters are
 * removed (in cryptograms, blanks are turned back into the `+` that form decoding replaced).
 * `wellFormed` is false for an array, an object, a value longer than 64 bytes, or a value with
 * other blanks and dashes: then `bytes` is empty.
 */
export class Lifted {
  readonly bytes: Uint8Array;
  readonly wellFormed: boolean;

  constructor(bytes: Uint8Array, wellFormed: boolean) {
    this.bytes = bytes;
    this.wellFormed = wellFormed;
  }

  /**
   * A copy for an owner that will wipe it (Pan.from, Cvv.from); the decoded request wipes the
   * original. The copy is in separate memory: V8 keeps small typed arrays inside its heap, where
   * each collection that moves one leaves its digits behind.
   */
  copy(): Uint8Array {
    const copied = new Uint8Array(new ArrayBuffer(this.bytes.length));
    copied.set(this.bytes);
    return copied;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }
}

export function isTreeObject(tree: Tree | undefined): tree is TreeObject {
  return typeof tree === "object" && !Array.isArray(tree) && !(tree instanceof Lifted);
}

/** The scalar at `name`; undefined if it is missing or not a scalar. */
export function textOf(object: TreeObject, name: string): string | undefined {
  const value = object[name];
  return typeof value === "string" ? value : undefined;
}
