import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test, type TestContext } from "node:test";
import { failsAs } from "../../../test/contract/key-provider.contract.ts";
import { fakeTransit } from "../../../test/key-services/fake-transit.ts";
import { transitProvider } from "../../../test/key-services/open.ts";
import { watchWipes } from "../../../test/vectors/wipes.ts";

const label = "sandbox/epoch/1";

async function given(context: TestContext) {
  const transit = await fakeTransit();
  context.after(() => transit.service.close());
  let nowMs = 0;
  const provider = transitProvider({
    url: transit.service.url,
    key: "cofre",
    read: async () => Buffer.from("s.root\n"),
    elapsedMs: () => nowMs,
  });
  const asked = (path: string): number =>
    transit.service.requests.filter((request) => request.endsWith(path)).length;
  return {
    ...transit,
    provider,
    asked,
    pass: (seconds: number) => void (nowMs += seconds * 1_000),
  };
}

test("a token is looked up once and renewed when two thirds of its time to live have passed", async (context) => {
  const { provider, tokens, asked, pass } = await given(context);
  tokens.set("s.root", { ttl: 900, creationTtl: 900, renewable: true });
  await provider.health();
  pass(599);
  await provider.health();
  assert.deepEqual([asked("lookup-self"), asked("renew-self")], [1, 0]);
  pass(1);
  await provider.health();
  await provider.health();
  assert.deepEqual([asked("lookup-self"), asked("renew-self")], [1, 1]);
  pass(600);
  await provider.health();
  assert.equal(asked("renew-self"), 2);
});

test("a token that was used before the start is renewed in time for its end", async (context) => {
  const { provider, tokens, asked, pass } = await given(context);
  tokens.set("s.root", { ttl: 310, creationTtl: 900, renewable: true });
  await provider.health();
  pass(9);
  await provider.health();
  assert.equal(asked("renew-self"), 0);
  pass(1);
  await provider.health();
  assert.equal(asked("renew-self"), 1);
});

test("a token that cannot be renewed, or never ends, is only used", async (context) => {
  const { provider, tokens, asked, pass } = await given(context);
  for (const token of [
    { ttl: 900, creationTtl: 900, renewable: false },
    { ttl: 0, creationTtl: 0, renewable: true },
  ]) {
    tokens.set("s.root", token);
    assert.equal(await provider.health(), "ok");
    pass(100_000);
    assert.equal(await provider.health(), "ok");
  }
  assert.equal(asked("renew-self"), 0);
});

test("a call that its caller has given up ends at once as unavailable", async (context) => {
  const { provider, service } = await given(context);
  await provider.health();
  service.mode = "silent";
  const stopped = new AbortController();
  const call = provider.wrap(randomBytes(32), label, stopped.signal);
  stopped.abort();
  await failsAs("unavailable", call);
  await failsAs(
    "unavailable",
    provider.unwrap(Buffer.from("\x03\x01vault:v1:AAAA"), label, stopped.signal),
  );
});

test("what is stored under this root key is sent only if it has the form of a ciphertext", async (context) => {
  const { provider, asked } = await given(context);
  for (const stored of ['vault:v1:AA","context":"', "vault:v1:AA\n", "vault:v1:", "AAAA"])
    await failsAs("wrong", provider.unwrap(Buffer.from(`\x03\x01${stored}`), label));
  assert.equal(asked("decrypt/cofre"), 0);
});

test("a wrapped key begins with the version of the frame, the kind of service, and its text", async (context) => {
  const { provider } = await given(context);
  const wrapped = Buffer.from(await provider.wrap(randomBytes(32), label));
  assert.deepEqual(wrapped.subarray(0, 2), Buffer.of(3, 1));
  assert.match(wrapped.subarray(2).toString(), /^vault:v1:[\w+/]{80}$/);
  assert.equal(provider.keyId, "transit:transit/cofre");
});

test("requests and answers with a key are wiped, and the texts that were made for them", async (context) => {
  const { provider } = await given(context);
  const key = randomBytes(32);
  const encoded = Buffer.from(key.toString("base64"));
  const wiped = watchWipes(context);
  const times = (begin: string): number =>
    wiped.filter((hex) => {
      const bytes = Buffer.from(hex, "hex");
      return bytes.includes(encoded) && bytes.toString().startsWith(begin);
    }).length;
  const wrapped = await provider.wrap(key, label);
  assert.equal(times(encoded.toString()), 1, "the text");
  assert.equal(times('{"plaintext"'), 1, "the request");
  await provider.unwrap(wrapped, label);
  assert.equal(times('{"data"'), 2, "the answer, as it arrived and as a whole");
});

test("a ciphertext that is not one of transit is not kept", async (context) => {
  const { provider, state } = await given(context);
  state.answer = { status: 200, body: { data: { ciphertext: "not a ciphertext" } } };
  await failsAs("unavailable", provider.wrap(randomBytes(32), label));
});

test("a key that may be exported is stated as such, and without the permission nothing is stated", async (context) => {
  const { provider, state } = await given(context);
  state.isExportable = true;
  assert.equal((await provider.facts()).isExtractable, true);
  state.mayDescribe = false;
  const { isExtractable, kind } = await provider.facts();
  assert.deepEqual([isExtractable, kind], [undefined, "transit"]);
});
