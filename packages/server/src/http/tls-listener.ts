import { isIP, type Socket } from "node:net";
import type { SecureContext, SecureContextOptions, Server, TlsOptions, TLSSocket } from "node:tls";

/** A key and its certificate, both in PEM. */
interface KeyAndCertificate {
  readonly key: string;
  readonly cert: string;
}

/** A server's key and its certificate, both in PEM. */
export interface TlsCredentials extends KeyAndCertificate {
  /**
   * What clients are shown that send no name, because they connect to an address; the same when it
   * is not given.
   */
  readonly byAddress?: KeyAndCertificate;
}

/**
 * Suites that authenticate what they encrypt, with a key of each connection's own. Those of TLS 1.2
 * with CBC do it in the wrong order.
 */
const ciphers = [
  "TLS_AES_256_GCM_SHA384",
  "TLS_CHACHA20_POLY1305_SHA256",
  "TLS_AES_128_GCM_SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-RSA-AES128-GCM-SHA256",
].join(":");

/** From the connection to the end of the handshake, in milliseconds. */
const handshakeTimeoutMs = 10_000;

/** What OpenSSL says of a handshake that begins like a request of HTTP. */
const plainRequests: ReadonlySet<string> = new Set([
  "ERR_SSL_HTTP_REQUEST",
  "ERR_SSL_HTTPS_PROXY_REQUEST",
]);

/** What becomes of connections. */
interface Handlers {
  readonly take: (socket: TLSSocket) => void;
  /**
   * A request without TLS, which is not read: whatever is written in this call is heard, then the
   * connection is closed.
   */
  readonly refusePlain: (socket: Socket) => void;
}

/** Accepts TLS and hands on what is inside of it. */
export class TlsListener {
  readonly server: Server;
  /**
   * Connections whose handshake is not done, by where they come from: nobody else knows of them.
   */
  readonly #shaking = new Map<string, Socket>();
  /** For clients that send the name of a host. */
  #withName: SecureContext;

  constructor(
    credentials: TlsCredentials,
    maxConnections: number,
    { take, refusePlain }: Handlers,
  ) {
    // Loaded where there is TLS only.
    const { createServer } = process.getBuiltinModule("node:tls");
    const { withoutName, withName } = contextsOf(credentials);
    this.#withName = withName;
    const options = {
      ...withoutName,
      ALPNProtocols: ["http/1.1"],
      noDelay: true,
      handshakeTimeout: handshakeTimeoutMs,
    };
    // Undefined is the context of the server itself.
    const SNICallback: TlsOptions["SNICallback"] = (name, choose) =>
      choose(null, isIP(name) === 0 ? this.#withName : undefined);
    this.server = createServer({ ...options, SNICallback }, take);
    this.server.maxConnections = maxConnections;
    this.server.on("connection", (socket: Socket) => {
      const origin = originOf(socket);
      this.#shaking.set(origin, socket);
      socket.once("close", () => this.#shaking.delete(origin));
    });
    this.server.on("secureConnection", (socket) => this.#shaking.delete(originOf(socket)));
    this.server.on("tlsClientError", (error: NodeJS.ErrnoException, socket) => {
      const plain = plainRequests.has(error.code ?? "")
        ? this.#shaking.get(originOf(socket))
        : undefined;
      if (plain?.writable === true) refusePlain(plain);
      socket.destroy();
    });
  }

  /** From the next connection on. */
  renew(credentials: TlsCredentials): void {
    const { withoutName, withName } = contextsOf(credentials);
    this.#withName = withName;
    this.server.setSecureContext(withoutName);
  }

  /** Takes no further connections, and resolves when those that were taken are closed. */
  close(): Promise<void> {
    for (const socket of this.#shaking.values()) socket.destroy();
    return new Promise((resolve) => {
      this.server.close(() => resolve());
    });
  }
}

function contextsOf({ byAddress, ...named }: TlsCredentials): {
  readonly withoutName: SecureContextOptions;
  readonly withName: SecureContext;
} {
  const { createSecureContext } = process.getBuiltinModule("node:tls");
  const protocol = { minVersion: "TLSv1.2", ciphers } as const;
  return {
    withoutName: { ...(byAddress ?? named), ...protocol },
    withName: createSecureContext({ ...named, ...protocol }),
  };
}

function originOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
