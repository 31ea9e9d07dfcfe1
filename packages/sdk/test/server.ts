import { type Cofre as Server, startCofre } from "@cofre/server";
import { Card, Cofre, type Charge, type CofreOptions, type Runtime } from "../src/index.ts";
import { customers } from "../src/generated/test-data.ts";

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
  const server = await startCofre({ acquirerTimeoutMs: 300 });
  const waits: number[] = [];
  const clientWith = (options: Partial<CofreOptions>): Cofre =>
    new Cofre({
      url: server.url,
      integrationKey: server.integrationKey,
      runtime: { after: hurried(waits) },
      ...options,
    });
  return {
    server,
    client: clientWith({}),
    waits,
    clientWith,
    [Symbol.asyncDispose]: () => server.close(),
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

export const testCard = (): Card =>
  new Card({
    number: "4111 1111 1111 1111",
    holderName: "Ana Lima",
    expires: "12/2060",
    securityCode: "123",
  });

export function order(code: string, changes: Partial<Charge> = {}): Charge {
  return {
    code,
    amount: "100.00",
    currency: "PEN",
    country: "pe",
    card: testCard(),
    customer: customers.pe,
    ...changes,
  };
}
