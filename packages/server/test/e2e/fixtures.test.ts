import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { OpenApi } from "../../src/api-docs/types.ts";
import { fixtureSchema } from "../../src/cli/fixture/json-schema.ts";
import { startCofre } from "../../src/library.ts";
import type { Schema } from "../../src/wire/schema.ts";
import { Command, temporaryFolder } from "../command.ts";
import { until } from "../until.ts";
import { mismatches } from "../wire/openapi-check.ts";

type Fields = Readonly<Record<string, unknown>>;

const example = fileURLToPath(new URL("../../../../examples/cofre.json", import.meta.url));
const exampleContent = JSON.parse(readFileSync(example, "utf8")) as Fields;

async function post(url: string, path: string, body: Fields): Promise<Fields> {
  const answer = await fetch(url + path, { method: "POST", body: JSON.stringify(body) });
  return (await answer.json()) as Fields;
}

/** Code, state and other facts of the payments of a key, oldest first. */
async function paymentsOf(url: string, key: string): Promise<readonly Fields[]> {
  const { payments } = await post(url, "/__cofre/payments", { integration_key: key });
  return (payments as readonly Fields[]).toReversed();
}

const statesOf = (payments: readonly Fields[]): Fields =>
  Object.fromEntries(
    payments.map(({ merchant_payment_code: code, state }) => [String(code), state]),
  );

/** Starts the program, and resolves with its address when the ready file is there. */
async function started(context: TestContext, args: readonly string[]): Promise<string> {
  const file = join(temporaryFolder(context), "ready.json");
  const server = Command.cofre(context, [
    "start",
    "--port",
    "0",
    "--data-dir",
    ":memory:",
    "--ready-file",
    file,
    ...args,
  ]);
  await until("the file is there", () => existsSync(file) || server.child.exitCode !== null);
  assert.equal(server.child.exitCode, null, server.stderr);
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly url: string }).url;
}

/** Runs the program with a fixture file of this content to its end. */
async function ended(
  context: TestContext,
  content: string,
  args: readonly string[] = ["start"],
  environment: Readonly<Record<string, string>> = { COFRE_DATA_DIR: ":memory:" },
): Promise<Command> {
  const file = join(temporaryFolder(context), "cofre.json");
  writeFileSync(file, content);
  const command = Command.cofre(context, [...args, "--port", "0", "--fixtures", file], environment);
  await command.code();
  return command;
}

