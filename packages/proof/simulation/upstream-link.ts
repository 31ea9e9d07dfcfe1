import type {
  Connector,
  ConnectorCapabilities,
  NotSent,
  OriginalAuthorization,
  Unknown,
} from "../../server/src/connectors/connector.ts";
import type {
  Exchange,
  Exchanges,
  CompleteAnswer,
} from "../../server/src/connectors/upstream/exchange.ts";
import { isReversalCode } from "../../server/src/connectors/upstream/references.ts";
import { connectUpstream } from "../../server/src/connectors/upstream/upstream-connector.ts";
import type { Clock } from "../../server/src/kernel/clock.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { Secret } from "../../server/src/kernel/secret.ts";
import { defaultAccountSettings } from "../../server/src/merchant/settings.ts";
import type { DeclineReason } from "../../server/src/payment/payment.ts";
import { AcquirerBook } from "./acquirer-book.ts";
import type { SimulatedAcquirer } from "./acquirer-link.ts";
import type { Auditor } from "./auditor.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import { type Instruction, type MessageKind, Network, timedOut } from "./network.ts";
import type { Plan } from "./plan.ts";
import type { SimTime } from "../../server/test/support/sim-time.ts";
import type { Step } from "./store-in-steps.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The call that an exchange belongs to. */
interface Cause {
  readonly kind: MessageKind;
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly original?: OriginalAuthorization;
}

/** A payment at the upstream, by its merchant_payment_code there. */
interface Payment {
  readonly code: string;
  readonly merchantId: MerchantId;
  /** Our reference of the authorization. */
  readonly reference: string;
  readonly currency: string;
  readonly requested: bigint;
  readonly mark: string;
  readonly reason: DeclineReason | undefined;
  readonly authorizationCode: string;
  readonly mandateId: string | undefined;
  readonly refunds: Refund[];
}

interface Refund {
  readonly code: string;
  readonly amount: bigint;
}

const kinds: ReadonlyMap<string, MessageKind> = new Map([
  ["/ws/direct", "authorize"],
  ["/ws/verifycard", "verify"],
  ["/ws/capture", "capture"],
  ["/ws/cancel", "void"],
  ["/ws/refund", "refund"],
  ["/ws/query", "inquire"],
]);

/** The texts of interface 4.3. */
const descriptions: ReadonlyMap<DeclineReason, string> = new Map([
  ["not_accepted", "Not accepted"],
  ["insufficient_funds", "Insufficient funds"],
  ["invalid_card", "Invalid card or card type"],
  ["invalid_card_number", "Invalid card number"],
]);

/**
 * A server with the interface, as the product's own upstream connector reaches it: the connector's
 * translation runs in the simulation, and each of its exchanges is a step in which the process may
 * die. The server is written from the interface, only for the simulation: it reads the bodies and
 * writes the answers, and uses the books of the simulation's acquirers.
 */
export class UpstreamServer implements Pick<
  SimulatedAcquirer,
  "book" | "capabilities" | "heal" | "instruct" | "linkFrom"
