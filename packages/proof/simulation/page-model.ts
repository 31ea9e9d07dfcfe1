import { isDeepStrictEqual } from "node:util";
import {
  challengeCode,
  SimulatedAuthenticator,
} from "../../server/src/authentication/simulated-authenticator.ts";
import { connectorsOf } from "../../server/src/connectors/connector-set.ts";
import type { Connector } from "../../server/src/connectors/connector.ts";
import { networkFaults } from "../../server/src/connectors/simulator/network.ts";
import {
  createSimulator,
  type Simulator,
} from "../../server/src/connectors/simulator/simulator-connector.ts";
import { day, hour, laterBy, minute } from "../../server/src/kernel/instant.ts";
import { SeededRandom } from "../../server/src/kernel/seeded-random.ts";
import { type AccountSettings, pageAuthentications } from "../../server/src/merchant/account.ts";
import { defaultAccountSettings } from "../../server/src/merchant/settings.ts";
import { cancel } from "../../server/src/operations/cancel.ts";
import { capture } from "../../server/src/operations/capture.ts";
import { explainPayment } from "../../server/src/operations/explain-payment.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { checkAuthentication } from "../../server/src/operations/page-authentication.ts";
import { openPage, submitOnPage } from "../../server/src/operations/page.ts";
import { query } from "../../server/src/operations/query.ts";
import { Runner } from "../../server/src/operations/runner.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import { ServiceError } from "../../server/src/payment/service-error.ts";
import { doDueWork } from "../../server/src/recovery/due-work.ts";
import type { Change, HistoryFact } from "../../server/src/stores/change.ts";
import {
  type CommitFault,
  createMemoryStore,
} from "../../server/src/stores/memory/memory-store.ts";
import type { Store } from "../../server/src/stores/store.ts";
import { CvvCache } from "../../server/src/vault/cvv-cache.ts";
import { Keyring } from "../../server/src/vault/keyring.ts";
import { createLocalVault } from "../../server/src/vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../../server/src/vault/memory-key-provider.ts";
import { wireStatusOf } from "../../server/src/wire/answers/payment-answer.ts";
import { StillTime } from "../../server/test/contract/connector-harness.ts";
import * as given from "../../server/test/contract/store-fixtures.ts";
import { Chance } from "../../server/test/support/chance.ts";
import { cardOf } from "../../server/test/vectors/cards.ts";

/**
 * One hosted page in the hands of several tabs with several cards, while messages to the acquirer
 * get lost, come late or twice, commits fail, processes die, the merchant cancels and captures, and
 * the page lapses. Real decisions, operations and recovery on the memory store and two simulated
 * acquirers, whose books are the judge. A seed repeats a run exactly.
 */

/** Approved, declined, declined for good, and refused before the issuer. */
const cards = [
  "4111111111111111",
  "5555555555554444",
  "4716909774636285",
  "378568775709157",
  "5102026827345142",
  "4000000000000002",
  "4000000000001000",
  "4000000000001018",
  "4000000000001026",
  "4000000000001034",
  "4000000000001042",
  "4000000000001091",
  "4000000000001091",
  "5200000000001096",
  "4000000000001109",
  "4000000000001117",
  "4000000000001133",
  "4000000000001141",
  "4000000000001158",
  "4000000000001166",
  "5200000000001096",
] as const;

const commitFaults: readonly CommitFault[] = [
  "unavailable",
  "stale",
  "commit_unknown_applied",
  "commit_unknown_not_applied",
];

/** Facts that a merchant is notified of although the status stays: recovery found an outcome. */
const foundOutcomes: ReadonlySet<HistoryFact> = new Set([
  "authorization_approved",
  "authorization_held",
  "capture_declined",
  "void_declined",
]);

/** Response codes that the simulated issuers give with the advice never to try again. */
const finalCodes: ReadonlySet<string> = new Set(["62", "14", "59"]);

const actions = 30;
/** Rounds until everything has come to rest, each with the jobs' work. */
const calmRounds = 60;

export interface PageReport {
  readonly violations: readonly string[];
  /** What happened, by name. */
  readonly marks: readonly string[];
}

/** Plays one page. */
export async function playPage(seed: number): Promise<PageReport> {
  const model = await PageModel.open(seed);
  await model.play();
  return model.report();
}

/** A committed version as the store was given it. */
interface Written {
  readonly change: Change;
  readonly next: Payment;
}

