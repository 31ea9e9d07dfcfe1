/// <reference lib="esnext.disposable" preserve="true" />
/** A sandbox in the process of a test, with clients. Needs the package `@cofre/server`. */
import {
  type Cofre as Server,
  type CofreOptions as ServerOptions,
  startCofre,
  type World,
  type WorldOptions,
} from "@cofre/server";
import { Card } from "./card.ts";
import { type Charge, Cofre } from "./cofre.ts";
import { cardNumbers, currencies, customers } from "./generated/test-data.ts";
import type { Country } from "./generated/types.ts";
import type { CofreOptions } from "./transport.ts";

export { currencies, customers } from "./generated/test-data.ts";

/** Options of the clients of a sandbox. */
export type ClientOptions = Omit<CofreOptions, "url" | "integrationKey">;

export interface SandboxOptions {
  readonly server?: ServerOptions | undefined;
  readonly client?: ClientOptions | undefined;
}

/** A server in this process on a free port of this machine, with all data in memory. */
export interface Sandbox {
  /** A client of the server's first account. */
  readonly client: Cofre;
  /** Its `faults`, `simulator`, `settings`, `notifications` and `payments` control the sandbox. */
  readonly server: Server;
  /** Creates an isolated account with a clock of its own. */
  world(options?: WorldOptions): Promise<SandboxWorld>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface SandboxWorld {
  readonly client: Cofre;
  /** In addition to the parts of a server: `clock.advance("4d")`, `snapshot`, `restore`. */
  readonly world: World;
}

/** Starts a server and a client. Any number can run at once. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const server = await startCofre(options.server ?? {});
  const clientOf = (integrationKey: string): Cofre =>
    new Cofre({ ...options.client, url: server.url, integrationKey });
  const close = (): Promise<void> => server.close();
  return {
    client: clientOf(server.integrationKey),
    server,
    async world(worldOptions = {}) {
      const world = await server.worlds.create(worldOptions);
      return { client: clientOf(world.integrationKey), world };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/**
 * A published test card that the simulated issuer decides about in this way. Every country accepts
 * the brands of `approved`, `insufficient_funds` and `invalid_card`; Brazil those of the others.
 */
export function testCard(result: keyof typeof cardNumbers = "approved"): Card {
  return new Card({
    number: cardNumbers[result],
    holderName: "Ana Lima",
    expires: "12/2060",
    securityCode: cardNumbers[result].startsWith("3") ? "1234" : "123",
  });
}

/** A charge of 100 in the country's currency, with a fictitious customer that it accepts. */
export function testCharge(
  code: string,
  { country = "br", ...changes }: Partial<Charge> & { readonly country?: Country } = {},
): Charge {
  return {
    code,
    amount: "100.00",
    currency: currencies[country],
    country,
    card: testCard(),
    customer: customers[country],
    ...changes,
  };
}
