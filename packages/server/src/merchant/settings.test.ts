import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  accountSettings,
  defaultAccountSettings,
  simulatorSettings,
  validateSettings,
} from "./settings.ts";

function problemsOf(changes: Readonly<Record<string, unknown>>): readonly string[] {
  const result = validateSettings(changes);
  return "problems" in result ? result.problems : [];
}

describe("account settings", () => {
  test("a value that is not allowed is reported by its name and what is allowed, and never quoted", () => {
    assert.deepEqual(problemsOf({ country: "BR-secret" }).length, 1);
    assert.match(problemsOf({ country: "BR-secret" })[0] ?? "", /^country must be one of br, mx, /);
    assert.doesNotMatch(problemsOf({ country: "BR-secret" }).join(), /secret/);
    assert.match(
      problemsOf({ maximumAmountUsd: 0 })[0] ?? "",
      /^maximumAmountUsd must be a whole number from 1 to /,
    );
    assert.match(
      problemsOf({ simulator: { loseAnswer: 1_001 } })[0] ?? "",
      /^simulator\.loseAnswer must be a whole number from 0 to 1000/,
    );
  });

  test("an unknown name is refused, also one that every object has", () => {
    assert.equal(problemsOf({ partialcapture: true }).length, 1);
    assert.equal(problemsOf({ toString: "x" }).length, 1);
    assert.deepEqual(problemsOf({ partialcapture: true }), [
      "partialcapture is not a setting. Did you mean partialCapture?",
    ]);
    assert.deepEqual(problemsOf({ simulator: { latency: 5 } }), [
      "simulator.latency is not a setting. Did you mean simulator.latencyMs?",
    ]);
    assert.deepEqual(problemsOf({ frobnication: 5 }), ["frobnication is not a setting."]);
    assert.deepEqual(
      problemsOf({ partialCapture: true }),
      [],
      "control: the right spelling is taken",
    );
  });

  test("a name that does not look like one is not quoted", () => {
    assert.deepEqual(problemsOf({ "4111111111111111": true }), [
      "One of the names is not a setting.",
    ]);
    assert.deepEqual(problemsOf({ ["x".repeat(41)]: true }), [
      "One of the names is not a setting.",
    ]);
    assert.deepEqual(problemsOf({ simulator: { "late\nncy": 5 } }), [
      "One of the names in simulator is not a setting.",
    ]);
  });

  const refused: readonly (readonly [name: string, value: unknown])[] = [
    ["profile", "x"],
    ["rateTable", "sandbox-2023"],
    ["taxPolicy", "toString"],
    ["taxPaidBy", "nobody"],
    ["partialCapture", "true"],
    ["createToken", 1],
    ["requireCvv", null],
    ["maximumAmountUsd", 10.5],
    ["maximumAmountUsd", "10000"],
    ["maximumAmountUsd", Number.NaN],
    ["descriptor", "x".repeat(65)],
    ["strictForms", undefined],
    ["simulator", []],
    ["simulator", "fast"],
    ["simulator", null],
  ];
  for (const [name, value] of refused) {
    test(`${name} is never ${JSON.stringify(value) ?? String(value)}`.slice(0, 100), () => {
      assert.equal(problemsOf({ [name]: value }).length, 1);
    });
  }

  test("every problem is reported at once, and nothing is changed then", () => {
    assert.deepEqual(
      Object.keys(
        validateSettings({
          profile: "C",
          strictForms: 0,
          simulator: { seed: "" },
          strictforms: true,
        }),
      ),
      ["problems"],
    );
    assert.equal(
      problemsOf({ profile: "C", strictForms: 0, simulator: { seed: "" }, strictforms: true })
        .length,
      4,
    );
  });

  test("changes are laid over the current settings, those of the simulator one by one", () => {
    const current = { ...defaultAccountSettings(), country: "mx" };
    const result = validateSettings(
      { partialCapture: true, simulator: { latencyMs: 20 } },
      current,
    );
    assert.deepEqual(result, {
      settings: {
        ...current,
        partialCapture: true,
        simulator: { ...current.simulator, latencyMs: 20 },
      },
    });
    assert.equal(current.simulator.latencyMs, 0, "the settings that were given are not touched");
  });

  test("the defaults are allowed by their own rows, and each row has a sentence", () => {
    assert.deepEqual(validateSettings({ ...defaultAccountSettings() }), {
      settings: defaultAccountSettings(),
    });
    for (const [name, setting] of [
      ...Object.entries(accountSettings),
      ...Object.entries(simulatorSettings),
    ]) {
      assert.ok(setting.allows(setting.default), name);
      assert.match(setting.doc, /^[A-Z].*\.$/, name);
    }
  });

  test("the simulator's settings are whole or they are none", () => {
    assert.equal(accountSettings.simulator.allows({ seed: "cofre", latencyMs: 5 }), false);
    assert.equal(
      accountSettings.simulator.allows({ ...defaultAccountSettings().simulator, latencyMs: 5 }),
      true,
    );
  });

  test("a fresh account is cross-border, in Brazil, at 0.38 % and up to USD 10,000, without partial captures", () => {
    const { profile, country, taxPolicy, maximumAmountUsd, partialCapture, requireCvv } =
      defaultAccountSettings();
    assert.deepEqual(
      { profile, country, taxPolicy, maximumAmountUsd, partialCapture, requireCvv },
      {
        profile: "X",
        country: "br",
        taxPolicy: "brazil-cross-border",
        maximumAmountUsd: 10_000,
        partialCapture: false,
        requireCvv: true,
      },
    );
  });
});
