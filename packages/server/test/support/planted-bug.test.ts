import assert from "node:assert/strict";
import { test } from "node:test";
import { sourcesWith } from "./planted-bug.ts";

const source = `class Book {
  #amount = 1;
  double(): number {
    return this.#amount * 2;
  }
}
`;
const bug = { name: "an amount is added", file: "book.ts", find: "this.#amount * 2" };
const planted = (change: { readonly find?: string; readonly replace: string }) =>
  sourcesWith({ ...bug, ...change }, () => source).get("book.ts");

test("a planted mistake replaces one text, in any layout", () => {
  const replace = "this.#amount + 2";
  assert.match(planted({ replace }) ?? "", /return this\.#amount \+ 2;/);
  assert.match(planted({ find: "this.#amount\n  * 2", replace }) ?? "", /\+ 2;/);
  assert.throws(() => planted({ find: "#amount", replace }), /exactly once/);
});

test("a planted mistake that uses a private member of an earlier name is refused", () => {
  assert.throws(() => planted({ replace: "this.#sum + 2" }), /book\.ts declares #sum/);
});
