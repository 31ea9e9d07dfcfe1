import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  AcquirerBooks,
  BookedAuthorization,
} from "../../src/connectors/simulator/messages-and-books.ts";
import type {
  Instruction,
  MessageKind,
  NetworkFault,
} from "../../src/connectors/simulator/network.ts";
import { decode, readBooks } from "../../src/connectors/simulator/wire.ts";
import {
  isReversalCode,
  paymentCodeOf,
  refundReferenceOf,
} from "../../src/connectors/upstream/references.ts";
import { connectUpstream } from "../../src/connectors/upstream/upstream-connector.ts";
import type { Connector } from "../../src/connectors/connector.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { Secret } from "../../src/kernel/secret.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { startAcquirer } from "../acquirer/start-acquirer.ts";
import type { ConnectorHarness } from "../contract/connector.contract.ts";
import { CofreProcess } from "../support/cofre-process.ts";
import { serverRoot } from "../support/planted-copy.ts";
import { WireClient } from "../support/wire-client.ts";
import { type Fault, FaultProxy } from "./fault-proxy.ts";
import { testCustomer } from "./test-customer.ts";
import { until } from "../until.ts";

const integrationKey = "test_ik_upstream_contract_inner";
const lateArrivalMs = 1_500;
const patienceMs = 400;

const paths: Readonly<Record<string, MessageKind>> = {
  "/ws/direct": "authorize",
  "/ws/verifycard": "verify",
  "/ws/capture": "capture",
  "/ws/cancel": "void",
  "/ws/refund": "refund",
  "/ws/query": "inquire",
};

/** Echoing is configured at the acquirer behind the inner server; the network has no fault then. */
const faults: Readonly<Record<NetworkFault | "echo_card", Fault>> = {
  echo_card: { kind: "none" },
  lose_request: { kind: "lose_request" },
  lose_answer: { kind: "lose_answer" },
  late_answer: { kind: "late_request", ms: Math.floor(lateArrivalMs * 0.7) },
  double_request: { kind: "double_request" },
};

type Fields = Readonly<Record<string, unknown>>;
type Ask = (path: string, fields: Fields) => Promise<Fields>;

/**
 * The upstream connector, a fault proxy, a Cofre process and behind it an acquirer process. From
 * the acquirer's books the suite sees the part of each of our merchants, under our references.
 */
export async function upstreamHarness(): Promise<ConnectorHarness> {
  const scratch = mkdtempSync(join(tmpdir(), "cofre-upstream-"));
  const acquirer = await startAcquirer();
  const inner = CofreProcess.spawn({
    root: serverRoot,
    dataDirectory: ":memory:",
    logDirectory: scratch,
    name: "inner",
    environment: {
      COFRE_ACQUIRER_URL: acquirer.address,
      COFRE_SANDBOX_INTEGRATION_KEY: integrationKey,
    },
  });
  const port = (await inner.listening()) ?? 0;
  const client = new WireClient(8);
  const ask: Ask = async (path, fields) => {
    const answer = await client.ask(port, path, { integration_key: integrationKey, ...fields });
    if (answer === undefined) throw new Error(`the inner Cofre did not answer ${path}`);
    return answer;
  };
  await ask("/__cofre/settings", {
    settings: {
      partialCapture: true,
      requireCvv: false,
      declineCodes: true,
      refundRequestedMinutes: 0,
      refundPendingMinutes: 0,
    },
  });
  const proxy = await FaultProxy.start(port);
  const upstream = connectUpstream({
    clock: systemClock,
    scheduler: systemScheduler,
    address: new URL(`http://127.0.0.1:${proxy.port}`),
    integrationKey: new Secret(integrationKey),
    lateArrivalMs,
  });
  const world = new World(upstream, ask, async () => {
    const received = await client.send({
      port: Number(new URL(acquirer.address).port),
      method: "GET",
      path: "/books",
    });
    return readBooks(decode(received?.body ?? ""));
  });
  const planned: Instruction[] = [];
  let left = 0;
  proxy.plan = ({ path }) => {
    const next = planned[0];
    const kind = paths[path ?? ""];
    if (next === undefined || (next.message !== undefined && next.message !== kind))
      return { kind: "none" };
    if (left === 0) left = next.times;
    left -= 1;
    if (left === 0) planned.shift();
    return typeof next.next === "string" ? faults[next.next] : { kind: "none" };
  };
  return {
    connector: world.connector,
    lacks: { transactionNames: true, captureNames: true },
    instruct: async (_, instruction) => {
      if (typeof instruction.next === "string") planned.push(instruction);
      else
        await ask("/__cofre/simulator", {
          next: "decline",
          reason: instruction.next.decline,
          times: instruction.times,
        });
    },
    books: () => world.books(),
    now: () => systemClock.now(),
    patienceMs,
    pass: (ms) => systemScheduler.sleep(ms),
    close: async () => {
      upstream.close();
      await proxy.close();
      await inner.end("SIGTERM");
      await acquirer.stop();
      client.close();
      rmSync(scratch, { recursive: true, force: true });
    },
  };
}

interface Known {
  readonly merchantId: MerchantId;
  readonly reference: string;
}

/** Records which merchant sent each request, because the inner books contain one merchant only. */
class World {
  readonly connector: Connector;
  readonly #ask: Ask;
  readonly #books: () => Promise<AcquirerBooks>;
  readonly #known: Known[] = [];
  readonly #reversed = new Set<string>();
  readonly #before = new Map<MerchantId, AcquirerBooks["merchants"][number]["totals"]>();

