/// <reference lib="esnext.disposable" preserve="true" />
import { startCofre as startServer } from "./app.ts";
import { baseUrl } from "./cli/banner.ts";
import { CofreClient } from "./cli/cofre-client.ts";
import { readConfig } from "./config/read-config.ts";
import { Secret } from "./kernel/secret.ts";
import { systemScheduler } from "./kernel/system-scheduler.ts";
import { type Faults, faultsOf } from "./library-faults.ts";
import { given, needed } from "./library-options.ts";
import type { AccountSettings, SimulatorSettings } from "./merchant/account.ts";
import type { NotificationChaos, NotificationEndpoint } from "./notification/endpoint.ts";

/** All of it may be left out. */
export interface CofreOptions {
  /** On 127.0.0.1; a free one unless given. */
  readonly port?: number;
  /** Made unless given, 1 to 100 characters. */
  readonly integrationKey?: string;
  readonly publicIntegrationKey?: string;
  /**
   * How long the simulated acquirer may take before an outcome is unknown, 100 to 600000
   * milliseconds; 30 seconds unless given.
   */
  readonly acquirerTimeoutMs?: number;
  /**
   * `any` stores and charges every card number. Default: only published test numbers and numbers of
   * test ranges.
   */
  readonly sandboxCards?: "test" | "any";
  /**
   * Is given what Cofre does, event by event; nothing is logged without it. What it throws is
   * nobody's to catch, and nothing is left undone for it.
   */
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
  /** What goes wrong with the account's next requests. */
  readonly faults: Faults;
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
    /**
     * All that happened to it, in the order of time: requests, facts with their postings, acquirer
     * calls, notifications and attempts.
     */
    timeline(codeOrHash: string): Promise<PaymentTimeline>;
  };
}

/** An account in memory whose time you move. Worlds know nothing of each other. */
export interface World extends Sandbox {
  readonly id: string;
  readonly name: string;
  /** Worlds with one seed answer the same requests alike. */
  readonly seed: string;
  readonly clock: {
    now(): Promise<Date>;
    /**
     * Moves the time on by `10s`, `30min`, `36h`, `4d` or `14months`, or to when something falls
     * due `next`. Resolves when all of it is done.
     */
    advance(span: string): Promise<Done>;
    /** Moves the time to this one. Set back, nothing is done. */
    set(to: Date): Promise<Done>;
    /** true: the time goes on by itself. */
    run(running: boolean): Promise<void>;
  };
  /** Begins anew, with the same keys. */
  reset(): Promise<void>;
  /** Keeps what the world is now under a name: up to 50 letters, digits and . _ -. Ten at most. */
  snapshot(name: string): Promise<void>;
  /** Makes the world what was kept under this name. */
  restore(name: string): Promise<void>;
  /** Lets the world go. Its keys open nothing any more. */
  delete(): Promise<void>;
}

/** What was done while the time was moved. */
export interface Done {
  /**
   * Changes of payments: captures that lapsed, refunds that were sent, outcomes that were found
   * out.
   */
  readonly payments: number;
  /** Attempts to deliver notifications, whatever came of them. */
  readonly deliveries: number;
  /** Stored cards that were forgotten. */
  readonly cards: number;
}

/** All of it may be left out. */
export interface WorldOptions {
  readonly name?: string;
  readonly seed?: string;
  /** When it begins: now unless given, and the beginning of 2026 with a seed. */
  readonly clock?: Date;
  /** Whether its time goes on by itself: not with a seed or a clock, unless it is said. */
  readonly running?: boolean;
  readonly integrationKey?: string;
  readonly publicIntegrationKey?: string;
  readonly settings?: SettingsChanges;
}

/** A running Cofre, with the account that it began with. */
export interface Cofre extends Sandbox {
  readonly worlds: {
    /** Makes one, in a millisecond. */
    create(options?: WorldOptions): Promise<World>;
    /** Those that there are, oldest first. */
    list(): Promise<readonly World[]>;
  };
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
  | {
      readonly next:
        | "lose_request"
        | "lose_answer"
        | "late_answer"
        | "double_request"
        | "echo_card";
    }
  /** Reasons such as `insufficient_funds` or `expired_card`. */
  | { readonly next: "decline"; readonly reason: string }
);

export type SettingsChanges = Partial<
  Omit<AccountSettings, "simulator" | "notificationChaos" | "notificationEndpoints">
> & {
  readonly simulator?: Partial<SimulatorSettings>;
  readonly notificationChaos?: Partial<NotificationChaos>;
  readonly notificationEndpoints?: readonly (Pick<NotificationEndpoint, "id" | "url"> &
    Partial<Pick<NotificationEndpoint, "enabled" | "signatures" | "hashesPerCall">>)[];
};

