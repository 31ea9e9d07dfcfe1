import { setTimeout as sleep } from "node:timers/promises";
import type { Scheduler } from "../../src/kernel/scheduler.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { Chance } from "../support/chance.ts";
import {
  integrationKey,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from "../server.ts";
import {
  retryable,
  type Books,
  booksOf,
  drawOrder,
  type Fields,
  type Intent,
  outcomeOpen,
  send,
} from "./order-client.ts";

/**
 * Factor by which the server's own waits, such as recovery's, are shortened; the clock is paused.
 */
const hurry = 20;

const hurriedScheduler: Scheduler = {
  after: (ms, run) => systemScheduler.after(ms / hurry, run),
  sleep: (ms) => systemScheduler.sleep(ms / hurry),
};

const options: TestServerOptions = {
  environment: { COFRE_ACQUIRER_TIMEOUT_MS: "2000" },
  ports: { scheduler: hurriedScheduler },
};
const worlds = 4;

export interface OrdersOptions {
  readonly seed: number;
  readonly orders: number;
  /** Another program's composition root. */
  readonly start?: TestServerOptions["start"];
  /** Stop at the first violation. */
  readonly stop?: boolean;
}

export interface OrdersReport extends OrderReport {
  readonly played: number;
}

/** Plays orders in a few worlds in parallel, one after the other in each. */
export async function playOrders({
  seed,
  orders,
  start,
  stop = false,
}: OrdersOptions): Promise<OrdersReport> {
  const violations: string[] = [];
  const outcomes = new Map<string, number>();
  let played = 0;
  const play = async (index: number): Promise<void> => {
    await using server = await startTestServer({
      ...options,
      seed: `orders-${seed}-${index}`,
      ...(start === undefined ? {} : { start }),
    });
    const chance = new Chance(seed * 1_000 + index);
    for (let order = 0; order < orders / worlds; order += 1) {
      if (stop && violations.length > 0) return;
      const report = await playOrder(server, chance, `order-${index}-${order}`);
      played += 1;
      violations.push(...report.violations);
      for (const [outcome, times] of report.outcomes)
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + times);
    }
  };
  await Promise.all(Array.from({ length: worlds }, (_, index) => play(index)));
  return { violations, outcomes, played };
}

const maxSendings = 6;
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

const faultKinds = [
  "fail_before_commit",
  "unavailable",
  "throttle",
  "drop_before_commit",
  "drop_after_commit",
  "drop_after_commit",
  "error_after_commit",
  "garbage_after_commit",
  "decline",
  "acquirer_unknown_then_yes",
  "acquirer_unknown_then_no",
] as const;

/** Other events between two requests. */
async function meanwhile(server: TestServer, chance: Chance, code: string): Promise<void> {
  const admin = (path: string, fields: Fields): Promise<Fields | undefined> =>
    send(server, `/__cofre/${path}`, { integration_key: integrationKey, ...fields });
  const act = (action: string): Promise<Fields | undefined> =>
    admin("payment", { merchant_payment_code: code, action });
  const settings = (change: Fields): Promise<Fields | undefined> =>
    admin("settings", { settings: change });
  await chance.pick([
    () => settings({ createToken: chance.happens(500) }),
    () => settings({ maximumAmountUsd: chance.happens(500) ? 50 : 10_000 }),
    () => settings({ partialCapture: chance.happens(800) }),
    () => settings({ refundWindowDays: chance.below(3) }),
    () => settings({ strictMandates: chance.happens(500), strictAmounts: chance.happens(500) }),
    () => settings({ strictRefundCancel: chance.happens(500) }),
    () => act("confirm"),
    () => act("cancel"),
    () => act("chargeback"),
    async () =>
      server.clock.advance(chance.pick([1_000, minuteMs, 3 * minuteMs, 2 * dayMs, 40 * dayMs])),
  ])();
}

const usualSettings = {
  createToken: true,
  maximumAmountUsd: 10_000,
  partialCapture: true,
  refundWindowDays: 0,
  strictMandates: false,
  strictAmounts: false,
  strictRefundCancel: false,
};

interface Sending {
  readonly intent: Intent;
  readonly fault: string | undefined;
  readonly before: Books;
  readonly after: Books;
  readonly answer: Fields | undefined;
}

interface OrderReport {
  /** Contradictions, as sentences. */
  readonly violations: readonly string[];
  /** The number of each answer: `capture BP-CAP-4`. */
  readonly outcomes: ReadonlyMap<string, number>;
}

/**
 * Plays one order: sends each request until an answer is final, with faults and other events in
 * between, and judges it by the books.
 */
async function playOrder(server: TestServer, chance: Chance, code: string): Promise<OrderReport> {
  const violations: string[] = [];
  const outcomes = new Map<string, number>();
  await send(server, "/__cofre/settings", {
    integration_key: integrationKey,
    settings: usualSettings,
  });
  for (const intent of drawOrder(chance, code, server.clock.now())) {
    const sendings: Sending[] = [];
    const first = await booksOf(server, code);
    let disturbed = false;
    for (let time = 0; time < maxSendings; time += 1) {
      if (chance.happens(400)) {
        const before = await booksOf(server, code);
        await meanwhile(server, chance, code);
        disturbed ||= JSON.stringify(before) !== JSON.stringify(await settle(server, code));
      }
      const sending = await sendOnce(server, chance, code, intent);
      sendings.push(sending);
      const word = wordOf(sending.answer);
      outcomes.set(`${intent.kind} ${word}`, (outcomes.get(`${intent.kind} ${word}`) ?? 0) + 1);
      const givesBack = intent.kind === "refund" || intent.kind === "refundOrCancel";
      const isSafe = intent.key !== undefined || !givesBack || intent.refundCode !== undefined;
      if (word === "lost" || outcomeOpen.has(word) || word === "SUCCESS, open") {
        await settle(server, code);
        // Without a refund code, a refund that is sent again is another refund.
        if (!isSafe) break;
        continue;
      }
      if (!retryable.has(word)) break;
    }
    const problem = judge(intent, sendings, first, await booksOf(server, code), disturbed);
    if (problem !== undefined) violations.push(`${code}: ${problem}\n${reportedBy(sendings)}`);
  }
  return { violations, outcomes };
}

