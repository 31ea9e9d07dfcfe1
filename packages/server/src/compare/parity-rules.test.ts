import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { type Finding, parityRules, ruleFor } from "./parity-rules.ts";

const page = readFileSync(new URL("../../../../docs/wire/parity.md", import.meta.url), "utf8");

/** The ids in the columns `Rule`, and behind `Rule:`, by heading. */
function idsOfThePage(): readonly string[] {
  let section = "";
  let hasColumn = false;
  return page.split("\n").flatMap((line) => {
    if (line.startsWith("#")) section = line.replace(/^#+ /, "");
    if (/^\| ?-/.test(line)) return [];
    if (line.startsWith("|") && /\| Rule\s+\|$/.test(line)) hasColumn = true;
    if (!line.startsWith("|")) hasColumn = false;
    const id = hasColumn
      ? /\| `([a-z-]+)`\s+\|$/.exec(line)?.[1]
      : /Rule: `([a-z-]+)`/.exec(line)?.[1];
    return id === undefined ? [] : [`${section}: ${id}`];
  });
}

test("every rule is a row of docs/wire/parity.md under its heading, and the other way round", () => {
  const rules = parityRules.map(({ id, section }) => `${section}: ${id}`);
  assert.equal(new Set(rules).size, rules.length);
  assert.deepEqual(idsOfThePage().toSorted(), rules.toSorted());
});

const finding: Finding = {
  endpoint: "/ws/direct",
  difference: {
    aspect: "value",
    path: "payment.status",
    upstream: "CO",
    cofre: "PE",
    isByValue: true,
  },
  upstream: { kind: "decided", verdict: "CO OK", description: "Accepted", isDeclined: false },
  cofre: { kind: "decided", verdict: "CO OK", description: "Accepted", isDeclined: false },
  request: {
    country: "br",
    paymentType: "visa",
    isTestCard: true,
    hasNetworkToken: false,
    hasCryptogram: false,
  },
  hasOtherRate: false,
};

test("amounts follow from another rate, and are unknown without one", () => {
  const amount = { ...finding, difference: { ...finding.difference, path: "payment.amount_br" } };
  assert.equal(ruleFor(amount), undefined);
  assert.equal(ruleFor({ ...amount, hasOtherRate: true })?.id, "sandbox-rates");
});

test("another outcome is the issuer's decision only for a card outside the published ones", () => {
  const outcome = {
    ...finding,
    difference: { ...finding.difference, aspect: "outcome", path: "" },
  } as const;
  assert.equal(ruleFor(outcome), undefined);
  assert.equal(
    ruleFor({ ...outcome, request: { ...outcome.request, isTestCard: undefined } }),
    undefined,
  );
  assert.equal(
    ruleFor({ ...outcome, request: { ...outcome.request, isTestCard: false } })?.id,
    "issuer-decisions",
  );
});

test("a code of Cofre explains only that Cofre refused", () => {
  const refused = { ...finding, cofre: { kind: "refused", code: "BP-DR-77" } } as const;
  assert.equal(ruleFor(refused), undefined, "a member of a refusal differs");
  const outcome = {
    ...refused,
    difference: { ...refused.difference, aspect: "code", path: "status_code" },
  } as const;
  assert.equal(ruleFor(outcome)?.id, "countries");
});
