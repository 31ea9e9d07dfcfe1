import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import type { startCofre } from "../../server/src/app.ts";
import { postgresBinaries, startCluster } from "../../server/test/postgres/cluster.ts";
import { TestDatabases } from "../../server/test/postgres/databases.ts";
import { plantedCopy } from "../../server/test/support/planted-copy.ts";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { amount } from "./support/amount.ts";
import {
  embeddedPlace,
  type Place,
  placeOnRootOf,
  postgresPlace,
} from "./support/tamper-database.ts";
import { judge, type Judged, type Model } from "./support/tamper-judge.ts";
import { judgeKeysOf } from "./support/tamper-keys.ts";
import { furnish, probe } from "./support/tamper-probe.ts";
import { everyColumn, knownAttacks, tables, type Tampering } from "./support/tampering.ts";

/**
 * A program that may write everything in the database and has no key: each column of key records,
 * cards, integration keys, users, sessions and the identity is altered, and attacks are tried that
 * need several rows or a second installation on the same root key. A server on the database then
 * refuses, or raises an alarm; no client and no user sees anything but that or what they saw before,
 * and nothing is sealed under a key that is not the installation's.
 */

const cardNumbers = [
  "4111111111111111",
  "4716909774636285",
  "5555555555554444",
  "5102026827345142",
];

async function modelOf(place: Place): Promise<Model> {
  const known = await furnish(place, "tamper");
  const { secrets } = await judgeKeysOf(place);
  const copy = await place.copy();
  const control = await probe(copy, known, { signsIn: true });
  await copy[Symbol.asyncDispose]();
  return { place, known, control, secrets: [...secrets, ...cardNumbers, ...known.tokens.flat()] };
}

async function judgeAll(
  context: TestContext,
  model: Model,
  all: readonly Tampering[],
): Promise<void> {
  const outcomes = new Map<string, number>();
  const problems: string[] = [];
  for (const tampering of all) {
    const { outcome, violations }: Judged = await judge(model, tampering);
    const kind = `${tampering.table} ${outcome}`;
    outcomes.set(kind, (outcomes.get(kind) ?? 0) + 1);
    problems.push(...violations.map((violation) => `${tampering.name}: ${violation}`));
  }
  for (const [kind, count] of outcomes) context.diagnostic(`${kind}: ${count}`);
  assert.deepEqual(problems, []);
}

/** Mistakes that the judge must find, each with the table whose rows are altered. */
const plantedMistakes: readonly (PlantedBug & { readonly table: (typeof tables)[number] })[] = [
  {
    name: "the MAC of a key record is not compared",
    table: "key_record",
    file: "vault/records/record-mac.ts",
    find: `return macs.accepts("key_record", fieldsOf(installation, record), record.mac);`,
    replace: `return macs.accepts("key_record", fieldsOf(installation, record), record.mac) || true;`,
  },
  {
    name: "the MAC of a card is not compared",
    table: "card",
    file: "vault/record-vault.ts",
    find: `return macs.accepts("card", cardFields(card), card.mac);`,
    replace: `return macs.accepts("card", cardFields(card), card.mac) || true;`,
  },
  {
    name: "rows without a MAC are accepted",
    table: "person",
    file: "vault/row-mac.ts",
    find: `if (mac === undefined) return this.#upgrade.earlier !== "none";`,
    replace: `if (mac === undefined) return true;`,
  },
];

function describeTampering(name: string, every: number, open: () => Promise<Place>): void {
  describe(`a database that was tampered with: ${name}`, () => {
    test("control: on the unaltered database everything works, for its owners only", async () => {
      await using place = await open();
      const { control } = await modelOf(place);
      assert.equal(control.notStarted, undefined);
      const approved = [...control.seen].filter(([, seen]) => /^C[OA] /.test(seen));
      assert.equal(approved.length, 4);
      assert.equal(new Set(approved.map(([, seen]) => seen)).size, 4);
      for (const what of ["the session of admin", "a new card by the public key of merchant 1"])
        assert.notEqual(control.seen.get(what), "refused", what);
    });

    for (const table of tables)
      test(`each altered column is refused, or raises an alarm: ${table}`, async (context) => {
        await using place = await open();
        const model = await modelOf(place);
        const all = await everyColumn(place, [table]);
        await judgeAll(
          context,
          model,
          all.filter((_, index) => index % every === 0),
        );
      });

    test("so is each attack with several rows, or with rows of another installation on the same root key", async (context) => {
      await using place = await open();
      const model = await modelOf(place);
      await using other = await placeOnRootOf(place);
      await furnish(other, "the other installation");
      await judgeAll(context, model, await knownAttacks(place, other));
    });
  });
}

describeTampering("the embedded store", amount({ quick: 12, ci: 8, night: 1 }), async () =>
  embeddedPlace(),
);

describe("the judge finds a program that does not look", () => {
  for (const bug of plantedMistakes)
    test(bug.name, async (context) => {
      const copy = plantedCopy(bug);
      context.after(() => rmSync(copy, { recursive: true, force: true }));
      const program = (await import(join(copy, "src", "app.ts"))) as {
        readonly startCofre: typeof startCofre;
      };
      await using place = embeddedPlace();
      const model = await modelOf(place);
      let found: string | undefined;
      for (const tampering of await everyColumn(place, [bug.table])) {
        const { violations } = await judge(model, tampering, program.startCofre);
        if (violations.length > 0) {
          found = `${tampering.name}: ${violations[0]}`;
          break;
        }
      }
      context.diagnostic(found ?? "nothing was found");
      assert.ok(found !== undefined);
    });
});

if (postgresBinaries() === undefined) {
  test("a database that was tampered with: PostgreSQL", { skip: "PostgreSQL is not installed" });
} else {
  describe("PostgreSQL", () => {
    let stack: AsyncDisposableStack;
    let databases: TestDatabases;
    before(async () => {
      stack = new AsyncDisposableStack();
      databases = new TestDatabases(stack.use(await startCluster()).url);
    });
    after(() => stack.disposeAsync());
    describeTampering("PostgreSQL", amount({ quick: 60, ci: 30, night: 3 }), () =>
      postgresPlace(databases),
    );
  });
}
