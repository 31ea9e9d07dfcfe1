import { assert } from "../../server/src/kernel/assert.ts";
import { day, hour } from "../../server/src/kernel/instant.ts";
import { defaultAccountSettings } from "../../server/src/merchant/settings.ts";
import { cancel } from "../../server/src/operations/cancel.ts";
import { capture } from "../../server/src/operations/capture.ts";
import { creditChargeback, openChargeback } from "../../server/src/operations/chargeback.ts";
import { direct } from "../../server/src/operations/direct.ts";
import type { Operation } from "../../server/src/operations/operation.ts";
import { query } from "../../server/src/operations/query.ts";
import { cancelRefund, refund } from "../../server/src/operations/refund.ts";
import { acceptReview, rejectReview } from "../../server/src/operations/review.ts";
import { tokenize } from "../../server/src/operations/tokenize.ts";
import { verifyCard } from "../../server/src/operations/verify-card.ts";
import type { Payment } from "../../server/src/payment/payment.ts";
import { cardOf } from "../../server/test/vectors/cards.ts";
import { tokenDiesAt } from "./audit-tables.ts";
import type { Rotation } from "./key-jobs.ts";
import { healAndAudit } from "./healing.ts";
import { Installation } from "./installation.ts";
import { planOf, type Plan } from "./plan.ts";
import { testCustomer } from "../../server/test/upstream/test-customer.ts";
import { paymentViewOf } from "./payment-view.ts";
import { note, openShop, type Shop } from "./shop.ts";

/**
 * Every place at which the server waits in a scenario, and every pair of them: the server crashes
 * there and restarts, and no promise may be broken. A wait has two sides, because the server may
 * crash just before a call takes effect, or just after it and before it receives the result.
 */
export interface Scenario {
  readonly name: string;
  readonly plan?: Partial<Plan>;
  /** Two crashes in one run are tried too, if they are asked for: not where there are too many. */
  readonly pairs?: false;
  readonly run: (world: MatrixSetup) => Promise<void>;
}

interface MatrixSetup {
  readonly installation: Installation;
  readonly shop: Shop;
  /**
   * Repeats the request until there is an answer or a refusal, as a patient client does; undefined
   * for a refusal.
   */
  readonly ask: <Input, Output>(
    operation: Operation<Input, Output>,
    input: () => Input,
  ) => Promise<Output | undefined>;
  /** Pays, and queries the payment if the answer was lost. */
  readonly pay: (order?: PayOptions) => Promise<Payment | undefined>;
}

interface PayOptions {
  readonly hold?: boolean;
  readonly review?: boolean;
  readonly token?: string;
  readonly createToken?: boolean;
}

const quiet: Plan = {
  ...planOf(1),
  merchants: 1,
  clientsPerMerchant: 1,
  commandsPerClient: 1,
  crashPerMillion: 0,
  stallPerMillion: 0,
  pausePerMillion: 0,
  restartMs: 10,
  storeFaultPerMille: 0,
  storeLatencyMs: 1,
  jumps: "none",
  endsLater: false,
  settings: {
    partialCapture: true,
    captureWindowDays: 1,
    refundWindowDays: 0,
    refundRequestedMinutes: 0,
    refundPendingMinutes: 0,
    strictRefundCancel: false,
    strictMandates: false,
    taxPolicy: "brazil-cross-border",
    taxPaidBy: "customer",
    requireCvv: false,
  },
  clients: { loseRequest: 0, loseAnswer: 0, patienceMs: 0, reuseKey: 0 },
  simulator: { ...defaultAccountSettings().simulator, latencyMs: 1 },
  personality: {
    dedupes: true,
    answersInquiries: true,
    repeatsFollowUps: true,
    lateArrivalMs: 20_000,
  },
  routed: false,
  certainNoPerMille: 0,
  clockSets: "none",
  diskFills: false,
  garbledPerMille: 0,
  liesPerMille: 0,
  slowPerMille: 0,
  laterThanDeclaredMs: 0,
  keys: "records",
  servers: 1,
  oneStaysDown: false,
  skewMs: 0,
  putsBack: false,
  receivers: { endpoints: 1, ownAddressPerMille: 0, faultsPerMille: 0, comesBack: true },
};

