import { randomInt } from "node:crypto";
import { createServer, type Server } from "node:net";

/**
 * Below those that the system gives to outgoing connections: one of these would be in the way of a
 * server that starts again.
 */
const ports = { from: 10_000, below: 32_768 };

/**
 * A loopback port that nobody listens on, and that nobody who asks here is given as long as this
 * process lives: for a server that is to be there later, or again, or never. One that the system
 * had given, and took back, it gives to the next program that asks.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 1_000; tries += 1) {
    const port = randomInt(ports.from, ports.below);
    const used = await listenOn("127.0.0.1", port);
    if (typeof used === "string") continue;
    // What is held on another loopback address is in no server's way, and is given back whatever
    // becomes of this process.
    const held = await listenOn("127.0.0.2", port);
    await new Promise((resolve) => used.close(resolve));
    // Some systems have no such address until they are told to.
    if (held !== "EADDRINUSE") return port;
  }
  throw new Error("there is a free port");
}

/** The error's code where it cannot be. The server keeps no process alive. */
async function listenOn(address: string, port: number): Promise<Server | string> {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server
      .once("listening", () => resolve(server))
      .once("error", ({ code = "" }: NodeJS.ErrnoException) => resolve(code));
    server.listen(port, address);
  });
}
