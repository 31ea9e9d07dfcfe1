import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import { extname, join } from "node:path";
import type { Scheduler } from "../../kernel/scheduler.ts";
import { answers, bodyLength, decodeBody, type Frame, headerLength } from "./pkcs11-frames.ts";

export interface HelperOptions {
  /** Path of the PKCS#11 module. */
  readonly module: string;
  /** The environment of the helper: without settings of Cofre, which may be secrets. */
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly scheduler: Scheduler;
  /** Time limit of one request. */
  readonly timeoutMs: number;
}

/** The helper process ended, was ended after the time limit, or sent something else than frames. */
export class HelperEnded extends Error {
  constructor(cause: string) {
    super(`the process that calls the PKCS#11 module ${cause}`);
  }
}

/** Time limit for the start of the program, which does not depend on the token. */
const startMs = 60_000;
/** Time that the helper has to log out. */
const endMs = 2_000;

const folder = import.meta.dirname;
/** Its file has the same extension as this one: .ts here, .js once built. */
const program = join(folder, `pkcs11-helper${extname(import.meta.filename)}`);

/** Why no helper can run here; undefined: it can. */
export function unsupportedHere(): string | undefined {
  if (process.platform === "win32" || !["x64", "arm64"].includes(process.arch))
    return "PKCS#11 modules are called on 64-bit Linux and macOS only";
  return process.allowedNodeEnvironmentFlags.has("--allow-ffi")
    ? undefined
    : `PKCS#11 modules need Node 26.1 or later, and this is Node ${process.versions.node}: start Cofre with a newer Node`;
}

/**
 * One helper process (pkcs11-helper.ts), with one login. The flags are fault isolation and no
 * sandbox: a module is native code and may do what its user may. The process does not keep this
 * one running.
 */
export class HelperProcess {
  readonly #options: HelperOptions;
  readonly #onLost: (ended: HelperEnded) => void;
  readonly #child: ChildProcess;
  readonly #input: Socket;
  readonly #output: Socket;
  #received: Buffer = Buffer.alloc(0);
  #ended: HelperEnded | undefined;
  #waiting:
    | { readonly resolve: (frame: Frame) => void; readonly reject: (error: Error) => void }
    | undefined;
  readonly #ready: Promise<Frame>;

  /** `onLost` is called when it ends between two requests. */
  constructor(options: HelperOptions, onLost: (ended: HelperEnded) => void) {
    this.#options = options;
    this.#onLost = onLost;
    const flags = ["--permission", "--allow-ffi", `--allow-fs-read=${folder}`];
    this.#child = spawn(process.execPath, [...flags, program, options.module], {
      stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"],
      env: options.variables,
    });
    const [, , , input, output] = this.#child.stdio;
    if (!(input instanceof Socket) || !(output instanceof Socket))
      throw new HelperEnded("could not be started");
    [this.#input, this.#output] = [input, output];
    this.#child.on("error", () => this.#end("could not be started"));
    this.#child.on("exit", (code, signal) =>
      this.#end(signal === null ? `ended with code ${code}` : `was ended by ${signal}`),
    );
    input.on("error", () => this.kill("closed its connection"));
    output.on("error", () => this.kill("closed its connection"));
    output.on("data", (piece: Buffer) => this.#receive(piece));
    this.#child.unref();
    this.#ready = this.#next(startMs, () => undefined);
    this.#ready.catch(() => undefined);
  }

  /**
   * Sends a request and resolves with the answer, both of which the caller wipes then. One request
   * at a time. Rejects with HelperEnded.
   */
  async ask(request: Buffer): Promise<Frame> {
    const { kind } = await this.#ready;
    if (kind !== answers.ready) this.kill("sent something else than an answer");
    return await this.#next(this.#options.timeoutMs, () => void this.#input.write(request));
  }

  /** Ends it at once. */
  kill(cause: string): void {
    this.#end(cause);
    this.#child.kill("SIGKILL");
  }

  /** Lets it log out. */
  close(): void {
    this.#end("was closed");
    this.#input.end();
    const cancel = this.#options.scheduler.after(endMs, () => this.#child.kill("SIGKILL"));
    this.#child.once("exit", cancel);
  }

  async #next(limitMs: number, send: () => void): Promise<Frame> {
    if (this.#ended !== undefined) throw this.#ended;
    const { promise, resolve, reject } = Promise.withResolvers<Frame>();
    this.#waiting = { resolve, reject };
    this.#keepRunning(true);
    const cancel = this.#options.scheduler.after(limitMs, () =>
      this.kill(`did not answer within ${limitMs} ms and was ended`),
    );
    try {
      send();
      return await promise;
    } finally {
      cancel();
      this.#waiting = undefined;
      this.#keepRunning(false);
    }
  }

  #receive(piece: Buffer): void {
    const all = Buffer.concat([this.#received, piece]);
    this.#received.fill(0);
    piece.fill(0);
    this.#received = all;
    if (all.length < headerLength) return;
    const length = bodyLength(all);
    if (length === undefined) return this.kill("sent something else than an answer");
    const end = headerLength + length;
    if (all.length < end) return;
    const frame = decodeBody(Buffer.from(all.subarray(headerLength, end)));
    this.#received = Buffer.from(all.subarray(end));
    all.fill(0);
    if (frame === undefined || this.#waiting === undefined)
      return this.kill("sent something else than an answer");
    this.#waiting.resolve(frame);
  }

  #end(cause: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = new HelperEnded(cause);
    this.#received.fill(0);
    if (this.#waiting === undefined) this.#onLost(this.#ended);
    else this.#waiting.reject(this.#ended);
  }

  #keepRunning(keeps: boolean): void {
    for (const socket of [this.#input, this.#output])
      if (keeps) socket.ref();
      else socket.unref();
  }
}
