import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { systemScheduler } from "../kernel/system-scheduler.ts";

export interface ProxyOptions {
  /** What may be asked for, each as `host:port`. */
  readonly targets: readonly string[];
  /** Where all of that leads. */
  readonly to: { readonly host: string; readonly port: number };
  /** A line for people: who asked for something else, or that nothing answers. */
  readonly say: (line: string) => void;
}

export interface RunningProxy {
  readonly port: number;
  /** Cuts every tunnel. */
  close(): Promise<void>;
}

/** Tunnels at once; further ones are closed as they come. */
const mostTunnels = 512;
/** From the connection to the end of the request, in milliseconds. */
const headTimeoutMs = 10_000;
/** How long whoever was refused may take to hear it, in milliseconds. */
const lingerMs = 1_000;
/** A server on this machine is there at once. */
const probeTimeoutMs = 2_000;

/**
 * A proxy on 127.0.0.1 that knows CONNECT (RFC 9110 9.3.6) and nothing else. It opens tunnels to
 * one server, whatever name it was asked for, and sees nothing of what goes through them. Rejects
 * as listening does.
 */
export async function openConnectProxy(
  port: number,
  { targets, to, say }: ProxyOptions,
): Promise<RunningProxy> {
  // Not imported: every start of the program would pay for it (http/server.ts).
  const { createServer } = process.getBuiltinModule("node:http");
  const open = new Set<Socket>();
  const server = createServer(
    { headersTimeout: headTimeoutMs, requestTimeout: headTimeoutMs },
    (request, response) => {
      const words = "This is a proxy for https addresses: it knows CONNECT and nothing else.\n";
      say(`refused: ${printable(request.method)} ${placeIn(request.url)}`);
      response
        .writeHead(405, {
          Allow: "CONNECT",
          "Content-Type": "text/plain",
          "Content-Length": words.length,
          Connection: "close",
        })
        .end(words);
    },
  );
  server.maxConnections = mostTunnels;
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => open.delete(socket));
  });
  server.on("connect", ({ url = "" }: IncomingMessage, client: Socket, head: Buffer) => {
    // Names of hosts are the same in both cases, and may end with the root's dot.
    const asked = url.toLowerCase().replace(/\.(?=:\d+$)/, "");
    if (!targets.includes(asked)) {
      say(`refused: ${placeIn(url)}, which is no host of this interface`);
      refuse(
        client,
        "403 Not a host of this interface",
        `This proxy leads to nothing but ${targets.join(", ")}.`,
      );
      return;
    }
    const upstream = connect(to.port, to.host);
    open.add(upstream);
    let isThrough = false;
    upstream.once("connect", () => {
      isThrough = true;
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      client.pipe(upstream).pipe(client);
    });
    upstream.on("error", () => {
      if (isThrough) client.destroy();
      else {
        say(`nothing answers at ${to.host}:${to.port}: \`cofre start --tls\` starts what should`);
        refuse(
          client,
          "502 Cofre is not there",
          `Nothing answers at ${to.host}:${to.port}: cofre start --tls starts what should.`,
        );
      }
    });
    upstream.once("close", () => {
      open.delete(upstream);
      if (isThrough) client.destroy();
    });
    client.once("close", () => upstream.destroy());
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject).listen(port, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    async close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      for (const socket of open) socket.destroy();
      await closed.promise;
    },
  };
}

/** Whether something listens there. */
export async function listens({ host, port }: ProxyOptions["to"]): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host, port, timeout: probeTimeoutMs })
    .once("connect", () => resolve(true))
    .once("timeout", () => resolve(false))
    .once("error", () => resolve(false));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

/**
 * Whoever keeps its own side open is let go a moment later: Node no longer looks at the time of a
 * connection that asked for a tunnel.
 */
function refuse(client: Socket, status: string, words: string): void {
  const cancel = systemScheduler.after(lingerMs, () => client.destroy());
  client.once("close", cancel).resume();
  client.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${words.length + 1}\r\nConnection: close\r\n\r\n${words}\n`,
  );
}

/**
 * Where a request was to go: its host and port. Names, passwords and paths are the client's own,
 * and may be keys or card numbers.
 */
function placeIn(target = ""): string {
  const [, authority = ""] = /^(?:[a-z][a-z\d+.-]*:\/\/)?([^/?#]*)/i.exec(target) ?? [];
  const place = printable(authority.slice(authority.lastIndexOf("@") + 1));
  // A card number that somebody took for a host; the digits of an address stand apart.
  return place === "" ? "a path" : place.replaceAll(/\d(?:-?\d){12,}/g, "[digits]");
}

/** A client's words without what would move a terminal's cursor. */
function printable(text: string | undefined): string {
  return (text ?? "").replaceAll(/[^\x21-\x7e]/g, "").slice(0, 200);
}
