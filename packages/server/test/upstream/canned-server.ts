import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

export interface CannedServer extends AsyncDisposable {
  readonly port: number;
  /** The received bytes, one buffer per connection. */
  readonly received: Buffer[];
  /** Resolves with the first bytes of the first connection. */
  readonly firstBytes: Promise<void>;
  /** The answer for the next connections once their request is complete; undefined: no answer. */
  say(answer: string | Buffer | undefined): void;
  /** Number of connections so far, so also the index of the next one. */
  readonly connections: number;
}

/**
 * A server that reads one request per connection, sends the given answer byte by byte, and closes
 * the connection.
 */
export async function startCannedServer(tls?: TlsOptions): Promise<CannedServer> {
  const received: Buffer[] = [];
  const sockets = new Set<Socket>();
  let answer: string | Buffer | undefined;
  let connections = 0;
  const { promise: firstBytes, resolve: onFirstBytes } = Promise.withResolvers<void>();
  const onConnection = (socket: Socket): void => {
    const place = connections;
    connections += 1;
    sockets.add(socket);
    let request = Buffer.alloc(0);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (bytes: Buffer) => {
      request = Buffer.concat([request, bytes]);
      received[place] = request;
      onFirstBytes();
      const gap = request.indexOf("\r\n\r\n");
      const length = Number(
        /content-length: (\d+)/i.exec(
          request.subarray(0, Math.max(gap, 0)).toString("latin1"),
        )?.[1] ?? "NaN",
      );
      if (gap >= 0 && request.length >= gap + 4 + length && answer !== undefined)
        socket.end(answer);
    });
  };
  const server =
    tls === undefined ? createServer(onConnection) : createTlsServer(tls, onConnection);
  server.on("tlsClientError", () => undefined);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    received,
    firstBytes,
    say: (next) => {
      answer = next;
    },
    get connections() {
      return connections;
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export function httpAnswer(body: string): string {
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`;
}

/** A payment as the interface returns it (interface 3.4), with changes. */
export function paymentBody(code: string, changes: Readonly<Record<string, unknown>> = {}): string {
  const payment = {
    hash: "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831",
    merchant_payment_code: code,
    status: "CO",
    amount_br: "72.22",
    amount_ext: "12.34",
    currency_ext: "USD",
    transaction_status: {
      acquirer: "EBANX",
      code: "OK",
      description: "Accepted",
      authcode: "48213",
    },
    pre_approved: true,
    capture_available: false,
    user_value_1: "sale",
    ...changes,
  };
  return JSON.stringify({ payment, status: "SUCCESS" });
}
