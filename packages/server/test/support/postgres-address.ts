import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/**
 * Fault of one batch's commit: the answer is lost with the connection after the server has
 * committed; the server has done the work but never receives the commit; or the answer is lost and
 * the connection stays open.
 */
export type BatchFault = "none" | "drop_answer" | "never_commit" | "silence";

/** Ends a connection after this number of bytes in one direction, at any point of a message. */
export interface Cut {
  readonly side: "to_server" | "to_client";
  readonly after: number;
  /** The client's connection is reset instead of closed. */
  readonly reset: boolean;
}

interface Connection {
  readonly client: Socket;
  readonly server: Socket;
  readonly cut: Cut | undefined;
  passed: number;
  /** No further data of the server arrives. */
  isMute: boolean;
  isOver: boolean;
  /** The kinds of the pending answers, one for each time that the client waits for the server. */
  readonly awaited: BatchFault[];
}

/**
 * The address of the primary: a TCP proxy on loopback that can be switched to another server and
 * that drops data as networks do. Parses PostgreSQL's messages only to distinguish a batch's commit
 * from other messages.
 */
export class PostgresAddress implements AsyncDisposable {
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  /** Clients that have not noticed the loss of their connection. */
  readonly #vanished = new Set<Socket>();
  #target: number | undefined;
  /** Called for each new connection. */
  cutOf: () => Cut | undefined = () => undefined;
  /** Called for each batch. */
  faultOf: () => BatchFault = () => "none";
  /**
   * Counts of commits with lost answers, work that was never committed, silent connections, and cut
   * connections.
   */
  readonly counts = { drop_answer: 0, never_commit: 0, silence: 0, cut: 0 };

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
  }

  static async start(target: number): Promise<PostgresAddress> {
    const server = createServer({ noDelay: true, allowHalfOpen: true });
    const address = new PostgresAddress(server, target);
    server.on("connection", (client) => address.#accept(client));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return address;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /**
   * Forwards to this server from now on. Existing connections to another one are reset, as by a
   * host that has taken over an address.
   */
  turnTo(target: number): void {
    this.#target = target;
    this.reset();
  }

  /** Resets every connection. */
  reset(): void {
    for (const { client, server } of this.#connections) {
      destroy(client, true);
      server.destroy();
    }
  }

  /**
   * As when the server's machine has disappeared: data on existing connections is lost, and no
   * client is notified.
   */
  vanish(): void {
    for (const connection of this.#connections) {
      const { client, server } = connection;
      connection.isMute = true;
      // Closing is not acknowledged either.
      client.removeAllListeners("data").removeAllListeners("end").resume();
      server.removeAllListeners("close").destroy();
      this.#connections.delete(connection);
      this.#vanished.add(client);
      client.on("close", () => this.#vanished.delete(client));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#target = undefined;
    this.reset();
    for (const client of this.#vanished) client.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #accept(client: Socket): void {
    client.on("error", () => undefined);
    if (this.#target === undefined) return void client.destroy();
    const server = connect({ port: this.#target, host: "127.0.0.1", noDelay: true });
    server.on("error", () => undefined);
    const connection: Connection = {
      client,
      server,
      cut: this.cutOf(),
      passed: 0,
      isMute: false,
      isOver: false,
      awaited: [],
    };
    this.#connections.add(connection);
    client.on("close", () => {
      this.#connections.delete(connection);
      server.destroy();
    });
    client.on("end", () => server.end());
    server.on("close", () => destroy(client, true));
    const toServer = messages(true);
    let isBatch = false;
    client.on("data", (bytes: Buffer) => {
      for (const message of toServer(bytes)) {
        if (message[0] === bind && message.includes(batchName)) isBatch = true;
        if (message[0] !== sync && message[0] !== simpleQuery) {
          this.#pass(connection, "to_server", message);
          continue;
        }
        const fault = isBatch && message[0] === sync ? this.faultOf() : "none";
        isBatch = false;
        if (fault !== "none") this.counts[fault] += 1;
        // The server has done the whole work, and gets the end of the connection instead of the
        // commit.
        if (fault === "never_commit") return this.#end(connection);
        connection.awaited.push(fault);
        this.#pass(connection, "to_server", message);
      }
    });
    const toClient = messages(false);
    server.on("data", (bytes: Buffer) => {
      for (const message of toClient(bytes)) {
        const fault = connection.awaited[0] ?? "none";
        if (fault === "silence") connection.isMute = true;
        if (fault === "none" && !connection.isMute) this.#pass(connection, "to_client", message);
        if (message[0] !== readyForQuery) continue;
        connection.awaited.shift();
        if (fault === "drop_answer") return this.#end(connection);
      }
    });
  }

  #pass(connection: Connection, side: Cut["side"], message: Buffer): void {
    const { cut, client, server } = connection;
    const to = side === "to_server" ? server : client;
    if (connection.isOver || to.destroyed) return;
    const left = cut?.side === side ? cut.after - connection.passed : message.length;
    if (cut?.side === side) connection.passed += message.length;
    if (left > 0) to.write(message.subarray(0, left));
    if (left >= message.length) return;
    this.counts.cut += 1;
    this.#end(connection);
  }

  /** Forwarded data arrives; nothing follows. */
  #end(connection: Connection): void {
    const { client, server, cut } = connection;
    connection.isOver = true;
    client.removeAllListeners("data");
    server.removeAllListeners("data");
    server.resume().destroySoon();
    destroy(client, cut?.reset ?? true);
  }
}

const [bind, sync, simpleQuery, readyForQuery] = ["B", "S", "Q", "Z"].map((letter) =>
  letter.charCodeAt(0),
);
const batchName = Buffer.from("\0write_batch\0");

/**
 * Assembles the pieces of a stream into messages: a letter, a length, and the rest; the first one
 * from a client has no letter.
 */
function messages(isFirstBare: boolean): (bytes: Buffer) => Buffer[] {
  let isBare = isFirstBare;
  let kept: Buffer = Buffer.alloc(0);
  return (bytes) => {
    kept = Buffer.concat([kept, bytes]);
    const whole: Buffer[] = [];
    for (;;) {
      const letter = isBare ? 0 : 1;
      if (kept.length < letter + 4) return whole;
      const length = letter + kept.readUInt32BE(letter);
      if (kept.length < length) return whole;
      whole.push(kept.subarray(0, length));
      kept = kept.subarray(length);
      isBare = false;
    }
  };
}

/** A socket that is closing or not yet connected cannot be reset. */
function destroy(socket: Socket, byReset: boolean): void {
  if (byReset && !socket.writableEnded && !socket.connecting && !socket.destroyed)
    socket.resetAndDestroy();
  else socket.destroySoon();
}
