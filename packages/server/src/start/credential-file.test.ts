import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { failsAs } from "../../test/contract/key-provider.contract.ts";
import { readCredentialFile } from "./credential-file.ts";

test("credentials are read from a file, also through a link and with a group, but not when every user may read them", async (context) => {
  const directory = mkdtempSync(join(tmpdir(), "cofre-credentials-"));
  context.after(() => rmSync(directory, { recursive: true }));
  const [file, link] = [join(directory, "token"), join(directory, "link")];
  writeFileSync(file, "s.one", { mode: 0o600 });
  symlinkSync(file, link);
  assert.equal(
    Buffer.from(await readCredentialFile(link, "COFRE_ROOT_KEY_SECRET_FILE")).toString(),
    "s.one",
  );
  writeFileSync(file, "s.two");
  chmodSync(file, 0o440);
  assert.equal(
    Buffer.from(await readCredentialFile(link, "COFRE_ROOT_KEY_SECRET_FILE")).toString(),
    "s.two",
  );
  if (process.platform !== "win32") {
    for (const mode of [0o444, 0o604, 0o642, 0o601]) {
      chmodSync(file, mode);
      await failsAs("unauthorized", readCredentialFile(file, "COFRE_ROOT_KEY_SECRET_FILE"));
    }
  }
  chmodSync(file, 0o600);
  mkdirSync(join(directory, "folder"));
  await failsAs(
    "unauthorized",
    readCredentialFile(join(directory, "folder"), "COFRE_ROOT_KEY_SECRET_FILE"),
  );
  await failsAs(
    "unauthorized",
    readCredentialFile(join(directory, "missing"), "COFRE_ROOT_KEY_SECRET_FILE"),
  );
  writeFileSync(file, Buffer.alloc(65_537));
  await failsAs("unauthorized", readCredentialFile(file, "COFRE_ROOT_KEY_SECRET_FILE"));
  await assert.rejects(readCredentialFile(file, "COFRE_ROOT_KEY_SECRET_FILE"), {
    message: new RegExp(`${file}.*too large`),
  });
});
