import { connect, type Socket } from "node:net";
import { performance } from "node:perf_hooks";
import { AnswerFramer, type Answer } from "./framing.ts";

/** One connection, with at most one request in flight. */
interface Lane {
  readonly index: number;
  socket: Socket;
  framer: AnswerFramer;
  busy: boolean;
  /** When the request in flight was due, in ms of performance.now(). */
  startedAt: number;
}

/** Called for each answer; the answer's bytes are valid only during the call. */
export type AnswerHandler = (lane: number, answer: Answer, startedAt: number, now: number) => void;

/**
 * Keep-alive connections to one server on loopback, or in turn to several nodes. The client's cost
 * is part of every measurement, because it shares the cores with the servers, so it only writes
 * prepared bytes and finds the ends of answers.
 */
export class Client {
  readonly #ports: readonly number[];
  readonly #lanes: Lane[] = [];
  #handler: AnswerHandler = () => {};
  #fail: (error: Error) => void = () => {};
  #closing = false;
  #usedAt = performance.now();

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  get lanes(): number {
    return this.#lanes.length;
  }

  /**
   * Opens connections up to `lanes`, and replaces those that the server closed as idle. After a
   * pause of more than two seconds all are replaced, because the server might be closing them now.
   */
  async ensureOpen(lanes: number): Promise<void> {
    const stale = performance.now() - this.#usedAt > 2_000;
    for (const lane of this.#lanes) {
      if (!stale && !lane.socket.destroyed && lane.socket.writable) continue;
      lane.socket.destroy();
      this.#attach(lane, await this.#open(lane.index));
    }
    while (this.#lanes.length < lanes) {
      const index = this.#lanes.length;
      const lane: Lane = {
        index,
        socket: await this.#open(index),
        framer: new AnswerFramer(),
        busy: false,
        startedAt: 0,
      };
      this.#attach(lane, lane.socket);
      this.#lanes.push(lane);
    }
    this.#usedAt = performance.now();
  }

  /** Passes answers to `handler` and a broken connection to `fail`, until the next call. */
  listen(handler: AnswerHandler, fail: (error: Error) => void): void {
    this.#handler = handler;
    this.#fail = fail;
  }

  send(index: number, request: Buffer, startedAt: number): void {
    const lane = this.#lanes[index];
    if (lane === undefined || lane.busy) throw new Error("a lane takes one request at a time");
    lane.busy = true;
    lane.startedAt = startedAt;
    lane.socket.write(request);
  }

  close(): void {
    this.#closing = true;
    for (const lane of this.#lanes) lane.socket.destroy();
  }

  async #open(index: number): Promise<Socket> {
    const port = this.#ports[index % this.#ports.length];
    if (port === undefined) throw new Error("a server has a port");
    return open(port);
  }

  #attach(lane: Lane, socket: Socket): void {
    lane.socket = socket;
    lane.framer = new AnswerFramer();
    lane.busy = false;
    const take = (answer: Answer): void => {
      if (!lane.busy) {
        // The server answers 408 on a connection that was idle too long and closes it; ensureOpen
        // replaces it.
        socket.destroy();
        return;
      }
      const now = performance.now();
      this.#usedAt = now;
      lane.busy = false;
      this.#handler(lane.index, answer, lane.startedAt, now);
    };
    socket.on("data", (chunk: Buffer) => {
      try {
        lane.framer.push(chunk, take);
      } catch (error) {
        this.#fail(error instanceof Error ? error : new Error(String(error)));
      }
    });
    const lost = (error?: Error): void => {
      if (lane.socket !== socket || this.#closing || !lane.busy) return;
      lane.busy = false;
      this.#fail(error ?? new Error("the server closed a connection with a request under way"));
    };
    socket.on("error", lost);
    socket.on("close", () => {
      lost();
    });
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.off("error", reject);
      resolve(socket);
    });
  });
}