class PageModel {
  readonly #chance: Chance;
  readonly #time = new StillTime();
  readonly #acquirers: readonly Simulator[];
  readonly #authenticator: SimulatedAuthenticator;
  readonly #policy: AccountSettings["pageAuthentication"];
  readonly #account;
  readonly #violations = new Set<string>();
  readonly #marks: string[] = [];
  readonly #written = new Map<number, Written>();
  readonly #shown: Payment[] = [];
  /** Numbers of the tries that were not refused. */
  readonly #carriedOut = new Set<number>();
  readonly #store: Store;
  #runner: Runner | undefined;
  #hash = "";
  /** Faults happen. */
  #isStorm = true;

  private constructor(seed: number) {
    this.#chance = new Chance(seed);
    const lateArrivalMs = this.#chance.pick([0, 20_000]);
    this.#policy = this.#chance.pick(pageAuthentications);
    this.#authenticator = new SimulatedAuthenticator(this.#time, Buffer.alloc(32, seed % 256), 100);
    this.#account = {
      ...given.newAccount(given.merchantA),
      settings: {
        ...defaultAccountSettings(),
        partialCapture: true,
        pageAuthentication: this.#policy,
        routes: [{ connectors: ["first", "second"] }],
      },
    };
    this.#acquirers = ["first", "second"].map((name) => ({
      ...createSimulator({ clock: this.#time, scheduler: this.#time, lateArrivalMs, seed: name }),
      name,
    }));
    this.#store = createMemoryStore({
      scheduler: this.#time,
      commitFault: (change) => this.#faultOf(change),
    });
  }

  static async open(seed: number): Promise<PageModel> {
    const model = new PageModel(seed);
    const [clock, random] = [model.#time, new SeededRandom(`page ${seed}`)];
    const keys = {
      provider: createMemoryKeyProvider(random),
      store: createMemoryWrappedKeyStore(),
    };
    const keyring = await Keyring.open({
      ...keys,
      clock,
      random,
      environment: "test",
      create: true,
    });
    model.#runner = new Runner({
      clock,
      random,
      store: model.#store,
      vault: createLocalVault({ keyring, environment: "test", random }),
      authenticator: model.#authenticator,
      connectors: connectorsOf(model.#acquirers.map((acquirer) => model.#mortal(acquirer))),
      cvvCache: new CvvCache(random),
      acquirerTimeoutMs: 30_000,
      endpointsOf: () => [],
      onNotificationsCommitted: () => undefined,
      alarm: ({ kind, what }) => {
        if (kind === "approval_came_late") model.#marks.push(`alarm ${kind}`);
        else model.#violations.add(`no alarm is raised: ${what}`);
      },
    });
    return model;
  }

  report(): PageReport {
    return { violations: [...this.#violations], marks: this.#marks };
  }

  async play(): Promise<void> {
    const chance = this.#chance;
    await this.#open();
    const running: Promise<void>[] = [];
    for (let action = 0; action < actions; action += 1) {
      running.push(this.#act());
      // Some actions begin while others run, and some after them.
      if (chance.happens(600)) await this.#time.pass(chance.pick([0, 0, 100, 1_000]));
      if (chance.happens(250)) await this.#time.pass(chance.between(1_000, 40_000));
      if (chance.happens(30)) await this.#time.pass(chance.pick([minute, hour, day]));
      if (chance.happens(300)) running.push(this.#work());
      await this.#checkAcquirers();
    }
    this.#isStorm = false;
    for (let round = 0; round < calmRounds; round += 1) {
      running.push(this.#work(), this.#runnerOf().runDeferred());
      await whatWaitsForNoTime();
      await this.#time.pass(round < 30 ? 10_000 : 3 * hour);
      await this.#checkAcquirers();
    }
    // Those of processes that died never end.
    for (const each of running) void each.catch(this.#fails);
    await this.#checkEnd();
  }

  readonly #fails = (error: unknown): void => {
    this.#violations.add(`nothing else fails: ${String(error)}`);
  };

  async #open(): Promise<void> {
    const chance = this.#chance;
    const {
      instalments: _i,
      paymentType: _p,
      storedCredential: _s,
      ...order
    } = given.bareOrder("order-1", chance.pick(["BRL", "USD"]));
    const { threeDSecure: _t, deviceId: _d, ...fixed } = order;
    this.#isStorm = false;
    const payment = await this.#run(openPage, {
      order: { ...fixed, autoCapture: chance.happens(600), manualReview: chance.happens(100) },
      page: {
        lapsesAt: laterBy(this.#time.now(), chance.pick([10 * minute, day, 3 * day])),
        paymentTypes: "_all",
        instalments: [1, 3],
        redirectUrl: undefined,
      },
      local: false,
    });
    this.#isStorm = true;
    this.#hash = payment?.id ?? "";
  }

  #runnerOf(): Runner {
    if (this.#runner === undefined) throw new Error("a model is opened before it is played");
    return this.#runner;
  }

  #act(): Promise<void> {
    const chance = this.#chance;
    const choice = chance.below(100);
    if (choice < 50) return this.#submit();
    if (choice < 65) return this.#show(this.#run(query, { hash: this.#hash }));
    if (choice < 66) return this.#show(this.#run(cancel, { hash: this.#hash }));
    if (choice < 75)
      return this.#show(
        this.#run(capture, {
          selector: { hash: this.#hash },
          amount: chance.happens(500) ? "60.00" : undefined,
        }),
      );
    if (choice < 83) this.#disturb();
    else if (choice < 97) return this.#visitBank();
    else return this.#show(this.#run(checkAuthentication, { hash: this.#hash }));
    return Promise.resolve();
  }

  /** A tab reads the page and submits a card; sometimes twice, or long after it was read. */
  async #submit(): Promise<void> {
    const chance = this.#chance;
    const [digits, instalments, isTwice] = [
      chance.pick(cards),
      chance.between(1, 3),
      chance.below(5),
    ];
    const customer = { ...given.bareOrder("order-1").customer, name: chance.pick(["ANA", "RUI"]) };
    const seen = await this.#run(query, { hash: this.#hash });
    if (seen?.order.page === undefined) return;
    // The page offers a card form only while it is open.
    if (seen.state !== "opened") {
      this.#marks.push(`page shows ${wireStatusOf(seen)}`);
      return;
    }
    const number = seen.order.page.tries + 1;
    if (chance.happens(100)) await this.#time.sleep(chance.between(1_000, 120_000));
    const send = () =>
      this.#show(
        this.#submitted(number, {
          hash: this.#hash,
          number,
          source: { kind: "pan", card: cardOf(digits), cvv: undefined, cryptogram: undefined },
          instalments,
          paymentType: "credit",
          customer,
          showsChallenges: chance.happens(850),
        }),
      );
    await Promise.all(isTwice === 0 ? [send(), send()] : [send()]);
  }

  async #submitted(
    number: number,
    input: Parameters<typeof submitOnPage.run>[1],
  ): Promise<Payment | undefined> {
    const payment = await this.#run(submitOnPage, input);
    if (payment === undefined) return undefined;
    if (this.#carriedOut.has(number)) this.#violations.add("a try is carried out once");
    this.#carriedOut.add(number);
    return payment;
  }

  /** The customer is at the bank: opens the challenge, enters a code, leaves. */
  async #visitBank(): Promise<void> {
    const chance = this.#chance;
    const payment = await this.#run(query, { hash: this.#hash });
    const id = payment?.order.page?.authentication?.id;
    if (id === undefined) return;
    this.#authenticator.openChallenge(given.merchantA, id);
    if (chance.happens(150)) {
      this.#authenticator.cancelChallenge(given.merchantA, id, "cancelled");
      return;
    }
    const code = chance.happens(700) ? challengeCode : "0000";
    this.#authenticator.answerChallenge(given.merchantA, id, code);
  }

  #disturb(): void {
    const chance = this.#chance;
    const next = chance.pick([...networkFaults, { decline: "acquirer_error" } as const]);
    const message =
      typeof next === "object"
        ? "authorize"
        : chance.pick(["authorize", "authorize", "inquire", "reverse", "void", "capture"] as const);
    chance.pick(this.#acquirers).instruct(given.merchantA, { next, times: 1, message });
    this.#marks.push(`network ${typeof next === "string" ? next : "decline"} of ${message}`);
  }

  /** The process that sends an authorization may die before or after the acquirer gets it. */
  #mortal(acquirer: Simulator): Connector {
    const never = new Promise<never>(() => undefined);
    return {
      ...acquirer,
      authorize: async (request, card) => {
        const death = this.#isStorm ? this.#chance.below(30) : 2;
        if (death === 0) {
          this.#marks.push("dies before sending");
          return never;
        }
        const answer = acquirer.authorize(request, card);
        if (death === 1) {
          this.#marks.push("dies after sending");
          return never;
        }
        return answer;
      },
    };
  }

  #faultOf(change: Change): CommitFault | undefined {
    const next = change.payment?.next;
    const fault =
      this.#isStorm && this.#chance.happens(60) ? this.#chance.pick(commitFaults) : undefined;
    const isWritten = fault === undefined || fault === "commit_unknown_applied";
    if (fault !== undefined) this.#marks.push(`commit ${fault}`);
    // The store refuses a stale version after this; then another change has this version already.
    if (next !== undefined && isWritten && !this.#written.has(next.version))
      this.#written.set(next.version, { change, next });
    return fault;
  }

  /** The jobs do what is due. */
  async #work(): Promise<void> {
    const due = await this.#store.paymentsDue(this.#time.now(), 10);
    const context = this.#runnerOf().contextOf(this.#account);
    await Promise.all(
      due.map((payment) =>
        doDueWork(context, payment).catch((error: unknown) => {
          if (!(error instanceof ServiceError))
            this.#violations.add(`a job fails: ${String(error)}`);
        }),
      ),
    );
  }

  /** Undefined if the operation was refused. */
  async #run<Input, Output>(
    operation: Operation<Input, Output>,
    input: Input,
  ): Promise<Output | undefined> {
    try {
      return await this.#runnerOf().run(operation, this.#account, input);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#marks.push(`${operation.name} ${error.code}`);
      if (error.code === "internal_failure")
        this.#violations.add(`${operation.name} fails for no known reason`);
      return undefined;
    }
  }

  async #show(answer: Promise<Payment | undefined>): Promise<void> {
    const payment = await answer;
    if (payment !== undefined) this.#shown.push(payment);
  }

  /** At no time two approvals live at the acquirers. */
  async #checkAcquirers(): Promise<void> {
    if (this.#alive().length > 1) this.#violations.add("one page gets one approval");
  }

  #alive() {
    return this.#acquirers.flatMap((acquirer) =>
      acquirer
        .books()
        .merchants.flatMap(({ authorizations }) => authorizations)
        .filter(({ reference }) => reference.startsWith(this.#hash))
        .filter(({ held, captured }) => held + captured > 0n),
    );
  }

  async #checkEnd(): Promise<void> {
    const is = (holds: boolean, rule: string): void => {
      if (!holds) this.#violations.add(rule);
    };
    const payment = await this.#run(query, { hash: this.#hash });
    if (payment === undefined) {
      this.#violations.add("the payment is there");
      return;
    }
    this.#shown.push(payment);
    this.#marks.push(`ends ${payment.state}`, `authorized by attempt ${payment.authorization}`);
    is(payment.attempt === undefined && payment.state !== "opened", "a page comes to rest");
    is(!payment.needsReview, "no payment needs a review by an operator");

    const alive = this.#alive();
    const holds = payment.state === "captured" || payment.authorized > 0n;
    const isOver = payment.state === "voided" || payment.state === "expired";
    is(alive.length === (holds && !isOver ? 1 : 0), "the acquirers hold what the ledger says");
    if (holds && !isOver)
      is(
        alive[0]?.reference === `${payment.id}-${payment.authorization}` &&
          alive[0].captured === payment.captured,
        "the payment names the attempt that holds its money",
      );
    const explained = await this.#run(explainPayment, { hash: this.#hash });
    is(explained?.explanation.violations.length === 0, "the books balance");
    for (const problem of explained?.explanation.problems ?? []) this.#violations.add(problem);
    this.#checkFacts(
      (explained?.history ?? []).flatMap(({ facts }) => facts.map(({ fact }) => fact)),
    );
    this.#checkVersions(payment.version);
    for (const shown of this.#shown) {
      const written = this.#written.get(shown.version)?.next;
      is(
        written !== undefined && isDeepStrictEqual(shown, written),
        "every reader is shown a version of the ledger",
      );
    }
  }

  #checkFacts(facts: readonly HistoryFact[]): void {
    let tries = 0;
    let isOpen = true;
    let approvals = 0;
    for (const fact of facts) {
      if (fact === "page_submitted") tries += 1;
      if (fact === "authorization_sent") {
        if (!isOpen) this.#violations.add("a card is sent only after a no to the one before");
        isOpen = false;
      }
      if (fact === "try_declined" || fact === "try_not_authenticated") isOpen = true;
      if (fact === "authorization_approved" || fact === "sale_approved") approvals += 1;
      if (fact === "authorization_held") approvals += 1;
      this.#marks.push(`fact ${fact}`);
    }
    if (tries > 3) this.#violations.add("a page takes three cards");
    if (approvals > 1) this.#violations.add("one page gets one approval");
  }

  #checkVersions(last: number): void {
    let before: Payment | undefined;
    for (let version = 1; version <= last; version += 1) {
      const written = this.#written.get(version);
      if (written === undefined) {
        this.#violations.add("each version is committed");
        return;
      }
      this.#checkVersion(before, written);
      before = written.next;
    }
  }

  #checkVersion(before: Payment | undefined, { change, next }: Written): void {
    if (before === undefined) return;
    const is = (holds: boolean, rule: string): void => {
      if (!holds) this.#violations.add(rule);
    };
    const [from, to] = [wireStatusOf(before), wireStatusOf(next)];
    const isNotified = change.notifications.length > 0;
    if (from !== to) this.#marks.push(`status ${from} to ${to}`);
    is(from === to || isNotified, `the merchant is notified of ${from} to ${to}`);
    const isFound = change.facts.some(({ fact }) => foundOutcomes.has(fact));
    is(from !== to || !isNotified || isFound, `the merchant is notified once of ${to}`);
    is(
      isDeepStrictEqual(fixedPart(before), fixedPart(next)),
      "the page keeps what the merchant fixed",
    );
    const { page } = before.order;
    const isSubmitted = change.facts.some(({ fact }) => fact === "page_submitted");
    const mask = next.order.card?.maskedPan ?? "";
    is(
      !isSubmitted || page?.refusedCards.includes(mask) === false,
      "a card that was refused for good is not sent again",
    );
    is(
      !isSubmitted || (page !== undefined && change.at < page.lapsesAt),
      "a page takes no card after its time",
    );
    if (change.facts.some(({ fact }) => fact === "authorization_sent")) {
      this.#checkProof(next);
      is(from === to, "sending a card changes no status that the merchant sees");
    }
    is(
      next.state === "authenticating" || next.order.page?.authentication === undefined,
      "the sealed card is gone when the authentication has ended",
    );
    if (next.state === "opened") is(next.verdict === undefined, "an open page has no verdict");
    is(
      !isSubmitted || next.reroutedTo === undefined,
      "each card takes the account's route from its beginning",
    );
    const declined = change.facts.find(({ fact }) => fact === "try_declined");
    if (declined !== undefined && finalCodes.has(String(declined.detail["responseCode"])))
      is(
        next.order.page?.refusedCards.includes(mask) === true,
        "a card that was refused for good is remembered",
      );
  }

  /** A card is authorized only with the outcome that the policy requires, of this card and amount. */
  #checkProof({ order }: Payment): void {
    if (this.#policy === "off") return;
    const { threeDSecure, card, amount } = order;
    const proof = this.#authenticator.issuerOf(given.merchantA, {
      transactionId: threeDSecure?.transactionId,
      xid: undefined,
      cryptogram: undefined,
    });
    const accepted = this.#policy === "strict" ? ["Y", "A"] : ["Y", "A", "U", "I"];
    this.#marks.push(`authorized with ${proof?.status}`);
    if (
      proof === undefined ||
      !accepted.includes(proof.status) ||
      proof.maskedPan !== card?.maskedPan ||
      !isDeepStrictEqual(proof.amount, amount)
    )
      this.#violations.add("no card is authorized without what the policy requires");
  }
}

/** Everything that waits for promises only continues before the time passes for the rest. */
async function whatWaitsForNoTime(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** What no try changes. */
function fixedPart({ order, id, merchantId, createdAt }: Payment): unknown {
  const { page, card: _c, customer: _u, instalments: _i, paymentType: _t, ...rest } = order;
  const {
    connector: _n,
    manualReview: _m,
    expectedLiability: _l,
    threeDSecure: _3,
    ...fixed
  } = rest;
  const { lapsesAt, paymentTypes, instalments, redirectUrl } = page ?? {};
  return [id, merchantId, createdAt, fixed, lapsesAt, paymentTypes, instalments, redirectUrl];
}
