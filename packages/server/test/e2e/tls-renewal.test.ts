import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "node:tls";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { temporaryFolder } from "../command.ts";
import { startTestServer } from "../server.ts";

const dayMs = 86_400_000;

/** The serial number of the server's certificate on a new connection. */
async function shown(port: number, authority: string): Promise<string> {
  // The server's time is not the machine's, so only the issuer is verified.
  const socket = connect({
    port,
    host: "127.0.0.1",
    servername: "localhost",
    ca: readFileSync(authority),
    rejectUnauthorized: false,
  });
  await once(socket, "secureConnect");
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

test("a server that runs for a year shows a renewed certificate without a restart", async (context) => {
  const dataDirectory = join(temporaryFolder(context), "data");
  /** Daily tasks, run when the test says so. */
  const daily: (() => void)[] = [];
  const scheduler: Scheduler = {
    sleep: (ms, signal) => systemScheduler.sleep(ms, signal),
    after: (ms, task) =>
      ms === dayMs ? (daily.push(task), () => undefined) : systemScheduler.after(ms, task),
  };
  const environment = { COFRE_TLS: "true", COFRE_TLS_PORT: "0", COFRE_DATA_DIR: dataDirectory };
  await using server = await startTestServer({ environment, ports: { scheduler } });
  const port = server.cofre.tlsAddress?.port ?? 0;
  const authority = join(dataDirectory, "tls", "authority.pem");
  const runDaily = (): void => {
    for (const task of daily.splice(0)) task();
  };

  const first = await shown(port, authority);
  const kept = readFileSync(authority, "utf8");
  assert.ok(daily.length > 0);
  server.clock.advance(300 * dayMs);
  runDaily();
  server.clock.advance(70 * dayMs);
  assert.equal(await shown(port, authority), first, "control: nothing was due before");
  runDaily();
  for (let look = 0; look < 500 && (await shown(port, authority)) === first; look += 1) {
    await new Promise((resolve) => void setTimeout(resolve, 20));
  }
  assert.notEqual(await shown(port, authority), first);
  assert.equal(readFileSync(authority, "utf8"), kept);
});
