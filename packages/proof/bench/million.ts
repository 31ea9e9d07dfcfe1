import { Client } from "./client.ts";
import { auditDatabase } from "./audit.ts";
import { Loads } from "./loads.ts";
import { integrationKey, startProduct } from "./product.ts";
import { sendAll } from "./window.ts";

export interface MillionReport {
  readonly tokens: number;
  readonly tokensPerSecond: number;
  readonly rssBeforeBytes: number | undefined;
  /** Ten seconds after the last answer, in the process that wrote all payments. */
  readonly rssAfterBytes: number | undefined;
  readonly bytesPerToken: number;
  /** A new process on this store: its start time and its memory at rest. */
  readonly restartMs: number;
  readonly rssRestartedBytes: number | undefined;
}

const tokens = 1_000_000;

export async function weighMillion(dataDir: string): Promise<MillionReport> {
  const product = await startProduct(dataDir);
  const client = new Client(product.ports);
  const loads = new Loads(integrationKey, "m00000", true);
  const load = loads.token();
  await pause(2_000);
  const rssBeforeBytes = product.rssBytes();
  const begin = performance.now();
  for (let part = 0; part < 10; part++) {
    await client.ensureOpen(256);
    await sendAll(client, load, tokens / 10, 256);
  }
  const seconds = (performance.now() - begin) / 1_000;
  await pause(10_000);
  const rssAfterBytes = product.rssBytes();
  client.close();
  await product.stop();
  const audit = auditDatabase(dataDir, loads.acknowledged);
  if (audit.faults.length > 0)
    throw new Error(`the store and the answers disagree: ${audit.faults.join("; ")}`);

  const again = await startProduct(dataDir);
  await pause(2_000);
  const rssRestartedBytes = again.rssBytes();
  await again.stop();
  return {
    tokens,
    tokensPerSecond: tokens / seconds,
    rssBeforeBytes,
    rssAfterBytes,
    bytesPerToken: audit.bytesPerToken,
    restartMs: again.startMs,
    rssRestartedBytes,
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
