import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { gunzipSync } from "node:zlib";

/**
 * A data folder of the version at commit 874a166, the last one without MACs and keyed token
 * digests: six cards of three published test numbers, three of them with the SHA-256 of the number
 * as token; payments with each; a refund with an Idempotency-Key; a signed-in admin, a viewer, and
 * an open invitation.
 */
interface EarlierInstallation {
  readonly integrationKey: string;
  /** The time when it was stopped. */
  readonly clock: number;
  readonly admin: EarlierUser & { readonly cookie: string; readonly csrf: string };
  readonly viewer: EarlierUser;
  readonly invitation: string;
  readonly tokens: readonly { readonly token: string; readonly mask: string }[];
  readonly payments: readonly string[];
  /** Compressed with gzip, in base64. */
  readonly files: Readonly<Record<string, string>>;
}

interface EarlierUser {
  readonly name: string;
  readonly password: string;
  readonly secret: string;
}

export const earlier = JSON.parse(
  readFileSync(new URL("../vectors/earlier-installation.json", import.meta.url), "utf8"),
) as EarlierInstallation;

/** The folder as that version left it; removed after the test. */
export function earlierFolder(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-earlier-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(earlier.files))
    writeFileSync(join(folder, name), gunzipSync(Buffer.from(content, "base64")), { mode: 0o600 });
  return folder;
}

export function bytesOf(folder: string): Buffer {
  return Buffer.concat(readdirSync(folder).map((name) => readFileSync(join(folder, name))));
}
