import type { BookedAuthorization } from "../../src/connectors/simulator/acquirer.ts";
import type { Simulator } from "../../src/connectors/simulator/simulator-connector.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import type { PaymentState } from "../../src/payment/payment-machine.ts";
import type { Payment } from "../../src/payment/payment.ts";
import type { Change, CommitResult } from "../../src/stores/change.ts";
import type { Store } from "../../src/stores/store.ts";

/** What the auditor believes may follow what: written down by hand, apart from the machine's table. */
const allowedMoves: Readonly<Record<PaymentState | "nothing", readonly PaymentState[]>> = {
  nothing: ["authorizing"],
  received: [],
  authorizing: ["authorizing", "authorized", "captured", "in_review", "declined", "reversing"],
  authorized: ["capturing", "voiding", "expired"],
  in_review: ["authorized", "voiding"],
  capturing: ["capturing", "captured", "authorized"],
  voiding: ["voiding", "voided", "authorized", "in_review"],
  reversing: ["reversing", "voided"],
  captured: [],
  declined: [],
  voided: [],
  expired: [],
};

const finalStates: readonly PaymentState[] = ["captured", "declined", "voided", "expired"];
const restingStates: readonly PaymentState[] = [...finalStates, "authorized", "in_review"];

/** What a client was told: it must stay true. */
export interface Promised {
  readonly payment: Payment;
}

/**
 * The independent judge of a run. Watches every commit, remembers what clients were told, and compares with the acquirer's books.
 */
export class Auditor {
  readonly violations: string[] = [];
  /** How often each interesting thing happened: a run that never meets it proves nothing about it. */
  readonly marks = new Map<string, number>();
  readonly #store: Store;
  readonly #simulator: Simulator;
  readonly #latest = new Map<string, Payment>();
  readonly #cardUses = new Map<string, number>();
  readonly #promises: Promised[] = [];

  constructor(store: Store, simulator: Simulator) {
    this.#store = store;
    this.#simulator = simulator;
  }

  violation(text: string): void {
    this.violations.push(text);
  }

  mark(what: string): void {
    this.marks.set(what, (this.marks.get(what) ?? 0) + 1);
  }

  /** The store, with every commit looked at. A commit that the store will apply later is seen at the next look. */
  watch(store: Store): Store {
    return new Proxy(store, {
      get: (target, name: keyof Store) =>
        name === "commit"
          ? (change: Change) => this.#commit(target, change)
          : (target[name] as (...values: never[]) => unknown).bind(target),
    });
  }

  /** A client was given this answer. */
  told(payment: Payment): void {
    this.#promises.push({ payment });
    this.mark(`told ${payment.state}`);
  }

