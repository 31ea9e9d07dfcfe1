import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** The fault of one connection. Positions are bytes from the start of that side's data. */
export type Fault =
  | { readonly kind: "none" }
  /** Resets the connection before anything is read. */
  | { readonly kind: "refuse" }
  /**
   * Forwards `after` bytes of the request or of the answer; then both sides are reset or closed.
   */
  | { readonly kind: "cut_request" | "cut_answer"; readonly after: number; readonly reset: boolean }
  /** Delays everything. */
  | { readonly kind: "delay"; readonly requestMs: number; readonly answerMs: number }
  /** Sends a few bytes at a time, both ways. */
  | { readonly kind: "slow"; readonly bytes: number; readonly everyMs: number }
  /** Reads the request and never answers; nothing is forwarded. */
  | { readonly kind: "lose_request" }
  /** Forwards the request but not the answer; the connection stays open. */
  | { readonly kind: "lose_answer" }
  /** Keeps the request for `ms` and then delivers it, even if the client has gone. */
  | { readonly kind: "late_request"; readonly ms: number }
  /** Delivers the request twice, one after the other; the first answer is returned. */
  | { readonly kind: "double_request" }
  /** After `after` bytes of the answer, noise. */
  | { readonly kind: "garbage"; readonly after: number }
  /** This text instead of the answer; `deliver`: whether the request is forwarded. */
  | { readonly kind: "answer"; readonly text: string; readonly deliver: boolean };

export interface Request {
  /** Such as `/ws/direct`; undefined if the data is not plain HTTP. */
  readonly path: string | undefined;
  /** The first bytes of the request. */
  readonly head: Buffer;
}

/** Chooses a connection's fault by its first bytes. */
export type FaultPlan = (request: Request) => Fault;

const noise = Buffer.from(Array.from({ length: 64 }, (_, index) => (index * 151 + 13) % 256));

/**
 * A TCP proxy on loopback with the faults of a network. It does not parse TLS, which it forwards as
 * bytes.
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

  /** Forwards both directions, each with its fault. */
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
    // When one side closes, the other is closed after the data in transit.
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

  /** Collects a request with its body, by its length, and calls `then` when it is complete. */
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

  /** Delivers a request whose client no longer waits. */
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

/** A socket that is closing or not yet connected cannot be reset: Node would never close it. */
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
  /** Bytes after the end of the answer. */
  readonly noise?: Buffer;
  /** Nothing is forwarded after the end of the answer, not even the end itself. */
  readonly silent?: boolean;
  readonly slice?: number;
  readonly everyMs?: number;
}
