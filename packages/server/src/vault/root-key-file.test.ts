import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { cardOf } from "../../test/vectors/cards.ts";
import type { MerchantId, TokenDigest } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { keyVersionOf } from "./envelope.ts";
import { KeyringError } from "./key-provider.ts";
import { Keyring } from "./keyring.ts";
import { createLocalVault } from "./local-vault.ts";
import { createMemoryKeyProvider } from "./memory-key-provider.ts";
import { openKeyFiles } from "./root-key-file.ts";
import type { CardOwner } from "./vault.ts";

const random = new SystemRandom();
const clock = { now: () => instant(1_234) };
const owner: CardOwner = {
  merchantId: "0a1b2c3d" as MerchantId,
  tokenDigest: "ab".repeat(32) as TokenDigest,
  recordVersion: 1,
};
const posixOnly = { skip: process.platform === "win32" };

function installation(context: TestContext) {
  const directory = join(mkdtempSync(join(tmpdir(), "cofre-keys-")), "data");
  context.after(() => rmSync(join(directory, ".."), { recursive: true }));
  const open = async ({ environment = "sandbox", create = true, limits = {} } = {}) => {
    const files = await openKeyFiles({ directory, environment, create, random });
    return await Keyring.open({ ...files, environment, random, clock, create, limits });
  };
  return {
    directory,
    open,
    root: join(directory, "root.key"),
    keys: join(directory, "keys.1.json"),
  };
}

/** Returns the message; checks that it names this file and quotes nothing of it. */
async function refusal(opening: Promise<unknown>, path: string, content: Buffer): Promise<string> {
  try {
    await opening;
  } catch (error) {
    assert.ok(error instanceof KeyringError, String(error));
    assert.ok(error.message.includes(path), error.message);
    assert.equal(error.cause, undefined);
    const reported = error.message.replaceAll(path, "");
    // Eight bytes at a time: four hex digits of a key can occur in a message by chance, such as
    // "0600" and the "adde" of "added".
    for (const encoding of ["hex", "base64", "latin1"] as const) {
      const key = content.subarray(-64);
      for (let at = 0; at + 8 <= key.length; at += 1)
        assert.ok(!reported.includes(key.toString(encoding, at, at + 8)), reported);
    }
    return reported;
  }
  return assert.fail("it was opened");
}

test("a first start makes both files for their owner alone, and every later start opens the same keys", async (context) => {
  const { open, root, directory } = installation(context);
  const first = await open();
  await first.addKeyVersion();
  const keys = join(directory, "keys.2.json");
  const rootContent = readFileSync(root);
  const again = await open({ create: false });
  assert.deepEqual(again.inventory(), first.inventory());
  const key = first.kek(2);
  assert.ok(key !== undefined && again.kek(2)?.equals(key) === true);
  assert.deepEqual(readFileSync(root), rootContent, "a root key is never written again");
  assert.deepEqual(readdirSync(directory).toSorted(), ["keys.1.json", "keys.2.json", "root.key"]);
  if (process.platform !== "win32")
    for (const path of [root, keys]) assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(rootContent.toString("latin1", 0, 25), "cofre root key 1\n\u0007sandbox");
  assert.ok(!readFileSync(keys).includes(rootContent.subarray(25, 57).toString("hex")));
});

test("a missing root key is made in a sandbox only, and never beside keys that need the old one", async (context) => {
  const { open, root } = installation(context);
  assert.match(await refusal(open({ create: false }), root, Buffer.alloc(0)), /is missing/);
  await open();
  renameSync(root, `${root}.away`);
  for (const create of [true, false])
    assert.match(
      await refusal(open({ create }), root, Buffer.alloc(0)),
      /restore the root key from its backup/,
    );
  renameSync(`${root}.away`, root);
  await open();
});

test("a root key of another environment is refused", async (context) => {
  const { open, root } = installation(context);
  await open();
  assert.match(
    await refusal(open({ environment: "production" }), root, readFileSync(root)),
    /belongs to the environment sandbox, this is production/,
  );
});

test("a root key that others can touch is refused", posixOnly, async (context) => {
  const { open, root, keys } = installation(context);
  await open();
  for (const path of [root, keys]) {
    for (const mode of [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o644, 0o777]) {
      chmodSync(path, mode);
      assert.match(
        await refusal(open(), path, readFileSync(path)),
        new RegExp(`mode 0${mode.toString(8)}.*chmod`),
      );
    }
    for (const mode of [0o600, 0o400]) {
      chmodSync(path, mode);
      await open();
    }
  }
});

