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
   * For clients that send no host name, because they connect to an IP address. Default: the key and
   * certificate above.
   */
  readonly byAddress?: KeyAndCertificate;
}

/**
 * Cipher suites with authenticated encryption and a separate key per connection. The CBC suites of
 * TLS 1.2 encrypt and authenticate in the wrong order.
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

/** OpenSSL's errors for a handshake that begins like an HTTP request. */
const plainRequests: ReadonlySet<string> = new Set([
  "ERR_SSL_HTTP_REQUEST",
  "ERR_SSL_HTTPS_PROXY_REQUEST",
]);

/** Callbacks for accepted and refused connections. */
interface Handlers {
  readonly take: (socket: TLSSocket) => void;
  /**
   * A request without TLS, which is not read: bytes written during this call are sent, then the
   * connection is closed.
   */
  readonly refusePlain: (socket: Socket) => void;
}

/** Accepts TLS connections and passes their decrypted streams on. */
export class TlsListener {
  readonly server: Server;
  /**
   * Connections with an unfinished handshake, by remote address and port: no other part of the
   * process tracks them.
   */
  readonly #shaking = new Map<string, Socket>();
  /** For clients that send a host name. */
  #withName: SecureContext;

  constructor(
    credentials: TlsCredentials,
    maxConnections: number,
    { take, refusePlain }: Handlers,
  ) {
    // Loaded only if TLS is used.
    const { createServer } = process.getBuiltinModule("node:tls");
    const { withoutName, withName } = contextsOf(credentials);
    this.#withName = withName;
    const options = {
      ...withoutName,
      ALPNProtocols: ["http/1.1"],
      noDelay: true,
      handshakeTimeout: handshakeTimeoutMs,
    };
    // Undefined selects the server's own context.
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

  /** Takes effect with the next connection. */
  renew(credentials: TlsCredentials): void {
    const { withoutName, withName } = contextsOf(credentials);
    this.#withName = withName;
    this.server.setSecureContext(withoutName);
  }

  /** Accepts no further connections, and resolves when the open ones are closed. */
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
