import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { SystemRandom } from "../../server/src/kernel/system-random.ts";
import { openKeysOfFile } from "../../server/src/stores/embedded/audit-file.ts";
import { unwrapUnderEpoch } from "../../server/src/vault/records/key-wrap.ts";
import type { KeyRecord } from "../../server/src/vault/records/key-record.ts";
import { RootKeys } from "../../server/src/vault/records/root-wraps.ts";
import { openKeyFiles } from "../../server/src/vault/root-key-file.ts";
import { Command } from "../../server/test/command.ts";
import { directBody } from "../../server/test/server.ts";
import { canReadMemory, memoryOf } from "../lanes/support/process-memory.ts";

/*
 * A stop order is of little use if a core dump or a debugger still finds the keys of cards in the
 * process: a KeyObject that is only not referenced stays in memory until a collection.
 */

const key = "test_ik_stopped_memory";
const token = "a".repeat(32);
const reason = "card data may have leaked";

test(
  "a stopped server has no epoch key and no merchant's key in its memory, and a resumed one has",
  { skip: canReadMemory ? false : "the memory of another process cannot be read here" },
  async (context) => {
    const directory = mkdtempSync(join(tmpdir(), "cofre-stopped-"));
    context.after(() => rmSync(directory, { recursive: true, force: true }));
    const server = Command.cofre(context, ["start"], {
      COFRE_PORT: "0",
      COFRE_DATA_DIR: directory,
      COFRE_LOG_FORMAT: "json",
      COFRE_SANDBOX_INTEGRATION_KEY: key,
    });
    const { port } = await server.event("listening");
    const pid = server.child.pid ?? 0;
    const post = async (path: string, fields: object): Promise<unknown> => {
      const body = JSON.stringify({ integration_key: key, ...fields });
      const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
        method: "POST",
        body,
      });
      const { status } = (await answer.json()) as { readonly status: unknown };
      return status;
    };
    const card = {
      card_number: "4111111111111111",
      card_name: "Ana Lima",
      card_due_date: "12/2060",
      card_cvv: "123",
    };
    const stored = { country: "br", payment_type_code: "creditcard", token, creditcard: card };
    const charge = (code: string) =>
      post("/ws/direct", {
        ...directBody(code, { creditcard: { token } }),
        integration_key: key,
      });
    assert.equal(await post("/ws/token", stored), "SUCCESS");
    assert.equal(await charge("before"), "SUCCESS");

    const keys = await keysOf(directory);
    const found = (): readonly string[] => {
      const names = new Set<string>();
      for (const piece of memoryOf(pid))
        for (const [name, bytes] of Object.entries(keys))
          if (piece.includes(bytes)) names.add(name);
      return [...names].toSorted();
    };
    assert.deepEqual(found(), ["epoch", "merchant", "sign_in"], "control: they are found");

    assert.equal(await post("/__cofre/keys", { act: "stop", reason }), "SUCCESS");
    assert.equal(await charge("stopped"), "ERROR");
    assert.deepEqual(found(), ["sign_in"]);

    assert.equal(await post("/__cofre/keys", { act: "resume", reason }), "SUCCESS");
    assert.equal(await charge("after"), "SUCCESS");
    assert.deepEqual(found(), ["epoch", "merchant", "sign_in"]);
  },
);

/** The keys of the installation, opened in this process as a start does. */
async function keysOf(directory: string): Promise<Readonly<Record<string, Buffer>>> {
  const file = join(directory, "cofre.db");
  const opened = openKeysOfFile(file);
  const { held } = opened;
  assert.ok(held !== undefined);
  const { installation, keys } = held;
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database
    .prepare("SELECT lower(hex(merchant)) AS merchant FROM key_record WHERE purpose = 'merchant'")
    .get();
  database.close();
  const files = { directory, environment: "sandbox", create: false, random: new SystemRandom() };
  const { provider } = await openKeyFiles({ ...files, root: undefined });
  const shared = await keys.keyRecords(undefined, 100);
  const epoch = shared.find(({ purpose }) => purpose === "epoch");
  const signIn = shared.find(({ purpose }) => purpose === "sign_in");
  const [merchant] = await keys.merchantKeyRecords(String(row?.["merchant"]) as MerchantId, 0, 1);
  opened.close();
  assert.ok(epoch !== undefined && signIn !== undefined && merchant !== undefined);
  const epochKey = await new RootKeys([provider], undefined).unwrap(epoch, installation);
  const secretOf = (record: KeyRecord): Buffer => {
    const { purpose, version, merchant: of } = record;
    const binding = { installation, purpose, version, merchant: of, epoch: epoch.version };
    const bytes = unwrapUnderEpoch(epochKey, binding, record.wraps[0]?.bytes ?? new Uint8Array());
    assert.ok(bytes !== undefined);
    return bytes;
  };
  return { epoch: epochKey.export(), merchant: secretOf(merchant), sign_in: secretOf(signIn) };
}