async function sendOnce(
  server: TestServer,
  chance: Chance,
  code: string,
  intent: Intent,
): Promise<Sending> {
  const fault = chance.happens(550) ? chance.pick(faultKinds) : undefined;
  const faults = (fields: Fields): Promise<Fields | undefined> =>
    send(server, "/__cofre/faults", { integration_key: integrationKey, ...fields });
  if (fault !== undefined) await faults({ add: { kind: fault, path: intent.path, times: 1 } });
  const before = await booksOf(server, code);
  const answer = await send(server, intent.path, intent.body, intent.key);
  const after = await booksOf(server, code);
  if (fault !== undefined) await faults({ clear: "all" });
  return { intent, fault, before, after, answer };
}

/** The books when nothing is in flight any more. */
async function settle(server: TestServer, code: string): Promise<Books> {
  for (let time = 0; time < 200; time += 1) {
    const books = await booksOf(server, code);
    if (!["authorizing", "capturing", "voiding", "reversing"].includes(books.state)) return books;
    server.clock.advance(10_000);
    await sleep(60);
  }
  throw new Error(`${code} stays in flight`);
}

function wordOf(answer: Fields | undefined): string {
  if (answer === undefined) return "lost";
  if (answer["status"] !== "SUCCESS") return String(answer["status_code"]);
  const { status, pre_approved: approved, capture_available: held } = answer["payment"] as Fields;
  return status === "PE" && approved === false && held === false ? "SUCCESS, open" : "SUCCESS";
}

/**
 * Codes that say that the requested action was done already: without a key they may refer to this
 * very request.
 */
const alreadyThere: ReadonlySet<string> = new Set([
  "BP-DR-0",
  "BP-CAP-4",
  "BP-REF-11",
  "BP-REF-10",
  "BP-CAN-3",
]);

/** The contradiction between the last answer and the books; undefined when they agree. */
function judge(
  intent: Intent,
  sendings: readonly Sending[],
  first: Books,
  books: Books,
  disturbed: boolean,
): string | undefined {
  for (const { before, after, answer } of sendings) {
    const word = wordOf(answer);
    const isRefusal =
      !["lost", "SUCCESS", "SUCCESS, open"].includes(word) &&
      !outcomeOpen.has(word) &&
      !word.endsWith("-7") &&
      word !== "BP-CAN-4";
    if (isRefusal && before.requests !== after.requests)
      return `${word} though the sending changed the books`;
  }
  const word = wordOf(sendings.at(-1)?.answer);
  const isDone = effectOf(intent, first, books);
  if (intent.kind === "refund" && intent.amount !== undefined && intent.amount !== "100.00") {
    const times = books.refunds.filter((refund) => refund.includes(` ${intent.amount} `)).length;
    if (times > 1) return "refunded more than once";
  }
  // Effects of these are permanent: a captured payment is captured, a voided one void, and a refund
  // is in its list.
  if (word === "SUCCESS") return isDone ? undefined : "SUCCESS though the books have nothing of it";
  if (word === "lost" || word === "SUCCESS, open" || outcomeOpen.has(word) || retryable.has(word))
    return undefined;
  if (!isDone || (disturbed && (intent.kind === "cancel" || intent.kind === "refundOrCancel")))
    return undefined;
  if (intent.key === undefined && alreadyThere.has(word)) return undefined;
  return `${word} though the books have what was asked for`;
}

/** Whether the books contain the effect of this intent only, and did not before. */
function effectOf({ kind, amount, refundCode, body }: Intent, first: Books, books: Books): boolean {
  const refund = (code: string, of: Books): string | undefined =>
    of.refunds.find((each) => each.startsWith(`${code} `));
  switch (kind) {
    case "direct":
      return books.state !== "absent";
    case "capture":
      return books.captured === amount;
    case "cancel":
      return books.state === "voided" && first.state !== "voided";
    case "cancelRefund": {
      const code = String(body["merchant_refund_code"]);
      return (
        refund(code, books)?.endsWith(" CA") === true &&
        refund(code, first)?.endsWith(" CA") !== true
      );
    }
    case "refundOrCancel": {
      const voided = books.state === "voided" && first.state !== "voided";
      if (refundCode !== undefined) return voided || refund(refundCode, books) !== undefined;
      return voided || books.refunds.length > first.refunds.length;
    }
    default:
      if (refundCode !== undefined) return refund(refundCode, books) !== undefined;
      return amount === "100.00"
        ? books.refunds.length > first.refunds.length
        : books.refunds.some((each) => each.includes(` ${amount} `));
  }
}

function reportedBy(sendings: readonly Sending[]): string {
  return sendings
    .map(({ intent, fault, before, after, answer }) => {
      const name = intent.key === undefined ? "" : " under a key";
      const [was, is] = [before, after].map(
        ({ state, captured, refunds }) => `${state} ${captured} [${refunds.join("; ")}]`,
      );
      return `  ${intent.kind} ${intent.amount ?? ""}${name}, ${fault ?? "no fault"}: ${wordOf(answer)}; books ${was} -> ${is}`;
    })
    .join("\n");
}