/** Recovery takes another path with each of these. */
const mute = { ...quiet.personality, answersInquiries: false };
const once = { ...quiet.personality, repeatsFollowUps: false };

export const scenarios: readonly Scenario[] = [
  {
    name: "an installation that is made",
    run: async ({ installation }) => await installation.time.sleep(1_000),
  },
  { name: "a merchant's first cards, at once", run: storesTwo },
  {
    name: "a new epoch key",
    plan: { rotations: [] },
    pairs: false,
    run: (world) => rotated(world, ["epoch"]),
  },
  {
    name: "a new key of a merchant, whose cards are sealed again",
    plan: { rotations: [] },
    pairs: false,
    run: (world) => rotated(world, ["merchants"]),
  },
  {
    name: "a new epoch key and a new key of a merchant, at once",
    plan: { rotations: [] },
    pairs: false,
    run: (world) => rotated(world, ["epoch", "merchants"]),
  },
  { name: "an installation that two servers make", plan: { servers: 2 }, run: storesTwo },
  { name: "a sale", run: async ({ pay }) => void (await pay()) },
  {
    name: "a sale, until its receiver was told",
    run: async ({ installation, pay }) => {
      await pay();
      await installation.time.sleep(3_000);
    },
  },
  {
    name: "an authorization that nobody captures",
    run: async ({ pay }) => void (await pay({ hold: true })),
  },
  {
    name: "a sale at an acquirer that answers no inquiries",
    plan: { personality: mute },
    run: async ({ pay }) => void (await pay()),
  },
  {
    name: "a sale whose answer is lost",
    run: async ({ installation, shop, pay }) => {
      installation.simulator.instruct(shop.account.id, {
        next: "lose_answer",
        times: 1,
        message: "authorize",
      });
      await pay();
    },
  },
  {
    name: "a sale that the acquirer never receives",
    run: async ({ installation, shop, pay }) => {
      installation.simulator.instruct(shop.account.id, {
        next: "lose_request",
        times: 1,
        message: "authorize",
      });
      await pay();
    },
  },
  {
    name: "a sale that reaches the acquirer as late as it can",
    run: async ({ installation, shop, pay }) => {
      installation.simulator.instruct(shop.account.id, {
        next: "late_answer",
        times: 1,
        message: "authorize",
      });
      await pay();
    },
  },
  {
    name: "a sale that reaches the acquirer twice",
    run: async ({ installation, shop, pay }) => {
      installation.simulator.instruct(shop.account.id, {
        next: "double_request",
        times: 1,
        message: "authorize",
      });
      await pay();
    },
  },
  {
    name: "a payment that a second acquirer takes",
    plan: { routed: true, certainNoPerMille: 1_000 },
    run: async ({ pay, ask }) => {
      const payment = await pay({ hold: true });
      if (payment !== undefined)
        await ask(capture, () => ({ selector: { hash: payment.id }, amount: undefined }));
    },
  },
  {
    name: "a payment that stores its card",
    run: async ({ pay }) => void (await pay({ createToken: true })),
  },
  {
    name: "a card that is stored, and charged",
    run: async ({ ask, pay }) => {
      const stored = await ask(tokenize, () => ({
        card: cardOf("4111111111111111"),
        token: undefined,
      }));
      if (stored !== undefined) await pay({ token: stored.token });
    },
  },
  {
    name: "a card that is charged and verified in its last moment, when another is forgotten",
    run: async ({ installation, shop, ask, pay }) => {
      const { time, auditor } = installation;
      await ask(tokenize, () => ({ card: cardOf("5555555555554444"), token: undefined }));
      const stored = await ask(tokenize, () => ({
        card: cardOf("4111111111111111"),
        token: undefined,
      }));
      if (stored === undefined) return;
      const { token } = stored;
      time.jump(tokenDiesAt(stored.card.lastUsedAt) - time.now() - 2);
      const verified = ask(verifyCard, () => verificationOf(token));
      const at = time.now();
      await pay({ token });
      // The machine sleeps during the acquirer's request: the job runs before the answer.
      time.jump(2 * hour);
      await time.sleep(20);
      if ((await verified) !== undefined)
        await auditor.cards.reported(shop.account.id, token, at, installation.time.now());
    },
  },
  {
    name: "a card that is verified",
    run: async ({ ask }) => {
      const source = () =>
        ({
          kind: "pan",
          card: cardOf("4111111111111111"),
          cvv: undefined,
          cryptogram: undefined,
        }) as const;
      await ask(verifyCard, () => ({
        source: source(),
        country: "br",
        paymentType: "credit" as const,
        storedCredential: undefined,
      }));
    },
  },
  held(
    "a capture",
    async ({ ask }, hash) =>
      void (await ask(capture, () => ({ selector: { hash }, amount: undefined }))),
  ),
  held(
    "a capture of a part",
    async ({ ask }, hash) =>
      void (await ask(capture, () => ({ selector: { hash }, amount: "3.33" }))),
  ),
  held("a capture whose answer is lost", async ({ installation, shop, ask }, hash) => {
    installation.simulator.instruct(shop.account.id, {
      next: "lose_answer",
      times: 1,
      message: "capture",
    });
    await ask(capture, () => ({ selector: { hash }, amount: undefined }));
  }),
  held(
    "a capture that reaches the acquirer as late as it can",
    async ({ installation, shop, ask }, hash) => {
      installation.simulator.instruct(shop.account.id, {
        next: "late_answer",
        times: 1,
        message: "capture",
      });
      await ask(capture, () => ({ selector: { hash }, amount: "3.33" }));
    },
  ),
  held("a capture that reaches the acquirer twice", async ({ installation, shop, ask }, hash) => {
    installation.simulator.instruct(shop.account.id, {
      next: "double_request",
      times: 1,
      message: "capture",
    });
    await ask(capture, () => ({ selector: { hash }, amount: "3.33" }));
  }),
  held("a void that reaches the acquirer twice", async ({ installation, shop, ask }, hash) => {
    installation.simulator.instruct(shop.account.id, {
      next: "double_request",
      times: 1,
      message: "void",
    });
    await ask(cancel, () => ({ hash }));
  }),
  held(
    "a capture that may not be sent again",
    async ({ ask }, hash) =>
      void (await ask(capture, () => ({ selector: { hash }, amount: undefined }))),
    {
      personality: once,
    },
  ),
  held("a void", async ({ ask }, hash) => void (await ask(cancel, () => ({ hash })))),
  held("a capture and a void at once", async ({ ask }, hash) => {
    await Promise.all([
      ask(capture, () => ({ selector: { hash }, amount: undefined })),
      ask(cancel, () => ({ hash })),
    ]);
  }),
  held("a lapse", async ({ installation }) => {
    installation.time.jump(day + 1_000);
    await installation.time.sleep(5_000);
  }),
  reviewed(
    "a review that is accepted",
    async ({ ask }, hash) => void (await ask(acceptReview, () => ({ hash }))),
  ),
  reviewed(
    "a review that is rejected",
    async ({ ask }, hash) => void (await ask(rejectReview, () => ({ hash }))),
  ),
  paid("a refund", async ({ installation, ask }, hash) => {
    await ask(refund, () => ({
      selector: { hash },
      amount: "3.33",
      description: "back",
      code: undefined,
      request: "one",
    }));
    await installation.time.sleep(5_000);
  }),
  paid("two refunds at once that are too much together", async ({ installation, ask }, hash) => {
    const of = (request: string) =>
      ask(refund, () => ({
        selector: { hash },
        amount: "70.00",
        description: "back",
        code: undefined,
        request,
      }));
    await Promise.all([of("one"), of("two")]);
    await installation.time.sleep(5_000);
  }),
  paid("a refund that is taken back", async ({ ask }, hash) => {
    const requested = await ask(refund, () => ({
      selector: { hash },
      amount: "3.33",
      description: "back",
      code: "r",
      request: "one",
    }));
    if (requested !== undefined) await ask(cancelRefund, () => ({ id: requested.refund.id }));
  }),
  paid("a refund whose answer is lost", async ({ installation, shop, ask }, hash) => {
    installation.simulator.instruct(shop.account.id, {
      next: "lose_answer",
      times: 1,
      message: "refund",
    });
    await ask(refund, () => ({
      selector: { hash },
      amount: "3.33",
      description: "back",
      code: undefined,
      request: "one",
    }));
    await installation.time.sleep(5_000);
  }),
  paid(
    "a refund that reaches the acquirer as late as it can",
    async ({ installation, shop, ask }, hash) => {
      installation.simulator.instruct(shop.account.id, {
        next: "late_answer",
        times: 1,
        message: "refund",
      });
      await ask(refund, () => ({
        selector: { hash },
        amount: "3.33",
        description: "back",
        code: undefined,
        request: "one",
      }));
      await installation.time.sleep(5_000);
    },
  ),
  paid("a refund that reaches the acquirer twice", async ({ installation, shop, ask }, hash) => {
    installation.simulator.instruct(shop.account.id, {
      next: "double_request",
      times: 1,
      message: "refund",
    });
    await ask(refund, () => ({
      selector: { hash },
      amount: "3.33",
      description: "back",
      code: undefined,
      request: "one",
    }));
    await installation.time.sleep(5_000);
  }),
  paid("a chargeback that is won", async ({ ask }, hash) => {
    await ask(openChargeback, () => ({
      selector: { hash },
      claim: { description: "not known" },
    }));
    await ask(creditChargeback, () => ({ hash }));
  }),
];

