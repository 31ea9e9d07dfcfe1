import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

export interface Pipeline {
  readonly name: string;
  /** In examples/ci. */
  readonly file: string;
  /** The name of its schema in check-jsonschema. */
  readonly schema: string;
  /** The lines of the job that runs Cofre, from the parsed file. */
  readonly scriptOf: (parsed: unknown) => readonly string[];
}

interface GitHub {
  readonly jobs: { readonly tests: { readonly steps: readonly { readonly run?: string }[] } };
}

interface Script {
  readonly script: readonly string[];
}

interface Bitbucket {
  readonly pipelines: { readonly default: readonly [{ readonly step: Script }] };
}

export const pipelines: readonly Pipeline[] = [
  {
    name: "GitHub Actions",
    file: "github-actions.yml",
    schema: "vendor.github-workflows",
    scriptOf: (parsed) => (parsed as GitHub).jobs.tests.steps.flatMap(({ run }) => run ?? []),
  },
  {
    name: "GitLab CI",
    file: "gitlab-ci.yml",
    schema: "vendor.gitlab-ci",
    scriptOf: (parsed) => (parsed as { readonly tests: Script }).tests.script,
  },
  {
    name: "Bitbucket Pipelines",
    file: "bitbucket-pipelines.yml",
    schema: "vendor.bitbucket-pipelines",
    scriptOf: (parsed) => (parsed as Bitbucket).pipelines.default[0].step.script,
  },
];

const suite = `
import assert from "node:assert/strict";
import { test } from "node:test";

const creditcard = { card_number: "4111111111111111", card_name: "Ana Lima", card_due_date: "12/2060", card_cvv: "123" };
const customer = { name: "Ana Lima", email: "ana.lima@example.com", country: "pe", phone_number: "51987654321" };
const payment = { merchant_payment_code: "order-1", amount_total: "100.00", currency_code: "PEN", ...customer, creditcard };
const body = JSON.stringify({ integration_key: process.env.COFRE_INTEGRATION_KEY, payment });

test("a customer pays", async () => {
  const answer = await fetch("https://sandbox.ebanx.com/ws/direct", { method: "POST", body });
  assert.equal((await answer.json()).payment.status, process.env.EXPECTED);
});
`;

/** Fills a shop's folder: a suite whose client has a fixed host, and the package in `tools`. */
export function layOutShop(folder: string, tarball: string): void {
  const write = (file: string, content: object | string): void =>
    writeFileSync(
      join(folder, file),
      typeof content === "string" ? content : JSON.stringify(content),
    );
  const shop = { name: "shop", version: "1.0.0", scripts: { test: "node --test suite.mjs" } };
  write("package.json", shop);
  write("package-lock.json", { ...shop, lockfileVersion: 3, packages: { "": shop } });
  write("suite.mjs", suite);
  mkdirSync(join(folder, "tools"));
  copyFileSync(tarball, join(folder, "tools", basename(tarball)));
}
