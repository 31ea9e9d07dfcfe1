import type { AccountSettings, SimulatorSettings } from "../../server/src/merchant/account.ts";
import { hour, minute, second } from "../../server/src/kernel/instant.ts";
import type { BookRules } from "./acquirer-book.ts";
import { Chance } from "../../server/test/support/chance.ts";
import type { Rotation } from "./key-jobs.ts";
import { keptSeeds } from "./kept-seeds.ts";
import type { ReceiverPlan } from "./receivers.ts";

/**
 * Parameters that one seed sets: each run has its own mix of faults, so that rare pairs of them
 * occur in some run.
 */
export interface Plan {
  readonly seed: number;
  readonly merchants: number;
  readonly clientsPerMerchant: number;
  readonly commandsPerClient: number;
  /** Probability of a crash at each await of the server, in 1/1,000,000. */
  readonly crashPerMillion: number;
  /** Probability that an await of the server takes seconds, in 1/1,000,000. */
  readonly stallPerMillion: number;
  /**
   * Probability that a server's whole process pauses at an await for longer than a lease, in
   * 1/1,000,000.
   */
  readonly pausePerMillion: number;
  readonly restartMs: number;
  readonly storeFaultPerMille: number;
  readonly storeLatencyMs: number;
  /** Size of the occasional clock jumps: none, days, or more than a year. */
  readonly jumps: "none" | "days" | "months";
  /** Whether every capture window ends before the faults do. */
  readonly endsLater: boolean;
  readonly settings: Pick<
    AccountSettings,
    | "partialCapture"
    | "captureWindowDays"
    | "refundWindowDays"
    | "refundRequestedMinutes"
    | "refundPendingMinutes"
    | "strictRefundCancel"
    | "strictMandates"
    | "taxPolicy"
    | "taxPaidBy"
    | "requireCvv"
  >;
  /**
   * Faults of clients' requests, in 1/1000, and how long a client waits for its answer; 0:
   * indefinitely.
   */
  readonly clients: {
    readonly loseRequest: number;
    readonly loseAnswer: number;
    readonly patienceMs: number;
    /** Probability that a request uses the key of another one, in 1/1000. */
    readonly reuseKey: number;
  };
  readonly simulator: SimulatorSettings;
  readonly personality: BookRules & { readonly lateArrivalMs: number };
  /**
   * Whether the first acquirer is another server with the interface, reached by the upstream
   * connector (upstream-link.ts).
   */
  readonly upstream?: boolean;
  /** Whether payments that the first acquirer certainly did not process go to a second one. */
  readonly routed: boolean;
  /**
   * Probability that the first acquirer certainly does nothing: unreachable, or out of order by its
   * own answer.
   */
  readonly certainNoPerMille: number;
  readonly receivers: ReceiverPlan;
  /**
   * How the clock is set while all servers run: not at all, only back, or back and forward, a
   * little and a lot.
   */
  readonly clockSets: "none" | "back" | "both";
  /** Whether the disk is sometimes full: writes fail, reads work. */
  readonly diskFills: boolean;
  /**
   * Probabilities that an acquirer's answer cannot be parsed, and that it refuses to reverse what
   * it never captured.
   */
  readonly garbledPerMille: number;
  readonly liesPerMille: number;
  /** Probability that an acquirer takes seconds to answer, up to longer than any timeout. */
  readonly slowPerMille: number;
  /**
   * How much later than its connector declares a late request sometimes arrives; 0: the declaration
   * is true.
   */
  readonly laterThanDeclaredMs: number;
  /** Maximum difference between the servers' clocks, in milliseconds. */
  readonly skewMs: number;
  /** When one server's clock is set forward, and back after a while; one after the other. */
  readonly clockJumps?: readonly ClockJump[];
  /** When the store's clock, which decides when leases expire, is set, and corrected again. */
  readonly databaseStep?: Omit<ClockJump, "server">;
  /** Whether an older copy of the store is restored during the run. */
  readonly putsBack: boolean;
  /** Number of servers that share the store. */
  readonly servers: number;
  /** Of several servers, one that is down when the faults end stays down. */
  readonly oneStaysDown: boolean;
  /**
   * Where the keys are: records in the database, or files as in installations of earlier versions,
   * which in some runs change after a few cards.
   */
  readonly keys: "records" | "files" | "changing_files";
  /** When an operator rotates keys; only with records, and one server. */
  readonly rotations?: readonly { readonly afterMs: number; readonly act: Rotation }[];
}

export interface ClockJump {
  readonly server: number;
  /** After the end of the previous jump, or after the run's start. */
  readonly afterMs: number;
  readonly aheadMs: number;
  readonly forMs: number;
}