/**
 * The scenarios that apply to the upstream connector: one acquirer, which answers inquiries and
 * accepts a repeated request.
 */
export const upstreamScenarios: readonly Scenario[] = scenarios
  .filter(({ plan }) => plan?.personality === undefined && plan?.routed !== true)
  .map(({ name, plan, run }) => ({
    name: `${name}, through another server`,
    plan: { ...plan, upstream: true },
    run,
  }));

/** Two cards whose merchant has no key yet. */
async function storesTwo({ ask, pay }: MatrixSetup): Promise<void> {
  const store = (digits: string) =>
    ask(tokenize, () => ({ card: cardOf(digits), token: undefined }));
  const stored = await Promise.all([store("4111111111111111"), store("5555555555554444")]);
  for (const each of stored) if (each !== undefined) await pay({ token: each.token });
}

/** A card is stored, keys are rotated, and it is charged while that is completed. */
async function rotated(
  { installation, ask, pay }: MatrixSetup,
  acts: readonly Rotation[],
): Promise<void> {
  const stored = await ask(tokenize, () => ({
    card: cardOf("4111111111111111"),
    token: undefined,
  }));
  for (const act of acts) void installation.rotate(act);
  await installation.time.sleep(20_000);
  if (stored !== undefined) await pay({ token: stored.token });
  await installation.time.sleep(40_000);
}

