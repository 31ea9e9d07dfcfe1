import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/**
 * Below the system's ports for outgoing connections, because one of these could occupy the port of
 * a server that restarts.
 */
const ports = { from: 10_000, below: 32_768 };

/**
 * A free loopback port that this process does not return twice: for a server that starts later, or
 * again, or never. A port that the system assigned and got back is assigned to the next program
 * that requests one.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const port = randomInt(ports.from, ports.below);
    const used = await listenOn("127.0.0.1", port);
    if (typeof used === "string") continue;
    // A socket on another loopback address blocks no server, and is closed with this process in any
    // case.
    const held = await listenOn("127.0.0.2", port);
    await new Promise((resolve) => used.close(resolve));
    // Some systems have no such address unless it is configured.
    if (held !== "EADDRINUSE") return port;
  }
  throw new Error("there is a free port");
}

/** Returns the error code on failure. The server does not keep the process alive. */
async function listenOn(address: string, port: number): Promise<Server | string> {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server
      .once("listening", () => resolve(server))
      .once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
    server.listen(port, address);
  });
}
