import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { SystemRandom } from "../kernel/system-random.ts";
import { KeyringError } from "./key-provider.ts";
import { createMemoryKeyProvider } from "./memory-key-provider.ts";
import { openKeyFiles } from "./root-key-file.ts";
import { createMemorySecretFile, createSealedSecret, type SecretFile } from "./sealed-secret.ts";

const random = new SystemRandom();
const provider = createMemoryKeyProvider(random);
const label = "sandbox/notifications";
const text = "a secret of any length ".repeat(100);

function fileWith(sealed: Uint8Array): SecretFile {
  return { load: async () => sealed, saveFirst: async () => sealed };
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
    const kept = await createSealedSecret({ provider, file, random, label }).save(Buffer.from("another"));
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
    for (const [index, secret] of others.entries()) await assert.rejects(secret.load(), KeyringError, String(index));
    assert.equal(
      Buffer.from((await createSealedSecret({ provider, file: fileWith(sealed), random, label }).load()) ?? []).toString(),
      text,
    );
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
    const saved = createSealedSecret({ provider: first.provider, file: first.secretFile("notifications"), random, label });
    assert.equal(await saved.load(), undefined);
    await saved.save(Buffer.from(text));

    const path = join(at, "notifications.sealed");
    if (process.platform !== "win32") assert.equal(statSync(path).mode & 0o777, 0o600);
    assert.ok(!readFileSync(path).includes("secret of any"));
    const second = await openKeyFiles(options);
    const opened = createSealedSecret({ provider: second.provider, file: second.secretFile("notifications"), random, label });
    assert.equal(Buffer.from((await opened.load()) ?? []).toString(), text);
  });

  test("that is saved twice at once is the same for both", async (context) => {
    const options = { directory: directory(context), environment: "sandbox", create: true, random };
    const { provider: root, secretFile } = await openKeyFiles(options);
    const [one, other] = await Promise.all(
      ["one", "other"].map((content) =>
        createSealedSecret({ provider: root, file: secretFile("notifications"), random, label }).save(Buffer.from(content)),
      ),
    );
    assert.ok(one !== undefined && other !== undefined);
    assert.deepEqual(one, other);
  });
});
