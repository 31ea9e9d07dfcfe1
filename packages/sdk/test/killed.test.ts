import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "../../server/test/command.ts";
import { freePort } from "../../server/test/free-port.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { type ChargeOutcome, Cofre, CofreConnectionError } from "../src/index.ts";
import { order } from "./server.ts";

const integrationKey = "test_ik_of_killed_servers";
const kills = 5;
const shops = 3;
/** Until the last kill each shop makes orders; the bound is for a machine that never kills. */
const maxOrders = 2_000;
const maxCalls = 20;

test("a server that is killed while shops charge makes one payment per order", async (context) => {
  const folder = temporaryFolder(context);
  mkdirSync(join(folder, "data"));
  const port = await freePort();
  const start = (name: string): CofreProcess =>
    CofreProcess.spawn({
      root: fileURLToPath(new URL("../../server", import.meta.url)),
      dataDirectory: join(folder, "data"),
      logDirectory: folder,
      name,
      environment: {
        COFRE_PORT: String(port),
        COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
        COFRE_ACQUIRER_TIMEOUT_MS: "200",
      },
    });
  const client = new Cofre({
    url: `http://127.0.0.1:${port}`,
    integrationKey,
    maxAttempts: 20,
    maxWaitMs: 500,
  });
  let server = start("server-0");
  try {
    await server.listening();
    const charged = new Map<string, ChargeOutcome>();
    const closing = new AbortController();
    let repeated = 0;
    const charge = async (code: string): Promise<ChargeOutcome> => {
      for (let calls = 1; calls < maxCalls; calls += 1)
        try {
          return await client.charge(order(code));
        } catch (error) {
          if (!(error instanceof CofreConnectionError)) throw error;
          repeated += 1;
        }
      return client.charge(order(code));
    };
    const shop = async (name: number): Promise<void> => {
      for (let number = 0; number < maxOrders && !closing.signal.aborted; number += 1) {
        const code = `shop-${name}-${number}`;
        charged.set(code, await charge(code));
      }
    };
    const shopping = Array.from({ length: shops }, (_, name) => shop(name));
    for (let kill = 1; kill <= kills; kill += 1) {
      await sleep(300 + kill * 111);
      await server.end("SIGKILL");
      server = start(`server-${kill}`);
      await server.listening();
    }
    closing.abort();
    await Promise.all(shopping);

    const outcomes = Map.groupBy(charged.values(), ({ outcome }) => outcome);
    assert.ok((outcomes.get("paid")?.length ?? 0) > shops, `control: ${charged.size} orders`);
    for (const [code, { outcome, payment }] of charged) {
      const { facts, problems } = (await client.raw("/__cofre/explain", {
        merchant_payment_code: code,
      })) as { readonly facts: readonly { readonly fact: string }[]; readonly problems: unknown };
      assert.deepEqual(problems, [], code);
      const sent = facts.filter(({ fact }) => fact === "authorization_sent");
      assert.equal(sent.length, 1, `${code}: ${outcome}`);
      const now = await client.query({ code });
      assert.equal(now.payment.hash, payment.hash, code);
      if (outcome !== "pending") assert.equal(now.outcome, outcome, code);
    }
    context.diagnostic(`${charged.size} orders, ${repeated} calls made again`);
  } finally {
    await server.end("SIGKILL");
  }
});
