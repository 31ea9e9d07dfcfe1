import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * What happens to one connection. Positions are bytes from the beginning of what that side sends.
 */
export type Fault =
  | { readonly kind: "none" }
  /** Ends with a reset before anything is read. */
  | { readonly kind: "refuse" }
  /**
   * Forwards so many bytes of the request, or of the answer; then both sides end, by a reset or
   * properly.
   */
  | { readonly kind: "cut_request" | "cut_answer"; readonly after: number; readonly reset: boolean }
  /** Everything takes so long. */
  | { readonly kind: "delay"; readonly requestMs: number; readonly answerMs: number }
  /** A few bytes at a time, both ways. */
  | { readonly kind: "slow"; readonly bytes: number; readonly everyMs: number }
  /** Takes the request and is silent; nothing is forwarded. */
  | { readonly kind: "lose_request" }
  /** Forwards the request; the answer is not, and the connection stays open. */
  | { readonly kind: "lose_answer" }
  /**
   * Keeps the request for so long and then delivers it, whether or not anybody waits for the
   * answer.
   */
  | { readonly kind: "late_request"; readonly ms: number }
  /** Delivers the request twice, one after the other; the first answer is the one that arrives. */
  | { readonly kind: "double_request" }
  /** After so many bytes of the answer, noise. */
  | { readonly kind: "garbage"; readonly after: number }
  /** This instead of the answer, after the request was delivered or not. */
  | { readonly kind: "answer"; readonly text: string; readonly deliver: boolean };

export interface Request {
  /** Such as `/ws/direct`; undefined for what is not plain HTTP. */
  readonly path: string | undefined;
  /** The first bytes of the request. */
  readonly head: Buffer;
}

/** Decides what happens to a connection by the first bytes on it. */
export type FaultPlan = (request: Request) => Fault;

const noise = Buffer.from(Array.from({ length: 64 }, (_, index) => (index * 151 + 13) % 256));

/**
 * A TCP proxy on loopback that does to connections what networks do. Knows nothing of TLS: to it
 * that is bytes too.
 */
export class FaultProxy {
  readonly #server: Server;
  readonly #targetPort: number;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #isClosed = false;
  plan: FaultPlan;

  private constructor(server: Server, targetPort: number, plan: FaultPlan) {
    this.#server = server;
    this.#targetPort = targetPort;
    this.plan = plan;
  }

