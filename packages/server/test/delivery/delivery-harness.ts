import assert from "node:assert/strict";
import { type Instant, second } from "../../src/kernel/instant.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { JobReads, type ReadFailure } from "../../src/kernel/job-reads.ts";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { allSlots } from "../../src/kernel/slot-assignment.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import {
  type DeliveryEvent,
  Dispatcher,
  type DispatcherParts,
  type NotificationAccounts,
} from "../../src/delivery/dispatcher.ts";
import {
  batchingTargets,
  noChaos,
  type NotificationEndpoint,
  type NotificationSettings,
  withEndpointGone,
  targetsOf,
  type NotificationChaos,
} from "../../src/notification/endpoint.ts";
import type { NotificationKind } from "../../src/notification/events.ts";
import type { SendOutcome, SendRequest } from "../../src/delivery/sender.ts";
import type { Payment } from "../../src/payment/payment.ts";
import {
  createMemoryStore,
  type MemoryStoreOptions,
} from "../../src/stores/memory/memory-store.ts";
import { type Store, StoreError } from "../../src/stores/store.ts";
import * as given from "../contract/store-fixtures.ts";
import { Chance } from "../support/chance.ts";
import { SimTime } from "../support/sim-time.ts";

/** A message as a receiver got it. */
export interface Received {
  readonly at: Instant;
  readonly url: string;
  readonly id: string;
  readonly number: number;
  readonly attempt: number;
  readonly hash: string;
  /** All notifications of the message, in order; the first ones are `number` and `hash`. */
  readonly numbers: readonly number[];
  readonly hashes: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly answered: SendOutcome;
}

/** Far more calls than a faulty store refuses in a row. */
const maxAttempts = 1_000;

/** A receiver's answer: the outcome, and its delay. */
export type Answer = (message: Omit<Received, "answered">) => {
  readonly outcome: SendOutcome;
  readonly afterMs: number;
};

export const ok: SendOutcome = { kind: "answered", status: 200, retryAfter: undefined };

export function status(code: number, retryAfter?: string): SendOutcome {
  return { kind: "answered", status: code, retryAfter };
}

export function endpoint(
  id: string,
  over: Partial<NotificationEndpoint> = {},
): NotificationEndpoint {
  return { id, url: `https://${id}.example/notify`, enabled: true, secretVersion: 1, ...over };
}

/** Called before and after each external call of a process; true kills the process there. */
type Step = (what: string) => boolean;

export interface DeliveryHarnessOptions {
  readonly answer?: Answer;
  readonly store?: MemoryStoreOptions;
  readonly seed?: number;
  /** Days of virtual time are polled less often than seconds. */
  readonly pollMs?: number;
}

/**
 * A dispatcher on a memory store in virtual time, with receivers under the test's control. Stored
 * data survives `kill`; the killed process never receives another result.
 */
export class DeliveryHarness {
  readonly time: SimTime;
  readonly store: Store;
  readonly received: Received[] = [];
  readonly events: DeliveryEvent[] = [];
  readonly alarms: string[] = [];
  /** How many messages arrived before the store returned their notification. */
  early = 0;
  answer: Answer;
  /** Called at each step of a running dispatcher: true kills it there. */
  step: Step = () => false;
  /**
   * Called at each read of a running dispatcher, with the merchant if there is one: true makes the
   * read fail.
   */
  fails: (read: string, merchantId?: MerchantId) => boolean = () => false;
  /** The dispatcher's own report on its reads. */
  readonly reads: JobReads;
  readonly failures: ReadFailure[] = [];
  /** Store calls by dispatchers, by method. */
  readonly calls = new Map<string, number>();
  readonly #settings = new Map<
    MerchantId,
    NotificationSettings & { readonly accountVersion: number }
  >();
  readonly #seed: number;
  readonly #pollMs: number;
  #process: { readonly dispatcher: Dispatcher; readonly life: { dead: boolean } } | undefined;
  #payments = 0;

  constructor({
    answer = () => ({ outcome: ok, afterMs: 20 }),
    store = {},
    seed = 1,
    pollMs = second,
  }: DeliveryHarnessOptions = {}) {
    this.time = new SimTime(new Chance(seed));
    this.store = createMemoryStore({ scheduler: this.time, ...store });
    this.reads = new JobReads(this.time, (failure) => void this.failures.push(failure));
    this.answer = answer;
    this.#seed = seed;
    this.#pollMs = pollMs;
  }

