import type { AuthorizeOutcome, Connector } from "../../src/connectors/connector.ts";
import { connectorsOf } from "../../src/connectors/connector-set.ts";
import { createSimulator, type Simulator } from "../../src/connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { ServiceError, type ServiceErrorCode } from "../../src/kernel/service-error.ts";
import { SeededRandom } from "../../src/kernel/seeded-random.ts";
import { day, instant } from "../../src/kernel/instant.ts";
import { wholeShare } from "../../src/kernel/share.ts";
import type { Account, SimulatorSettings } from "../../src/merchant/account.ts";
import { AccountDirectory } from "../../src/operations/account-directory.ts";
import type { Operation } from "../../src/operations/operation.ts";
import { Runner } from "../../src/operations/runner.ts";
import { RecoveryJob } from "../../src/recovery/recovery-job.ts";
import type { Change } from "../../src/stores/change.ts";
import { type CommitFault, createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import type { Store } from "../../src/stores/store.ts";
import { lapsesAt } from "../../src/payment/due.ts";
import { CvvPocket } from "../../src/vault/cvv-pocket.ts";
import type { Vault } from "../../src/vault/vault.ts";
import { Auditor } from "./auditor.ts";
import { Chance } from "./chance.ts";
import type { Plan } from "./plan.ts";
import { SimTime } from "./sim-time.ts";

export type Answer<T> =
  | { readonly kind: "answer"; readonly value: T }
  | { readonly kind: "refusal"; readonly code: ServiceErrorCode }
  /** The connection broke: the client knows nothing. */
  | { readonly kind: "lost" };

interface Process {
  readonly runner: Runner;
  readonly recovery: RecoveryJob;
  alive: boolean;
  /** Called when the process dies, for the clients whose connections break. */
  readonly onDeath: Set<() => void>;
}

const acquirerTimeoutMs = 30_000;
/** Long enough that what was about to be sent still is, hardly. */
const longestStallMs = 29_000;
const commitFaults = [
  "unavailable",
  "overloaded",
  "stale",
  "commit_unknown_not_applied",
  "commit_unknown_applied",
  "commit_unknown_applied_late",
  "slow",
] as const satisfies readonly CommitFault[];

/**
 * One Cofre with its acquirer, in virtual time: the product's own runner, operations, recovery, vault and memory store. What
 * outlives a crash is the store, the acquirer and the vault's keys; everything else belongs to the process that dies.
 */
export class Installation {
  readonly time: SimTime;
  readonly store: Store;
  /** The one that the purchases' instructions are for, and the second one. */
  readonly simulator: Simulator;
  readonly acquirers: readonly [Simulator, Simulator];
  readonly auditor: Auditor;
  readonly #plan: Plan;
  readonly #chance: Chance;
  readonly #vault: Vault;
  readonly #random: SeededRandom;
  /** The process that serves, and the one that was started last: the same but while it starts. */
  #process: Process | undefined;
  #starting: Process | undefined;
  #faultsOn = true;
  crashes = 0;
  /** How often the server has waited so far, before something took effect and after it. */
  waits = 0;
  /** Where exactly it dies, by number; without it chance says. */
  diesAt: ReadonlySet<number> | undefined;

  constructor(plan: Plan, vault: Vault) {
    this.#plan = plan;
    this.#chance = new Chance(plan.seed + 1);
    this.#vault = vault;
    this.#random = new SeededRandom(`simulation ${plan.seed}`);
    this.time = new SimTime(new Chance(plan.seed + 2));
    const ports = { clock: this.time, scheduler: this.time };
    this.simulator = createSimulator({ ...ports, seed: `acquirer ${plan.seed}`, ...plan.personality });
    this.acquirers = [this.simulator, createSimulator({ ...ports, seed: `second acquirer ${plan.seed}`, ...plan.personality })];
    const store = createMemoryStore({ scheduler: this.time, slowMs: 2_000, commitFault: (change) => this.#commitFault(change) });
    const { captureWindowDays, strictMandates } = plan.settings;
    this.auditor = new Auditor(store, this.acquirers, { captureWindowMs: captureWindowDays * day, strictMandates });
    this.store = this.auditor.watch(store);
  }

  start(): void {
    const process: Process = { ...this.#build(() => process), alive: true, onDeath: new Set() };
    this.#starting = process;
    this.auditor.note("a server starts");
    void process.recovery.start().then(() => {
      // Serves requests from now on.
      if (!process.alive) return;
      this.#process = process;
      this.auditor.note("the server serves");
    });
  }

  /** Ends the faults, and brings the server up if it is down. */
  heal(): void {
    this.#faultsOn = false;
    if (this.#starting?.alive !== true) this.start();
  }

  /** What a client gets that sends this now. */
  call<Input, Output>(operation: Operation<Input, Output>, account: Account, input: Input): Promise<Answer<Output>> {
    const process = this.#process;
    if (process === undefined) return this.time.sleep(5).then(() => ({ kind: "lost" }));
    return new Promise((resolve) => {
      const lost = (): void => resolve({ kind: "lost" });
      process.onDeath.add(lost);
      process.runner.run(operation, account, input).then(
        (value) => {
          process.onDeath.delete(lost);
          resolve({ kind: "answer", value });
        },
        (error: unknown) => {
          process.onDeath.delete(lost);
          if (error instanceof ServiceError) resolve({ kind: "refusal", code: error.code });
          else this.auditor.violation(`the runner rejects with a ServiceError, not ${String(error)}`);
        },
      );
    });
  }

  #build(process: () => Process): Pick<Process, "runner" | "recovery"> {
    const store = this.#storeOf(process);
    const [main, backup] = this.acquirers;
    const connectors = this.#plan.routed
      ? connectorsOf([this.#connectorOf(process, "main", main), this.#connectorOf(process, "backup", backup)])
      : connectorsOf([this.#connectorOf(process, "main", main)]);
    const accounts = new AccountDirectory(store, this.time);
    const scheduler = {
      sleep: (ms: number) => this.#whileAlive(process, this.time.sleep(ms)),
      after: (ms: number, task: () => void) =>
        this.time.after(ms, () => {
          if (process().alive) task();
        }),
    };
    const runner = new Runner({
      store,
      vault: this.#vault,
      connectors,
      pocket: new CvvPocket(this.#random),
      clock: this.time,
      random: this.#random,
      acquirerTimeoutMs,
      deliverTo: () => [],
      told: () => undefined,
      alarm: ({ kind, what }) => this.auditor.violation(`no alarm is raised: ${kind}: ${what}`),
    });
    const recovery = new RecoveryJob({
      store,
      runner,
      accounts,
      clock: this.time,
      scheduler,
      share: wholeShare,
      report: ({ kind, state }) => this.auditor.mark(`${kind} ${state}`),
    });
    return { runner, recovery };
  }

  #storeOf(process: () => Process): Store {
    const { store } = this;
    const step = <T>(call: () => Promise<T>): Promise<T> => this.#await(process, this.#plan.storeLatencyMs, call);
    return {
      accountByKey: (digest) => step(() => store.accountByKey(digest)),
      accountById: (merchant) => step(() => store.accountById(merchant)),
      accounts: () => step(() => store.accounts()),
      paymentById: (merchant, id) => step(() => store.paymentById(merchant, id)),
      paymentByCode: (merchant, code) => step(() => store.paymentByCode(merchant, code)),
      history: (merchant, id) => step(() => store.history(merchant, id)),
      paymentByRefund: (merchant, refund) => step(() => store.paymentByRefund(merchant, refund)),
      paymentByMandate: (merchant, mandateId) => step(() => store.paymentByMandate(merchant, mandateId)),
      paymentsDue: (now, limit, slots, after) => step(() => store.paymentsDue(now, limit, slots, after)),
      paymentsInFlight: (limit) => step(() => store.paymentsInFlight(limit)),
      paymentsListed: (merchantId, filter, page) => step(() => store.paymentsListed(merchantId, filter, page)),
      cardsAfter: (position, limit) => step(() => store.cardsAfter(position, limit)),
      namedRequest: (merchant, key) => step(() => store.namedRequest(merchant, key)),
      cardByToken: (merchant, digest) => step(() => store.cardByToken(merchant, digest)),
      notificationsAfter: (sequence, limit) => step(() => store.notificationsAfter(sequence, limit)),
      notificationsOf: (merchantId, number, limit) => step(() => store.notificationsOf(merchantId, number, limit)),
      notificationsOfPayment: (merchantId, id) => step(() => store.notificationsOfPayment(merchantId, id)),
      deliveriesOf: (merchantId, from, limit, state) => step(() => store.deliveriesOf(merchantId, from, limit, state)),
      endpointsDue: (now, after, limit, slots) => step(() => store.endpointsDue(now, after, limit, slots)),
      deliveriesDue: (to, now, limit) => step(() => store.deliveriesDue(to, now, limit)),
      holdSlots: (node, leaseMs, giveBack) => step(() => store.holdSlots(node, leaseMs, giveBack)),
      leaveSlots: (node) => step(() => store.leaveSlots(node)),
      commit: (change) => step(() => store.commit(change)),
      close: () => step(() => store.close()),
    };
  }

  #connectorOf(process: () => Process, name: string, simulator: Simulator): Connector {
    type Sent = { readonly merchantId: MerchantId; readonly reference: string; readonly simulator: SimulatorSettings };
    const send = <R extends Sent, T extends { readonly kind: string }>(
      what: string,
      request: R,
      call: (request: R) => Promise<T>,
    ): Promise<T> =>
      this.#await(process, 0, async () => {
        void this.auditor.sends(request.merchantId, request.reference);
        this.auditor.note(`to ${name}: ${what} ${request.reference}`);
        const outcome = await call(this.#overNetwork(request));
        this.auditor.note(`from ${name}: ${what} ${request.reference} is ${outcome.kind}`);
        return outcome;
      });
    return {
      name,
      capabilities: simulator.capabilities,
      authorize: (request, card) =>
        send("authorize", request, (sent) => {
          const no = name === "main" ? this.#certainNo() : undefined;
          return no === undefined ? simulator.authorize(sent, card) : Promise.resolve(no);
        }),
      verify: (request, card) => send("verify", request, (sent) => simulator.verify(sent, card)),
      capture: (request) => send("capture", request, (sent) => simulator.capture(sent)),
      void: (request) => send("void", request, (sent) => simulator.void(sent)),
      refund: (request) => send("refund", request, (sent) => simulator.refund(sent)),
      reverse: (request) => send("reverse", request, (sent) => simulator.reverse(sent)),
      inquire: (request) => send("inquire", request, (sent) => simulator.inquire(sent)),
    };
  }

  /** Now and then the acquirer is not reached, or says that it does not work. */
  #certainNo(): AuthorizeOutcome | undefined {
    if (!this.#faultsOn || !this.#chance.happens(this.#plan.certainNoPerMille)) return undefined;
    const declined = { kind: "declined", reason: "acquirer_error", responseCode: "96", adviceCode: undefined, refusedBeforeIssuer: true };
    return this.#chance.happens(500) ? { kind: "not_sent" } : (declined as AuthorizeOutcome);
  }

  /** The request over the plan's network, or over one without faults once they are over. */
  #overNetwork<R extends { readonly simulator: SimulatorSettings }>(request: R): R {
    if (this.#faultsOn) return request;
    return { ...request, simulator: { ...request.simulator, loseAnswer: 0, loseRequest: 0, lateAnswer: 0, doubleRequest: 0 } };
  }

  /** True when no payment waits for an answer, for recovery or for a refund, and none has outlived its capture window. */
  async isQuiet(): Promise<boolean> {
    const now = this.time.now();
    const payments = await this.store.paymentsDue(instant(Number.MAX_SAFE_INTEGER), 10_000);
    return payments.every((payment) => (lapsesAt(payment) ?? 0) > now && payment.refunds.every(({ dueAt }) => dueAt === undefined));
  }

  /** One await of the server: now and then it takes long, and the server may die just before the call takes effect, or just after, before anybody hears of it. */
  #await<T>(process: () => Process, latencyMs: number, call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const goOn = (step: () => void): void => {
        const stallMs = this.#stallsNow() ? this.#chance.between(1_000, longestStallMs) : 0;
        this.time.after(stallMs + (latencyMs === 0 ? 0 : this.#chance.below(latencyMs + 1)), () => {
          if (process().alive && !this.#crashesNow(process())) step();
        });
      };
      goOn(() => {
        call().then(
          (value) => goOn(() => resolve(value)),
          (error: unknown) => goOn(() => reject(error)),
        );
      });
    });
  }

  #whileAlive<T>(process: () => Process, waiting: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      waiting.then(
        (value) => {
          if (process().alive) resolve(value);
        },
        (error: unknown) => {
          if (process().alive) reject(error);
        },
      );
    });
  }

  #crashesNow(process: Process): boolean {
    if (!this.#faultsOn) return false;
    this.waits += 1;
    const dies = this.diesAt?.has(this.waits) ?? this.#chance.below(1_000_000) < this.#plan.crashPerMillion;
    if (!dies) return false;
    process.alive = false;
    this.auditor.note("the server dies");
    this.#process = undefined;
    this.crashes += 1;
    for (const lost of process.onDeath) lost();
    this.time.after(this.#plan.restartMs, () => {
      if (this.#starting?.alive !== true) this.start();
    });
    return true;
  }

  #stallsNow(): boolean {
    return this.#faultsOn && this.#chance.below(1_000_000) < this.#plan.stallPerMillion;
  }

  #commitFault(change: Change): CommitFault | undefined {
    // Accounts are set up before the faults begin.
    if (!this.#faultsOn || change.account !== undefined || !this.#chance.happens(this.#plan.storeFaultPerMille)) return undefined;
    return this.#chance.pick(commitFaults);
  }
}