  async #commit(store: Store, change: Change): Promise<CommitResult> {
    const result = await store.commit(change).catch((error: unknown) => {
      this.mark(`commit ${(error as { code: string }).code}`);
      throw error;
    });
    this.mark(`commit ${result.outcome}`);
    if (result.outcome === "committed") await this.#look(change);
    return result;
  }

  async #look(change: Change): Promise<void> {
    if (change.cardUse !== undefined) {
      const key = change.merchantId + change.cardUse.tokenDigest;
      const card = await this.#store.cardByToken(change.merchantId, change.cardUse.tokenDigest);
      const used = card?.lastUsedAt ?? 0;
      if (used < (this.#cardUses.get(key) ?? 0) || used < change.cardUse.at) this.violation("I10: a card's last use never goes back");
      this.#cardUses.set(key, used);
    }
    if (change.payment === undefined) return;
    for (const { fact, by } of change.facts) this.mark(`${fact} by ${by}`);
    const { merchantId, id } = change.payment.next;
    const stored = await this.#store.paymentById(merchantId, id);
    if (stored === undefined) {
      this.violation("a committed payment can be read");
      return;
    }
    this.#lookAt(stored, change.payment.replaces);
  }

  #lookAt(stored: Payment, replaces: number | undefined): void {
    const before = this.#latest.get(stored.id);
    this.#latest.set(stored.id, stored);
    const is = (condition: boolean, what: string): void => {
      if (!condition) this.violation(`${what} (payment ${stored.order.code}, version ${stored.version}, ${stored.state})`);
    };
    // A version in between is missing when a commit was unknown and applied: its move is seen as part of this one.
    const seenAll = before === undefined ? stored.version === 1 : before.version + 1 === stored.version;
    if (seenAll) is(allowedMoves[before?.state ?? "nothing"].includes(stored.state), `I6: no move from ${before?.state}`);
    is((replaces ?? 0) + 1 === stored.version, "a commit makes the version after the one that it replaces");
    is(stored.captured >= 0n && stored.captured <= stored.authorized, "I3: captured never exceeds authorized");
    is(stored.authorized === 0n || stored.authorized === stored.order.amount.minor, "what is authorized is what was ordered");
    is((stored.attempt !== undefined) === !restingStates.includes(stored.state), "I6: an attempt is there exactly while in flight");
    is(before === undefined || (stored.statusAt ?? 0) >= (before.statusAt ?? 0), "I6: the status date never goes back");
    is((stored.statusAt !== undefined) === finalStates.includes(stored.state), "the status date tells of a final state");
    is(stored.order.pricing.total.minor === stored.order.pricing.gross.minor + stored.order.pricing.tax.minor, "I11: the amounts agree");
  }

  /** What must hold at any moment: nothing is at the acquirer that was not written down first, and nothing twice. */
  async checkBooks(merchants: readonly MerchantId[]): Promise<void> {
    for (const merchantId of merchants) {
      const live = new Map<string, number>();
      for (const booked of this.#booksOf(merchantId)) {
        const id = paymentIdOf(booked);
        const payment = await this.#store.paymentById(merchantId, id as Payment["id"]);
        if (payment === undefined) this.violation(`nothing is sent before it is written down: ${booked.reference}`);
        if (booked.approvals > 1) this.violation(`I1: one authorization is held once: ${booked.reference}`);
        if (booked.captured > booked.amount.minor)
          this.violation(`I3: the acquirer takes no more than was authorized: ${booked.reference}`);
        if (booked.captures > 1) this.violation(`I3: an authorization is captured once: ${booked.reference}`);
        const code = payment?.order.code ?? id;
        if (booked.held > 0n || booked.captured > 0n) live.set(code, (live.get(code) ?? 0) + 1);
      }
      for (const [code, count] of live) if (count > 1) this.violation(`I1: at most one live authorization for ${code}`);
    }
  }

  /** What must hold when the faults are over and everything had time to settle. */
  async checkSettled(merchants: readonly MerchantId[], codes: ReadonlyMap<MerchantId, ReadonlySet<string>>): Promise<void> {
    await this.checkBooks(merchants);
    const outbox = await this.#store.notificationsAfter(0, 1_000_000);
    for (const merchantId of merchants) {
      const books = this.#booksOf(merchantId);
      const payments: Payment[] = [];
      for (const code of codes.get(merchantId) ?? []) {
        const payment = await this.#store.paymentByCode(merchantId, code);
        if (payment !== undefined) payments.push(payment);
      }
      for (const payment of payments) {
        await this.#checkPayment(
          payment,
          books.filter((booked) => paymentIdOf(booked) === payment.id),
        );
        const told = outbox.filter(({ paymentId }) => paymentId === payment.id).length;
        const expected = finalStates.includes(payment.state) ? 1 : 0;
        if (told !== expected) this.violation(`I9: ${payment.order.code} in ${payment.state} has ${told} notifications, not ${expected}`);
      }
      await this.#checkBalances(merchantId, payments);
    }
    await this.#checkPromises();
  }

  async #checkPayment(payment: Payment, books: readonly BookedAuthorization[]): Promise<void> {
    const is = (condition: boolean, what: string): void => {
      if (!condition) this.violation(`${what} (payment ${payment.order.code}, ${payment.state})`);
    };
    is(restingStates.includes(payment.state), "I8: nothing stays in flight after the faults are over");
    is(!payment.needsReview, "no payment waits for people");
    const held = books.reduce((sum, booked) => sum + booked.held, 0n);
    const captured = books.reduce((sum, booked) => sum + booked.captured, 0n);
    is(captured === payment.captured, `I2: captured is ${payment.captured} here and ${captured} at the acquirer`);
    const expectedHold = payment.state === "authorized" || payment.state === "in_review" ? payment.authorized : 0n;
    if (payment.state !== "captured") is(held === expectedHold, `I2: held is ${expectedHold} here and ${held} at the acquirer`);

    const history = await this.#store.history(payment.merchantId, payment.id);
    is(history.length === payment.version, "one history row for each change");
    is(
      history.every(({ version }, index) => version === index + 1),
      "history has no gaps",
    );
    for (const { entries } of history) {
      for (const { postings } of entries) {
        const sums = new Map<string, bigint>();
        for (const { currency, minor } of postings) sums.set(currency, (sums.get(currency) ?? 0n) + minor);
        is(
          [...sums.values()].every((sum) => sum === 0n),
          "I7: every entry balances in every currency",
        );
      }
    }
  }

  /** The ledger says what the payments say. */
  async #checkBalances(merchantId: MerchantId, payments: readonly Payment[]): Promise<void> {
    const balances = await this.#store.balances(merchantId);
    const totals = new Map<string, bigint>();
    for (const { currency, minor } of balances) totals.set(currency, (totals.get(currency) ?? 0n) + minor);
    for (const [currency, sum] of totals) if (sum !== 0n) this.violation(`I7: the ledger of ${merchantId} sums to ${sum} in ${currency}`);
    for (const currency of new Set(payments.map(({ order }) => order.amount.currency))) {
      const own = payments.filter(({ order }) => order.amount.currency === currency);
      const taken = own.reduce((sum, { captured }) => sum + captured, 0n);
      const held = own
        .filter(({ state }) => state === "authorized" || state === "in_review")
        .reduce((sum, { authorized }) => sum + authorized, 0n);
      const of = (account: string): bigint =>
        balances.filter((row) => row.account === account && row.currency === currency).reduce((sum, { minor }) => sum + minor, 0n);
      if (of("authorized_holds") !== held) this.violation(`I7: holds are ${held} and the ledger says ${of("authorized_holds")}`);
      if (of("acquirer_receivable") !== taken) this.violation(`I7: captures are ${taken} and the ledger says ${of("acquirer_receivable")}`);
    }
  }

  async #checkPromises(): Promise<void> {
    for (const { payment: told } of this.#promises) {
      const now = await this.#store.paymentById(told.merchantId, told.id);
      if (now === undefined) this.violation(`I2: a payment that a client was told of is kept: ${told.order.code}`);
      else if (!stillTrue(told, now)) this.violation(`I2: a client was told ${told.state} of ${told.order.code}, and it is ${now.state}`);
    }
  }

  #booksOf(merchantId: MerchantId): readonly BookedAuthorization[] {
    return this.#simulator.books().merchants.find((books) => books.merchantId === merchantId)?.authorizations ?? [];
  }
}

function stillTrue(told: Payment, now: Payment): boolean {
  if (finalStates.includes(told.state)) return now.state === told.state && now.captured === told.captured;
  // An approval that was acknowledged is never taken back, except by the merchant.
  if (told.state === "authorized" || told.state === "in_review") return now.state !== "declined" && now.authorized === told.authorized;
  return now.version >= told.version;
}

function paymentIdOf(booked: BookedAuthorization): string {
  return booked.reference.slice(0, 48);
}
