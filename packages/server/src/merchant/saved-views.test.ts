import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isViewName, maximumViews, readSavedViews, viewsAfter } from "./saved-views.ts";

const view = { name: "Declined", search: "country:mx", state: "declined" };

describe("the saved views of an account", () => {
  test("are read from a setting, with texts that arrived as numbers", () => {
    assert.deepEqual(readSavedViews([]), []);
    assert.deepEqual(readSavedViews([{ name: 7, search: 1234, columns: "state,code" }]), [
      { name: "7", search: "1234", columns: "state,code" },
    ]);
  });

  test("are refused as a whole when one is not a view", () => {
    const long = "x".repeat(61);
    const broken: readonly unknown[] = [
      undefined,
      "Declined",
      { 0: view, length: 1 },
      [view, view],
      [{ search: "no name" }],
      [{ name: long }],
      [{ name: "two\nlines" }],
      [{ name: " blanks " }],
      [{ ...view, colour: "green" }],
      [{ ...view, from: "yesterday" }],
      [{ ...view, state: "4111111111111111" }],
      [{ ...view, search: ["declined"] }],
      [null],
      Array.from({ length: maximumViews + 1 }, (_, index) => ({ name: `view ${index}` })),
    ];
    for (const value of broken) assert.equal(readSavedViews(value), undefined);
  });

  test("have names of 1 to 60 characters on one line", () => {
    assert.ok(isViewName("😀".repeat(60)));
    for (const name of ["", " a", "a ", "a\u0000", "\u{d83d}", "😀".repeat(61)])
      assert.equal(isViewName(name), false, JSON.stringify(name));
  });

  test("are saved in the order of their names, and replaced under the same name", () => {
    const saved = viewsAfter([view], { kind: "save", view: { name: "approved" } });
    assert.deepEqual(saved, [{ name: "approved" }, view]);
    const replaced = viewsAfter([view], { kind: "save", view: { name: view.name, brand: "visa" } });
    assert.deepEqual(replaced, [{ name: view.name, brand: "visa" }]);
  });

  test("are at most fifty, and a full list can still replace one", () => {
    const full = Array.from({ length: maximumViews }, (_, index) => ({ name: `view ${index}` }));
    assert.equal(viewsAfter(full, { kind: "save", view }), "too_many_views");
    const replaced = viewsAfter(full, { kind: "save", view: { name: "view 7", brand: "visa" } });
    assert.equal(replaced.length, maximumViews);
  });

  test("are renamed and deleted by name, and never take the name of another", () => {
    const other = { name: "Other" };
    const renamed = viewsAfter([view, other], { kind: "rename", name: "Declined", to: "Refused" });
    assert.deepEqual(renamed, [other, { ...view, name: "Refused" }]);
    const same = viewsAfter([view], { kind: "rename", name: "Declined", to: "Declined" });
    assert.deepEqual(same, [view]);
    assert.equal(
      viewsAfter([view, other], { kind: "rename", name: "Declined", to: "Other" }),
      "name_taken",
    );
    assert.deepEqual(viewsAfter([view, other], { kind: "delete", name: "Declined" }), [other]);
    for (const change of [
      { kind: "delete", name: "declined" },
      { kind: "rename", name: "declined", to: "Other" },
    ] as const)
      assert.equal(viewsAfter([view, other], change), "unknown_view");
  });
});
