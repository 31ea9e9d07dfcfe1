import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SystemRandom } from "../../kernel/system-random.ts";
import vector from "../../../test/vectors/hpke-p521.json" with { type: "json" };
import { deriveKeyPair, hpkeOpen, hpkeSeal, isHpkePublicKey } from "./hpke.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
const [info, aad] = [bytes(vector.info), bytes(vector.aad)];
const recipient = deriveKeyPair(bytes(vector.ikm_r));
const ephemeral = deriveKeyPair(bytes(vector.ikm_e));

describe("HPKE with P-521", () => {
  test("key pairs are those of RFC 9180, appendix A.6.1", () => {
    assert.deepEqual(Buffer.from(recipient.publicKey), bytes(vector.pk_r));
    assert.deepEqual(Buffer.from(ephemeral.publicKey), bytes(vector.pk_e));
  });

  test("a message is sealed and opened as in RFC 9180, appendix A.6.1", () => {
    const sealed = hpkeSeal(recipient.publicKey, info, aad, bytes(vector.plaintext), ephemeral);
    assert.equal(Buffer.from(sealed).toString("hex"), vector.enc + vector.ciphertext);
    assert.deepEqual(hpkeOpen(recipient, info, aad, sealed), bytes(vector.plaintext));
  });

  test("nothing opens that was altered in one byte, nor under another key, info or data", () => {
    const sealed = Buffer.from(vector.enc + vector.ciphertext, "hex");
    for (const at of sealed.keys()) {
      const altered = Buffer.from(sealed);
      altered[at] = (altered[at] ?? 0) ^ 1;
      assert.equal(hpkeOpen(recipient, info, aad, altered), undefined, `byte ${at}`);
    }
    assert.equal(hpkeOpen(ephemeral, info, aad, sealed), undefined);
    assert.equal(hpkeOpen(recipient, aad, aad, sealed), undefined);
    assert.equal(hpkeOpen(recipient, info, info, sealed), undefined);
    for (const length of [0, 132, 133, 148]) {
      assert.equal(hpkeOpen(recipient, info, aad, sealed.subarray(0, length)), undefined);
    }
  });

  test("a public key is a point of the curve, uncompressed", () => {
    const point = Buffer.from(recipient.publicKey);
    assert.equal(isHpkePublicKey(point), true);
    assert.equal(isHpkePublicKey(point.with(132, (point[132] ?? 0) ^ 1)), false);
    assert.equal(isHpkePublicKey(new Uint8Array(133)), false);
    assert.equal(isHpkePublicKey(point.subarray(0, 132)), false);
  });

  test("each seed has a key pair", () => {
    const random = new SystemRandom();
    for (let attempt = 0; attempt < 50; attempt += 1) {
      const pair = deriveKeyPair(random.bytes(32));
      const one = deriveKeyPair(random.bytes(32));
      const sealed = hpkeSeal(pair.publicKey, info, aad, Buffer.from("text"), one);
      assert.deepEqual(hpkeOpen(pair, info, aad, sealed), Buffer.from("text"));
    }
  });
});
