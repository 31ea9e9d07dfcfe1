import assert from "node:assert/strict";
import type { TestContext } from "node:test";

/**
 * In hex, and growing until the test ends or `context.mock.restoreAll()`: all that bytes held
 * before zeros overwrote them.
 */
export function watchWipes(context: TestContext): readonly string[] {
  const wiped: string[] = [];
  function fill(this: Uint8Array, value: number, start = 0, end = this.length): Uint8Array {
    assert.equal(value, 0, "only wipes are expected");
    wiped.push(Buffer.from(this.subarray(start, end)).toString("hex"));
    this.set(new Uint8Array(end - start), start);
    return this;
  }
  for (const prototype of [Uint8Array.prototype, Buffer.prototype])
    context.mock.method(prototype, "fill", fill);
  return wiped;
}