  static async start(
    targetPort: number,
    plan: FaultPlan = () => ({ kind: "none" }),
  ): Promise<FaultProxy> {
    const server = createServer({ noDelay: true, allowHalfOpen: true });
    const proxy = new FaultProxy(server, targetPort, plan);
    server.on("connection", (client) => proxy.#accept(client));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(client: Socket): void {
    if (this.#isClosed) return void client.destroy();
    this.#track(client);
    client.once("data", (head: Buffer) => {
      client.pause();
      const path = /^[A-Z]+ (\/[^ ?]*)/.exec(head.toString("latin1"))?.[1];
      const fault = this.plan({ path, head });
      this.#suffer(fault, client, head);
    });
  }

  #suffer(fault: Fault, client: Socket, head: Buffer): void {
    switch (fault.kind) {
      case "refuse":
        reset(client);
        return;
      case "none":
        return this.#pump(client, this.#dial(), head, {});
      case "cut_request":
        return this.#pump(client, this.#dial(), head, {
          requestEnds: fault.after,
          reset: fault.reset,
        });
      case "cut_answer":
        return this.#pump(client, this.#dial(), head, {
          answerEnds: fault.after,
          reset: fault.reset,
        });
      case "garbage":
        return this.#pump(client, this.#dial(), head, { answerEnds: fault.after, noise });
      case "delay":
        return this.#pump(client, this.#dial(), head, {
          requestMs: fault.requestMs,
          answerMs: fault.answerMs,
        });
      case "slow":
        return this.#pump(client, this.#dial(), head, {
          slice: fault.bytes,
          everyMs: fault.everyMs,
        });
      case "lose_answer":
        return this.#pump(client, this.#dial(), head, { answerEnds: 0, silent: true });
      case "lose_request":
        client.resume();
        return;
      case "late_request":
        return this.#whole(client, head, (request) =>
          this.#later(fault.ms, () => this.#deliver(request)),
        );
      case "double_request":
        return this.#whole(client, head, (request) => {
          const server = this.#dial();
          server.on("close", () => this.#deliver(request));
          this.#pump(client, server, request, {});
        });
      case "answer":
        return this.#whole(client, head, (request) => {
          if (fault.deliver) this.#deliver(request).on("close", () => client.end(fault.text));
          else client.end(fault.text);
        });
    }
  }

  /** Both directions, with what is to happen to each. */
  #pump(client: Socket, server: Socket, head: Buffer, how: Way): void {
    const end = (): void => {
      for (const socket of [client, server]) {
        if (how.reset === true) reset(socket);
        else socket.destroySoon();
      }
    };
    const up = this.#channel(
      server,
      { ...how, ends: how.requestEnds, afterMs: how.requestMs },
      end,
    );
    const down = this.#channel(
      client,
      { ...how, ends: how.answerEnds, afterMs: how.answerMs },
      end,
    );
    client.on("data", up.write);
    client.on("end", up.end);
    // Whoever gave up is gone for the other side too, but for what is under way.
    client.on("close", up.end);
    server.on("data", down.write);
    server.on("end", () => {
      if (how.silent !== true) down.end();
    });
    up.write(head);
    client.resume();
  }

  #channel(
    to: Socket,
    {
      ends,
      afterMs = 0,
      slice,
      everyMs = 0,
      noise: then,
      silent,
    }: Way & { ends?: number | undefined; afterMs?: number | undefined },
    end: () => void,
  ) {
    let left = ends ?? Number.POSITIVE_INFINITY;
    let queue: Promise<void> = Promise.resolve();
    const put = (bytes: Buffer): void => {
      if (!to.writable) return;
      const part = bytes.subarray(0, Math.min(bytes.length, left));
      left -= part.length;
      if (part.length > 0) to.write(part);
      if (left > 0 || silent === true) return;
      if (then !== undefined) to.write(then);
      end();
    };
    const write = (bytes: Buffer): void => {
      if (afterMs > 0) {
        queue = queue.then(() => this.#sleep(afterMs)).then(() => put(bytes));
      } else if (slice !== undefined) {
        for (let at = 0; at < bytes.length; at += slice) {
          const part = bytes.subarray(at, at + slice);
          queue = queue.then(() => this.#sleep(everyMs)).then(() => put(part));
        }
      } else put(bytes);
    };
    return { write, end: () => void (queue = queue.then(() => void to.end())) };
  }

  /** Collects a request with its body, by its length, and goes on when it is there. */
  #whole(client: Socket, head: Buffer, then: (request: Buffer) => void): void {
    let request = head;
    const take = (bytes: Buffer): void => {
      request = bytes === head ? head : Buffer.concat([request, bytes]);
      const gap = request.indexOf("\r\n\r\n");
      const length = /content-length: (\d+)/i.exec(
        request.subarray(0, Math.max(gap, 0)).toString("latin1"),
      )?.[1];
      if (gap < 0 || request.length < gap + 4 + Number(length ?? 0)) return;
      client.off("data", take);
      then(request);
    };
    client.on("data", take);
    client.resume();
    take(head);
  }

  /** Delivers a request that nobody waits for any more. */
  #deliver(request: Buffer): Socket {
    const server = this.#dial();
    server.resume();
    server.on("end", () => server.end());
    server.write(request);
    return server;
  }

  #dial(): Socket {
    const server = connect({
      port: this.#targetPort,
      host: "127.0.0.1",
      noDelay: true,
      allowHalfOpen: true,
    });
    this.#track(server);
    if (this.#isClosed) server.destroy();
    return server;
  }

  #track(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  #later(ms: number, task: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      task();
    }, ms);
    this.#timers.add(timer);
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#later(ms, resolve);
    });
  }
}

/**
 * A socket that is saying good-bye, or was not greeted yet, cannot be reset: Node would forget to
 * close it.
 */
function reset(socket: Socket): void {
  if (socket.writableEnded || socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
}

interface Way {
  readonly requestEnds?: number;
  readonly answerEnds?: number;
  readonly requestMs?: number;
  readonly answerMs?: number;
  readonly reset?: boolean;
  /** What comes after the end of the answer. */
  readonly noise?: Buffer;
  /** Nothing is forwarded after the end of the answer, and nobody hears that it ended. */
  readonly silent?: boolean;
  readonly slice?: number;
  readonly everyMs?: number;
}
