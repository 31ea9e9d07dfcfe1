/// <reference lib="esnext.disposable" preserve="true" />
import { startCofre as startServer } from "./app.ts";
import { baseUrl } from "./cli/banner.ts";
import { CofreClient } from "./cli/cofre-client.ts";
import { readConfig } from "./config/read-config.ts";
import { Secret } from "./kernel/secret.ts";
import { systemScheduler } from "./kernel/system-scheduler.ts";
import type { AccountSettings, SimulatorSettings } from "./merchant/account.ts";
import type { NotificationChaos } from "./outbox/endpoint.ts";

/** All of it may be left out. */
export interface CofreOptions {
  /** On 127.0.0.1; a free one unless given. */
  readonly port?: number;
  /** Made unless given, 1 to 100 characters. */
  readonly integrationKey?: string;
  readonly publicIntegrationKey?: string;
  /** How long the simulated acquirer may take before an outcome is unknown, 100 to 600000 milliseconds; 30 seconds unless given. */
  readonly acquirerTimeoutMs?: number;
  /** Is given what Cofre does, event by event; nothing is logged without it. */
  readonly log?: (event: CofreLogEvent) => void;
}

/** The events are listed in docs/operate/logs.md. */
export interface CofreLogEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

/** A sandbox account with its own keys, switches, payments and simulated acquirer. */
export interface Sandbox {
  /** The secret key. */
  readonly integrationKey: string;
  /** The secret key and the one for browsers. */
  readonly keys: { readonly integrationKey: string; readonly publicIntegrationKey: string };
  readonly simulator: {
    /** What happens to the account's next messages to the acquirer. */
    next(instruction: SimulatorInstruction): Promise<void>;
  };
  readonly settings: {
    get(): Promise<AccountSettings>;
    /** Changes those that are named, and resolves with all of them. */
    set(changes: SettingsChanges): Promise<AccountSettings>;
  };
  readonly notifications: {
    /** Some hundreds, from after this number. */
    list(selection?: { readonly after?: number }): Promise<readonly CofreNotification[]>;
    /** Resolves with how many deliveries will be made again. */
    resend(selection: ResendSelection): Promise<number>;
  };
  readonly payments: {
    /** A payment's state, money and history, by your `merchant_payment_code` or by its hash. */
    explain(codeOrHash: string): Promise<ExplainedPayment>;
  };
}

/** A running Cofre, with the account that it began with. */
export interface Cofre extends Sandbox {
  readonly address: { readonly host: string; readonly port: number };
  /** Such as `http://127.0.0.1:40001`, without a slash at its end. */
  readonly url: string;
  /** Resolves when nothing is left open. May be called again. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export type SimulatorInstruction = {
  /** 1 unless given. */
  readonly times?: number;
  /** Of this kind only; of any unless given. */
  readonly of?: "authorize" | "verify" | "capture" | "void" | "refund" | "reverse" | "inquire";
} & (
  | { readonly next: "lose_request" | "lose_answer" | "late_answer" | "double_request" }
  /** Reasons such as `insufficient_funds` or `expired_card`. */
  | { readonly next: "decline"; readonly reason: string }
);

export type SettingsChanges = Partial<Omit<AccountSettings, "simulator" | "notificationChaos" | "notificationEndpoints">> & {
  readonly simulator?: Partial<SimulatorSettings>;
  readonly notificationChaos?: Partial<NotificationChaos>;
  readonly notificationEndpoints?: readonly { readonly id: string; readonly url: string; readonly enabled?: boolean }[];
};

export interface CofreNotification {
  readonly number: number;
  readonly notification_type: string;
  readonly hash: string;
  /** UTC, `YYYY-MM-DD HH:MM:SS`. */
  readonly at: string;
  readonly deliveries: readonly {
    readonly endpoint: string;
    readonly state: string;
    readonly attempts: number;
    readonly outcome?: string;
    readonly due_at?: string;
  }[];
}

