import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { holdsCard, typedSettings } from "./typed-settings.ts";

const visa = "4111111111111111";

describe("settings hold a card number", () => {
  test("in a text, a list, a member at any depth, and the name of one", () => {
    for (const requested of [
      visa,
      [visa],
      ["a", [visa]],
      { a: visa },
      { [visa]: "a" },
      { a: { b: ["c", { d: visa }] } },
      { a: { [visa]: "" } },
    ]) {
      assert.equal(holdsCard(requested), true, JSON.stringify(requested));
    }
  });

  test("and otherwise do not", () => {
    for (const requested of [
      "",
      "4111111111111112",
      [],
      ["a"],
      {},
      { a: "1", b: ["2", { c: "3" }] },
    ])
      assert.equal(holdsCard(requested), false);
  });
});

describe("texts become what the setting of that name is", () => {
  const current = defaultAccountSettings();

  test("numbers, of digits alone and no more than are exact", () => {
    assert.deepEqual(typedSettings({ captureWindowDays: "07" }, current), { captureWindowDays: 7 });
    assert.deepEqual(typedSettings({ captureWindowDays: "9".repeat(15) }, current), {
      captureWindowDays: 999_999_999_999_999,
    });
    for (const text of ["", "1.5", "-1", "1e3", "x1", "1x", "9".repeat(16)]) {
      assert.deepEqual(
        typedSettings({ captureWindowDays: text }, current),
        { captureWindowDays: undefined },
        text,
      );
    }
  });

  test("yes and no in two words each", () => {
    for (const [text, value] of [
      ["true", true],
      ["1", true],
      ["false", false],
      ["0", false],
      ["yes", undefined],
      ["", undefined],
    ] as const) {
      assert.deepEqual(typedSettings({ createToken: text }, current), { createToken: value });
    }
  });

  test("texts, also of unknown settings: they are refused by their name", () => {
    assert.deepEqual(typedSettings({ descriptor: "1", unknown: "1" }, current), {
      descriptor: "1",
      unknown: "1",
    });
  });

  test("and a value of another form is none", () => {
    assert.deepEqual(
      typedSettings({ descriptor: {}, captureWindowDays: ["1"], createToken: { a: "1" } }, current),
      {
        descriptor: undefined,
        captureWindowDays: undefined,
        createToken: undefined,
      },
    );
    assert.deepEqual(typedSettings({ simulator: ["1"], unknown: {}, other: [] }, current), {
      simulator: undefined,
      unknown: undefined,
      other: undefined,
    });
  });

  test("within an object by its own settings", () => {
    assert.deepEqual(
      typedSettings({ simulator: { latencyMs: "5", seed: "5", unknown: "5" } }, current),
      {
        simulator: { latencyMs: 5, seed: "5", unknown: "5" },
      },
    );
  });

  test("in a list by their form alone: a number has no zero before it", () => {
    const routes = [
      {
        connectors: ["a"],
        fromUsd: "10",
        bins: ["0123", "411111"],
        deep: [["0", "true", "false", "TRUE", "9".repeat(16)]],
      },
    ];
    assert.deepEqual(typedSettings({ routes }, current), {
      routes: [
        {
          connectors: ["a"],
          fromUsd: 10,
          bins: ["0123", 411_111],
          deep: [[0, true, false, "TRUE", "9".repeat(16)]],
        },
      ],
    });
    assert.deepEqual(typedSettings({ routes: ["-1", "1x", "x1"] }, current), {
      routes: ["-1", "1x", "x1"],
    });
  });
});
