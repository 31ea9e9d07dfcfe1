import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort, ServerProcess } from "./process.ts";

/** The sandbox's secret key, chosen by the user as a CI would. */
export const integrationKey = "test_ik_benchmarkbenchmarkbench";

const program = "packages/server/bin/cofre.js";
const workspace = fileURLToPath(new URL("..", import.meta.url));
const floorProgram = fileURLToPath(new URL("floor-server.ts", import.meta.url));

/** The product as `npm start` runs it, on the embedded store in `dataDir` at full durability; of another checkout if one is named. */
export async function startProduct(dataDir: string, nodeOptions: readonly string[] = [], checkout = workspace): Promise<ServerProcess> {
  const port = await freePort();
  return ServerProcess.start(
    [...nodeOptions, join(checkout, program), "start"],
    port,
    {
      COFRE_PORT: String(port),
      COFRE_HOST: "127.0.0.1",
      COFRE_DATA_DIR: dataDir,
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
      COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: "test_pk_benchmarkbenchmarkbench",
    },
    "/readyz",
  );
}

export async function startFloor(): Promise<ServerProcess> {
  const port = await freePort();
  return ServerProcess.start([floorProgram], port, { FLOOR_PORT: String(port) }, "/");
}