export type ResendSelection =
  | { readonly failedFrom: number }
  | { readonly hash: string }
  /** Numbers, both included. */
  | { readonly from: number; readonly to: number };

export interface ExplainedPayment {
  readonly hash: string;
  readonly state: string;
  readonly facts: readonly { readonly version: number; readonly at: string; readonly fact: string; readonly [detail: string]: unknown }[];
  readonly postings: readonly Readonly<Record<string, unknown>>[];
  /** Amounts are decimal text. */
  readonly money: readonly { readonly currency: string; readonly [position: string]: string }[];
  readonly problems: readonly string[];
}

/** A test that ends must not wait for a request that hangs, in milliseconds. */
const shutdownGraceMs = 1_000;

/**
 * Starts a Cofre in this process: on 127.0.0.1 only, with everything in memory, which is gone after `close`. It reads no environment variable and
 * no file. As many as you like run at once. Rejects with a TypeError when an option cannot be, and as listening does.
 */
export async function startCofre(options: CofreOptions = {}): Promise<Cofre> {
  const { log } = options;
  const server = await startServer(configOf(options), { write: (event) => log?.(event) });
  const { address, firstStart } = server;
  if (firstStart === undefined) throw new Error("a Cofre in memory begins with an account of its own");
  const { integrationKey, publicIntegrationKey } = firstStart;
  const url = baseUrl(address.host, address.port);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= server.close().then(() => undefined));
  return {
    address,
    url,
    ...sandboxOf(new CofreClient(url, new Secret(integrationKey), systemScheduler), { integrationKey, publicIntegrationKey }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

const variables = {
  port: "COFRE_PORT",
  integrationKey: "COFRE_SANDBOX_INTEGRATION_KEY",
  publicIntegrationKey: "COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY",
  acquirerTimeoutMs: "COFRE_ACQUIRER_TIMEOUT_MS",
} as const satisfies Partial<Record<keyof CofreOptions, string>>;

function configOf(options: CofreOptions) {
  const given = Object.entries(variables).map(([name, variable]) => {
    const value = options[name as keyof typeof variables];
    return [variable, value === undefined ? undefined : String(value)] as const;
  });
  const reading = readConfig({
    environment: {
      COFRE_PORT: "0",
      COFRE_DATA_DIR: ":memory:",
      COFRE_SHUTDOWN_GRACE_MS: String(shutdownGraceMs),
      ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
    },
    flags: new Map(),
    readFile: () => ({ problem: "is not read here" }),
  });
  if ("config" in reading) return reading.config;
  const problems = reading.problems.join(" ");
  throw new TypeError(Object.entries(variables).reduce((text, [name, variable]) => text.replaceAll(variable, name), problems));
}

function sandboxOf(client: CofreClient, keys: Sandbox["keys"]): Sandbox {
  return {
    integrationKey: keys.integrationKey,
    keys,
    simulator: {
      next: ({ times, ...instruction }) => client.simulate({ ...instruction, ...(times === undefined ? {} : { times: String(times) }) }),
    },
    // What a Cofre of this version answers has these types.
    settings: {
      get: async () => (await client.settings()) as object as AccountSettings,
      set: async (changes) => (await client.settings(changes)) as object as AccountSettings,
    },
    notifications: {
      list: async ({ after = 0 } = {}) => (await client.notifications(after)) as object as readonly CofreNotification[],
      resend: (selection) => client.replayAll(selectionOf(selection)),
    },
    payments: {
      explain: async (codeOrHash) => (await client.explain(codeOrHash)) as object as ExplainedPayment,
    },
  };
}

function selectionOf(selection: ResendSelection): Readonly<Record<string, string>> {
  if ("failedFrom" in selection) return { replay: "failed", from: String(selection.failedFrom) };
  if ("hash" in selection) return { replay: "payment", hash: selection.hash };
  return { replay: "range", from: String(selection.from), to: String(selection.to) };
}
