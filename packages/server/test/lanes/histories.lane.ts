import assert from "node:assert/strict";
import { rmSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Chance } from "../simulation/chance.ts";
import { directBody, testCard } from "../world.ts";
import { amount } from "./support/amount.ts";
import { CofreProcess } from "./support/cofre-process.ts";
import { type Call, hasLegalOrder, type Told } from "./support/history-checker.ts";
import { toldPaymentOf } from "./support/kill-promises.ts";
import { serverRoot } from "./support/planted-copy.ts";
import { WireClient } from "./support/wire-client.ts";

/** COFRE_HISTORY_SEED for another mix. */
const seed = Number(process.env["COFRE_HISTORY_SEED"] ?? "1");
const payments = Number(process.env["COFRE_HISTORY_PAYMENTS"] ?? amount({ quick: 100, ci: 500, night: 5_000 }));
const callsOfPayment = 20;
const callersOfPayment = 4;
const paymentsAtOnce = 8;
const integrationKey = "test_ik_historyhistoryhistoryhis";

function toldBy(answer: Readonly<Record<string, unknown>> | undefined): Told | undefined {
  const payment = toldPaymentOf(answer);
  if (payment?.status === "CO") return "captured";
  if (payment?.status === "CA") return "cancelled";
  // No payment has this code.
  if (answer?.["status_code"] === "BP-QRY-2") return "absent";
  return payment?.captureAvailable === true ? "open" : undefined;
}

test(`${payments * callsOfPayment} concurrent calls on ${payments} payments have a legal order for each payment`, async (context) => {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-histories-"));
  const client = new WireClient(callersOfPayment * paymentsAtOnce);
  const server = CofreProcess.spawn({
    root: serverRoot,
    dataDirectory: join(scratch, "data"),
    logDirectory: scratch,
    name: "server",
    environment: { COFRE_SANDBOX_INTEGRATION_KEY: integrationKey },
  });
  const outcomes = new Map<string, number>();
  const illegal: string[] = [];
  try {
    const port = await server.listening();
    assert.ok(port !== undefined);
    const chance = new Chance(seed);
    const call = async (code: string): Promise<Call> => {
      const dice = chance.below(100);
      const kind = dice < 20 ? "direct" : dice < 35 ? "capture" : dice < 50 ? "cancel" : "query";
      const began = performance.now();
      const body =
        kind === "direct"
          ? {
              ...directBody(code, { creditcard: { ...testCard, card_due_date: "12/2035", auto_capture: false } }),
              integration_key: integrationKey,
            }
          : { integration_key: integrationKey, merchant_payment_code: code };
      const answer = await client.ask(port, `/ws/${kind}`, body);
      const told = toldBy(answer);
      const outcome = `${kind} ${told ?? JSON.stringify(answer?.["status_code"] ?? "nothing")}`;
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      return { kind, began, ended: performance.now(), told };
    };
    const queue = Array.from({ length: payments }, (_, index) => `history-${seed}-${index}`).values();
    const work = async (): Promise<void> => {
      for (const code of queue) {
        const calls: Call[] = [];
        const caller = async (): Promise<void> => {
          for (let time = 0; time < callsOfPayment / callersOfPayment; time += 1) calls.push(await call(code));
        };
        await Promise.all(Array.from({ length: callersOfPayment }, caller));
        if (!hasLegalOrder(calls)) illegal.push(`${code}: ${JSON.stringify(calls)}`);
      }
    };
    await Promise.all(Array.from({ length: paymentsAtOnce }, work));
  } finally {
    client.close();
    await server.end("SIGTERM");
    rmSync(scratch, { recursive: true, force: true });
  }
  context.diagnostic([...outcomes].map(([outcome, times]) => `${outcome} ${times}`).join(", "));
  assert.deepEqual(illegal, []);
  for (const outcome of [
    "direct open",
    "capture captured",
    "cancel cancelled",
    "query captured",
    "query cancelled",
    "query open",
    "query absent",
  ]) {
    assert.ok((outcomes.get(outcome) ?? 0) > 0, `control: ${outcome} was met`);
  }
});

test("control: histories without a legal order are refused", () => {
  const call = (kind: Call["kind"], began: number, ended: number, told: Told | undefined): Call => ({ kind, began, ended, told });
  const created = call("direct", 0, 1, "open");
  assert.ok(hasLegalOrder([created, call("capture", 2, 5, "captured"), call("query", 3, 4, "open"), call("query", 6, 7, "captured")]));
  assert.ok(hasLegalOrder([created, call("capture", 2, 3, undefined), call("query", 4, 5, "open"), call("query", 6, 7, "captured")]));
  const refused: readonly (readonly [string, readonly Call[]])[] = [
    ["captured and cancelled", [created, call("capture", 2, 5, "captured"), call("cancel", 3, 4, "cancelled")]],
    ["an old state after a newer one", [created, call("capture", 2, 3, "captured"), call("query", 4, 5, "open")]],
    ["a capture that nobody asked for", [created, call("query", 2, 3, "captured")]],
    ["there before it was made", [call("query", 0, 1, "open"), call("direct", 2, 3, "open")]],
    ["an effect before its call", [created, call("query", 2, 3, "captured"), call("capture", 4, 5, undefined)]],
    [
      "two queries that go back",
      [created, call("cancel", 2, 9, "cancelled"), call("query", 3, 4, "cancelled"), call("query", 5, 6, "open")],
    ],
  ];
  for (const [name, calls] of refused) assert.equal(hasLegalOrder(calls), false, name);
});
