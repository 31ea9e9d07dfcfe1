import { inspect } from "node:util";

const held = new WeakMap<object, unknown>();

/**
 * Holds a value that must not be shown: every conversion prints `[secret]`. Security reviews search
 * for `reveal(`.
 */
export class Secret<T> {
  declare private readonly guarded: T;

  constructor(value: T) {
    held.set(this, value);
  }

  reveal(): T {
    return held.get(this) as T;
  }

  toString(): string {
    return "[secret]";
  }

  toJSON(): string {
    return "[secret]";
  }

  [inspect.custom](): string {
    return "[secret]";
  }
}