/** A notification on its way to one receiver. */
export interface NotificationDelivery {
  readonly endpoint: string;
  readonly state: string;
  readonly attempts: number;
  readonly outcome?: string;
  /** UTC; of one that waits. */
  readonly due_at?: string;
  /** The lowest number of those that it goes together with in one message. */
  readonly message?: number;
}

export interface CofreNotification {
  readonly number: number;
  readonly notification_type: string;
  readonly hash: string;
  /** UTC, `YYYY-MM-DD HH:MM:SS`. */
  readonly at: string;
  readonly deliveries: readonly NotificationDelivery[];
}

export type ResendSelection =
  | { readonly failedFrom: number }
  | { readonly hash: string }
  /** Numbers, both included. */
  | { readonly from: number; readonly to: number };

export interface ExplainedPayment {
  readonly hash: string;
  readonly state: string;
  readonly facts: readonly {
    readonly version: number;
    readonly at: string;
    readonly fact: string;
    readonly [detail: string]: unknown;
  }[];
  readonly postings: readonly Readonly<Record<string, unknown>>[];
  /** Amounts are decimal text. */
  readonly money: readonly { readonly currency: string; readonly [position: string]: string }[];
  readonly price: readonly PaymentPrice[];
  readonly problems: readonly string[];
}

/**
 * How the amount of a payment, of what was captured, or of what went back came to what it is in the
 * country's currency.
 */
export interface PaymentPrice {
  readonly of: "payment" | "captured" | "returned";
  /** Decimal text, as is local. */
  readonly amount: string;
  readonly currency: string;
  readonly local: string;
  readonly local_currency: string;
  /** The sum, as a sentence. */
  readonly text: string;
}

export interface PaymentTimeline {
  readonly hash: string;
  readonly merchant_payment_code: string;
  readonly state: string;
  readonly recording: {
    /**
     * Requests, acquirer calls and attempts before this moment may be missing; null when none are
     * recorded.
     */
    readonly since: string | null;
    /** Nothing about the payment is missing. */
    readonly complete: boolean;
    /** Older ones of this payment that are recorded and not shown. */
    readonly left_out: number;
  };
  readonly entries: readonly TimelineEntry[];
  readonly price: readonly PaymentPrice[];
  /** What should hold of the books and does not: never any. */
  readonly problems: readonly string[];
  /** As /ws/query shows it. */
  readonly payment: Readonly<Record<string, unknown>>;
}

export type TimelineEntry = {
  /** UTC, such as `2026-01-31T12:00:00.000Z`. */
  readonly at: string;
  /** One sentence. */
  readonly text: string;
} & (
  | { readonly kind: "request"; readonly data: TimelineRequest }
  | { readonly kind: "fact"; readonly data: TimelineFact }
  | { readonly kind: "call"; readonly data: TimelineCall }
  | { readonly kind: "notification"; readonly data: TimelineNotification }
  | { readonly kind: "attempt"; readonly data: TimelineAttempt }
);

export interface TimelineRequest {
  /** Counts up from 1 within the account. */
  readonly number: number;
  readonly at: string;
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly key: "secret" | "public";
  /**
   * Those that may be shown: card numbers as their masks, no security codes, tokens by their first
   * eight characters.
   */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly parameters_left_out: number;
  readonly hash: string | null;
  readonly merchant_payment_code: string | null;
  /** null while there is none, and when it is longer than what is kept. */
  readonly answer: Readonly<Record<string, unknown>> | null;
  readonly answer_begins?: string;
  readonly http_status?: number;
  /** Of a refusal. */
  readonly status_code?: string | null;
  readonly duration_ms?: number;
  /** It got the answer of an earlier one with its Idempotency-Key. */
  readonly replayed?: boolean;
}

export interface TimelineFact {
  /** Of the payment: facts of one version were committed together. */
  readonly version: number;
  readonly fact: string;
  readonly by: "merchant" | "recovery" | "clock" | "operator";
  /** The attempt it belongs to; of a refund the refund's id. */
  readonly attempt?: number;
  /** What was booked with it. Amounts are decimal text, debits positive. */
  readonly postings: readonly {
    readonly kind: string;
    readonly account: string;
    readonly currency: string;
    readonly amount: string;
    readonly balance: string;
  }[];
  readonly [detail: string]: unknown;
}

