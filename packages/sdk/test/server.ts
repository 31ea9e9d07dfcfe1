import type { Cofre as Server } from "@cofre/server";
import { Cofre, type Charge, type CofreOptions, type Runtime } from "../src/index.ts";
import { startSandbox, testCharge } from "../src/testing.ts";

/** A server in this process on loopback, with a client whose waits end at once. */
export interface Setting {
  readonly server: Server;
  readonly client: Cofre;
  /** Milliseconds of the waits between attempts. */
  readonly waits: number[];
  readonly clientWith: (options: Partial<CofreOptions>) => Cofre;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startSetting(): Promise<Setting> {
  const waits: number[] = [];
  const runtime = { after: hurried(waits) };
  const sandbox = await startSandbox({
    server: { acquirerTimeoutMs: 300 },
    client: { runtime },
  });
  const { client, server } = sandbox;
  const clientWith = (options: Partial<CofreOptions>): Cofre =>
    new Cofre({
      url: server.url,
      integrationKey: server.integrationKey,
      runtime,
      ...options,
    });
  return {
    server,
    client,
    waits,
    clientWith,
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

/** Longer times are limits of attempts, which remain as they are. */
const longestPauseMs = 31_000;

function hurried(waits: number[]): Runtime["after"] {
  return (ms, run) => {
    const isPause = ms < longestPauseMs;
    if (isPause) waits.push(ms);
    const timer = setTimeout(run, isPause ? Math.min(ms, 20) : ms);
    return () => clearTimeout(timer);
  };
}

/** A charge in Peru, which requires the fewest fields. */
export function order(code: string, changes: Partial<Charge> = {}): Charge {
  return testCharge(code, { country: "pe", ...changes });
}