type Then = (world: MatrixSetup, hash: string) => Promise<void>;

function held(name: string, then: Then, plan: Partial<Plan> = {}): Scenario {
  return after(name, { hold: true }, then, plan);
}

function reviewed(name: string, then: Then): Scenario {
  return after(name, { review: true }, then, {});
}

function paid(name: string, then: Then): Scenario {
  return after(name, {}, then, {});
}

function after(name: string, order: PayOptions, then: Then, plan: Partial<Plan>): Scenario {
  return {
    name,
    plan,
    run: async (world) => {
      const payment = await world.pay(order);
      if (payment !== undefined) await then(world, payment.id);
    },
  };
}

export interface MatrixRun {
  readonly violations: readonly string[];
  /** Number of waits. */
  readonly waits: number;
}

const maximumEvents = 20_000;

/** Runs a scenario with crashes at these waits, lets everything settle, and judges. */
export async function runScenario(
  { plan, run }: Scenario,
  diesAt: readonly number[],
  report?: (line: string) => void,
): Promise<MatrixRun> {
  const whole: Plan = { ...quiet, ...plan };
  const installation = new Installation(whole);
  if (report !== undefined) installation.auditor.note = report;
  installation.diesAt = new Set(diesAt);
  const routes = whole.routed ? [{ connectors: ["main", "backup"] }] : [];
  const settings = {
    ...defaultAccountSettings(),
    ...whole.settings,
    routes,
    simulator: whole.simulator,
  };
  const shop = await openShop(installation, 0, settings);
  let done = false;
  try {
    installation.start();
    void run(worldOf(installation, shop)).then(() => (done = true));
    await installation.time.run(2 * day, () => done, maximumEvents);
    if (!done) installation.auditor.violation("the scenario comes to its end");
    const { waits } = installation;
    await healAndAudit(installation, [shop], 0);
    return { violations: installation.auditor.violations, waits };
  } catch (error) {
    return {
      violations: [`the run ends by itself: ${error instanceof Error ? error.message : "?"}`],
      waits: installation.waits,
    };
  }
}

