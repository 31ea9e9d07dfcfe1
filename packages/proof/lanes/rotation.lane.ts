import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { postgresBinaries } from "../../server/test/postgres/cluster.ts";
import { query } from "../../server/test/postgres/databases.ts";
import { directBody, testCard } from "../../server/test/server.ts";
import { Chance } from "../../server/test/support/chance.ts";
import { CofreProcess } from "../../server/test/support/cofre-process.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";
import type { PlantedBug } from "../../server/test/support/planted-bug.ts";
import { WireClient } from "../../server/test/support/wire-client.ts";
import { merchants, NodeGroup, until } from "./support/node-group.ts";

/**
 * Keys change while cards are stored and charged, and while the process that encrypts them again is
 * killed. Judged by charges with every stored card, and by SQL.
 */

const patienceS = 240;
const key = "test_ik_rotation";

/** Kills of one process. COFRE_ROTATION_KILLS sets another number. */
const kills = Number(process.env["COFRE_ROTATION_KILLS"] ?? 100);
/** Rotations with two nodes, and the time for them. */
const rotations = 10;
const betweenMs = 12_000;

const tokenOf = (number: number): string => `rotation-${String(number).padStart(32, "0")}`;

const tokenBody = (integrationKey: string, token: string) => ({
  integration_key: integrationKey,
  country: "br",
  payment_type_code: "creditcard",
  token,
  creditcard: testCard,
});
const charge = (integrationKey: string, code: string, token: string) => ({
  ...directBody(code, { creditcard: { token } }),
  integration_key: integrationKey,
});

/** Under keys that only open: keys by their epoch, and cards by their merchant's key. */
const oldRowsInPostgres = `SELECT
  (SELECT count(*)::integer FROM key_record AS under JOIN key_record AS epoch ON epoch.purpose = 'epoch' AND epoch.version = under.epoch
    WHERE under.state <> 'destroyed' AND epoch.state <> 'current') AS keys,
  (SELECT count(*)::integer FROM card JOIN key_record ON key_record.merchant = card.merchant AND key_record.state <> 'current'
    AND substring(ref FROM 2 FOR 4) = int4send(key_record.version)) AS cards`;
const oldRowsInFile = `SELECT
  (SELECT count(*) FROM key_record AS under JOIN key_record AS epoch ON epoch.purpose = 'epoch' AND epoch.version = under.epoch
    WHERE under.state <> 'destroyed' AND epoch.state <> 'current') AS keys,
  (SELECT count(*) FROM card JOIN key_record ON key_record.merchant = card.merchant AND key_record.state <> 'current'
    AND substr(ref, 2, 4) = unhex(printf('%08x', key_record.version))) AS cards`;

describe("with two nodes on PostgreSQL", () => {
  const skip = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;
  test(
    `${rotations} rotations under load fail no request, and leave nothing under an earlier key`,
    { skip },
    async (context) => {
      await using group = await NodeGroup.start();
      await group.add();
      assert.ok(await until(patienceS, () => group.isLevel()), "two nodes share");
      const [first] = merchants;
      assert.ok(first !== undefined);
      const stored: { readonly key: string; readonly token: string }[] = [];
      const failed: string[] = [];
      let requests = 0;
      const ended = new AbortController();
      const ask = async (path: string, body: object): Promise<void> => {
        const node = group.nodes[(requests += 1) % group.nodes.length];
        const answer = await group.client.ask(node?.port ?? 0, path, body);
        if (answer?.["status"] !== "SUCCESS") failed.push(`${path}: ${JSON.stringify(answer)}`);
      };
      const load = async (worker: number): Promise<void> => {
        const chance = new Chance(worker);
        for (let number = 0; !ended.signal.aborted; number += 1) {
          const merchant = merchants[chance.below(merchants.length)] ?? first;
          const token = tokenOf(worker * 1_000_000 + number);
          await ask("/ws/token", tokenBody(merchant.key, token));
          stored.push({ key: merchant.key, token });
          for (let charges = 0; charges < 3; charges += 1) {
            const card = stored[chance.below(stored.length)] ?? { key: merchant.key, token };
            await ask("/ws/direct", charge(card.key, `${worker}-${number}-${charges}`, card.token));
          }
        }
      };
      const workers = Array.from({ length: 8 }, (_, worker) => load(worker + 1));
      for (let number = 0; number < rotations; number += 1) {
        const node = group.nodes[number % group.nodes.length];
        const order = {
          integration_key: first.key,
          act: "rotate",
          target: number % 2 === 0 ? "epoch" : "merchants",
          reason: "lane",
        };
        const answer = await group.client.ask(node?.port ?? 0, "/__cofre/keys", order);
        assert.equal(answer?.["result"], "done", JSON.stringify(answer));
        await sleep(betweenMs);
      }
      ended.abort();
      await Promise.all(workers);
      assert.deepEqual(failed, []);
      assert.ok(stored.length > 100, `control: ${stored.length} cards were stored`);
      const oldRows = () => query(group.url, oldRowsInPostgres);
      assert.ok(
        await until(
          patienceS,
          async () => JSON.stringify(await oldRows()) === '[{"keys":0,"cards":0}]',
        ),
        JSON.stringify(await oldRows()),
      );
      const epochs = await group.count("key_record WHERE purpose = 'epoch'");
      assert.equal(epochs, 1 + rotations / 2);
      const versions = await group.count("key_record WHERE purpose = 'merchant' AND version > 5");
      assert.ok(versions > 0, "control: merchants' keys were replaced by each order");
      for (const [number, { key: of, token }] of stored.entries())
        await ask("/ws/direct", charge(of, `last-${number}`, token));
      assert.deepEqual(failed, []);
      context.diagnostic(`${requests} requests, ${stored.length} cards, ${epochs} epochs`);

      // Control: the judge sees a key and a card that were left behind.
      await query(
        group.url,
        "ALTER TABLE key_record DISABLE TRIGGER USER; UPDATE key_record SET epoch = 1 WHERE purpose = 'tokens'; ALTER TABLE card DISABLE TRIGGER USER; UPDATE card SET ref = overlay(ref PLACING '\\x00000001'::bytea FROM 2) WHERE no = (SELECT min(no) FROM card)",
      );
      assert.deepEqual(await oldRows(), [{ keys: 1, cards: 1 }]);
    },
  );
});

