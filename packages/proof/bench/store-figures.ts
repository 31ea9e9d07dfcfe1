import { auditDatabase, type Audit } from "./audit.ts";
import { Client } from "./client.ts";
import { memberAfter } from "./framing.ts";
import { Loads } from "./loads.ts";
import { integrationKey, startProduct } from "./product.ts";
import { RequestTemplate } from "./template.ts";
import { sendAll } from "./window.ts";

/** Disk work of plain charges by token, in a store that holds nothing else. */
export interface StoreFigures {
  readonly perFsync: readonly { readonly outstanding: number; readonly chargesPerFsync: number }[];
  readonly audit: Audit;
}

/**
 * Each level charges until its share of `charges` is done. The store counts commits: one fsync
 * each.
 */
export async function storeFigures(dataDir: string, charges: number): Promise<StoreFigures> {
  const product = await startProduct(dataDir);
  const client = new Client(product.ports);
  const loads = new Loads(integrationKey, "fsyncs", true);
  const perFsync: { outstanding: number; chargesPerFsync: number }[] = [];
  try {
    await client.ensureOpen(64);
    await sendAll(client, loads.approvedToken(), 2_000, 64);
    for (const outstanding of [64, 256]) {
      await client.ensureOpen(outstanding);
      const load = loads.directByToken();
      // The first charges compile the server and are not typical.
      await sendAll(client, load, charges / 5, outstanding);
      const before = await commitsOf(client);
      await sendAll(client, load, charges, outstanding);
      perFsync.push({
        outstanding,
        chargesPerFsync: charges / ((await commitsOf(client)) - before),
      });
    }
  } finally {
    client.close();
    await product.stop();
  }
  return { perFsync, audit: auditDatabase(dataDir, loads.acknowledged) };
}

const stats = RequestTemplate.post(
  "/__cofre/stats",
  { integration_key: integrationKey },
  {},
).copy();
const commitsMember = Buffer.from('"store":{"commits":', "latin1");

function commitsOf(client: Client): Promise<number> {
  return new Promise((resolve, reject) => {
    client.listen((_lane, answer) => {
      const commits = memberAfter(answer, commitsMember);
      if (commits === undefined) reject(new Error("the product tells no commits"));
      else resolve(Number.parseInt(commits, 10));
    }, reject);
    client.send(0, stats, performance.now());
  });
}
