import type { Socket } from "node:net";
import type { Server, TLSSocket } from "node:tls";

/** A server's key and its certificate, both in PEM. */
export interface TlsCredentials {
  readonly key: string;
  readonly cert: string;
}

/** From the connection to the end of the handshake, in milliseconds. */
const handshakeTimeoutMs = 10_000;

/** What OpenSSL says of a handshake that begins like a request of HTTP. */
const plainRequests: ReadonlySet<string> = new Set(["ERR_SSL_HTTP_REQUEST", "ERR_SSL_HTTPS_PROXY_REQUEST"]);

/** What becomes of connections. */
interface Handlers {
  readonly take: (socket: TLSSocket) => void;
  /** A request without TLS, which is not read: whatever is written in this call is heard, then the connection is closed. */
  readonly refusePlain: (socket: Socket) => void;
}

/** Accepts TLS and hands on what is inside of it. */
export class TlsListener {
  readonly server: Server;
  /** Connections whose handshake is not done, by where they come from: nobody else knows of them. */
  readonly #shaking = new Map<string, Socket>();

  constructor(credentials: TlsCredentials, maxConnections: number, { take, refusePlain }: Handlers) {
    // Loaded where there is TLS only.
    const { createServer } = process.getBuiltinModule("node:tls");
    const options = { ...credentials, minVersion: "TLSv1.2", ALPNProtocols: ["http/1.1"], noDelay: true } as const;
    this.server = createServer({ ...options, handshakeTimeout: handshakeTimeoutMs }, take);
    this.server.maxConnections = maxConnections;
    this.server.on("connection", (socket: Socket) => {
      const origin = originOf(socket);
      this.#shaking.set(origin, socket);
      socket.once("close", () => this.#shaking.delete(origin));
    });
    this.server.on("secureConnection", (socket) => this.#shaking.delete(originOf(socket)));
    this.server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
      const plain = plainRequests.has(error.code ?? "") ? this.#shaking.get(originOf(socket)) : undefined;
      if (plain?.writable === true) refusePlain(plain);
      socket.destroy();
    });
  }

  /** From the next connection on. */
  renew(credentials: TlsCredentials): void {
    this.server.setSecureContext({ ...credentials, minVersion: "TLSv1.2" });
  }

  /** Takes no further connections, and resolves when those that were taken are closed. */
  close(): Promise<void> {
    for (const socket of this.#shaking.values()) socket.destroy();
    return new Promise((resolve) => {
      this.server.close(() => resolve());
    });
  }
}

function originOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
