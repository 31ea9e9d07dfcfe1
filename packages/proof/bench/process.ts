import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { performance } from "node:perf_hooks";

/** Running servers; they are stopped when the bench is interrupted. */
const running = new Set<ChildProcess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    for (const child of running) child.kill("SIGTERM");
    process.exit(130);
  });
}

/** The system under load: one process, or several that serve one database. */
export interface BenchServer {
  readonly ports: readonly number[];
  /**
   * User and system time so far, in microseconds; undefined where the system does not report it.
   */
  cpuMicros(): number | undefined;
  /** Resident memory in bytes; undefined where the system does not report it. */
  rssBytes(): number | undefined;
  stop(): Promise<void>;
}

/** A server in a separate process, as the operating system sees it. */
export class ServerProcess implements BenchServer {
  readonly ports: readonly number[];
  /** From spawn to the first answer with status 200, in ms. */
  readonly startMs: number;
  readonly #child: ChildProcess;
  /** CPU of other processes that work for this server, in microseconds. */
  readonly #beside: () => number;
  #peakRssBytes = 0;

  private constructor(child: ChildProcess, port: number, startMs: number, beside: () => number) {
    this.#child = child;
    this.#beside = beside;
    this.ports = [port];
    this.startMs = startMs;
  }

  /**
   * Starts the current Node binary with `args` and waits for an answer with status 200 at `path`.
   * The child's log is discarded.
   */
  static async start(
    args: readonly string[],
    port: number,
    environment: NodeJS.ProcessEnv,
    path: string,
    beside = () => 0,
  ): Promise<ServerProcess> {
    const begin = performance.now();
    const child = spawn(process.execPath, args, {
      env: { ...process.env, ...environment },
      stdio: ["ignore", "ignore", "pipe"],
    });
    running.add(child);
    child.once("exit", () => running.delete(child));
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (complaint.length < 4_000) complaint += text;
    });
    const exited = once(child, "exit").then(() => "exited" as const);
    for (;;) {
      const answered = await Promise.race([exited, answers(port, path)]);
      if (answered === "exited")
        throw new Error(`the server ended before it answered: ${complaint}`);
      if (answered) return new ServerProcess(child, port, performance.now() - begin, beside);
      if (performance.now() - begin > 30_000) {
        child.kill("SIGKILL");
        throw new Error(`the server did not answer ${path} within 30 s: ${complaint}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 3));
    }
  }

  get pid(): number {
    const pid = this.#child.pid;
    if (pid === undefined) throw new Error("the server has no process");
    return pid;
  }

  /**
   * User and system time of all its threads, and of other processes that work for it, in
   * microseconds (10,000 is one clock tick); undefined without /proc.
   */
  cpuMicros(): number | undefined {
    const stat = procFile(this.pid, "stat");
    if (stat === undefined) return undefined;
    // Fields 14 and 15; the second field, the name, may contain spaces and ends with the last
    // parenthesis.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10_000 + this.#beside();
  }

  /** Resident memory in bytes; undefined without /proc. */
  rssBytes(): number | undefined {
    const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(procFile(this.pid, "status") ?? "")?.[1];
    if (kilobytes === undefined) return undefined;
    const bytes = Number(kilobytes) * 1_024;
    this.#peakRssBytes = Math.max(this.#peakRssBytes, bytes);
    return bytes;
  }

  /** The largest resident memory that rssBytes has returned. */
  get peakRssBytes(): number {
    return this.#peakRssBytes;
  }

  /** Requests shutdown as an operator would, and waits until the process has ended. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGTERM");
    await exited;
  }
}

function procFile(pid: number, name: string): string | undefined {
  try {
    return readFileSync(`/proc/${String(pid)}/${name}`, "latin1");
  } catch {
    return undefined;
  }
}

/** fetch is not used, because its first call would cost this process a hundred milliseconds. */
async function answers(port: number, path: string): Promise<boolean> {
  const { get } = await import("node:http");
  return new Promise((resolve) => {
    const request = get({ port, host: "127.0.0.1", path, agent: false }, (response) => {
      response.resume();
      response.on("end", () => {
        resolve(response.statusCode === 200);
      });
    });
    request.on("error", () => {
      resolve(false);
    });
  });
}