test("a root key that is truncated, extended, or altered in any bit is refused", async (context) => {
  const { open, root } = installation(context);
  await open();
  const content = readFileSync(root);
  const attempt = async (changed: Buffer, message: RegExp): Promise<void> => {
    writeFileSync(root, changed);
    assert.match(await refusal(open(), root, content), message);
  };
  for (let length = 0; length < content.length; length += 1)
    await attempt(content.subarray(0, length), /truncated|not a root key file/);
  await attempt(Buffer.concat([content, Buffer.of(10)]), /truncated or has something added/);
  await attempt(Buffer.alloc(2_000), /too large/);
  for (let bit = 0; bit < content.length * 8; bit += 1) {
    const changed = Buffer.from(content);
    changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await attempt(changed, /altered or is damaged|truncated|not a root key file/);
  }
  writeFileSync(root, content);
  await open();
});

test("a root key that is not a plain file is refused", posixOnly, async (context) => {
  const { open, root } = installation(context);
  await open();
  renameSync(root, `${root}.away`);
  symlinkSync(`${root}.away`, root);
  assert.match(await refusal(open(), root, Buffer.alloc(0)), /plain file/);
});

test("wrapped keys of another root, or damaged ones, are refused without a word of what they hold", async (context) => {
  const { open, root, keys } = installation(context);
  await open();
  const content = readFileSync(keys, "utf8");
  for (const changed of [
    "",
    "{",
    content.slice(0, -3),
    content.replace("cofre wrapped keys 1", "cofre wrapped keys 2"),
    content.replace(/"id": 1/, '"id": -1'),
    "[]",
    "null",
    content.replace(/"wrapped": "/, '"wrapped": "zz'),
  ]) {
    writeFileSync(keys, changed);
    assert.match(
      await refusal(open(), keys, Buffer.from(content)),
      /damaged or of another version/,
    );
  }
  writeFileSync(keys, content);
  const other = installation(context);
  await other.open();
  writeFileSync(root, readFileSync(other.root));
  await assert.rejects(open(), { name: "KeyringError", message: /wrapped by the root key/ });
});

test("the slower creator of the root key takes the existing one", async (context) => {
  const { root, directory } = installation(context);
  const other = installation(context);
  await other.open();
  // The other's file appears between the check for it and the creation of ours, which draws its key
  // then.
  const late = {
    bytes(length: number): Uint8Array {
      if (length === 32) copyFileSync(other.root, root);
      return random.bytes(length);
    },
  };
  await openKeyFiles({ directory, environment: "sandbox", create: true, random: late });
  assert.deepEqual(readFileSync(root), readFileSync(other.root));
  assert.deepEqual(readdirSync(directory), ["root.key"]);
});

test("first starts at the same time agree on one root key", async (context) => {
  const { root, directory } = installation(context);
  const started = await Promise.all(
    Array.from(
      { length: 8 },
      async () => await openKeyFiles({ directory, environment: "sandbox", create: true, random }),
    ),
  );
  assert.equal(new Set(started.map(({ provider }) => provider.keyId)).size, 1);
  assert.deepEqual(readdirSync(directory), ["root.key"]);
  assert.equal(readFileSync(root).length, 17 + 1 + 7 + 32 + 32);
});

test("two processes change the keys one after the other, and no key version is lost", async (context) => {
  const { open, directory } = installation(context);
  const [one, other] = [await open(), await open()];
  assert.equal(await one.addKeyVersion(), 2);
  assert.equal(await other.addKeyVersion(), 3);
  for (let id = 4; id <= 6; id += 1) assert.equal(await one.addKeyVersion(), id);
  // The file that the other process would create next has been deleted, so that it can be created
  // again.
  assert.deepEqual(readdirSync(directory).toSorted(), ["keys.5.json", "keys.6.json", "root.key"]);
  assert.equal((await other.nextWrap()).id, 6);
  assert.deepEqual(readdirSync(directory).toSorted(), ["keys.6.json", "keys.7.json", "root.key"]);

  const again = await open();
  for (let id = 1; id <= 6; id += 1) {
    const key = again.kek(id);
    assert.ok(key !== undefined && other.kek(id)?.equals(key) === true, `key version ${id}`);
  }
});

test("a process that has not read a new key version seals under the one before, within its reservation, and every card opens", async (context) => {
  const { open } = installation(context);
  const limits = { wrapsPerKeyVersion: 20, wrapsPerReservation: 8 };
  const [one, other] = [await open({ limits }), await open({ limits })];
  const vaultOf = (keyring: Keyring) =>
    createLocalVault({ keyring, environment: "sandbox", random });
  const put = (keyring: Keyring) => vaultOf(keyring).put(cardOf("4111111111111111"), owner);
  const early = [await put(one), await put(other)];
  assert.equal(await one.addKeyVersion(), 2);
  const late = [];
  for (let time = 0; time < 10; time += 1) late.push(await put(other));
  // Seven were left of the block of eight.
  assert.deepEqual(late.map(keyVersionOf), [1, 1, 1, 1, 1, 1, 1, 2, 2, 2]);
  const fresh = await open({ limits });
  const under = [...early, ...late].filter((ref) => keyVersionOf(ref) === 1).length;
  for (const keyring of [one, other, fresh]) {
    // Counted in the shared key, so that its limit holds for all processes together.
    const first = keyring.inventory().find(({ purpose, id }) => purpose === "epoch" && id === 1);
    assert.ok(
      first !== undefined &&
        under <= first.wrapsReserved &&
        first.wrapsReserved <= limits.wrapsPerKeyVersion,
    );
    for (const ref of [...early, ...late, await put(one)]) {
      await vaultOf(keyring).use(ref, owner, async ({ pan }) =>
        assert.equal(Buffer.from(pan.reveal()).toString(), "4111111111111111"),
      );
    }
  }
});

test("processes that count wraps ahead at the same time count each of them", async (context) => {
  const { open } = installation(context);
  const nodes = await Promise.all(Array.from({ length: 6 }, async () => await open()));
  await Promise.all(nodes.map(async (node) => await node.nextWrap()));
  const [kek] = (await open()).inventory().filter(({ purpose }) => purpose === "epoch");
  assert.equal(kek?.wrapsReserved, nodes.length * 2 ** 16);
});

test("processes that start first at the same time have the same keys", async (context) => {
  const { open } = installation(context);
  const keyrings = await Promise.all(Array.from({ length: 8 }, async () => await open()));
  const kept = (await open()).kek(1);
  assert.ok(kept !== undefined);
  for (const keyring of keyrings) assert.equal(keyring.kek(1)?.equals(kept), true);
});

test(
  "a change of the kept keys that cannot be written leaves the file as it was",
  posixOnly,
  async (context) => {
    const { open, keys, directory } = installation(context);
    const keyring = await open();
    const before = readFileSync(keys);
    renameSync(directory, `${directory}.away`);
    await assert.rejects(keyring.addKeyVersion(), {
      name: "KeyringError",
      message: /keys\.2\.json could not be written \(ENOENT\)/,
    });
    renameSync(`${directory}.away`, directory);
    assert.deepEqual(readFileSync(keys), before);
    assert.equal(await keyring.addKeyVersion(), 2);
  },
);

test("keys below the root key of a service or of a token are read back, and others' names are refused", async (context) => {
  const { directory } = installation(context);
  const memory = createMemoryKeyProvider(random);
  const open = (keyId: string, create: boolean, folder: string) =>
    openKeyFiles({
      directory: join(directory, folder),
      environment: "sandbox",
      create,
      random,
      root: { ...memory, keyId },
    }).then((files) =>
      Keyring.open({ ...files, environment: "sandbox", random, clock, create, limits: {} }),
    );
  const names = [
    "transit:transit/cofre",
    "aws-kms:arn:aws:kms:sa-east-1:111122223333:key/1",
    "pkcs11:cofre-root-1/01",
    `pkcs11:${encodeURIComponent("raiz é (1)")}/00ff`,
  ];
  for (const [index, name] of names.entries()) {
    await open(name, true, String(index));
    await open(name, false, String(index));
  }
  await open("pkcs11:cofre root/01", true, "other");
  await assert.rejects(open("pkcs11:cofre root/01", false, "other"), { name: "KeyringError" });
});
