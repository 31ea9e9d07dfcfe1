import { createHash } from "node:crypto";
import type {
  AcquirerBooks,
  BookedAuthorization,
} from "../../../server/src/connectors/simulator/messages-and-books.ts";
import type { JudgedFacts, JudgedPayment } from "./judge-facts.ts";
import type { Promises, ReportedPayment } from "./kill-promises.ts";

const finalStates: readonly string[] = ["captured", "declined", "voided", "expired"];

/** Length of a payment's identifier, the prefix of each reference that the acquirer receives. */
const identifierLength = 48;

/**
 * Judges the state after a kill: compares the database with the books of the acquirer, which was
 * never killed, and with the answers that clients received.
 */
export class KillJudge {
  readonly violations: string[] = [];
  readonly #facts: JudgedFacts;
  readonly #payments: ReadonlyMap<string, JudgedPayment>;
  readonly #codes: ReadonlySet<string>;

  constructor(facts: JudgedFacts) {
    this.#facts = facts;
    this.#payments = new Map(facts.payments.map((payment) => [payment.id, payment]));
    this.#codes = new Set(facts.payments.map(({ code }) => code));
  }

  get payments(): number {
    return this.#payments.size;
  }

  get inFlight(): number {
    return [...this.#payments.values()].filter((payment) => payment.inFlight).length;
  }

  /** What must hold at any moment, especially after a crash. */
  checkAlways(books: AcquirerBooks): void {
    this.#is(this.#facts.isSound, "the database is sound");
    this.#is(books.forgottenReferences === 0, "the acquirer's books are complete");
    const live = new Map<string, number>();
    for (const booked of books.merchants.flatMap(({ authorizations }) => authorizations)) {
      const payment = this.#payments.get(paymentIdOf(booked));
      this.#is(
        payment !== undefined,
        `nothing is sent before it is written down: ${booked.reference}`,
      );
      this.#is(booked.approvals <= 1, `an authorization is held once: ${booked.reference}`);
      this.#is(booked.captures <= 1, `an authorization is captured once: ${booked.reference}`);
      this.#is(
        booked.captured <= booked.amount.minor,
        `no more is taken than was authorized: ${booked.reference}`,
      );
      if (payment === undefined || (booked.held === 0n && booked.captured === 0n)) continue;
      live.set(payment.code, (live.get(payment.code) ?? 0) + 1);
    }
    for (const [code, count] of live)
      this.#is(count === 1, `one payment code, one live authorization: ${code} has ${count}`);
    this.#checkLedger();
    this.#checkHistory();
  }

  /**
   * Checks that acknowledged writes exist: payments by identifier, cards by the digest of their
   * token.
   */
  checkAcknowledged(
    promises: Promises,
    digestOf: (merchantId: string, token: string) => string,
  ): void {
    for (const hash of promises.hashes)
      this.#is(this.#payments.has(hash), `an acknowledged payment is there: ${hash}`);
    for (const [token, masked] of promises.tokens) {
      // While a node of the earlier version serves the same database, all nodes store digests in
      // its format.
      const unkeyed = createHash("sha256").update(token).digest("hex");
      const digests = [
        unkeyed,
        ...this.#facts.cardMerchants.map((merchantId) => digestOf(merchantId, token)),
      ];
      const isThere = digests.some((digest) => this.#facts.tokenDigests.has(digest));
      this.#is(isThere, `an acknowledged token is there: ${masked}`);
    }
  }

  /** A request that was refused before any action leaves nothing in the store. */
  checkAbsent(code: string): void {
    this.#is(!this.#codes.has(code), `what was refused is not there: ${code}`);
  }

  /** Checks that the answered state of a payment is stored, once nothing is in flight. */
  checkReported({ hash, code, status }: ReportedPayment): void {
    const state = this.#payments.get(hash)?.state;
    this.#is(state !== undefined, `an acknowledged payment is there: ${code}`);
    const isTrue =
      status === "CO"
        ? state === "captured"
        : status !== "CA" || state === "declined" || state === "voided";
    this.#is(
      state === undefined || isTrue,
      `a payment is as it was told: ${code}, ${status} and ${state}`,
    );
  }

  /** What must hold after the faults and recovery have ended. */
  checkSettled(books: AcquirerBooks): void {
    this.checkAlways(books);
    const held = sumByPayment(books, (booked) => booked.held);
    const taken = sumByPayment(books, (booked) => booked.captured);
    for (const payment of this.#payments.values()) {
      const name = `${payment.code}, ${payment.state}`;
      this.#is(!payment.inFlight, `nothing is stuck: ${name}`);
      this.#is(!payment.needsReview, `nothing waits for people: ${name}`);
      const takenThere = taken.get(payment.id) ?? 0n;
      this.#is(
        takenThere === payment.captured,
        `captured here and there is the same: ${name}, ${payment.captured} and ${takenThere}`,
      );
      const heldHere = payment.state === "authorized" ? payment.authorized : 0n;
      const heldThere = held.get(payment.id) ?? 0n;
      this.#is(
        heldThere === heldHere,
        `held here and there is the same: ${name}, ${heldHere} and ${heldThere}`,
      );
      const rows = this.#facts.announced.get(payment.id) ?? 0;
      const found = this.#facts.foundOut.get(payment.id) ?? 0;
      const due = found + (finalStates.includes(payment.state) ? 1 : 0);
      this.#is(
        rows === due,
        `one outbox row when it is final, and one for each thing that was found out before: ${name} has ${rows}, not ${due}`,
      );
    }
  }

  #checkLedger(): void {
    const { unbalancedEntries, balances } = this.#facts;
    this.#is(unbalancedEntries === 0, `every entry sums to zero: ${unbalancedEntries} do not`);
    const total = [...balances.values()].reduce((sum, minor) => sum + minor, 0n);
    this.#is(total === 0n, `the ledger sums to zero: ${total}`);
    const of = (wanted: string): bigint => balances.get(wanted) ?? 0n;
    const payments = [...this.#payments.values()];
    const captured = payments.reduce((sum, payment) => sum + payment.captured, 0n);
    this.#is(
      of("acquirer_receivable") === captured,
      `the ledger knows every capture: ${of("acquirer_receivable")} and ${captured}`,
    );
    const holding = payments.filter(
      ({ state }) => state === "authorized" || state === "capturing" || state === "voiding",
    );
    const held = holding.reduce((sum, payment) => sum + payment.authorized, 0n);
    this.#is(
      of("authorized_holds") === held,
      `the ledger knows every hold: ${of("authorized_holds")} and ${held}`,
    );
  }

  #checkHistory(): void {
    const { paymentsWithGaps } = this.#facts;
    this.#is(
      paymentsWithGaps === 0,
      `one history row per change: ${paymentsWithGaps} payments lack some`,
    );
  }

  #is(holds: boolean, what: string): void {
    if (!holds) this.violations.push(what);
  }
}

function sumByPayment(
  books: AcquirerBooks,
  minor: (booked: BookedAuthorization) => bigint,
): Map<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const booked of books.merchants.flatMap(({ authorizations }) => authorizations)) {
    const id = paymentIdOf(booked);
    sums.set(id, (sums.get(id) ?? 0n) + minor(booked));
  }
  return sums;
}

function paymentIdOf({ reference }: BookedAuthorization): string {
  return reference.slice(0, identifierLength);
}
