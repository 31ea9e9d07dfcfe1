import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../../bin/cofre.js", import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly problems: string;
}

/** `cofre recovery` as an operator runs it, with shares on standard input. */
export async function recovery(
  args: readonly string[],
  {
    shares = [],
    environment = {},
  }: {
    readonly shares?: readonly string[];
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<Ended> {
  const child = spawn(process.execPath, [program, "recovery", ...args], {
    env: { PATH: process.env["PATH"] ?? "", ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  // The command may end before it has read everything.
  child.stdin.on("error", () => undefined);
  child.stdin.end(shares.map((share) => `${share}\n`).join(""));
  const [output, problems] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { code: child.exitCode, output, problems };
}

/** A recovery key of 3 of 5 shares, and the settings of a server that uses it. */
export interface RecoveryKeyOfTest {
  readonly shares: readonly string[];
  readonly fingerprint: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly publicFile: string;
}

/** A test, or a suite that removes its folders itself. */
interface Cleanup {
  after(remove: () => void): void;
}

export function newFolder(context: Cleanup): string {
  const folder = mkdtempSync(join(tmpdir(), "cofre-recovery-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

export async function newRecoveryKey(context: Cleanup): Promise<RecoveryKeyOfTest> {
  const folder = newFolder(context);
  const { code, output, problems } = await recovery(["init", "--json", "--out", folder]);
  assert.equal(code, 0, problems);
  const made = JSON.parse(output) as { recovery_key: string; shares: { words: string }[] };
  const publicFile = join(folder, "recovery.pub");
  return {
    shares: made.shares.map(({ words }) => words),
    fingerprint: made.recovery_key,
    publicFile,
    environment: { COFRE_RECOVERY_KEY: made.recovery_key, COFRE_RECOVERY_PUBLIC_KEY: publicFile },
  };
}
