import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface SlowClientsOptions {
  readonly port: number;
  readonly count: number;
  /** Sent at once. */
  readonly first: string;
  /** Then sent one byte at a time, repeated at its end; nothing if it is empty. */
  readonly trickle: string;
  readonly everyMs: number;
}

/**
 * Clients that connect and then send slowly. What the server sends before it closes the connection
 * is kept.
 */
export class SlowClients implements Disposable {
  readonly #sockets = new Set<Socket>();
  readonly #whenAllGone: Promise<void>;
  /** The data that each closed client received, and how long it lasted, in milliseconds. */
  readonly gone: { readonly response: string; readonly lastedMs: number }[] = [];
  /** Number of clients that have a connection, or have not noticed its end. */
  connected = 0;

  constructor({ port, count, first, trickle, everyMs }: SlowClientsOptions) {
    const gone = Promise.withResolvers<void>();
    this.#whenAllGone = gone.promise;
    const begin = performance.now();
    for (let client = 0; client < count; client += 1) {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true });
      let response = "";
      this.#sockets.add(socket);
      socket.once("connect", () => {
        this.connected += 1;
        socket.write(first);
      });
      socket.setEncoding("latin1").on("data", (text: string) => (response += text));
      // A reset is one way of closing the connection.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.gone.push({ response, lastedMs: performance.now() - begin });
        if (this.#sockets.size === 0) gone.resolve();
      });
    }
    if (trickle !== "") void this.#trickle(trickle, everyMs);
  }

  async #trickle(text: string, everyMs: number): Promise<void> {
    for (let at = 0; this.#sockets.size > 0; at += 1) {
      await sleep(everyMs);
      for (const socket of this.#sockets)
        if (!socket.connecting) socket.write(text.charAt(at % text.length), "latin1");
    }
  }

  /** Number of clients that the server has not disconnected. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Resolves when the server has disconnected all of them. */
  allGone(): Promise<void> {
    return this.#whenAllGone;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}
