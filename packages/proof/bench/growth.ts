import { performance } from "node:perf_hooks";
import {
  decideAuthorizeOutcome,
  decideIntention,
} from "../../server/src/decisions/payment-decisions.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { newPaymentId, type PaymentId } from "../../server/src/payment/payment-id.ts";
import { instant, laterBy } from "../../server/src/kernel/instant.ts";
import { SystemRandom } from "../../server/src/kernel/system-random.ts";
import type { RunningStore, Store } from "../../server/src/stores/store.ts";
import type { PaymentOrder } from "../../server/src/payment/payment.ts";
import { urlEndpoint } from "../../server/src/notification/endpoint.ts";
import { median } from "./statistics.ts";

export interface GrowthPoint {
  readonly payments: number;
  readonly chargesPerSecond: number;
  /**
   * CPU per charge of this process, which only decides and stores charges, plus the database
   * server's if there is one.
   */
  readonly cpuMicrosPerCharge: number;
  readonly lookupByIdMicros: number;
  readonly lookupByCodeMicros: number;
}

export interface GrowthReport {
  readonly points: readonly GrowthPoint[];
  /** CPU per charge at the last mark / at the first. */
  readonly cpuRatio: number;
  readonly lookupRatio: number;
  /** Charges per transaction of the store, over the whole run; each charge has two commits. */
  readonly chargesPerFsync: number;
}

const outstanding = 256;

const random = new SystemRandom();
const usualMerchant = "0be5c0de" as MerchantId;

/**
 * Charges without HTTP, each with its two durable commits, until `payments` are stored. Compares
 * the CPU per charge of the same processes early and late: at a tenth, at half and at the end, each
 * over the last fortieth of all charges before the mark. `serverCpuMicros` returns the CPU that the
 * database server has used so far. Closes the store.
 */
export async function growth(
  store: RunningStore,
  payments = 2_000_000,
  serverCpuMicros: () => number = () => 0,
): Promise<GrowthReport> {
  const slice = Math.floor(payments / 40);
  const points: GrowthPoint[] = [];
  /** Every thousandth payment of two million, for the lookups. */
  const kept: { readonly id: PaymentId; readonly code: string }[] = [];
  let sequence = 0;
  const charge = async (): Promise<void> => {
    const number = sequence++;
    const code = `growth-${String(number).padStart(12, "0")}`;
    const id = await chargeOnce(store, code);
    if (number % Math.ceil(payments / 2_000) === 0) kept.push({ id, code });
  };
  for (const mark of [payments / 10, payments / 2, payments].map(Math.floor)) {
    await concurrently(mark - slice - sequence, charge);
    const cpuBefore = process.cpuUsage();
    const serverBefore = serverCpuMicros();
    const begin = performance.now();
    await concurrently(slice, charge);
    const seconds = (performance.now() - begin) / 1_000;
    const cpu = process.cpuUsage(cpuBefore);
    points.push({
      payments: mark,
      chargesPerSecond: slice / seconds,
      cpuMicrosPerCharge: (cpu.user + cpu.system + serverCpuMicros() - serverBefore) / slice,
      lookupByIdMicros: await lookUp(kept, ({ id }) => store.paymentById(usualMerchant, id)),
      lookupByCodeMicros: await lookUp(kept, ({ code }) =>
        store.paymentByCode(usualMerchant, code),
      ),
    });
  }
  const { commits } = store.stats();
  await store.close();
  const [first] = points;
  const last = points.at(-1);
  if (first === undefined || last === undefined) throw new Error("growth has at least one mark");
  return {
    points,
    chargesPerFsync: sequence / commits,
    cpuRatio: last.cpuMicrosPerCharge / first.cpuMicrosPerCharge,
    lookupRatio: Math.max(
      last.lookupByIdMicros / first.lookupByIdMicros,
      last.lookupByCodeMicros / first.lookupByCodeMicros,
    ),
  };
}

