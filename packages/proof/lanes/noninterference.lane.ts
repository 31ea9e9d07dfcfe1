import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import type { startCofre } from "../../server/src/app.ts";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { amount } from "./support/amount.ts";
import { comparePairs, type Pairs, scenarioCount } from "./support/noninterference-pairs.ts";
import { Receiver } from "./support/noninterference.ts";
import { plantedCopy } from "../../server/test/support/planted-copy.ts";

const pairs = Number(process.env["COFRE_PAIRS"] ?? amount({ quick: 60, ci: 1_000, night: 10_000 }));
const middlePairs = Math.max(scenarioCount, Math.ceil(pairs / 5));

const receiver = new Receiver();
before(() => receiver.listen());
after(() => receiver.close());

function showReport(context: TestContext, { different, allowed, example, bytes }: Pairs): void {
  context.diagnostic(`${bytes} bytes compared`);
  for (const [name, count] of different)
    context.diagnostic(`differs in ${count} pairs, and may not: ${name}`);
  if (example !== undefined) context.diagnostic(example);
  for (const [name, count] of allowed)
    context.diagnostic(`differs in ${count} pairs, and may: ${name}`);
}

/** Each part has the time limit of a test, and reports its own progress. */
const partPairs = 100;

for (let first = 0; first < pairs; first += partPairs) {
  const count = Math.min(partPairs, pairs - first);
  test(`${count} pairs of runs, from seed ${first}, that differ in a security code leave the same behind`, async (context) => {
    const compared = await comparePairs({ pairs: count, first, kind: "cvv", receiver });
    showReport(context, compared);
    assert.deepEqual(compared.different, new Map());
    assert.ok(compared.bytes > count * 1_000);
  });
}

test(`${middlePairs} pairs of runs that differ in a number's middle digits differ in ciphertexts and the keyed MACs of their rows only`, async (context) => {
  const compared = await comparePairs({ pairs: middlePairs, kind: "middle", receiver });
  showReport(context, compared);
  assert.deepEqual(compared.different, new Map());
  // The number was used: the values derived from it differ.
  assert.deepEqual([...compared.allowed.keys()].toSorted(), ["column card.mac", "column card.ref"]);
});

describe("controls: a program that leaks is caught", () => {
  const mask = "maskedPan: maskOf(source.card.pan), tokenDigest: undefined";
  const planted: readonly (PlantedBug & {
    readonly kind: "cvv" | "middle";
    readonly caughtIn: string;
  })[] = [
    {
      name: "one digit of the security code is kept in the mask",
      file: "operations/with-card.ts",
      find: mask,
      replace:
        'maskedPan: maskOf(source.card.pan).replace("x", String.fromCharCode(cvv?.reveal()[1] ?? 120)), tokenDigest: undefined',
      kind: "cvv",
      caughtIn: "column payment.order_json",
    },
    {
      name: "one digit of the security code is logged as a number",
      file: "http/request-pipeline.ts",
      find: "const decoded = decodeRequest(",
      replace:
        'const digit = Number(/"card_cvv":"\\d(\\d)/.exec(String(body))?.[1] ?? 0);\n' +
        '      this.#parts.log.write({ event: "overloaded", limit: "places", refused: digit });\n      const decoded = decodeRequest(',
      kind: "cvv",
      caughtIn: "log",
    },
    {
      name: "chance is drawn once more when the security code is odd",
      file: "operations/with-card.ts",
      find: '  if (source.kind !== "token") {',
      replace:
        '  if ((cvv?.reveal()[1] ?? 0) % 2 === 1) context.random.bytes(1);\n  if (source.kind !== "token") {',
      kind: "cvv",
      caughtIn: "answers",
    },
    ...(["cvv", "middle"] as const).map((kind) => ({
      name: `what an acquirer answers is kept unchanged (${kind})`,
      file: "connectors/strict-answers.ts",
      find: `    if (typeof value !== "string" || !shapes[field].test(value)) return this.#drop(field, "shape");
    return this.#revealsCard(value) ? this.#drop(field, "card_data") : value;`,
      replace: "    return String(value);",
      kind,
      caughtIn: "column payment.verdict",
    })),
    {
      name: "the mask shows a seventh digit",
      file: "vault/mask.ts",
      find: "const shownFirst = 6;",
      replace: "const shownFirst = 7;",
      kind: "middle",
      caughtIn: "column payment.order_json",
    },
    {
      name: "the MAC of a card's row is made without a key",
      file: "vault/record-vault.ts",
      find: 'mac: macs.of("card", cardFields(card))',
      replace: "mac: card.ref.subarray(-32)",
      kind: "middle",
      caughtIn: "MACs of cards that are not their row's",
    },
  ];
  for (const { kind, caughtIn, ...bug } of planted) {
    test(bug.name, async (context) => {
      const root = plantedCopy(bug);
      context.after(() => rmSync(root, { recursive: true, force: true }));
      const copy = (await import(pathToFileURL(join(root, "src", "app.ts")).href)) as {
        readonly startCofre: typeof startCofre;
      };
      const compared = await comparePairs({
        pairs: scenarioCount,
        kind,
        receiver,
        start: copy.startCofre,
      });
      showReport(context, compared);
      assert.ok(compared.different.has(caughtIn));
    });
  }
});