function worldOf(installation: Installation, shop: Shop): MatrixSetup {
  const { auditor, time } = installation;
  const ask = async <Input, Output>(
    operation: Operation<Input, Output>,
    input: () => Input,
  ): Promise<Output | undefined> => {
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const answer = await installation.call(operation, shop.account, input());
      if (answer.kind === "answer") return answer.value;
      if (answer.kind === "refusal") return undefined;
      await time.sleep(1_000);
    }
    return undefined;
  };
  const pay = async (order: PayOptions = {}): Promise<Payment | undefined> => {
    const code = `order-${shop.codes.size}`;
    shop.codes.add(code);
    auditor.asks(shop.account.id, code, time.now());
    const paidFor = await ask(direct, () => directInput(code, order));
    const payment = paidFor?.payment ?? (await ask(query, () => ({ code })));
    if (payment !== undefined) note(installation, shop, paymentViewOf(payment));
    return payment;
  };
  return { installation, shop, ask, pay };
}

/** Verifies the card with this token. */
export function verificationOf(token: string): Parameters<typeof verifyCard.run>[1] {
  const source = { kind: "token", token, cvv: undefined, cryptogram: undefined } as const;
  return { source, country: "br", paymentType: "credit", storedCredential: undefined };
}

function directInput(
  code: string,
  { hold = false, review = false, token, createToken = false }: PayOptions,
): Parameters<typeof direct.run>[1] {
  const none = { cvv: undefined, cryptogram: undefined };
  return {
    source:
      token === undefined
        ? { kind: "pan", card: cardOf("4111111111111111"), ...none }
        : { kind: "token", token, ...none },
    createToken: createToken ? { token: undefined } : undefined,
    local: false,
    order: {
      code,
      orderNumber: undefined,
      amount: { minor: 100_00n, currency: "USD" },
      instalments: 1,
      autoCapture: !hold,
      manualReview: review,
      country: "br",
      paymentType: "credit",
      customer: { ...testCustomer },
      softDescriptor: undefined,
      note: undefined,
      userValues: [],
      notificationUrl: undefined,
      deviceId: undefined,
      storedCredential: undefined,
      threeDSecure: undefined,
    },
  };
}

export interface MatrixReport {
  readonly runs: number;
  readonly waits: number;
  readonly violations: readonly string[];
}

/**
 * A crash at each wait of the scenario; with `pairs`, also a second one at each wait that follows.
 */
export async function explore(scenario: Scenario, pairs: boolean): Promise<MatrixReport> {
  const violations: string[] = [];
  let runs = 0;
  const run = async (diesAt: readonly number[]): Promise<number> => {
    runs += 1;
    const report = await runScenario(scenario, diesAt);
    if (report.violations.length > 0)
      violations.push(
        `${scenario.name}, dies at ${diesAt.length === 0 ? "no wait" : diesAt.join(" and ")}: ${report.violations.join("; ")}`,
      );
    return report.waits;
  };
  const waits = await run([]);
  assert(waits > 0, "a scenario waits for something");
  for (let first = 1; first <= waits; first += 1) {
    const then = await run([first]);
    if (pairs && scenario.pairs !== false)
      for (let second = first + 1; second <= then; second += 1) await run([first, second]);
  }
  return { runs, waits, violations };
}
