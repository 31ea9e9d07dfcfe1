import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface AcquirerProcess {
  /** `http://127.0.0.1:<port>`, for the connector's `address`. */
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Starts the simulated acquirer as a process of its own (see acquirer-process.ts for `args`). It
 * ends with this process at the latest.
 */
export async function startAcquirer(args: readonly string[] = []): Promise<AcquirerProcess> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL("acquirer-process.ts", import.meta.url)), ...args],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  const exited = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const firstLine = once(lines, "line").then(([line]) => String(line));
  const died = exited.then(([status]): never => {
    throw new Error(`the acquirer process ended with ${status} before it listened`);
  });
  const port = await Promise.race([firstLine, died]);
  // From here on its end is expected.
  died.catch(() => undefined);
  return {
    address: `http://127.0.0.1:${port}`,
    stop: async () => {
      child.kill("SIGTERM");
      await exited;
      lines.close();
    },
  };
}