export function printGrowth(report: GrowthReport): void {
  for (const point of report.points) {
    console.log(
      `growth       ${String(point.payments).padStart(9)} payments: ${point.cpuMicrosPerCharge.toFixed(1)} CPU-us a charge, ${point.chargesPerSecond.toFixed(0)} charges/s, ` +
        `lookup ${point.lookupByIdMicros.toFixed(1)} us by hash, ${point.lookupByCodeMicros.toFixed(1)} by code`,
    );
  }
  console.log(
    `growth       CPU x ${report.cpuRatio.toFixed(3)}, lookup x ${report.lookupRatio.toFixed(3)} from the first mark to the last; ${report.chargesPerFsync.toFixed(1)} charges a commit`,
  );
}

/**
 * One charge in two commits. With `notified`, for that merchant and with a notification to that
 * address.
 */
export async function chargeOnce(
  store: Store,
  code: string,
  notified?: { readonly merchantId: MerchantId; readonly notificationUrl: string },
): Promise<PaymentId> {
  const now = instant(Date.now());
  const id = newPaymentId(now, random);
  const { merchantId = usualMerchant, notificationUrl } = notified ?? {};
  const intention = decideIntention(
    merchantId,
    id,
    { ...order, code, notificationUrl },
    now,
    laterBy(now, 30_000),
  );
  await mustCommit(store, intention);
  const outcome = {
    kind: "approved",
    authorizationCode: "48213",
    responseCode: "00",
    acquirerReference: "ref00000001",
    networkTransactionId: undefined,
  } as const;
  const result = decideAuthorizeOutcome(intention.payment.next, outcome, now, "merchant", {
    attempt: 1,
    notify: true,
    captureWindowDays: 4,
  });
  if (result === undefined) throw new Error("an approved attempt has a result");
  await mustCommit(
    store,
    notificationUrl === undefined
      ? result
      : { ...result, endpoints: [urlEndpoint(notificationUrl)] },
  );
  return id;
}

async function mustCommit(store: Store, change: Parameters<Store["commit"]>[0]): Promise<void> {
  const { outcome } = await store.commit(change);
  if (outcome !== "committed") throw new Error(`the store said ${outcome}`);
}

async function concurrently(count: number, task: () => Promise<void>): Promise<void> {
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0) await task();
  };
  await Promise.all(Array.from({ length: outstanding }, worker));
}

async function lookUp<T>(from: readonly T[], read: (one: T) => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 2_000; round++) {
    const one = from[(round * 7_919) % from.length];
    if (one === undefined) throw new Error("there is something to look up");
    const begin = performance.now();
    if ((await read(one)) === undefined) throw new Error("a payment that was stored is found");
    times.push((performance.now() - begin) * 1_000);
  }
  return median(times);
}

const brl = (
  minor: bigint,
): { readonly minor: bigint; readonly currency: PaymentOrder["amount"]["currency"] } => ({
  minor,
  currency: "BRL",
});
const order: Omit<PaymentOrder, "code"> = {
  orderNumber: "41700",
  amount: brl(10_000n),
  pricing: { rate: "1.0000", gross: brl(10_000n), tax: brl(0n), total: brl(10_000n) },
  instalments: 1,
  autoCapture: true,
  manualReview: false,
  country: "br",
  paymentType: "credit",
  card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
  customer: {
    name: "José da Silva",
    email: "jose.silva@example.com",
    document: "85351346893",
    birthDate: "1979-04-12",
    personType: "personal",
    phone: "8522847035",
    zipcode: "64919123",
    address: "Rua Engenheiro Sampaio",
    streetNumber: "1040",
    streetComplement: undefined,
    city: "Maracanaú",
    state: "CE",
    ip: undefined,
    responsible: undefined,
  },
  softDescriptor: undefined,
  note: undefined,
  userValues: [],
  notificationUrl: undefined,
  deviceId: undefined,
  storedCredential: undefined,
  threeDSecure: undefined,
  expectedLiability: "merchant",
};
