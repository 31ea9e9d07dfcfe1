import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { makeTarball } from "../../../tools/package.ts";
import {
  cleanEnvironment,
  Command,
  SharedCleanup,
  temporaryFolder,
} from "../../server/test/command.ts";

/*
 * The package in the test runners that shops use, each in its default mode and without flags. Their
 * packages are installed from the registry, outside the repository, so that `npm ci` stays small.
 */

const npm = process.platform === "win32" ? "npm.cmd" : "npm";
/** Puts the Node that runs this test before any other on this machine. */
const path = { PATH: [dirname(process.execPath), cleanEnvironment["PATH"] ?? ""].join(delimiter) };

const shop = `
const card = { card_number: "4111111111111111", card_name: "Ana Lima", card_due_date: "12/2060", card_cvv: "123" };
exports.pay = async (cofre, code) => {
  const customer = { name: "Ana Lima", email: "ana.lima@example.com", country: "pe", phone_number: "51987654321" };
  const order = { merchant_payment_code: code, amount_total: "100.00", currency_code: "PEN", payment_type_code: "creditcard" };
  const body = { integration_key: cofre.integrationKey, operation: "request", payment: { ...order, ...customer, creditcard: card } };
  const answer = await fetch(cofre.url + "/ws/direct", { method: "POST", body: JSON.stringify(body) });
  return (await answer.json()).payment;
};
`;

/** A test that pays, with the functions of Jest, Vitest and Mocha. `load` imports what it needs. */
const paying = (load: string, before: string, after: string, verdict: string): string => `
${load}
let cofre;
${before}(async () => { cofre = await startCofre(); });
${after}(() => cofre.close());
test("a customer pays", async () => { ${verdict.replace("STATUS", '(await pay(cofre, "order-1")).status')} });
`;

const required =
  'const { startCofre } = require("@cofre/server"); const { pay } = require("./shop.cjs");';
const imported =
  'import { startCofre } from "@cofre/server"; import shop from "./shop.cjs"; const { pay } = shop;';
const expected = 'expect(STATUS).toBe("CO");';

interface Runner {
  readonly name: string;
  readonly packages: readonly string[];
  readonly file: string;
  readonly test: string;
  readonly command: readonly [string, ...string[]];
}

const jest = (version: string): Runner => ({
  name: `Jest ${version}, CommonJS`,
  packages: [`jest@${version}`],
  file: "shop.test.js",
  test: paying(required, "beforeAll", "afterAll", expected),
  command: ["npx", "--no-install", "jest"],
});

const runners: readonly Runner[] = [
  jest("30.5.2"),
  jest("29.7.0"),
  {
    name: "Jest with fake timers",
    packages: ["jest@30.5.2"],
    file: "fake.test.js",
    test: `jest.useFakeTimers();\n${paying(required, "beforeAll", "afterAll", expected)}`,
    command: ["npx", "--no-install", "jest"],
  },
  {
    name: "Vitest",
    packages: ["vitest@4.1.12"],
    file: "shop.test.mjs",
    test: paying(
      `import { afterAll, beforeAll, expect, test } from "vitest"; ${imported}`,
      "beforeAll",
      "afterAll",
      expected,
    ),
    command: ["npx", "--no-install", "vitest", "run"],
  },
  {
    name: "Mocha, CommonJS",
    packages: ["mocha@12.0.3"],
    file: "shop.cjs.test.cjs",
    test: paying(
      `const assert = require("node:assert/strict"); const test = it; ${required}`,
      "before",
      "after",
      'assert.equal(STATUS, "CO");',
    ),
    command: ["npx", "--no-install", "mocha", "shop.cjs.test.cjs"],
  },
  {
    name: "Mocha, ES modules",
    packages: ["mocha@12.0.3"],
    file: "shop.test.mjs",
    test: paying(
      `import assert from "node:assert/strict"; const test = it; ${imported}`,
      "before",
      "after",
      'assert.equal(STATUS, "CO");',
    ),
    command: ["npx", "--no-install", "mocha", "shop.test.mjs"],
  },
  {
    name: "AVA",
    packages: ["ava@7.0.0"],
    file: "shop.test.mjs",
    test: `import test from "ava"; ${imported}
let cofre;
test.before(async () => { cofre = await startCofre(); });
test.after.always(() => cofre.close());
test("a customer pays", async (t) => t.is((await pay(cofre, "order-1")).status, "CO"));`,
    command: ["npx", "--no-install", "ava"],
  },
  {
    name: "node:test, CommonJS",
    packages: [],
    file: "shop.test.cjs",
    test: paying(
      `const assert = require("node:assert/strict"); const { after, before, test } = require("node:test"); ${required}`,
      "before",
      "after",
      'assert.equal(STATUS, "CO");',
    ),
    command: [process.execPath, "--test"],
  },
];

const shared = new SharedCleanup();
let root = "";
let tarball = "";

before(async () => {
  root = temporaryFolder(shared);
  const layout = join(root, "layout");
  mkdirSync(layout);
  tarball = await makeTarball(layout, root);
});

after(() => shared.endAll());

describe("the library is loaded and pays", () => {
  for (const [index, { name, packages, file, test: text, command }] of runners.entries()) {
    test(`in ${name}`, { timeout: 240_000 }, async (context) => {
      const folder = join(root, `runner-${index}`);
      mkdirSync(folder);
      writeFileSync(join(folder, "package.json"), '{ "private": true }');
      writeFileSync(join(folder, "shop.cjs"), shop);
      writeFileSync(join(folder, file), text);
      const flags = ["--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
      execFileSync(npm, ["install", ...flags, tarball, ...packages], {
        cwd: folder,
        env: { ...cleanEnvironment, ...path },
        stdio: "inherit",
      });

      const run = async (): Promise<Command> => {
        const running = new Command(context, command, path, folder);
        await running.code();
        return running;
      };
      const paid = await run();
      assert.equal(paid.child.exitCode, 0, paid.stdout + paid.stderr);

      // Control: the runner reports a payment that differs from the expected one.
      writeFileSync(join(folder, file), text.replace('"CO"', '"CA"'));
      assert.notEqual((await run()).child.exitCode, 0);
    });
  }
});
