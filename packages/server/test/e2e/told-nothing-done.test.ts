import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { startCofre } from "../../src/app.ts";
import { plantedCopy } from "../support/planted-copy.ts";
import type { PlantedBug } from "../support/planted-bug.ts";
import { type OrdersReport, playOrders } from "./order-run.ts";

/** Set COFRE_ORDER_SEED for another sequence, COFRE_ORDERS for more orders. */
const seed = Number(process.env["COFRE_ORDER_SEED"] ?? "1");
const orders = Number(process.env["COFRE_ORDERS"] ?? "40");
/** Each planted bug must be found within this number of orders. */
const ordersToFind = 600;
/** Each run is limited by its number of orders; a loaded machine takes minutes for it. */
const timeout = 600_000;

test(
  `the last answer to each request of ${orders} orders says what the books say, whatever was lost on the way`,
  { timeout },
  async (context) => {
    const { violations, outcomes } = await playOrders({ seed, orders });
    context.diagnostic([...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join("; "));
    assert.deepEqual(violations, []);
    for (const outcome of [
      "direct SUCCESS",
      "direct lost",
      "direct BP-DR-0",
      "capture SUCCESS",
      "refund SUCCESS",
    ]) {
      assert.ok(outcomes.has(outcome), `control: ${outcome} was met`);
    }
  },
);

describe("controls: a program with a mistake in it says what the books deny", () => {
  const planted: readonly PlantedBug[] = [
    {
      name: "a charge is refused before its code is looked at",
      file: "operations/repeated-requests.ts",
      find: `    if (!(refusal instanceof ServiceError) || openOutcomes.has(refusal.code)) throw refusal;`,
      replace: `    if (!(refusal instanceof ServiceError) || refusal.code !== "payment_code_taken") throw refusal;`,
    },
    {
      name: "a request under a key takes another's work for its own",
      file: "operations/repeated-requests.ts",
      find: `fact === sent && detail["request"] === request)`,
      replace: `fact === sent && detail["request"] !== "none")`,
    },
  ];
  for (const bug of planted) {
    test(bug.name, { timeout }, async (context) => {
      const root = plantedCopy(bug);
      context.after(() => rmSync(root, { recursive: true, force: true }));
      const { startCofre: start } = (await import(join(root, "src/app.ts"))) as {
        readonly startCofre: typeof startCofre;
      };
      const { violations, played }: OrdersReport = await playOrders({
        seed,
        orders: ordersToFind,
        start,
        stop: true,
      });
      context.diagnostic(`after ${played} orders: ${violations[0]}`);
      assert.ok(violations.length > 0);
    });
  }
});
