import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SystemRandom } from "../../kernel/system-random.ts";
import {
  opensCanary,
  printRecoveryKeyFile,
  readRecoveryKeyFile,
  recoveryKeyOf,
  recoveryPublicKeyOf,
} from "./recovery-key.ts";

const random = new SystemRandom();

describe("a recovery key", () => {
  const recovery = recoveryKeyOf(random.bytes(32));
  const key = random.bytes(32);
  const sealed = recovery.public.seal(key, "sandbox/epoch/1");

  test("opens what was sealed for it, under the same label only", () => {
    assert.deepEqual(recovery.open(sealed, "sandbox/epoch/1"), Buffer.from(key));
    assert.equal(recovery.open(sealed, "sandbox/epoch/2"), undefined);
    assert.equal(recoveryKeyOf(random.bytes(32)).open(sealed, "sandbox/epoch/1"), undefined);
    assert.equal(recovery.open(sealed.subarray(1), "sandbox/epoch/1"), undefined);
    assert.equal(recovery.open(Buffer.from(sealed).with(0, 2), "sandbox/epoch/1"), undefined);
  });

  test("seals the same key to the same bytes, so that stored ones can be checked", () => {
    assert.deepEqual(recovery.public.seal(key, "sandbox/epoch/1"), sealed);
    const others = [
      recovery.public.seal(key, "sandbox/epoch/2"),
      recovery.public.seal(random.bytes(32), "sandbox/epoch/1"),
      recoveryKeyOf(random.bytes(32)).public.seal(key, "sandbox/epoch/1"),
    ];
    // Another ephemeral key each time, too.
    const heads = [sealed, ...others].map((each) =>
      Buffer.from(each.subarray(1, 134)).toString("hex"),
    );
    assert.equal(new Set(heads).size, 4);
  });

  test("the same seed has the same fingerprint", () => {
    const seed = random.bytes(32);
    const { fingerprint } = recoveryKeyOf(seed).public;
    assert.match(fingerprint, /^sha256:[0-9a-f]{64}$/);
    assert.equal(recoveryKeyOf(seed).public.fingerprint, fingerprint);
    assert.equal(
      recoveryPublicKeyOf(recoveryKeyOf(seed).public.publicKey)?.fingerprint,
      fingerprint,
    );
  });

  test("its file has the public key and a canary; another fingerprint, point or text is refused", () => {
    const text = printRecoveryKeyFile(recovery.public, random);
    const file = readRecoveryKeyFile(text);
    assert.ok(file !== undefined);
    assert.equal(file.key.fingerprint, recovery.public.fingerprint);
    assert.equal(opensCanary(recovery, file), true);
    assert.equal(opensCanary(recoveryKeyOf(random.bytes(32)), file), false);

    const other = recoveryKeyOf(random.bytes(32)).public;
    const publicKey = Buffer.from(other.publicKey).toString("hex");
    for (const wrong of [
      "",
      "null",
      "[]",
      text.replace("key 1", "key 2"),
      text.replace(/"fingerprint": "[^"]+"/, `"fingerprint": "${other.fingerprint}"`),
      text.replace(/"public_key": "[^"]+"/, `"public_key": "${publicKey}"`),
      text.replace(/"public_key": "04/, '"public_key": "05'),
    ])
      assert.equal(readRecoveryKeyFile(wrong), undefined, wrong.slice(0, 80));
    // A canary of another key is found by the drill.
    const swapped = printRecoveryKeyFile(other, random).match(/"sealed": "([0-9a-f]+)"/)?.[1] ?? "";
    const altered = readRecoveryKeyFile(
      text.replace(/"sealed": "[^"]+"/, `"sealed": "${swapped}"`),
    );
    assert.ok(altered !== undefined);
    assert.equal(opensCanary(recovery, altered), false);
  });
});
