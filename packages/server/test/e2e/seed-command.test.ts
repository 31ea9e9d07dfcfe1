import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { fates, seedPlan } from "../../src/cli/seed-plan.ts";
import { Command } from "../command.ts";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";

const key = "world-key";

/** Runs a command of the program for the world, or the account with the key. */
async function run(
  context: TestContext,
  { port }: Pick<TestServer, "port">,
  args: readonly string[],
  ofKey = key,
): Promise<Command> {
  const command = Command.cofre(context, args, {
    COFRE_PORT: String(port),
    COFRE_SANDBOX_INTEGRATION_KEY: ofKey,
  });
  await command.code();
  return command;
}

async function createWorld(server: TestServer, ofKey = key): Promise<void> {
  await server.postJson("/__cofre/worlds", { seed: "7", new_integration_key: ofKey });
}

async function listed(
  server: TestServer,
  ofKey = key,
): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const all: Readonly<Record<string, unknown>>[] = [];
  for (let before: string | undefined = ""; before !== undefined;) {
    const { body } = await server.postJson("/__cofre/payments", {
      integration_key: ofKey,
      limit: 100,
      ...(before === "" ? {} : { before }),
    });
    all.push(...(body["payments"] as typeof all));
    before = (body["next"] as string | null) ?? undefined;
  }
  return all;
}

describe("cofre seed", () => {
  test("plans every kind among 30 payments, and countries, currencies and instalments", () => {
    const plan = seedPlan(30, "x");
    assert.deepEqual(
      fates.filter((fate) => !plan.some((payment) => payment.fate === fate)),
      [],
    );
    assert.ok(new Set(plan.map(({ customer }) => customer["country"])).size >= 7);
    assert.ok(plan.some(({ instalments }) => instalments > 1));
    const all = seedPlan(5_000, "x");
    assert.equal(new Set(all.map(({ code }) => code)).size, 5_000);
    assert.deepEqual(all.slice(0, 30), plan, "a longer plan begins alike");
  });

  test("makes 300 payments as planned, the same in two worlds of one seed, and only once", async (context) => {
    await using server = await startTestServer();
    for (const each of ["one-key", "other-key"]) {
      await createWorld(server, each);
      const command = await run(context, server, ["seed", "--json"], each);
      assert.equal(command.child.exitCode, 0, command.stderr);
      const counts = JSON.parse(command.stdout) as Readonly<Record<string, number>>;
      assert.deepEqual(Object.keys(counts), fates);
      assert.equal(
        Object.values(counts).reduce((sum, count) => sum + count),
        300,
      );
    }
    const payments = await listed(server, "one-key");
    assert.equal(payments.length, 300);
    assert.deepEqual(payments, await listed(server, "other-key"));
    const count = (is: (payment: Readonly<Record<string, unknown>>) => boolean): number =>
      payments.filter(is).length;
    assert.equal(
      count(({ state }) => state === "declined"),
      36,
    );
    assert.deepEqual(
      [...new Set(payments.map(({ decline_reason: reason }) => reason))]
        .filter((reason) => typeof reason === "string")
        .toSorted(),
      [
        "expired_card",
        "insufficient_funds",
        "invalid_card",
        "not_accepted",
        "three_d_secure_required",
      ],
    );
    assert.equal(
      count(({ state }) => state === "authorized"),
      24,
    );
    assert.equal(
      count(({ state }) => state === "authorizing"),
      3,
    );
    assert.equal(
      count(({ disputed }) => disputed === true),
      24,
    );
    const again = await run(context, server, ["seed"], "one-key");
    assert.equal(again.child.exitCode, 1);
    assert.match(again.stderr, /^This account already has the payment seed-001\. --prefix TEXT /);
    const more = await run(context, server, ["seed", "--count", "2", "--prefix", "b"], "one-key");
    assert.equal(more.child.exitCode, 0, more.stderr);
    assert.match(more.stdout, /^captured {10}1\ndeclined {10}1\n$/);
  });

  for (const args of [
    ["--count", "0"],
    ["--count", "5001"],
    ["--prefix", "4111111111111111"],
  ])
    test(`refuses ${args.join(" ")}`, async (context) => {
      const command = await run(context, { port: 1 }, ["seed", ...args]);
      assert.equal(command.child.exitCode, 2);
      assert.match(command.stderr, new RegExp(`^${args[0] ?? ""} must be`));
    });
});

describe("cofre trigger", () => {
  const hold = { auto_capture: false };

  const triggered: readonly (readonly [
    events: readonly (readonly string[])[],
    card: object,
    printed: RegExp,
  ])[] = [
    [[["captured"]], hold, / {2}captured$/m],
    [[["cancelled"]], hold, / {2}voided$/m],
    [[["expired"]], hold, / {2}expired$/m],
    [[["dispute", "--description", "fraud"]], {}, / {2}captured, charged back$/m],
    [[["dispute"], ["dispute-won"]], {}, / {2}captured, dispute won$/m],
  ];
  for (const [events, card, printed] of triggered) {
    const names = events.map(([event]) => event).join(", ");
    test(names, async (context) => {
      await using server = await startTestServer();
      await createWorld(server);
      const order = directBody("order-1") as { readonly payment: { readonly creditcard: object } };
      await server.postJson("/ws/direct", {
        ...order,
        integration_key: key,
        payment: { ...order.payment, creditcard: { ...order.payment.creditcard, ...card } },
      });
      let last: Command | undefined;
      for (const [event = "", ...args] of events) {
        last = await run(context, server, ["trigger", event, "--code", "order-1", ...args]);
        assert.equal(last.child.exitCode, 0, last.stderr);
      }
      assert.match(last?.stdout ?? "", printed);
    });
  }

  test("refunded: a part, then all that is left, which is sent when its time has come", async (context) => {
    await using server = await startTestServer();
    await createWorld(server);
    await server.postJson("/ws/direct", { ...directBody("order-1"), integration_key: key });
    const refund = async (...args: readonly string[]): Promise<void> => {
      const command = await run(context, server, [
        "trigger",
        "refunded",
        "--code",
        "order-1",
        ...args,
      ]);
      assert.equal(command.child.exitCode, 0, command.stderr);
      await server.postJson("/__cofre/clock", { integration_key: key, advance: "10min" });
    };
    await refund("--amount", "25.50");
    await refund();
    const [payment] = await listed(server);
    assert.equal(payment?.["refunded"], "100.00");
  });

  test("refuses a payment without the event, an account that is not a world, and wrong options", async (context) => {
    await using server = await startTestServer();
    await server.postJson("/ws/direct", directBody("order-1"));
    const hash = (await listed(server, integrationKey))[0]?.["hash"];
    const refused = async (
      code: number,
      said: RegExp,
      ...args: readonly string[]
    ): Promise<void> => {
      const command = await run(context, server, ["trigger", ...args], integrationKey);
      assert.equal(command.child.exitCode, code, command.stderr);
      assert.match(command.stderr, said);
    };
    await refused(1, /COFRE-38/, "dispute-won", "--code", "order-1");
    await refused(1, /not an authorized payment/, "expired", "--code", String(hash));
    await refused(1, /BP-/, "dispute", "--code", "order-2");
    await refused(2, /^Name the payment with --code/, "dispute");
    await refused(2, /^--amount is not for dispute\./, "dispute", "--code", "x", "--amount", "1");
    await refused(2, /^trigger takes only captured or/, "explode", "--code", "x");
  });
});
