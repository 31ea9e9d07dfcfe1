import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../server/test/free-port.ts";
import { firstPaint } from "./first-paint.ts";
import { longList } from "./long-list.ts";
import { ServerProcess } from "./process.ts";
import { median } from "./statistics.ts";

/**
 * Times of the first minute and of a test with its own world: `npm exec -- node packages/proof/bench/twin.ts`.
 * Each figure is shown beside that of a server that does nothing, from the same run, because the
 * machine's speed varies.
 */
const root = join(import.meta.dirname, "..", "..", "..");
const starts = 9;
const worlds = 2_000;
const connections = 8;
const key = "test_ik_benchbenchbenchbenchbenchbe";

const bare = `require("node:http").createServer((request, response) => {
  request.resume().on("end", () => response.end("{}"));
}).listen(Number(process.env.PORT), "127.0.0.1");`;

const scratch = mkdtempSync(join(tmpdir(), "cofre-twin-"));
try {
  await main();
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

async function main(): Promise<void> {
  const [cofre, floor]: [number[], number[]] = [[], []];
  for (let each = 0; each < starts; each += 1) {
    const [port, other] = [await freePort(), await freePort()];
    const ours = await startCofreAt(port, `start-${each}`);
    cofre.push(ours.startMs);
    await ours.stop();
    const theirs = await ServerProcess.start(["-e", bare], other, { PORT: String(other) }, "/");
    floor.push(theirs.startMs);
    await theirs.stop();
  }
  report(
    `start to the first answer, a new installation   ${ms(median(cofre))}, a bare server ${ms(median(floor))} (medians of ${starts})`,
  );

  const port = await freePort();
  const server = await startCofreAt(port, "worlds");
  const bareServer = createServer((request, response) =>
    request.resume().on("end", () => response.end("{}")),
  );
  await once(bareServer.listen(0, "127.0.0.1"), "listening");
  const barePort = (bareServer.address() as AddressInfo).port;
  const made = await perSecond(port);
  const answered = await perSecond(barePort);
  report(
    `worlds made over HTTP, ${connections} connections        ${made.toFixed(0)} a second; POSTs that a bare server answers: ${answered.toFixed(0)}`,
  );
  bareServer.closeAllConnections();
  bareServer.close();
  await server.stop();

  await longList(join(scratch, "long-list"), report);
  const console = await startCofreAt(port, "paint");
  try {
    await firstPaint(console, key, report);
  } finally {
    await console.stop();
  }
}

function startCofreAt(port: number, name: string): Promise<ServerProcess> {
  const environment = {
    COFRE_PORT: String(port),
    COFRE_DATA_DIR: join(scratch, name),
    COFRE_SANDBOX_INTEGRATION_KEY: key,
  };
  return ServerProcess.start(
    [join(root, "packages", "server", "bin", "cofre.js"), "start"],
    port,
    environment,
    "/healthz",
  );
}

/** In a separate process, which shares only the cores. */
async function perSecond(at: number): Promise<number> {
  const client = `
    const { Agent, request } = require("node:http");
    const agent = new Agent({ keepAlive: true, maxSockets: ${connections} });
    let left = ${worlds};
    const post = () => new Promise((resolve, reject) => {
      const asked = request({ port: ${at}, host: "127.0.0.1", path: "/__cofre/worlds", method: "POST", agent, headers: { "content-length": 2 } }, (answer) => {
        let text = "";
        answer.on("data", (piece) => (text += piece)).on("end", () => (answer.statusCode === 200 && !text.includes("ERROR") ? resolve() : reject(new Error(text))));
      });
      asked.on("error", reject);
      asked.end("{}");
    });
    const lane = async () => { while (left-- > 0) await post(); };
    const began = performance.now();
    Promise.all(Array.from({ length: ${connections} }, lane)).then(() => {
      process.stdout.write(String(${worlds} / (performance.now() - began) * 1000));
      agent.destroy();
    });`;
  const child = spawn(process.execPath, ["-e", client], { stdio: ["ignore", "pipe", "inherit"] });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (piece: string) => (said += piece));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error("the client failed");
  return Number(said);
}

function ms(value: number): string {
  return `${value.toFixed(0)} ms`;
}

function report(line: string): void {
  process.stdout.write(`${line}\n`);
}