  account(
    merchantId: MerchantId,
    endpoints: readonly NotificationEndpoint[],
    chaos: Partial<NotificationChaos> = {},
  ): void {
    this.#change(merchantId, { endpoints, chaos: { ...noChaos, ...chaos } });
  }

  /** Changes the settings like a change of the account, which the store observes. */
  #change(merchantId: MerchantId, settings: NotificationSettings): void {
    const accountVersion = (this.#settings.get(merchantId)?.accountVersion ?? 0) + 1;
    this.#settings.set(merchantId, { ...settings, accountVersion });
    void this.store
      .commit(given.accountChange(given.newAccount(merchantId, { version: accountVersion }), []))
      .catch(() => undefined);
  }

  endpointsOf(merchantId: MerchantId): readonly NotificationEndpoint[] {
    return this.#settings.get(merchantId)?.endpoints ?? [];
  }

  /** Commits a new payment without a notification. */
  async payment(merchantId: MerchantId, notificationUrl?: string): Promise<Payment> {
    this.#payments += 1;
    const plain = given.newPayment(this.#payments, { merchantId });
    const payment = { ...plain, order: { ...plain.order, notificationUrl } };
    for (let tries = 0; tries < maxAttempts; tries += 1) {
      const { outcome } = await this.store
        .commit(given.paymentChange(payment))
        .catch(() => ({ outcome: "failed" }));
      // A commit with unknown outcome returns as a duplicate of itself.
      if (outcome === "committed" || outcome === "duplicate") return payment;
    }
    throw new Error("the store commits a payment");
  }

  /**
   * Commits the payment's next version with a notification; undefined when that could not be
   * committed.
   */
  async notify(payment: Payment, kind: NotificationKind = "update"): Promise<Payment | undefined> {
    const next = { ...payment, version: payment.version + 1 };
    const endpoints = this.endpointsOf(payment.merchantId);
    const targets = targetsOf(endpoints, payment.order.notificationUrl);
    const change = given.paymentChange(next, {
      at: this.time.now(),
      notifications: [{ kind, paymentId: payment.id }],
      endpoints: targets,
      batchFor: batchingTargets(endpoints, targets),
    });
    const result = await this.store.commit(change).catch(() => undefined);
    if (result?.outcome !== "committed") return undefined;
    this.#process?.dispatcher.nudge(payment.merchantId, targets);
    return next;
  }

  /** One payment with one notification. */
  async event(merchantId: MerchantId, notificationUrl?: string): Promise<Payment> {
    const reported = await this.notify(await this.payment(merchantId, notificationUrl));
    assert.ok(reported !== undefined);
    return reported;
  }

  /** The payment as it is stored. */
  async reread(payment: Payment): Promise<Payment> {
    const stored = await this.#always(() => this.store.paymentById(payment.merchantId, payment.id));
    assert.ok(stored !== undefined);
    return stored;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  start(): void {
    const life = { dead: false };
    const dispatcher = new Dispatcher(this.#parts(() => life.dead));
    this.#process = { dispatcher, life };
    dispatcher.start();
  }

  nudge(): void {
    this.#process?.dispatcher.nudge();
  }

  kill(): void {
    if (this.#process !== undefined) this.#process.life.dead = true;
    this.#process = undefined;
  }

  async stop(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    await process?.dispatcher.stop();
  }

  async run(ms: number): Promise<void> {
    await this.time.run(ms, () => false, 5_000_000);
  }

  #parts(isDead: () => boolean): DispatcherParts {
    /**
     * Runs `work`, unless the process dies before or after it; then the result is never received.
     */
    const step = async <T>(
      what: string,
      work: () => Promise<T>,
      merchantId?: MerchantId,
    ): Promise<T> => {
      if (isDead() || this.#dies(`before ${what}`)) return never;
      this.calls.set(what, (this.calls.get(what) ?? 0) + 1);
      if (this.fails(what, merchantId)) throw new StoreError("unavailable");
      const result = await settled(work());
      if (isDead() || this.#dies(`after ${what}`)) return never;
      if ("error" in result) throw result.error;
      return result.value;
    };
    const scheduler: Scheduler = {
      sleep: (ms, signal) => this.time.sleep(ms, signal),
      after: (ms, task) =>
        this.time.after(ms, () => {
          if (!isDead()) task();
        }),
    };
    const accounts: NotificationAccounts = {
      settingsOf: async (merchantId) => this.#settings.get(merchantId),
      disable: async (merchantId, endpointId, at) => {
        const settings = this.#settings.get(merchantId);
        const endpoints = withEndpointGone(settings?.endpoints ?? [], endpointId, at);
        if (settings !== undefined && endpoints !== undefined)
          this.#change(merchantId, { ...settings, endpoints });
      },
    };
    const { store } = this;
    return {
      store: {
        merchantsDue: (now, after, limit, slots) =>
          step("merchantsDue", () => store.merchantsDue(now, after, limit, slots)),
        queuesDue: (merchantId, now, after, limit) =>
          step("queuesDue", () => store.queuesDue(merchantId, now, after, limit), merchantId),
        deliveriesDue: (to, now, limit) =>
          step("deliveriesDue", () => store.deliveriesDue(to, now, limit), to.merchantId),
        deliveriesOfMessage: (to, message) =>
          step("deliveriesOfMessage", () => store.deliveriesOfMessage(to, message)),
        paymentById: (merchantId, id) =>
          step("paymentById", () => store.paymentById(merchantId, id)),
        commit: (change) => step("commit", () => store.commit(change)),
      },
      accounts,
      sender: { send: (request, signal) => step("send", () => this.#receive(request, signal)) },
      sign: async ({ id, at }) => ({
        "webhook-id": id,
        "webhook-timestamp": String(at),
        "webhook-signature": "v1,AAAA",
      }),
      installation: "test",
      clock: this.time,
      random: new SeededRandom(`post office ${this.#seed}`),
      scheduler,
      slotAssignment: allSlots,
      report: (event) => void this.events.push(event),
      alarm: (what) => void this.alarms.push(what),
      pollMs: this.#pollMs,
      reads: this.reads.of("notifications"),
    };
  }

  #dies(what: string): boolean {
    if (this.#process === undefined || !this.step(what)) return false;
    this.kill();
    return true;
  }

  async #isCommitted(hash: string, number: number): Promise<boolean> {
    for (const merchantId of this.#settings.keys()) {
      const [row] = await this.#always(() => this.store.notificationsOf(merchantId, number - 1, 1));
      if (row?.paymentId === hash) return true;
    }
    return false;
  }

  /** Repeats a read of a store that sometimes fails until it succeeds. */
  async #always<T>(read: () => Promise<T>): Promise<T> {
    for (let tries = 0; tries < maxAttempts; tries += 1) {
      const result = await settled(read());
      if ("value" in result) return result.value;
    }
    throw new Error("the store answers a read");
  }

  async #receive(request: SendRequest, signal: AbortSignal | undefined): Promise<SendOutcome> {
    const { headers, url } = request;
    const numbers = (headers["X-Cofre-Sequence"] ?? "").split(",").map(Number);
    const hashes = (new URLSearchParams(request.body).get("hash_codes") ?? "").split(",");
    const message = {
      at: this.time.now(),
      url,
      id: headers["webhook-id"] ?? "",
      number: numbers[0] ?? 0,
      attempt: Number(headers["X-Cofre-Attempt"]),
      hash: hashes[0] ?? "",
      numbers,
      hashes,
      headers,
    };
    assert.equal(hashes.length, numbers.length);
    for (const [index, number] of numbers.entries())
      if (!(await this.#isCommitted(hashes[index] ?? "", number))) this.early += 1;
    const { outcome, afterMs } = this.answer(message);
    this.received.push({ ...message, answered: outcome });
    const late = afterMs >= request.timeoutMs;
    try {
      await this.time.sleep(Math.min(afterMs, request.timeoutMs), signal);
    } catch {
      return { kind: "failed", cause: "aborted" };
    }
    return late ? { kind: "failed", cause: "timeout" } : outcome;
  }
}

const never = new Promise<never>(() => undefined);

async function settled<T>(
  work: Promise<T>,
): Promise<{ readonly value: T } | { readonly error: unknown }> {
  try {
    return { value: await work };
  } catch (error) {
    return { error };
  }
}

/** Every delivery of an account. */
export async function deliveriesOf(
  store: Store,
  merchantId: MerchantId,
): Promise<Awaited<ReturnType<Store["deliveriesOf"]>>> {
  return store.deliveriesOf(merchantId, 1, 1_000_000);
}