function resealedBy(process: CofreProcess | undefined): number {
  return process?.events("cards_resealed").length ?? 0;
}

interface Killed {
  readonly unreadable: number;
  readonly keys: unknown;
  readonly cards: unknown;
  readonly resealed: number;
  /** Kills while some cards were encrypted again and others were not. */
  readonly interrupted: number;
}

function oldCardsIn(dataDirectory: string): number {
  const file = new DatabaseSync(join(dataDirectory, "cofre.db"), { readOnly: true });
  const cards = Number(file.prepare(oldRowsInFile).get()?.["cards"]);
  file.close();
  return cards;
}

/** Stores cards, gives the merchant new keys again and again, and kills the process meanwhile. */
async function killed(context: TestContext, root: string, times: number): Promise<Killed> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-rotation-"));
  const dataDirectory = join(scratch, "data");
  const client = new WireClient(32);
  const running: { process?: CofreProcess } = {};
  context.after(async () => {
    await running.process?.end("SIGKILL");
    client.close();
    rmSync(scratch, { recursive: true, force: true });
  });
  let starts = 0;
  const start = async (): Promise<number> => {
    starts += 1;
    const environment = { COFRE_SANDBOX_INTEGRATION_KEY: key };
    const name = `server-${starts}`;
    running.process = CofreProcess.spawn({
      root,
      dataDirectory,
      logDirectory: scratch,
      name,
      environment,
    });
    const port = await running.process.listening();
    assert.ok(port !== undefined, "the server starts after a kill");
    return port;
  };
  const cards = 400;
  const chance = new Chance(17);
  let port = await start();
  // 400 cards take four seconds.
  const slow = { integration_key: key, act: "reseal", rate: "100", reason: "lane" };
  assert.equal((await client.ask(port, "/__cofre/keys", slow))?.["result"], "done");
  const answers = await Promise.all(
    Array.from({ length: cards }, (_, number) =>
      client.ask(port, "/ws/token", tokenBody(key, tokenOf(number))),
    ),
  );
  for (const answer of answers) assert.equal(answer?.["status"], "SUCCESS", JSON.stringify(answer));
  let [resealed, interrupted] = [0, 0];
  for (let number = 0; number < times; number += 1) {
    if (number % 4 === 0) {
      const target = number % 8 === 0 ? "merchants" : "epoch";
      const order = { integration_key: key, act: "rotate", target, reason: "lane" };
      const answer = await client.ask(port, "/__cofre/keys", order);
      assert.equal(answer?.["result"], "done", JSON.stringify(answer));
    }
    await sleep(200 + chance.below(1_800));
    await running.process?.end("SIGKILL");
    resealed += resealedBy(running.process);
    const left = oldCardsIn(dataDirectory);
    if (left > 0 && left < cards) interrupted += 1;
    port = await start();
  }
  const file = new DatabaseSync(join(dataDirectory, "cofre.db"), { readOnly: true });
  const oldRows = () => file.prepare(oldRowsInFile).get();
  const madeByOrder = file.prepare(
    "SELECT count(*) AS made FROM key_record WHERE version > 1 AND purpose = 'merchant'",
  );
  assert.ok(
    await until(60, async () => Number(madeByOrder.get()?.["made"]) > 0),
    "orders are carried out",
  );
  await until(60, async () => JSON.stringify(oldRows()) === '{"keys":0,"cards":0}');
  const { keys: oldKeys, cards: oldCards } = oldRows() ?? {};
  file.close();
  let unreadable = 0;
  for (let number = 0; number < cards; number += 1) {
    const answer = await client.ask(
      port,
      "/ws/direct",
      charge(key, `after-${number}`, tokenOf(number)),
    );
    if (answer?.["status"] !== "SUCCESS") unreadable += 1;
  }
  resealed += resealedBy(running.process);
  return { unreadable, keys: oldKeys, cards: oldCards, resealed, interrupted };
}

describe("with one process", () => {
  test(`${kills} kills while cards are encrypted again leave every card readable, under the current key`, async (context) => {
    const { resealed, interrupted, ...left } = await killed(context, serverRoot, kills);
    assert.deepEqual(left, { unreadable: 0, keys: 0, cards: 0 });
    assert.ok(interrupted >= kills / 4, `control: ${interrupted} kills were in the middle`);
    context.diagnostic(
      `${kills} kills, ${interrupted} in the middle, ${resealed} rounds completed`,
    );
  });

  test("control: a card that is bound to its version before is found", async (context) => {
    const bug: PlantedBug = {
      name: "a card is sealed again for the version that it replaces",
      file: "recovery/reseal-job.ts",
      find: "const next = { ...owner, recordVersion: version + 1 };",
      replace: "const next = { ...owner, recordVersion: version };",
    };
    const copy = plantedCopy(bug);
    context.after(() => rmSync(copy, { recursive: true, force: true }));
    const { unreadable } = await killed(context, copy, 3);
    assert.ok(unreadable > 0, "the judge found no unreadable card");
  });
});
