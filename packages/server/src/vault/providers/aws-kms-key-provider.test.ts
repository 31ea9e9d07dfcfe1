import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test, type TestContext } from "node:test";
import { failsAs } from "../../../test/contract/key-provider.contract.ts";
import { arnOf, fakeKms } from "../../../test/key-services/fake-kms.ts";
import { awsCredentials, kmsProvider } from "../../../test/key-services/open.ts";

async function given(context: TestContext) {
  const kms = await fakeKms();
  context.after(() => kms.service.close());
  const provider = kmsProvider({
    url: kms.service.url,
    arn: arnOf("1"),
    read: async () => Buffer.from(awsCredentials("AKIAIOSFODNN7EXAMPLE")),
  });
  return { ...kms, provider };
}

test("each call names the key, and has the parts of the label as encryption context", async (context) => {
  const { provider, state } = await given(context);
  const key = randomBytes(32);
  const contexts = new Set<string>();
  for (const [label, expected] of [
    ["a", { "cofre:environment": "a" }],
    ["a/b", { "cofre:environment": "a", "cofre:purpose": "b" }],
    ["a/b/c", { "cofre:environment": "a", "cofre:purpose": "b", "cofre:id": "c" }],
    ["a/b/c/d", { "cofre:environment": "a", "cofre:purpose": "b", "cofre:id": "c/d" }],
  ] as const) {
    const wrapped = await provider.wrap(key, label);
    const base = { KeyId: arnOf("1"), EncryptionContext: expected };
    assert.deepEqual(JSON.parse(state.last.body), { ...base, Plaintext: key.toString("base64") });
    await provider.unwrap(wrapped, label);
    const CiphertextBlob = Buffer.from(wrapped.subarray(2)).toString("base64");
    assert.deepEqual(JSON.parse(state.last.body), { ...base, CiphertextBlob });
    contexts.add(JSON.stringify(expected));
    assert.deepEqual(Buffer.from(wrapped.subarray(0, 2)), Buffer.of(3, 2));
  }
  assert.equal(contexts.size, 4);
  assert.equal(provider.keyId, `aws-kms:${arnOf("1")}`);
});

test("a key that KMS wrapped under another key is refused before it is used", async (context) => {
  const { provider, state } = await given(context);
  state.usedKey = arnOf("2");
  await failsAs("wrong", provider.wrap(randomBytes(32), "sandbox/epoch/1"));
});

test("an answer that is not one of KMS says nothing about the key", async (context) => {
  const { provider, state } = await given(context);
  for (const body of [
    "<html>",
    {},
    { KeyId: arnOf("1") },
    { KeyId: arnOf("1"), CiphertextBlob: "?" },
  ]) {
    state.answer = { status: 200, body };
    await failsAs("unavailable", provider.wrap(randomBytes(32), "sandbox/epoch/1"));
  }
});

test("the origin of a key says where it is used, and without the permission nothing is stated", async (context) => {
  const { provider, state } = await given(context);
  for (const [origin, protection] of [
    ["AWS_KMS", "hardware"],
    ["AWS_CLOUDHSM", "hardware"],
    ["EXTERNAL", undefined],
    ["EXTERNAL_KEY_STORE", undefined],
  ] as const) {
    state.origin = origin;
    const facts = await provider.facts();
    assert.deepEqual([facts.origin, facts.protection], [origin, protection]);
  }
  state.mayDescribe = false;
  assert.deepEqual(await provider.facts(), {
    kind: "aws-kms",
    isExtractable: false,
    protection: undefined,
  });
});