/** Whether servers always read the current state, and the clocks are right. */
export function isCalm({
  stallPerMillion,
  pausePerMillion,
  storeFaultPerMille,
  putsBack,
  jumps,
  clockSets,
  clockJumps = [],
  databaseStep,
  diskFills,
}: Plan): boolean {
  return (
    stallPerMillion + pausePerMillion === 0 &&
    !putsBack &&
    storeFaultPerMille === 0 &&
    jumps === "none" &&
    clockSets === "none" &&
    clockJumps.length === 0 &&
    databaseStep === undefined &&
    !diskFills
  );
}

const rates = [0, 0, 5, 50, 200] as const;
/**
 * For requests that arrive late: one that arrives at the last moment has an effect only if it meets
 * an inquiry in flight.
 */
const lateRates = [0, 0, 0, 50, 200, 400] as const;

export function planOf(seed: number): Plan {
  return withRecords(
    confusedKeys(databaseClock(oneClock(elsewhere(withSlowRequests(drawn(seed)))))),
  );
}

/** Three runs of four have key records. The seeds that are kept were chosen with files. */
function withRecords(plan: Plan): Plan {
  const isKept = keptSeeds.some(({ seed }) => seed === plan.seed);
  const chance = new Chance(plan.seed + 11);
  if (isKept || !chance.happens(750)) return plan;
  if (plan.servers > 1 || !chance.happens(500)) return { ...plan, keys: "records" };
  const rotations = Array.from({ length: chance.between(1, 4) }, () => ({
    afterMs: chance.pick([0, second, 20 * second, 90 * second]) + chance.below(60 * second),
    act: chance.pick(["epoch", "merchants"] as const),
  }));
  return { ...plan, keys: "records", rotations };
}

/**
 * In one run of ten the clients often use a key for a second request, and the store often fails.
 */
function confusedKeys(plan: Plan): Plan {
  if (!new Chance(plan.seed + 10).happens(100)) return plan;
  return { ...plan, storeFaultPerMille: 200, clients: { ...plan.clients, reuseKey: 500 } };
}

/**
 * In some runs of several servers the store's clock is wrong for a while; servers must not use it
 * to judge what is due.
 */
function databaseClock(plan: Plan): Plan {
  const chance = new Chance(plan.seed + 9);
  if (plan.servers === 1 || !chance.happens(200)) return plan;
  const aheadMs = chance.pick([3 * second, 45 * second, 2 * hour]);
  const databaseStep = {
    afterMs: chance.below(90 * second),
    aheadMs: chance.happens(500) ? aheadMs : -aheadMs,
    forMs: chance.pick([4 * second, 30 * second, 5 * minute]),
  };
  return { ...plan, databaseStep };
}

/**
 * In some runs one server's clock is wrong for a while. A single server cannot notice it, so
 * nothing arrives late there (see `lateAnswer`). The server whose clock was wrong does not stay
 * down, because only it knows the times it has written.
 */
function oneClock(plan: Plan): Plan {
  const chance = new Chance(plan.seed + 8);
  const { servers, jumps, clockSets, simulator } = plan;
  if (!chance.happens(servers > 1 ? 300 : 60) || clockSets !== "none" || jumps === "months")
    return plan;
  const clockJumps = Array.from({ length: chance.between(1, 3) }, () => ({
    server: chance.below(servers),
    afterMs: chance.pick([0, second, 20 * second, 90 * second]) + chance.below(20 * second),
    aheadMs: chance.pick([3 * second, 45 * second, 10 * minute, 2 * hour]),
    forMs: chance.pick([second, 4 * second, 30 * second, 5 * minute]),
  }));
  const lateAnswer = servers > 1 ? simulator.lateAnswer : 0;
  return {
    ...plan,
    clockJumps,
    skewMs: 0,
    oneStaysDown: false,
    simulator: { ...simulator, lateAnswer },
  };
}

/**
 * In one run of twelve the upstream connector reaches the first acquirer. Such a server recognizes
 * a repeated request.
 */
function elsewhere(plan: Plan): Plan {
  const chance = new Chance(plan.seed + 7);
  if (!chance.happens(80)) return plan;
  const personality = {
    ...plan.personality,
    dedupes: true,
    answersInquiries: true,
    repeatsFollowUps: true,
  };
  const simulator = { ...plan.simulator, doubleRequest: chance.pick(rates) };
  return {
    ...plan,
    upstream: true,
    personality,
    simulator,
    garbledPerMille: chance.pick([0, 50, 200]),
  };
}

/**
 * In one run of eight late requests meet slow inquiries, at an acquirer that accepts no request
 * twice.
 */