> {
  readonly book: AcquirerBook;
  readonly capabilities: ConnectorCapabilities;
  readonly #name: string;
  readonly #time: SimTime;
  readonly #auditor: Auditor;
  readonly #chance: Chance;
  readonly #plan: Plan;
  readonly #network: Network;
  readonly #payments = new Map<string, Payment>();

  constructor(
    name: string,
    parts: {
      readonly time: SimTime;
      readonly chance: Chance;
      readonly auditor: Auditor;
      readonly plan: Plan;
    },
  ) {
    const { time, auditor, plan } = parts;
    this.#name = name;
    this.#time = time;
    this.#auditor = auditor;
    this.#chance = parts.chance;
    this.#plan = plan;
    this.#network = new Network({
      ...parts,
      name,
      lateArrivalMs: plan.personality.lateArrivalMs,
      sendsCopies: true,
    });
    const rules = { dedupes: true, answersInquiries: true, repeatsFollowUps: true };
    this.book = new AcquirerBook(name, rules, (reference) =>
      auditor.violation(`a reference names one request: ${reference}`),
    );
    this.capabilities = this.#connect(time, {
      exchange: async () => timedOut,
      close: () => undefined,
    }).capabilities;
  }

  heal(): void {
    this.#network.heal();
  }

  instruct(merchantId: MerchantId, instruction: Instruction): void {
    this.#network.instruct(merchantId, instruction);
  }

  linkFrom(clock: Clock, step: Step): Connector {
    const over = (cause: Cause): Connector =>
      this.#connect(clock, {
        exchange: (exchange) => step(() => this.#exchange(cause, exchange)),
        close: () => undefined,
      });
    const call = async <Outcome extends { readonly kind: string }>(
      kind: MessageKind,
      request: Omit<Cause, "kind">,
      ask: (connector: Connector) => Promise<Outcome>,
    ): Promise<Outcome> => {
      const { merchantId, reference } = request;
      const outcome = await ask(over({ ...request, kind }));
      if (outcome.kind === "declined")
        this.#auditor.requests.acquirerRefuses(kind, merchantId, reference);
      if (outcome.kind === "approved") this.#auditor.isApproved(merchantId, reference);
      this.#auditor.note(`from ${this.#name}: ${kind} ${reference} is ${outcome.kind}`);
      return outcome;
    };
    return {
      name: this.#name,
      capabilities: this.capabilities,
      authorize: (request, card) => {
        this.#auditor.charges(request, card);
        return call("authorize", request, (connector) => connector.authorize(request, card));
      },
      verify: (request, card) =>
        call("verify", request, (connector) => connector.verify(request, card)),
      capture: (request) => call("capture", request, (connector) => connector.capture(request)),
      void: (request) => call("void", request, (connector) => connector.void(request)),
      refund: (request) => call("refund", request, (connector) => connector.refund(request)),
      reverse: (request) => call("reverse", request, (connector) => connector.reverse(request)),
      inquire: (request) => call("inquire", request, (connector) => connector.inquire(request)),
    };
  }

  #connect(clock: Clock, exchanges: Exchanges): Connector {
    return connectUpstream({
      clock,
      scheduler: this.#time,
      address: new URL("https://upstream.example.com"),
      integrationKey: new Secret("test_ik_upstream_simulated"),
      lateArrivalMs: this.#plan.personality.lateArrivalMs,
      exchanges,
    });
  }

  /**
   * One exchange over the network. Instructions for a reversal do not apply to the cancellation or
   * the refund that carries it.
   */
  async #exchange(
    cause: Cause,
    { path, body, leftMs }: Exchange,
  ): Promise<CompleteAnswer | NotSent | Unknown> {
    const named = kinds.get(path);
    if (named === undefined) throw new Error(`the upstream has no ${path}`);
    const kind = cause.kind === "reverse" && named !== "inquire" ? "reverse" : named;
    void this.#auditor.sends(cause.merchantId, cause.reference);
    this.#auditor.note(`to ${this.#name}: ${path} for ${cause.kind} ${cause.reference}`);
    const fields = JSON.parse(body.toString()) as Fields;
    body.fill(0);
    if (kind === "authorize" && this.#network.isHit(this.#plan.certainNoPerMille))
      return this.#certainNo();
    const reported = await this.#network.exchange(
      kind,
      cause,
      leftMs,
      (refusal): CompleteAnswer => ({
        kind: "complete",
        answer: this.#answer(cause, path, fields, refusal),
      }),
    );
    return reported.kind === "complete" && this.#network.isHit(this.#plan.garbledPerMille)
      ? this.#garbled(reported)
      : reported;
  }

  /** Nothing was done for certain: the server was unreachable, or the key is invalid. */
  #certainNo(): CompleteAnswer | NotSent {
    return this.#chance.happens(500)
      ? { kind: "not_sent" }
      : { kind: "complete", answer: refused("DA-1") };
  }

  /**
   * It was done, but the answer is cut off, is about another payment, has another shape, or is
   * empty.
   */
  #garbled({ answer }: CompleteAnswer): CompleteAnswer | Unknown {
    this.#auditor.mark("an answer of the upstream is garbled");
    const whole = fieldsIn({ answer }, "answer");
    const of =
      "payment" in whole
        ? { ...fieldsIn(whole, "payment"), merchant_payment_code: "0000" }
        : undefined;
    return this.#chance.pick<CompleteAnswer | Unknown>([
      { kind: "unknown", cause: "garbled" },
      { kind: "complete", answer: [] },
      { kind: "complete", answer: { status: "SUCCESS" } },
      { kind: "complete", answer: { ...whole, status: "OK" } },
      {
        kind: "complete",
        answer: { ...whole, status: "SUCCESS", payment: of, card_verification: of },
      },
    ]);
  }

  #answer(cause: Cause, path: string, fields: Fields, refusal: DeclineReason | undefined): Fields {
    if (path === "/ws/direct") return this.#direct(cause, fieldsIn(fields, "payment"), refusal);
    if (path === "/ws/verifycard") return this.#verify(cause, fieldsIn(fields, "card"));
    const payment = this.#payments.get(textIn(fields, "merchant_payment_code"));
    if (payment === undefined) return refused(unknownCodes.get(path) ?? "BP-QRY-2");
    if (path === "/ws/query") return this.#shown(payment);
    if (path === "/ws/capture") return this.#capture(payment, minorIn(fields, "amount"), refusal);
    if (path === "/ws/cancel") return this.#cancel(payment, refusal);
    return this.#refund(cause, payment, fields, refusal);
  }

  #direct(
    { merchantId, reference }: Cause,
    fields: Fields,
    refusal: DeclineReason | undefined,
  ): Fields {
    const code = textIn(fields, "merchant_payment_code");
    if (this.#payments.has(code)) return refused("BP-DR-0");
    const card = fieldsIn(fields, "creditcard");
    const requested = minorIn(fields, "amount_total");
    const currency = textIn(fields, "currency_code");
    const capture = card["auto_capture"] !== false;
    const digits = textIn(
      card,
      card["card_number"] === undefined ? "network_token_pan" : "card_number",
    );
    const answer = this.book.authorize(
      { merchantId, reference, amount: { minor: requested, currency }, capture, digits },
      refusal,
    );
    const isInitial =
      fields["cof_info"] !== undefined &&
      textIn(fieldsIn(fields, "cof_info"), "cof_type") === "initial";
    const payment: Payment = {
      code,
      merchantId,
      reference,
      currency,
      requested,
      mark: textIn(fields, "user_value_1"),
      reason: answer.kind === "declined" ? answer.reason : undefined,
      authorizationCode: answer.kind === "approved" ? answer.authorizationCode : "",
      mandateId: answer.kind === "approved" && isInitial ? answer.networkTransactionId : undefined,
      refunds: [],
    };
    this.#payments.set(code, payment);
    return this.#shown(payment);
  }

  #verify({ merchantId, reference }: Cause, card: Fields): Fields {
    const answer = this.book.verify(
      { merchantId, reference, digits: textIn(card, "card_number") },
      "BRL",
    );
    const description =
      answer.kind === "declined" ? (descriptions.get(answer.reason) ?? "Not accepted") : "Accepted";
    const verification = {
      transaction_status: { code: answer.kind === "good" ? "OK" : "NOK", description },
      transaction_type: answer.method === "zero_amount" ? "ZERO DOLLAR" : "GHOST AUTHORIZATION",
    };
    return { status: "SUCCESS", card_verification: verification };
  }

  #capture(payment: Payment, amount: bigint, refusal: DeclineReason | undefined): Fields {
    const { held, captured } = this.#booked(payment);
    if (captured > 0n) return refused("BP-CAP-4");
    if (held === 0n || refusal !== undefined) return refused("BP-CAP-7");
    if (amount > held) return refused("BP-CAP-6");
    this.#follow("capture", payment, `${payment.reference} capture`, amount);
    return this.#shown(payment);
  }

  #cancel(payment: Payment, refusal: DeclineReason | undefined): Fields {
    if (this.#booked(payment).held === 0n) return refused("BP-CAN-3");
    if (refusal !== undefined) return refused("BP-CAN-4");
    this.#follow("void", payment, `${payment.reference} void`, payment.requested);
    return this.#shown(payment);
  }

  #refund(
    cause: Cause,
    payment: Payment,
    fields: Fields,
    refusal: DeclineReason | undefined,
  ): Fields {
    const code = textIn(fields, "merchant_refund_code");
    const amount = minorIn(fields, "amount");
    if (payment.refunds.some((refund) => refund.code === code)) return refused("BP-REF-11");
    const { captured, refunds } = this.#booked(payment);
    const left = captured - refunds.reduce((sum, refund) => sum + refund.amount, 0n);
    if (captured === 0n) return refused("BP-REF-7");
    if (amount > left || refusal !== undefined) return refused("BP-REF-5");
    // For us the full refund of a sale is its reversal.
    if (isReversalCode(payment.merchantId, payment.reference, code)) {
      this.book.reverse({ ...this.#request(payment, cause.reference) });
    } else {
      this.#follow("refund", payment, cause.reference, amount);
    }
    payment.refunds.push({ code, amount });
    return this.#shown(payment);
  }

  #follow(
    what: "capture" | "void" | "refund",
    payment: Payment,
    reference: string,
    minor: bigint,
  ): void {
    const request = {
      ...this.#request(payment, reference),
      amount: { minor, currency: payment.currency },
    };
    const { kind } = this.book.followUp(what, request);
    if (kind !== "approved")
      this.#auditor.violation(
        `the upstream's books allow a ${what} that its state allows: ${reference}`,
      );
  }

  #request({ merchantId, reference: original, requested, currency }: Payment, reference: string) {
    const amount = { minor: requested, currency };
    return {
      merchantId,
      reference,
      deadline: this.#time.now(),
      settings: defaultAccountSettings(),
      original: {
        reference: original,
        amount,
        authorizationCode: undefined,
        acquirerReference: undefined,
      },
    };
  }

  #booked({ merchantId, reference }: Payment) {
    const booked = this.book.of(merchantId).find((line) => line.reference === reference);
    if (booked === undefined) throw new Error("a payment at the upstream is in its books");
    return booked;
  }

  #shown(payment: Payment): Fields {
    const { held, captured } = this.#booked(payment);
    const { reason, refunds, requested, currency, code, mark, authorizationCode, mandateId } =
      payment;
    // A fully refunded sale is still CO, like any refunded payment.
    const isTaken = captured > 0n || refunds.length > 0;
    const status = isTaken ? "CO" : held > 0n ? "PE" : "CA";
    const amount = isTaken && captured > 0n ? captured : requested;
    const description =
      reason === undefined ? "Accepted" : (descriptions.get(reason) ?? "Not accepted");
    return {
      status: "SUCCESS",
      payment: {
        hash: code,
        merchant_payment_code: code,
        status,
        amount_ext: decimal(amount),
        currency_ext: currency,
        transaction_status: {
          acquirer: "EBANX",
          code: reason === undefined ? "OK" : "NOK",
          description,
          ...(reason === undefined ? { authcode: authorizationCode } : {}),
        },
        capture_available: status === "PE",
        user_value_1: mark,
        ...(mandateId === undefined ? {} : { cof_info: { mandate_id: mandateId } }),
        refunds: refunds.map((refund) => ({
          merchant_refund_code: refund.code,
          amount_ext: decimal(refund.amount),
          status: "CO",
        })),
      },
    };
  }
}

const unknownCodes: ReadonlyMap<string, string> = new Map([
  ["/ws/capture", "BP-CAP-2"],
  ["/ws/cancel", "BP-CAN-2"],
  ["/ws/refund", "BP-REF-CAN-2"],
]);

function refused(code: string): Fields {
  return { status: "ERROR", status_code: code, status_message: code };
}

function fieldsIn(fields: Fields, name: string): Fields {
  const value = fields[name];
  if (typeof value !== "object" || value === null)
    throw new Error(`a request to the upstream has ${name}`);
  return { ...value };
}

function textIn(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw new Error(`a request to the upstream has the text ${name}`);
  return value;
}

/** The scenarios pay in a currency with two decimals. */
function minorIn(fields: Fields, name: string): bigint {
  const text = textIn(fields, name);
  if (!/^\d+\.\d{2}$/.test(text)) throw new Error(`an amount has two decimals: ${text}`);
  return BigInt(text.replace(".", ""));
}

function decimal(minor: bigint): string {
  const digits = String(minor).padStart(3, "0");
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