describe("cofre start --fixtures", () => {
  test("everything of the example is there when the ready file is, the same at each start", async (context) => {
    const url = await started(context, ["--fixtures", example]);
    const payments = await paymentsOf(url, "test_ik_checkout");
    assert.deepEqual(statesOf(payments), {
      paid: "captured",
      held: "authorized",
      "with-token": "captured",
      declined: "declined",
      voided: "voided",
      disputed: "captured",
      "partly-refunded": "captured",
    });
    assert.equal(payments[5]?.["disputed"], true);
    assert.deepEqual(statesOf(await paymentsOf(url, "test_ik_peru")), { expired: "expired" });
    const { faults } = await post(url, "/__cofre/faults", { integration_key: "test_ik_checkout" });
    assert.partialDeepStrictEqual(faults, [
      { kind: "drop_after_commit", path: "/ws/direct", merchant_payment_code: "lost-answer" },
    ]);
    const { settings } = await post(url, "/__cofre/settings", {
      integration_key: "test_ik_checkout",
    });
    assert.partialDeepStrictEqual(settings, { country: "br", partialCapture: true });

    const again = await started(context, ["--fixtures", example]);
    assert.deepEqual(await paymentsOf(again, "test_ik_checkout"), payments);
  });

  test("a world returns to its fixtures by their snapshot", async (context) => {
    const url = await started(context, ["--fixtures", example]);
    const ofWorld = { integration_key: "test_ik_checkout" };
    const before = await paymentsOf(url, "test_ik_checkout");
    await post(url, "/ws/cancel", { ...ofWorld, hash: before[1]?.["hash"] });
    assert.notDeepEqual(await paymentsOf(url, "test_ik_checkout"), before);
    await post(url, "/__cofre/world", { ...ofWorld, action: "restore", name: "fixtures" });
    assert.deepEqual(await paymentsOf(url, "test_ik_checkout"), before);
  });

  test("worlds are loaded at every start of an installation, an account is refused there", async (context) => {
    const folder = join(temporaryFolder(context), "data");
    const { account, ...worlds } = exampleContent;
    const refused = await ended(context, JSON.stringify({ account }, undefined, 1), ["start"], {
      COFRE_DATA_DIR: folder,
    });
    assert.equal(refused.child.exitCode, 2);
    assert.match(
      refused.stderr,
      /cofre\.json:2: account needs data in memory: add --data-dir :memory:/,
    );
    const file = join(temporaryFolder(context), "worlds.json");
    writeFileSync(file, JSON.stringify(worlds));
    for (const start of ["first", "second"]) {
      const server = Command.cofre(
        context,
        ["start", "--port", "0", "--data-dir", folder, "--fixtures", file],
        { COFRE_LOG_FORMAT: "json" },
      );
      const { port } = await server.event("listening");
      const url = `http://127.0.0.1:${String(port)}`;
      assert.equal((await paymentsOf(url, "test_ik_peru")).length, 1, start);
      server.child.kill("SIGTERM");
      assert.equal(await server.code(), 0);
    }
  });

  test("what the server refuses ends the start, with its place, and keeps the new keys", async (context) => {
    const content = `{"worlds": [{"name": "a", "integrationKey": "a-key",
      "payments": [{"code": "a", "amount": "10.00"},
                   {"code": "b", "amount": "10.00", "events": ["dispute-won"]}]}]}`;
    const command = await ended(context, content, ["start"], {
      COFRE_DATA_DIR: join(temporaryFolder(context), "data"),
    });
    assert.equal(command.child.exitCode, 1);
    assert.match(
      command.stderr,
      /^Cofre could not start: \S+cofre\.json:3: worlds\[0\]\.payments\[1\]\.events\[0\]: Cofre refused: COFRE-38 /m,
    );
    assert.match(command.stderr, /These keys are shown only now:\n +integration key +test_ik_/);
    assert.doesNotMatch(command.stdout, /"listening"/);
  });

  const refused: readonly (readonly [
    name: string,
    environment: Readonly<Record<string, string>>,
    said: RegExp,
  ])[] = [
    [
      "production",
      { COFRE_ENVIRONMENT: "production" },
      /--fixtures is for a sandbox: leave it out in production/,
    ],
    [
      "another server as the acquirer",
      { COFRE_UPSTREAM_URL: "https://pay.example.com", COFRE_UPSTREAM_INTEGRATION_KEY: "key" },
      /--fixtures needs simulated acquirers/,
    ],
    [
      "a connector of that kind",
      {
        COFRE_CONNECTORS:
          '[{"name":"up","kind":"upstream","url":"https://pay.example.com","integrationKey":"k"}]',
      },
      /--fixtures needs simulated acquirers/,
    ],
    [
      "logins without a key",
      { COFRE_CONSOLE: "login" },
      /--fixtures needs a COFRE_SANDBOX_INTEGRATION_KEY/,
    ],
  ];
  for (const [name, environment, said] of refused)
    test(`is refused with ${name}`, async (context) => {
      const command = await ended(context, "{}", ["start"], {
        COFRE_DATA_DIR: ":memory:",
        ...environment,
      });
      assert.equal(command.child.exitCode, 2);
      assert.match(command.stderr, said);
    });

  test("a wrong file ends the start and the check of the settings, a missing one too", async (context) => {
    for (const command of ["start", "config"]) {
      const wrong = await ended(context, '{"worlds": [\n{"name": ""}]}', [command]);
      assert.equal(wrong.child.exitCode, 2);
      assert.match(wrong.stderr, /^\S+cofre\.json:2: worlds\[0\]\.name must be a text of 1 to 100/);
      assert.match(wrong.stderr, /cofre\.json:2: worlds\[0\] needs the member integrationKey\.$/m);
    }
    const missing = Command.cofre(context, ["start", "--fixtures", "no-such.json"]);
    assert.equal(await missing.code(), 2);
    assert.match(missing.stderr, /^The file no-such\.json of --fixtures does not exist\./);
    const folder = Command.cofre(context, ["start", "--fixtures", temporaryFolder(context)]);
    assert.equal(await folder.code(), 2);
    assert.match(folder.stderr, / of --fixtures is a folder\./);
  });
});