  constructor(upstream: Connector, ask: Ask, books: () => Promise<AcquirerBooks>) {
    this.#ask = ask;
    this.#books = books;
    this.connector = {
      ...upstream,
      authorize: async (request, card) => {
        await this.#meet(request.merchantId);
        if (!this.#known.some((known) => nameOf(known) === nameOf(request)))
          this.#known.push(request);
        return upstream.authorize({ ...request, customer: testCustomer }, card);
      },
      verify: async (request, card) => {
        await this.#meet(request.merchantId);
        return upstream.verify(request, card);
      },
      reverse: (request) => {
        this.#reversed.add(
          nameOf({ merchantId: request.merchantId, reference: request.original.reference }),
        );
        return upstream.reverse(request);
      },
    };
  }

  async books(): Promise<AcquirerBooks> {
    const all = await this.#books();
    const merchants = [];
    // A test reads its own merchants only, which are the latest.
    for (const [merchantId, before] of [...this.#before].slice(-2))
      merchants.push(await this.#booksOf(merchantId, before, all));
    return { merchants, forgottenReferences: all.forgottenReferences };
  }

  async #meet(merchantId: MerchantId): Promise<void> {
    if (!this.#before.has(merchantId)) this.#before.set(merchantId, totalsOf(await this.#books()));
  }

  async #booksOf(
    merchantId: MerchantId,
    before: ReturnType<typeof totalsOf>,
    first: AcquirerBooks,
  ): Promise<AcquirerBooks["merchants"][number]> {
    const isLatest = [...this.#before.keys()].at(-1) === merchantId;
    const authorizations: BookedAuthorization[] = [];
    let all = first;
    let undone = 0;
    let reversedByRefund = 0;
    for (const { reference } of this.#known.filter((known) => known.merchantId === merchantId)) {
      const seen = await this.#paymentOf(merchantId, reference);
      if (seen === undefined) continue;
      all = isLatest ? await this.#books() : all;
      const booked = all.merchants[0]?.authorizations.find(
        (each) => each.reference === `${seen.hash}-1`,
      );
      if (booked === undefined) continue;
      if (booked.voided && this.#reversed.has(nameOf({ merchantId, reference }))) undone += 1;
      const refunds = booked.refunds.flatMap((refund) => {
        const code = seen.refunds.get(/-r(\d+)-\d+$/.exec(refund.reference)?.[1] ?? "") ?? "";
        if (isReversalCode(merchantId, reference, code)) return [];
        return [{ ...refund, reference: refundReferenceOf(merchantId, reference, code) ?? code }];
      });
      const isReversed = refunds.length < booked.refunds.length;
      reversedByRefund += isReversed ? 1 : 0;
      authorizations.push({
        ...booked,
        reference,
        refunds,
        captured: isReversed ? 0n : booked.captured,
      });
    }
    const now = totalsOf(all);
    const totals = Object.fromEntries(
      Object.entries(now).map(([name, count]) => [
        name,
        count - before[name as keyof typeof before],
      ]),
    );
    return {
      merchantId,
      totals: {
        ...now,
        ...totals,
        voids: now.voids - before.voids - undone,
        reversals: now.reversals - before.reversals + undone + reversedByRefund,
      },
      money: [{ currency: "BRL", ...moneyOf(authorizations) }],
      authorizations,
    };
  }

  /**
   * Waits until none of its refunds is in progress, because the inner server executes refunds by
   * its own clock.
   */
  async #paymentOf(
    merchantId: MerchantId,
    reference: string,
  ): Promise<{ hash: string; refunds: ReadonlyMap<string, string> } | undefined> {
    let found: { hash: string; refunds: ReadonlyMap<string, string> } | undefined;
    await until(`no refund of ${reference} is under way`, async () => {
      const answer = await this.#ask("/ws/query", {
        merchant_payment_code: paymentCodeOf(merchantId, reference),
      });
      if (answer["status"] !== "SUCCESS") return true;
      const payment = answer["payment"] as {
        hash: string;
        refunds?: { id: string; status: string; merchant_refund_code: string | null }[];
      };
      const refunds = payment.refunds ?? [];
      if (refunds.some(({ status }) => status === "RE" || status === "PE")) return false;
      found = {
        hash: payment.hash,
        refunds: new Map(refunds.map(({ id, merchant_refund_code: code }) => [id, code ?? ""])),
      };
      return true;
    });
    return found;
  }
}

function totalsOf(books: AcquirerBooks): AcquirerBooks["merchants"][number]["totals"] {
  return (
    books.merchants[0]?.totals ?? {
      approvals: 0,
      declines: 0,
      captures: 0,
      voids: 0,
      refunds: 0,
      reversals: 0,
      verifications: 0,
      duplicates: 0,
    }
  );
}

function moneyOf(authorizations: readonly BookedAuthorization[]): {
  held: bigint;
  captured: bigint;
  refunded: bigint;
} {
  const money = { held: 0n, captured: 0n, refunded: 0n };
  for (const { held, captured, refunds } of authorizations) {
    const back = refunds.reduce((sum, { amount }) => sum + amount, 0n);
    money.held += held;
    money.captured += captured - back;
    money.refunded += back;
  }
  return money;
}

function nameOf({ merchantId, reference }: Known): string {
  return `${merchantId} ${reference}`;
}