function withSlowRequests(plan: Plan): Plan {
  const { seed } = plan;
  if (!new Chance(seed + 6).happens(125) || plan.clockSets === "both" || plan.skewMs > 0)
    return plan;
  const simulator = {
    ...plan.simulator,
    lateAnswer: 400,
    loseAnswer: 0,
    loseRequest: 0,
    doubleRequest: 0,
  };
  const personality = {
    ...plan.personality,
    answersInquiries: true,
    repeatsFollowUps: false,
    lateArrivalMs: 20_000,
  };
  return { ...plan, simulator, personality, slowPerMille: 200, laterThanDeclaredMs: 0 };
}

function drawn(seed: number): Plan {
  const chance = new Chance(seed);
  const dedupes = !chance.happens(200);
  const answersInquiries = !chance.happens(200);
  // An acquirer that supports neither inquiries nor repeats leaves a lost capture to manual review.
  const repeatsFollowUps = !answersInquiries || !chance.happens(400);
  const servers = chance.pick([1, 1, 1, 1, 1, 1, 2, 3]);
  const jumps = chance.pick(["none", "none", "none", "days", "days", "months"] as const);
  // Fourteen months need a clock that is never set: what a wrong clock deletes is lost.
  const clockSets =
    jumps === "months" ? "none" : chance.pick(["none", "none", "none", "back", "both"] as const);
  return {
    seed,
    merchants: chance.between(1, 3),
    clientsPerMerchant: chance.between(1, 3),
    commandsPerClient: chance.between(3, 9),
    crashPerMillion: chance.pick([0, 0, 2_000, 10_000, 40_000]),
    stallPerMillion: chance.pick([0, 0, 0, 3_000, 20_000]),
    pausePerMillion: chance.pick([0, 0, 0, 0, 1_000, 5_000]),
    restartMs: chance.pick([10, 1_000, 20_000, 120_000]),
    storeFaultPerMille: chance.pick(rates),
    storeLatencyMs: chance.pick([0, 1, 20, 400]),
    jumps,
    endsLater: chance.happens(250),
    settings: {
      partialCapture: chance.happens(500),
      captureWindowDays: chance.pick([1, 4]),
      refundWindowDays: chance.pick([0, 0, 1, 2]),
      refundRequestedMinutes: chance.pick([0, 0, 0, 1]),
      refundPendingMinutes: chance.pick([0, 0, 0, 1]),
      strictRefundCancel: chance.happens(300),
      strictMandates: chance.happens(300),
      taxPolicy: chance.pick(["brazil-cross-border", "brazil-cross-border-2025", "none"]),
      taxPaidBy: chance.pick(["customer", "customer", "merchant"]),
      requireCvv: chance.happens(200),
    },
    clients: {
      loseRequest: chance.pick(rates),
      loseAnswer: chance.pick(rates),
      patienceMs: chance.pick([0, 0, 0, 2_000, 20_000, 35_000]),
      reuseKey: 20,
    },
    simulator: {
      seed: `simulation ${seed}`,
      latencyMs: chance.pick([0, 1, 300, 5_000]),
      loseAnswer: chance.pick(rates),
      loseRequest: chance.pick(rates),
      // With a clock that was set forward, a request in flight seems unable to arrive any more.
      lateAnswer: clockSets === "both" ? 0 : chance.pick(lateRates),
      // An acquirer that does not dedupe and a network that duplicates can take money twice
      // whatever Cofre does (W9).
      doubleRequest: dedupes && repeatsFollowUps ? chance.pick(rates) : 0,
    },
    personality: {
      dedupes,
      answersInquiries,
      repeatsFollowUps,
      lateArrivalMs: chance.pick([1_000, 20_000, 20_000, 90_000]),
    },
    routed: chance.happens(400),
    certainNoPerMille: chance.pick(rates),
    receivers: {
      endpoints: chance.pick([0, 1, 1, 2]),
      ownAddressPerMille: chance.pick([0, 200]),
      faultsPerMille: chance.pick([0, 100, 400, 900]),
      comesBack: chance.happens(700),
    },
    clockSets,
    diskFills: chance.happens(200),
    garbledPerMille: chance.pick([0, 0, 0, 50, 200]),
    liesPerMille: chance.pick([0, 0, 0, 0, 0, 300]),
    slowPerMille: chance.pick([0, 0, 0, 50, 150]),
    laterThanDeclaredMs: chance.pick([0, 0, 0, 0, 0, 0, 0, 60_000]),
    // With the clocks of different servers a token would live some seconds more or less.
    skewMs: servers > 1 && jumps !== "months" ? chance.pick([0, 0, 900, 60_000]) : 0,
    putsBack: chance.happens(100),
    servers,
    oneStaysDown: chance.happens(500),
    // Several processes with their own copies of key files are not simulated.
    keys: servers === 1 && chance.happens(400) ? "changing_files" : "files",
  };
}