test("cofre run --fixtures: the command finds the account's payments", async (context) => {
  const program = `
    const { COFRE_URL: url, COFRE_INTEGRATION_KEY: key } = process.env;
    const body = JSON.stringify({ integration_key: key, merchant_payment_code: "order-1" });
    const answer = await fetch(url + "/ws/query", { method: "POST", body });
    console.log(JSON.stringify((await answer.json()).payment.currency_ext));`;
  const run = (file: string): Command =>
    Command.cofre(context, [
      "run",
      "--no-proxy",
      "--fixtures",
      file,
      "--",
      process.execPath,
      "--input-type=module",
      "--eval",
      program,
    ]);
  const command = run(example);
  assert.equal(await command.code(), 0, command.stderr);
  assert.equal(command.stdout, '"MXN"\n');
  const missing = run("no-such.json");
  assert.equal(await missing.code(), 2);
  assert.match(missing.stderr, /^The file no-such\.json of --fixtures does not exist/);
});

describe("startCofre({ fixtures })", () => {
  test("begins with them", async () => {
    await using cofre = await startCofre({ fixtures: exampleContent });
    assert.equal((await cofre.payments.explain("order-1")).state, "captured");
    const worlds = await cofre.worlds.list();
    assert.deepEqual(
      worlds.map(({ name }) => name),
      ["checkout", "peru"],
    );
    assert.equal((await worlds[0]?.payments.explain("held"))?.state, "authorized");
  });

  test("is a TypeError for a wrong member, and rejects with a refusal of the server", async () => {
    await assert.rejects(
      startCofre({ fixtures: { account: { payments: [{ code: "a" }] } } as object }),
      {
        name: "TypeError",
        message: "fixtures.account.payments[0] needs the member amount.",
      },
    );
    const payments = [{ code: "a", amount: "1.00", currency: "XXX" }];
    await assert.rejects(
      startCofre({ fixtures: { account: { payments } } }),
      /^ClientProblem: fixtures\.account\.payments\[0\]: Cofre refused: BP-/,
    );
  });
});

describe("the JSON schema", () => {
  const text = fixtureSchema().replaceAll("#/$defs/", "#/components/schemas/");
  const schema = JSON.parse(text) as Schema & { readonly $defs: Fields };
  const api = { components: { schemas: schema.$defs } } as object as OpenApi;

  test("accepts the example", () => {
    assert.deepEqual(mismatches(schema, exampleContent, api), []);
  });

  test("refuses what the reader refuses", () => {
    for (const [worlds, place] of [
      [[{ name: "a" }], /integrationKey: is missing/],
      [[{ name: "a", integrationKey: "k", clocks: "2026" }], /clocks: is not described/],
      [[{ name: "a", integrationKey: "k", payments: [{ code: "a", amount: "1,00" }] }], /amount/],
      [[{ name: "a", integrationKey: "k", settings: { country: "xx" } }], /country/],
    ] as const)
      assert.match(mismatches(schema, { worlds }, api).join("\n"), place);
  });
});
