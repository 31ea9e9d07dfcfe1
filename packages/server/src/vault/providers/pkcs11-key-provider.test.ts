import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { test, type TestContext } from "node:test";
import { failsAs } from "../../../test/contract/key-provider.contract.ts";
import { SystemRandom } from "../../kernel/system-random.ts";
import { systemElapsed } from "../../kernel/system-elapsed.ts";
import { systemScheduler } from "../../kernel/system-scheduler.ts";
import { RootKeyError } from "../key-provider.ts";
import { unsupportedHere } from "./pkcs11-helper-process.ts";
import { createPkcs11KeyProvider } from "./pkcs11-key-provider.ts";

/* The lane `custody` runs this provider on tokens. */

const label = "sandbox/epoch/1";
const skip = unsupportedHere() ?? false;

/** The C library of this process: a library that is not a module. */
const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
const libc = sharedObjects.find((path) => /^libc\.so|^libSystem/.test(basename(path)));

function providerOf(context: TestContext, module: string, pinFile = Buffer.from("1234\n")) {
  const reads: Buffer[] = [];
  const provider = createPkcs11KeyProvider({
    module,
    key: {
      token: undefined,
      manufacturer: undefined,
      model: undefined,
      serial: "1",
      object: "cofre root",
      id: "01",
    },
    variables: { PATH: process.env["PATH"] },
    scheduler: systemScheduler,
    timeoutMs: 60_000,
    elapsedMs: systemElapsed,
    random: new SystemRandom(),
    environment: "sandbox",
    read: async () => {
      const content = Buffer.from(pinFile);
      reads.push(content);
      return content;
    },
  });
  context.after(() => provider.close());
  return { provider, reads };
}

const failureOf = (call: Promise<unknown>): Promise<RootKeyError> =>
  call.then(
    () => assert.fail("the call succeeded"),
    (error: unknown) => (error instanceof RootKeyError ? error : assert.fail(String(error))),
  );

test(
  "an older Node is refused with what to do",
  { skip: skip === false ? "this Node has node:ffi" : false },
  async (context) => {
    const { provider, reads } = providerOf(context, "/nowhere/module.so");
    const { failure, message } = await failureOf(provider.wrap(randomBytes(32), label));
    assert.equal(failure, "unavailable");
    assert.match(
      message,
      /on 64-bit Linux and macOS only|need Node 26\.1 or later, and this is Node/,
    );
    assert.equal(reads.length, 0);
  },
);

test(
  "a module that is missing, and a library that is not a module, are named as such",
  { skip },
  async (context) => {
    const missing = providerOf(context, "/nowhere/module.so").provider;
    assert.match(
      (await failureOf(missing.wrap(randomBytes(32), label))).message,
      /cannot be loaded: check the path/,
    );
    assert.equal(await missing.health(), "unavailable");
    if (libc === undefined || !existsSync(libc)) return;
    const other = await failureOf(providerOf(context, libc).provider.wrap(randomBytes(32), label));
    assert.match(
      other.message,
      /^the root key pkcs11:cofre%20root\/01: .* does not export .*: C_Initialize$/,
    );
  },
);

test(
  "the content of the PIN file is wiped, and not read again during the pause after a failure",
  { skip },
  async (context) => {
    const { provider, reads } = providerOf(context, "/nowhere/module.so");
    await failsAs("unavailable", provider.wrap(randomBytes(32), label));
    await failsAs("unavailable", provider.wrap(randomBytes(32), label));
    assert.deepEqual(reads, [Buffer.alloc(5)]);
  },
);

test("what was not wrapped by a token, and what is too long for a token, is wrong without a call", async (context) => {
  const { provider, reads } = providerOf(context, "/nowhere/module.so");
  for (const wrapped of [Buffer.of(3, 1, 1), Buffer.of(2), Buffer.alloc(0)])
    await failsAs("wrong", provider.unwrap(wrapped, label));
  const long = Buffer.alloc(259, 1);
  long.set([3, 3]);
  await failsAs("wrong", provider.unwrap(long, label));
  assert.equal(reads.length, 0);
});

test("a call that its caller has given up, and one after the end, are unavailable", async (context) => {
  const { provider, reads } = providerOf(context, "/nowhere/module.so");
  const stopped = new AbortController();
  stopped.abort();
  await failsAs("unavailable", provider.wrap(randomBytes(32), label, stopped.signal));
  provider.close();
  const { message } = await failureOf(provider.wrap(randomBytes(32), label));
  assert.match(message, /Cofre is ending/);
  assert.equal(reads.length, 0);
});
