import type { IncomingMessage } from "node:http";
import { connect, type Socket } from "node:net";
import { systemScheduler } from "../kernel/system-scheduler.ts";

export interface ProxyOptions {
  /** Allowed targets, each as `host:port`. */
  readonly targets: readonly string[];
  /** The server that all tunnels connect to. */
  readonly to: { readonly host: string; readonly port: number };
  /** Prints a line for the user: a refused target, or that the server does not answer. */
  readonly say: (line: string) => void;
}

export interface RunningProxy {
  readonly port: number;
  /** Closes every tunnel. */
  close(): Promise<void>;
}

/** Most concurrent tunnels; further ones are closed immediately. */
const maxTunnels = 512;
/** From the connection to the end of the request, in milliseconds. */
const headTimeoutMs = 10_000;
/** Time for a refused client to read the answer, in milliseconds. */
const lingerMs = 1_000;
/** Short, because a server on this machine accepts at once. */
const probeTimeoutMs = 2_000;

/**
 * A proxy on 127.0.0.1 that supports only CONNECT (RFC 9110 9.3.6). It opens tunnels to one server
 * for every allowed name, and does not see their content. Rejects with the errors of listening.
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
  server.maxConnections = maxTunnels;
  server.on("connection", (socket: Socket) => {
    open.add(socket);
    socket.on("error", () => socket.destroy()).once("close", () => open.delete(socket));
  });
  server.on("connect", ({ url = "" }: IncomingMessage, client: Socket, head: Buffer) => {
    // Host names are case-insensitive, and may end with the root's dot.
    const target = url.toLowerCase().replace(/\.(?=:\d+$)/, "");
    if (!targets.includes(target)) {
      say(`refused: ${placeIn(url)}, which is not a host of this interface`);
      refuse(
        client,
        "403 Not a host of this interface",
        `This proxy forwards only to ${targets.join(", ")}.`,
      );
      return;
    }
    openTunnel(client, head, to, open, say);
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

/** Connects the client to the server; `open` has the sockets to close at the end. */
function openTunnel(
  client: Socket,
  head: Buffer,
  to: ProxyOptions["to"],
  open: Set<Socket>,
  say: ProxyOptions["say"],
): void {
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
        "502 Cofre Does Not Listen",
        `Nothing answers at ${to.host}:${to.port}: cofre start --tls starts what should.`,
      );
    }
  });
  upstream.once("close", () => {
    open.delete(upstream);
    if (isThrough) client.destroy();
  });
  client.once("close", () => upstream.destroy());
}

/** Whether a server listens there. */
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
 * A client that keeps its side open is disconnected a moment later: Node applies no timeout to a
 * connection that requested a tunnel.
 */
function refuse(client: Socket, status: string, words: string): void {
  const cancel = systemScheduler.after(lingerMs, () => client.destroy());
  client.once("close", cancel).resume();
  client.end(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${words.length + 1}\r\nConnection: close\r\n\r\n${words}\n`,
  );
}

/**
 * The target of a request: its host and port. Names, passwords and paths belong to the client, and
 * may be keys or card numbers.
 */
function placeIn(target = ""): string {
  const [, authority = ""] = /^(?:[a-z][a-z\d+.-]*:\/\/)?([^/?#]*)/i.exec(target) ?? [];
  const place = printable(authority.slice(authority.lastIndexOf("@") + 1));
  // Masks a card number used as a host; the digits of an address are not contiguous.
  return place === "" ? "a path" : place.replaceAll(/\d(?:-?\d){12,}/g, "[digits]");
}

/** A client's text without characters that would move a terminal's cursor. */
function printable(text: string | undefined): string {
  return (text ?? "").replaceAll(/[^\x21-\x7e]/g, "").slice(0, 200);
}
