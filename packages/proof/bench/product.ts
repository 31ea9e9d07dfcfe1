import { cpSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "../../server/test/free-port.ts";
import type { BenchPostgres } from "./postgres.ts";
import { type BenchServer, ServerProcess } from "./process.ts";

/** The sandbox's secret key, set by the user as in CI. */
export const integrationKey = "test_ik_benchmarkbenchmarkbench";

const program = "packages/server/bin/cofre.js";
const workspace = fileURLToPath(new URL("../../..", import.meta.url));
const naiveProgram = fileURLToPath(new URL("naive-server.ts", import.meta.url));
const floorProgram = fileURLToPath(new URL("floor-server.ts", import.meta.url));

/**
 * The product as `npm start` runs it, on the embedded store in `dataDir` with full durability; from
 * another checkout if one is named.
 */
export async function startProduct(
  dataDir: string,
  nodeOptions: readonly string[] = [],
  checkout = workspace,
): Promise<ServerProcess> {
  const port = await freePort();
  return ServerProcess.start(
    [...nodeOptions, join(checkout, program), "start"],
    port,
    productEnvironment(port, dataDir),
    "/readyz",
  );
}

/**
 * The product on PostgreSQL, as one node or several; its keys are in `dataDir`. The database's CPU
 * is included in the product's.
 */
export async function startOnPostgres(
  postgres: BenchPostgres,
  url: string,
  dataDir: string,
  count = 1,
  checkout = workspace,
): Promise<BenchServer> {
  const nodes: ServerProcess[] = [];
  // The first node makes keys and tables. Each other node has a copy of its keys, because a node
  // counts its wrap operations in files that no other node may change.
  while (nodes.length < count) {
    const own = nodes.length === 0 ? dataDir : `${dataDir}-${String(nodes.length + 1)}`;
    if (own !== dataDir) cpSync(dataDir, own, { recursive: true });
    nodes.push(await startNode(url, own, checkout));
  }
  return {
    ports: nodes.flatMap(({ ports }) => ports),
    cpuMicros: () => sumOf([...nodes.map((node) => node.cpuMicros()), postgres.cpuMicros()]),
    rssBytes: () => sumOf(nodes.map((node) => node.rssBytes())),
    stop: async () => {
      for (const node of nodes) await node.stop();
    },
  };
}

async function startNode(url: string, dataDir: string, checkout: string): Promise<ServerProcess> {
  const port = await freePort();
  const environment = {
    ...productEnvironment(port, dataDir),
    COFRE_DATABASE_URL: url,
    COFRE_DATABASE_ALLOW_NO_STANDBY: "true",
  };
  return ServerProcess.start([join(checkout, program), "start"], port, environment, "/readyz");
}

function sumOf(numbers: readonly (number | undefined)[]): number | undefined {
  return numbers.reduce(
    (sum, number) => (sum === undefined || number === undefined ? undefined : sum + number),
    0,
  );
}

/** The comparator (naive-server.ts), on a database that has the product's tables. */
export async function startNaive(postgres: BenchPostgres): Promise<ServerProcess> {
  const port = await freePort();
  const environment = {
    NAIVE_PORT: String(port),
    NAIVE_DATABASE_URL: await postgres.createWithTables(),
  };
  return ServerProcess.start([naiveProgram], port, environment, "/", () => postgres.cpuMicros());
}

function productEnvironment(port: number, dataDir: string): NodeJS.ProcessEnv {
  return {
    COFRE_PORT: String(port),
    COFRE_HOST: "127.0.0.1",
    COFRE_DATA_DIR: dataDir,
    // What is measured is what production does, where nothing is recorded.
    COFRE_REQUEST_LOG: "false",
    COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
    COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: "test_pk_benchmarkbenchmarkbench",
  };
}

export async function startFloor(): Promise<ServerProcess> {
  const port = await freePort();
  return ServerProcess.start([floorProgram], port, { FLOOR_PORT: String(port) }, "/");
}
