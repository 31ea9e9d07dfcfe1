import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SystemRandom } from "../../kernel/system-random.ts";
import { createMemoryKeyProvider } from "../memory-key-provider.ts";
import { recoveryKeyOf } from "./recovery-key.ts";
import { recoverable, recoverableKeyOf, RecoveryWraps } from "./recovery-wraps.ts";

const random = new SystemRandom();
const label = "sandbox/epoch/1";

describe("a wrapped key with a wrap for the recovery key", () => {
  const recovery = recoveryKeyOf(random.bytes(32));
  const root = createMemoryKeyProvider(random);
  const key = random.bytes(32);

  test("is opened by the root key and by the recovery key", async () => {
    const provider = recoverable(root, new RecoveryWraps(recovery.public));
    const wrapped = await provider.wrap(key, label);
    assert.deepEqual(Buffer.from(await provider.unwrap(wrapped, label)), Buffer.from(key));
    // Also by a process without the setting.
    assert.deepEqual(
      Buffer.from(await recoverable(root, undefined).unwrap(wrapped, label)),
      Buffer.from(key),
    );
    const stored = recoverableKeyOf(wrapped);
    assert.ok(stored !== undefined);
    assert.equal(stored.recoveryKey, recovery.public.fingerprint);
    assert.deepEqual(recovery.open(stored.sealed, label), Buffer.from(key));
  });

  test("is only by the root key without a recovery key", async () => {
    const provider = recoverable(root, undefined);
    const wrapped = await provider.wrap(key, label);
    assert.equal(recoverableKeyOf(wrapped), undefined);
    assert.deepEqual(Buffer.from(await provider.unwrap(wrapped, label)), Buffer.from(key));
  });

  test("lacks nothing when it is whole; other bytes are counted as missing or altered", async () => {
    const wraps = new RecoveryWraps(recovery.public);
    const byRoot = await root.wrap(key, label);
    const whole = wraps.added(byRoot, key, label);
    assert.equal(wraps.missing(whole, key, label), undefined);
    assert.deepEqual([wraps.made, wraps.altered], [0, 0]);
    assert.deepEqual(wraps.missing(byRoot, key, label), whole);
    const other = new RecoveryWraps(recoveryKeyOf(random.bytes(32)).public);
    assert.deepEqual(wraps.missing(other.added(byRoot, key, label), key, label), whole);
    assert.deepEqual([wraps.made, wraps.altered], [2, 0]);
    const last = whole.length - 1;
    const altered = Buffer.from(whole).with(last, (whole[last] ?? 0) ^ 1);
    assert.deepEqual(wraps.missing(altered, key, label), whole);
    assert.deepEqual([wraps.made, wraps.altered], [2, 1]);
  });

  test("that is cut off is not one", async () => {
    const whole = new RecoveryWraps(recovery.public).added(await root.wrap(key, label), key, label);
    for (const length of [0, 16, 17, 19, whole.length - 182])
      assert.equal(recoverableKeyOf(whole.subarray(0, length)), undefined, String(length));
    assert.ok(recoverableKeyOf(whole) !== undefined);
  });
});
