import assert from "node:assert/strict";
import { createSecretKey, hkdfSync, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { watchWipes } from "../../test/vectors/wipes.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import { KeyringError } from "./key-provider.ts";
import { createMemoryKeyProvider } from "./memory-key-provider.ts";
import { openKeyFiles } from "./root-key-file.ts";
import {
  createMemorySecretFile,
  createSealedSecret,
  createSealing,
  type SecretFile,
} from "./sealed-secret.ts";

const random = new SystemRandom();
const provider = createMemoryKeyProvider(random);
const label = "sandbox/notifications";
const text = "a secret of any length ".repeat(100);

function fileWith(sealed: Uint8Array): SecretFile {
  return {
    load: async () => sealed,
    saveFirst: async () => sealed,
    replace: () => assert.fail("the secret is not replaced"),
  };
}

async function sealedText(): Promise<{ readonly file: SecretFile; readonly sealed: Uint8Array }> {
  const file = createMemorySecretFile();
  await createSealedSecret({ provider, file, random, label }).save(Buffer.from(text));
  const sealed = await file.load();
  assert.ok(sealed !== undefined);
  return { file, sealed };
}

describe("a sealed secret", () => {
  test("opens as it was saved, and is not there before that", async () => {
    const secret = createSealedSecret({ provider, file: createMemorySecretFile(), random, label });
    assert.equal(await secret.load(), undefined);
    const content = Buffer.from(text);
    assert.equal(Buffer.from(await secret.save(content)).toString(), text);
    assert.ok(
      content.every((byte) => byte === 0),
      "what was handed in is wiped",
    );
    assert.equal(Buffer.from((await secret.load()) ?? []).toString(), text);
  });

  test("is not replaced by a later one", async () => {
    const { file } = await sealedText();
    const kept = await createSealedSecret({ provider, file, random, label }).save(
      Buffer.from("another"),
    );
    assert.equal(Buffer.from(kept).toString(), text);
  });

  test("holds nothing of the secret in the clear", async () => {
    const { sealed } = await sealedText();
    assert.ok(!Buffer.from(sealed).includes("secret of any"));
  });

  test("does not open under another root, for another use, or with any byte changed or missing", async () => {
    const { file, sealed } = await sealedText();
    const others = [
      createSealedSecret({ provider: createMemoryKeyProvider(random), file, random, label }),
      createSealedSecret({ provider, file, random, label: "sandbox/other" }),
      ...[0, 15, 16, 17, 40, 80, 90, 105, sealed.length - 1].map((at) => {
        const altered = Uint8Array.from(sealed);
        altered[at] = (altered[at] ?? 0) ^ 1;
        return createSealedSecret({ provider, file: fileWith(altered), random, label });
      }),
      ...[0, 10, 17, 60, sealed.length - 1].map((length) =>
        createSealedSecret({ provider, file: fileWith(sealed.subarray(0, length)), random, label }),
      ),
    ];
    for (const [index, secret] of others.entries())
      await assert.rejects(secret.load(), KeyringError, String(index));
    const altered = Uint8Array.from(sealed, (byte, at) =>
      at === sealed.length - 1 ? byte ^ 1 : byte,
    );
    await assert.rejects(
      createSealedSecret({ provider, file: fileWith(altered), random, label }).load(),
      {
        message: /the secret sandbox\/notifications does not open/,
      },
    );
    assert.equal(
      Buffer.from(
        (await createSealedSecret({ provider, file: fileWith(sealed), random, label }).load()) ??
          [],
      ).toString(),
      text,
    );
  });
});

describe("the file of a sealed secret", () => {
  /** An external holder of the root key, such as a KMS, may return a wrapped key of any length. */
  const long = {
    ...provider,
    wrap: async (dek: Uint8Array, name: string) =>
      Buffer.concat([await provider.wrap(dek, name), Buffer.alloc(700)]),
    unwrap: async (wrapped: Uint8Array, name: string) =>
      await provider.unwrap(wrapped.subarray(0, -700), name),
  };

  test("begins with its kind, and then the length of the wrapped key in two bytes, most of it first", async () => {
    const { sealed } = await sealedText();
    assert.equal(Buffer.from(sealed.subarray(0, 15)).toString(), "cofre sealed 1\n");
    assert.deepEqual([...sealed.subarray(15, 17)], [0, 61]);
    assert.equal(sealed.length, 15 + 2 + 61 + 12 + 16 + text.length);
  });

  test("holds a wrapped key of more than 255 bytes", async () => {
    const file = createMemorySecretFile();
    const secret = createSealedSecret({ provider: long, file, random, label });
    assert.equal(Buffer.from(await secret.save(Buffer.from(text))).toString(), text);
    assert.deepEqual((await file.load())?.subarray(15, 17), Buffer.of(2, 249));
  });

  test("may hold a secret of no bytes", async () => {
    const file = createMemorySecretFile();
    const secret = createSealedSecret({ provider, file, random, label });
    assert.equal((await secret.save(new Uint8Array(0))).length, 0);
    assert.equal((await secret.load())?.length, 0);
  });

  test("leaves no data key behind, neither when it is sealed nor when it is opened", async (context) => {
    let dek = "";
    const watched = {
      bytes: (length: number) => {
        const drawn = Uint8Array.from(randomBytes(length));
        if (length === 32) dek = Buffer.from(drawn).toString("hex");
        return drawn;
      },
    };
    const file = createMemorySecretFile();
    const secret = createSealedSecret({ provider, file, random: watched, label });
    const wiped = watchWipes(context);
    await secret.save(Buffer.from(text));
    const times = (): number => wiped.filter((each) => each === dek).length;
    assert.equal(
      times(),
      4,
      "drawn, wrapped, unwrapped to prove it, and opened to see what is kept",
    );
    await secret.load();
    assert.equal(times(), 5, "opened");
  });
});

describe("a sealed secret in a directory of keys", () => {
  function directory(context: TestContext): string {
    const made = mkdtempSync(join(tmpdir(), "cofre-sealed-"));
    context.after(() => rmSync(made, { recursive: true }));
    return made;
  }

  test("is a file of its owner's that the next start opens", async (context) => {
    const at = directory(context);
    const options = { directory: at, environment: "sandbox", create: true, random };
    const first = await openKeyFiles(options);
    const saved = createSealedSecret({
      provider: first.provider,
      file: first.secretFile("notifications"),
      random,
      label,
    });
    assert.equal(await saved.load(), undefined);
    await saved.save(Buffer.from(text));

    const path = join(at, "notifications.sealed");
    if (process.platform !== "win32") assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.ok(!readFileSync(path).includes("secret of any"));
    const second = await openKeyFiles(options);
    const opened = createSealedSecret({
      provider: second.provider,
      file: second.secretFile("notifications"),
      random,
      label,
    });
    assert.equal(Buffer.from((await opened.load()) ?? []).toString(), text);
  });

  test("that is saved twice at once is the same for both", async (context) => {
    const options = { directory: directory(context), environment: "sandbox", create: true, random };
    const { provider: root, secretFile } = await openKeyFiles(options);
    const [one, other] = await Promise.all(
      ["one", "other"].map((content) =>
        createSealedSecret({
          provider: root,
          file: secretFile("notifications"),
          random,
          label,
        }).save(Buffer.from(content)),
      ),
    );
    assert.ok(one !== undefined && other !== undefined);
    assert.deepEqual(one, other);
  });
});

describe("secrets that are stored with other data", () => {
  const key = createSecretKey(random.bytes(32));
  const earlier = { provider, isWritten: () => false };
  const sealing = createSealing({ key, random, earlier });
  const userLabel = "sandbox/people/1";

  test("open under their own label, also on another node with the same key, and the input is wiped", async () => {
    const content = Buffer.from(text);
    const sealed = await sealing.seal(content, userLabel);
    assert.ok(content.every((byte) => byte === 0));
    assert.ok(!Buffer.from(sealed).includes("secret of any"));
    const elsewhere = createSealing({ key, random, earlier });
    assert.equal(Buffer.from(await elsewhere.open(sealed, userLabel)).toString(), text);
  });

  test("begin with their format, and then a salt, a nonce and a tag", async () => {
    const sealed = await sealing.seal(Buffer.from(text), userLabel);
    assert.equal(Buffer.from(sealed.subarray(0, 15)).toString(), "cofre sealed 2\n");
    assert.equal(sealed.length, 15 + 32 + 12 + 16 + text.length);
    const empty = await sealing.seal(new Uint8Array(0), userLabel);
    assert.equal((await sealing.open(empty, userLabel)).length, 0);
  });

  test("do not open under another label or key, or with any byte changed or missing", async () => {
    const sealed = await sealing.seal(Buffer.from(text), userLabel);
    const other = createSealing({
      key: createSecretKey(random.bytes(32)),
      random,
      earlier,
    });
    await assert.rejects(sealing.open(sealed, "sandbox/people/2"), KeyringError);
    await assert.rejects(other.open(sealed, userLabel), KeyringError);
    for (const at of [0, 13, 14, 15, 46, 47, 58, 59, 74, 75, sealed.length - 1]) {
      const altered = Uint8Array.from(sealed);
      altered[at] = (altered[at] ?? 0) ^ 1;
      await assert.rejects(sealing.open(altered, userLabel), KeyringError, String(at));
      await assert.rejects(sealing.open(sealed.subarray(0, at), userLabel), {
        message: /the secret sandbox\/people\/1 does not open/,
      });
    }
  });

  test("seal and open while the holder of the root key does not answer", async () => {
    const refuse = (): Promise<never> =>
      Promise.reject(new KeyringError("the key service does not answer"));
    const down = createSealing({
      key,
      random,
      earlier: { ...earlier, provider: { ...provider, wrap: refuse, unwrap: refuse } },
    });
    const sealed = await down.seal(Buffer.from(text), userLabel);
    assert.equal(Buffer.from(await down.open(sealed, userLabel)).toString(), text);
  });

  test("of an earlier version open with the root key, and are written while its nodes may run", async () => {
    const written = { provider, isWritten: () => true };
    const sealed = await createSealing({ key, random, earlier: written }).seal(
      Buffer.from(text),
      userLabel,
    );
    assert.equal(Buffer.from(sealed.subarray(0, 15)).toString(), "cofre sealed 1\n");
    assert.equal(Buffer.from(await sealing.open(sealed, userLabel)).toString(), text);
    await assert.rejects(sealing.open(sealed, "sandbox/people/2"), KeyringError);
    const otherRoot = createSealing({
      key,
      random,
      earlier: { ...earlier, provider: createMemoryKeyProvider(random) },
    });
    await assert.rejects(otherRoot.open(sealed, userLabel), KeyringError);
    const neverEarlier = createSealing({ key, random, earlier: undefined });
    await assert.rejects(neverEarlier.open(sealed, userLabel), KeyringError);
  });

  test("leave no key of their own behind", async (context) => {
    const wiped = watchWipes(context);
    const sealed = await sealing.seal(Buffer.from("short"), userLabel);
    const salt = sealed.subarray(15, 47);
    const own = Buffer.from(
      hkdfSync("sha256", key, salt, `cofre sealed 2\0${userLabel}`, 32),
    ).toString("hex");
    const times = (): number => wiped.filter((each) => each === own).length;
    assert.equal(times(), 1);
    await sealing.open(sealed, userLabel);
    assert.equal(times(), 2);
  });
});
