import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startCofre } from "../app.ts";
import { openTemporaryTls } from "../certificates/authority-files.ts";
import type { TemporaryCofre } from "../cli/command.ts";
import { configOfTemporaryCofre } from "../config/environment.ts";
import { assert } from "../kernel/assert.ts";
import { Secret } from "../kernel/secret.ts";
import { createLog } from "../logging/log.ts";
import { systemPorts } from "./ports.ts";

/** Log lines that are kept, the newest ones. */
const keptLines = 5_000;

/**
 * Starts a Cofre for the time of one command, on 127.0.0.1 and in memory. With TLS it has an
 * authority of its own, whose keys are in memory too; the files for clients are in a new folder for
 * temporary files, which a killed process leaves behind. None of them is secret.
 */
export async function startTemporary({
  port,
  withTls,
}: {
  readonly port: number;
  readonly withTls: boolean;
}): Promise<TemporaryCofre> {
  const reading = configOfTemporaryCofre(port);
  if ("problems" in reading)
    throw new Error(["These settings are invalid:", ...reading.problems].join("\n  "));
  await using parts = new AsyncDisposableStack();
  const lines: string[] = [];
  const keep = (line: string): boolean => {
    if (lines.length >= keptLines) lines.shift();
    return lines.push(line) > 0;
  };
  const log = createLog({
    level: "info",
    format: "text",
    clock: systemPorts.clock,
    destination: { write: keep },
  });
  const tls = withTls ? await openTemporaryTls(temporaryFolder(parts), systemPorts) : undefined;
  const cofre = await startCofre(reading.config, log, systemPorts, tls?.credentials);
  parts.defer(() => cofre.close().then(() => undefined));
  const { firstStart, tlsAddress, address } = cofre;
  assert(firstStart !== undefined, "a Cofre in memory begins with an account of its own");
  const running = parts.move();
  return {
    ...address,
    integrationKey: new Secret(firstStart.integrationKey),
    publicIntegrationKey: firstStart.publicIntegrationKey,
    tls:
      tls === undefined || tlsAddress === undefined
        ? undefined
        : { port: tlsAddress.port, files: tls.files },
    logLines: () => lines,
    close: () => running.disposeAsync(),
  };
}

function temporaryFolder(parts: AsyncDisposableStack): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "cofre-run-")));
  parts.defer(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
