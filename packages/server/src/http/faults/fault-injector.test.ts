import { reading } from "../../wire/permission.ts";
import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { ServiceError } from "../../payment/service-error.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import type { Account } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { createHttpServer, defaultHttpLimits } from "../server.ts";
import type { WireRequest } from "../../wire/endpoint.ts";
import { WireError } from "../../wire/decode/wire-error.ts";
import { type Fault, FaultQueue } from "./fault-queue.ts";
import { FaultInjector } from "./fault-injector.ts";

const settings = defaultAccountSettings();
const ana: Account = { id: "0000000a" as MerchantId, version: 1, name: "Ana", settings };
const bea: Account = { id: "0000000b" as MerchantId, version: 1, name: "Bea", settings };
const accounts = new Map([ana, bea].map((account) => [account.name, account]));
const plain: Omit<Fault, "id"> = {
  kind: "throttle",
  times: 1,
  path: undefined,
  code: undefined,
  delayMs: 1,
  reason: undefined,
};

/**
 * The real server with two accounts whose keys are their names, and endpoints that report what they
 * were given.
 */
async function serving(context: TestContext) {
  const queue = new FaultQueue();
  const handled: string[] = [];
  const runner = { run: () => Promise.reject(new ServiceError("payment_not_found")) };
  const faults = new FaultInjector({ queue, scheduler: systemScheduler, runner });
  const row = {
    doc: "page",
    key: "secret",
    family: "parameters",
    cors: false,
    permission: reading,
    recorded: false,
  } as const;
  const server = createHttpServer({
    endpoints: [
      {
        ...row,
        path: "/ws/direct",
        acquirerFaults: ["decline", "acquirer_unknown_then_yes", "acquirer_unknown_then_no"],
        async handle({ account }: WireRequest) {
          handled.push(account.name);
          return {
            status: 200,
            body: JSON.stringify({ simulator: account.settings.simulator, status: "SUCCESS" }),
          };
        },
      },
      {
        ...row,
        path: "/ws/capture",
        handle: () => Promise.reject(new WireError("BP-CAP-1", "refused")),
      },
      { ...row, path: "/__cofre/any", handle: async () => ({ status: 200, body: "{}" }) },
    ],
    resolveKey: async (key) => {
      const account = accounts.get(key);
      return account === undefined ? undefined : { account, grants: "secret" };
    },
    clock: { now: () => instant(0) },
    log: { write: () => undefined },
    health: { state: () => "ready" },
    limits: defaultHttpLimits,
    faults,
  });
  const { port } = await server.listen(0, "127.0.0.1");
  context.after(async () => {
    server.closeAllConnections();
    await server.close();
  });
  const ask = (path: string, fields: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", body: JSON.stringify(fields) });
  return { queue, handled, ask };
}

describe("faults", () => {
  test("of one account never meet another's requests", async (context) => {
    const { queue, handled, ask } = await serving(context);
    queue.add(ana.id, { ...plain, times: 0 });
    assert.equal((await ask("/ws/direct", { integration_key: "Bea" })).status, 200);
    assert.equal((await ask("/ws/direct", { integration_key: "Ana" })).status, 429);
    assert.equal((await ask("/ws/direct", { integration_key: "Bea" })).status, 200);
    assert.deepEqual([handled, queue.list(ana.id)[0]?.injected], [["Bea", "Bea"], 1]);
  });

  test("of the acquirer are sent with one request, and the account is not changed", async (context) => {
    const { queue, ask } = await serving(context);
    queue.add(ana.id, { ...plain, kind: "decline", reason: "high_risk" });
    const reported = async (): Promise<unknown> =>
      (
        (await (await ask("/ws/direct", { integration_key: "Ana" })).json()) as Record<
          string,
          unknown
        >
      )["simulator"];
    assert.deepEqual(await reported(), { ...settings.simulator, fault: { decline: "high_risk" } });
    assert.deepEqual(await reported(), settings.simulator);
  });

  test("meet no request of /__cofre, though it waits for all", async (context) => {
    const { queue, ask } = await serving(context);
    queue.add(ana.id, { ...plain, times: 0 });
    assert.equal((await ask("/__cofre/any", { integration_key: "Ana" })).status, 200);
    assert.equal(queue.list(ana.id)[0]?.injected, 0);
  });

  test("are used up by a request that is refused for a reason of its own", async (context) => {
    const { queue, ask } = await serving(context);
    queue.add(ana.id, { ...plain, kind: "late_answer" });
    const answer = await ask("/ws/capture", { integration_key: "Ana" });
    assert.equal(((await answer.json()) as Record<string, unknown>)["status_code"], "BP-CAP-1");
    assert.equal(answer.headers.get("x-cofre-fault"), "f1 late_answer");
    assert.equal(queue.waitsFor(ana.id), false);
  });

  test("for a payment do not match a request whose payment cannot be determined", async (context) => {
    const { queue, ask } = await serving(context);
    queue.add(ana.id, { ...plain, code: "order-1" });
    assert.equal(
      (await ask("/ws/direct", { integration_key: "Ana", hash: "0".repeat(48) })).status,
      200,
    );
    assert.equal(
      (await ask("/ws/direct", { integration_key: "Ana", merchant_payment_code: "order-2" }))
        .status,
      200,
    );
    assert.equal(
      (await ask("/ws/direct", { integration_key: "Ana", merchant_payment_code: "order-1" }))
        .status,
      429,
    );
  });

  test("waits end at once, those too that begin later, when nothing is waited for any more", async () => {
    const runner = { run: () => Promise.reject(new ServiceError("payment_not_found")) };
    const faults = new FaultInjector({
      queue: new FaultQueue(),
      scheduler: systemScheduler,
      runner,
    });
    assert.equal(await faults.pause(1), true);
    const waiting = faults.pause(120_000);
    faults.close();
    assert.deepEqual([await waiting, await faults.pause(120_000)], [false, false]);
  });
});