export interface TimelineCall {
  readonly connector: string;
  readonly kind: "authorize" | "capture" | "void" | "refund" | "verify" | "reverse" | "inquire";
  readonly sent_at: string;
  readonly reference: string;
  readonly original_reference?: string;
  /** Decimal text. */
  readonly amount?: string;
  readonly currency?: string;
  readonly capture?: boolean;
  readonly brand?: string;
  readonly masked_card_number?: string;
  /** null while there is no answer. */
  readonly answered_at: string | null;
  readonly duration_ms?: number;
  /** `approved`, `declined` with a `reason`, `unknown` with a `cause`, and others. */
  readonly outcome: { readonly kind: string; readonly [detail: string]: string | boolean } | null;
}

export interface TimelineNotification {
  readonly number: number;
  readonly notification_type: string;
  readonly deliveries: readonly NotificationDelivery[];
}

export interface TimelineAttempt {
  readonly number: number;
  readonly notification_type: string;
  readonly endpoint: string;
  readonly url: string;
  /** From 1, since the notification or its replay was asked for. */
  readonly attempt: number;
  /** An HTTP status, or a word. */
  readonly outcome: string;
  readonly verdict: "delivered" | "again" | "given_up" | "gone";
  readonly due_at?: string;
}

/** A test that ends must not wait for a request that hangs, in milliseconds. */
const shutdownTimeoutMs = 1_000;

/**
 * Starts a Cofre in this process: on 127.0.0.1 only, with everything in memory, which is gone after
 * `close`. It reads no environment variable and no file. As many as you like run at once. Rejects
 * with a TypeError when an option cannot be, and as listening does.
 */
