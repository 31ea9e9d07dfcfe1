import assert from "node:assert/strict";
import { test } from "node:test";
import { errorFacts } from "./error-facts.ts";

test("an error is known by its name, its code and where it was thrown", () => {
  const facts = errorFacts(Object.assign(new TypeError("x"), { code: "ERR_X" }));
  assert.equal(facts.errorName, "TypeError");
  assert.equal(facts.errorCode, "ERR_X");
  assert.match(facts.where ?? "", /error-facts\.test\.ts:6:\d+/);
});

test("nothing of its text is logged, whatever it looks like", () => {
  for (const text of [
    "hush",
    "a\n    at hush (hush:1:1)",
    "\n    at hush (hush:1:1)",
    "\n    at hush (hush:1:1)\n    at hush (hush:1:2)\n",
  ]) {
    const facts = errorFacts(new Error(text));
    assert.equal(JSON.stringify(facts).includes("hush"), false);
    assert.match(facts.where ?? "none", /^none$|error-facts\.test\.ts/);
  }
});

test("an error without a text, without a stack or changed later, and values that are not errors, are logged as far as possible", () => {
  assert.match(errorFacts(new Error()).where ?? "", /error-facts\.test\.ts/);
  assert.equal(errorFacts(Object.assign(new Error("x"), { stack: undefined })).where, undefined);
  assert.equal(
    errorFacts(Object.assign(new Error("x"), { stack: "Error: hush\n    at hush (hush:1:1)" }))
      .where,
    undefined,
  );
  assert.deepEqual(errorFacts("hush"), {
    errorName: "string",
    errorCode: undefined,
    where: undefined,
  });
});
