import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { instant } from "../../src/kernel/instant.ts";
import { slotOf } from "../../src/kernel/slot.ts";
import { startAcquirer } from "../acquirer/start-acquirer.ts";
import { query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { directBody, integrationKey, startTestServer, type TestServer } from "../server.ts";
import { until } from "../until.ts";

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

/** The machine's time, moved by a test. */
class MovedClock {
  movedMs = 0;

  now() {
    return instant(Date.now() + this.movedMs);
  }
}

async function status(server: TestServer, code: string): Promise<unknown> {
  const { body } = await server.get("/ws/query", {
    integration_key: integrationKey,
    merchant_payment_code: code,
  });
  return (body["payment"] as Record<string, unknown> | undefined)?.["status"];
}

test(
  "a node whose clock is set ahead leaves other nodes' sales alone, says so, and works again when it is right",
  { skip: databases === undefined ? "COFRE_TEST_POSTGRES_URL names no server" : false },
  async (context) => {
    // Five of five sales that took three seconds were voided by a node that was a minute ahead, and
    // captured at the acquirer.
    assert.ok(databases !== undefined);
    const folder = mkdtempSync(join(tmpdir(), "cofre-clocks-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const acquirer = await startAcquirer();
    context.after(() => acquirer.stop());
    const environment = {
      COFRE_DATABASE_URL: await databases.create(),
      COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
      COFRE_ACQUIRER_URL: acquirer.address,
      COFRE_ACQUIRER_TIMEOUT_MS: "10000",
    };
    const clocks = [new MovedClock(), new MovedClock()] as const;
    const start = (number: 0 | 1): Promise<TestServer> =>
      startTestServer({
        environment: { ...environment, COFRE_DATA_DIR: join(folder, String(number)) },
        ports: { clock: clocks[number] },
      });
    await using first = await start(0);
    cpSync(join(folder, "0"), join(folder, "1"), { recursive: true });
    await using second = await start(1);
    const halves = ({ events: reported }: TestServer) =>
      reported.some((event) => event.event === "slots_changed" && event.slots === 16);
    await until("both share the work", () => halves(first) && halves(second));
    // The first node keeps the lower half of the slots. The test sets the clock of the node that
    // runs the jobs of the merchant.
    const [account] = await query<{ readonly id: string }>(
      environment.COFRE_DATABASE_URL,
      "SELECT encode(merchant, 'hex') AS id FROM account",
    );
    const isFirst = slotOf(account?.id as MerchantId) < 16;
    const [ahead, right, clock] = isFirst ? [first, second, clocks[0]] : [second, first, clocks[1]];
    const events = (name: string): readonly unknown[] =>
      ahead.events.filter(({ event }) => event === name);
    const alarms = (): readonly unknown[] =>
      ahead.events.filter((event) => event.event === "alarm" && event.kind === "clock_off");

    clock.movedMs = 60_000;
    const settings = { simulator: { latencyMs: 3_000 } };
    assert.equal(
      (await right.postJson("/__cofre/settings", { integration_key: integrationKey, settings }))
        .body["status"],
      "SUCCESS",
    );
    const codes = Array.from({ length: 5 }, (_, number) => `slow-${number}`);
    const answers = await Promise.all(
      codes.map((code) => right.postJson("/ws/direct", directBody(code))),
    );
    for (const { body } of answers)
      assert.equal((body["payment"] as Record<string, unknown>)["status"], "CO");
    await until("the alarm", () => alarms().length > 0);
    assert.equal((await ahead.get("/readyz")).status, 503);
    for (const code of codes) assert.equal(await status(right, code), "CO");
    assert.equal((await right.get("/readyz")).status, 200, "control: the other is ready");

    clock.movedMs = 0;
    await until("it is right again", () => events("clock_right").length > 0);
    assert.equal((await ahead.get("/readyz")).status, 200);
    assert.equal(alarms().length, 1);
  },
);