export async function startCofre(options: CofreOptions = {}): Promise<Cofre> {
  const { log } = checked(options);
  const server = await startServer(configOf(options), { write: logOf(log) });
  const { address, firstStart } = server;
  if (firstStart === undefined)
    throw new Error("a Cofre in memory begins with an account of its own");
  const { integrationKey, publicIntegrationKey } = firstStart;
  const url = baseUrl(address.host, address.port);
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= server.close().then(() => undefined));
  return {
    address,
    url,
    ...sandboxOf(new CofreClient(url, new Secret(integrationKey), systemScheduler), {
      integrationKey,
      publicIntegrationKey,
    }),
    worlds: worldsAt(url),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** JavaScript has no types, and a name with a slip in it would have its default without a word. */
function checked(options: CofreOptions): CofreOptions {
  for (const [name, value] of Object.entries(given(options)) as [string, unknown][]) {
    const kinds = optionKinds.get(name);
    if (kinds === undefined)
      throw new TypeError(`${name} is no option. There are ${[...optionKinds.keys()].join(", ")}.`);
    if (value !== undefined && !kinds.includes(typeof value))
      throw new TypeError(`${name} must be a ${kinds[0]}.`);
  }
  return options;
}

/** As it is when this is loaded (kernel/system-scheduler.ts). */
const soon = queueMicrotask;

/**
 * What somebody's function throws is theirs: it ends nothing that is under way here, and is not
 * hidden either.
 */
function logOf(log: CofreOptions["log"]): (event: CofreLogEvent) => void {
  return (event) => {
    try {
      log?.(event);
    } catch (error) {
      soon(() => {
        throw error;
      });
    }
  };
}

const variables = [
  ["port", "COFRE_PORT"],
  ["integrationKey", "COFRE_SANDBOX_INTEGRATION_KEY"],
  ["publicIntegrationKey", "COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY"],
  ["acquirerTimeoutMs", "COFRE_ACQUIRER_TIMEOUT_MS"],
  ["sandboxCards", "COFRE_SANDBOX_CARDS"],
] as const satisfies readonly (readonly [option: keyof CofreOptions, variable: string])[];

/** Numbers may come as text, as the environment has them. */
const optionKinds: ReadonlyMap<string, readonly [string, ...string[]]> = new Map(
  Object.entries({
    port: ["number", "string"],
    integrationKey: ["string"],
    publicIntegrationKey: ["string"],
    acquirerTimeoutMs: ["number", "string"],
    sandboxCards: ["string"],
    log: ["function"],
  } satisfies Record<keyof CofreOptions, readonly [string, ...string[]]>),
);

function configOf(options: CofreOptions) {
  const values = variables.map(([name, variable]) => {
    const value = options[name];
    return [variable, value === undefined ? undefined : String(value)] as const;
  });
  const reading = readConfig({
    environment: {
      COFRE_PORT: "0",
      COFRE_DATA_DIR: ":memory:",
      COFRE_SHUTDOWN_TIMEOUT_MS: String(shutdownTimeoutMs),
      ...Object.fromEntries(values.filter(([, value]) => value !== undefined)),
    },
    flags: new Map(),
    readFile: () => ({ problem: "is not read here" }),
  });
  if ("config" in reading) return reading.config;
  const problems = reading.problems.join(" ");
  throw new TypeError(
    variables.reduce((text: string, [name, variable]) => text.replaceAll(variable, name), problems),
  );
}

/**
 * Throws when it has no time. Test runners have Dates of their own, so nobody is asked whether it
 * is ours.
 */
function textOf(time: Date): string {
  if (
    typeof (time as Partial<Date> | null | undefined)?.getTime !== "function" ||
    Number.isNaN(time.getTime())
  )
    throw new TypeError("A time of a world must be a valid Date.");
  return time.toISOString();
}

/** What a Cofre of this version tells of a world. */
interface ToldWorld {
  readonly id: string;
  readonly name: string;
  readonly seed: string;
  readonly integration_key: string;
  readonly public_integration_key: string;
}

function worldsAt(url: string): Cofre["worlds"] {
  const keyless = new CofreClient(url, new Secret(""), systemScheduler);
  return {
    async create(asked = {}) {
      const { clock, integrationKey, publicIntegrationKey, ...options } = given(asked);
      const told = await keyless.createWorld({
        ...options,
        ...(clock === undefined ? {} : { clock: textOf(clock) }),
        ...(integrationKey === undefined ? {} : { new_integration_key: integrationKey }),
        ...(publicIntegrationKey === undefined
          ? {}
          : { new_public_integration_key: publicIntegrationKey }),
      });
      return worldOf(url, told as object as ToldWorld);
    },
    list: async () =>
      (await keyless.worlds()).map((told) => worldOf(url, told as object as ToldWorld)),
  };
}

function worldOf(
  url: string,
  {
    id,
    name,
    seed,
    integration_key: integrationKey,
    public_integration_key: publicIntegrationKey,
  }: ToldWorld,
): World {
  const client = new CofreClient(url, new Secret(integrationKey), systemScheduler);
  const move = async (fields: Readonly<Record<string, unknown>>): Promise<Done> => {
    const sum = { payments: 0, deliveries: 0, cards: 0 };
    for (let next: Readonly<Record<string, unknown>> | undefined = fields; next !== undefined;) {
      const answer = await client.clock(next);
      const done = answer["done"] as Done;
      for (const name of ["payments", "deliveries", "cards"] as const) sum[name] += done[name];
      // More fell due than one call goes through.
      next = answer["complete"] === false ? { set: answer["to"] } : undefined;
    }
    return sum;
  };
  return {
    ...sandboxOf(client, { integrationKey, publicIntegrationKey }),
    id,
    name,
    seed,
    clock: {
      now: async () => new Date(((await client.clock())["clock"] as { readonly now: string }).now),
      advance: async (span) => move({ advance: needed({ span }).span }),
      set: async (to) => move({ set: textOf(to) }),
      run: async (running) => void (await client.clock({ run: needed({ running }).running })),
    },
    reset: async () => void (await client.world({ do: "reset" })),
    snapshot: async (kept) => void (await client.world({ do: "snapshot", name: kept })),
    restore: async (kept) => void (await client.world({ do: "restore", name: kept })),
    delete: () => client.deleteWorld(),
  };
}

function sandboxOf(client: CofreClient, keys: Sandbox["keys"]): Sandbox {
  return {
    integrationKey: keys.integrationKey,
    keys,
    simulator: {
      next: async (asked) => {
        const { times, ...instruction } = given(asked);
        return client.simulate({
          ...instruction,
          ...(times === undefined ? {} : { times: String(times) }),
        });
      },
    },
    faults: faultsOf(client),
    // What a Cofre of this version answers has these types.
    settings: {
      get: async () => (await client.settings()) as object as AccountSettings,
      set: async (changes) => (await client.settings(changes)) as object as AccountSettings,
    },
    notifications: {
      list: async (selection = {}) => {
        const { after = 0 } = given(selection);
        return (await client.notifications(after)) as object as readonly CofreNotification[];
      },
      resend: async (selection) => client.replayAll(selectionOf(needed(selection))),
    },
    payments: {
      explain: async (codeOrHash) =>
        (await client.explain(codeOrHash)) as object as ExplainedPayment,
      timeline: async (codeOrHash) =>
        (await client.timeline(codeOrHash)) as object as PaymentTimeline,
    },
  };
}

function selectionOf(selection: ResendSelection): Readonly<Record<string, string>> {
  if ("failedFrom" in selection) return { replay: "failed", from: String(selection.failedFrom) };
  if ("hash" in selection) return { replay: "payment", hash: selection.hash };
  return { replay: "range", from: String(selection.from), to: String(selection.to) };
}
