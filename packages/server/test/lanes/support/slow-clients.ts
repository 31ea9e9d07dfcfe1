import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface SlowClientsOptions {
  readonly port: number;
  readonly count: number;
  /** Sent at once. */
  readonly first: string;
  /**
   * Then sent byte by byte, one at a time, again from the beginning at its end; nothing when it is
   * empty.
   */
  readonly trickle: string;
  readonly everyMs: number;
}

/**
 * Clients that connect and then take their time. What they are told before the server cuts them off
 * is kept.
 */
export class SlowClients implements Disposable {
  readonly #sockets = new Set<Socket>();
  readonly #whenAllGone: Promise<void>;
  /** What each was told that is gone, and how long it lasted, in milliseconds. */
  readonly gone: { readonly told: string; readonly lastedMs: number }[] = [];
  /** How many have a connection, or believe so. */
  connected = 0;

  constructor({ port, count, first, trickle, everyMs }: SlowClientsOptions) {
    const gone = Promise.withResolvers<void>();
    this.#whenAllGone = gone.promise;
    const begin = performance.now();
    for (let client = 0; client < count; client += 1) {
      const socket = connect({ host: "127.0.0.1", port, noDelay: true });
      let told = "";
      this.#sockets.add(socket);
      socket.once("connect", () => {
        this.connected += 1;
        socket.write(first);
      });
      socket.setEncoding("latin1").on("data", (text: string) => (told += text));
      // A reset is one way of being cut off.
      socket.on("error", () => undefined);
      socket.once("close", () => {
        this.#sockets.delete(socket);
        this.gone.push({ told, lastedMs: performance.now() - begin });
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

  /** How many the server has not cut off. */
  get open(): number {
    return this.#sockets.size;
  }

  /** Resolves when the server has cut off every one. */
  allGone(): Promise<void> {
    return this.#whenAllGone;
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#sockets.clear();
  }
}
