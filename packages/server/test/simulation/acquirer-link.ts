import type { AuthorizeOutcome, Connector, ConnectorCapabilities, ReverseRequest, Unknown } from "../../src/connectors/connector.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { type Instant, second } from "../../src/kernel/instant.ts";
import type { DeclineReason } from "../../src/payment/payment.ts";
import { AcquirerBook } from "./acquirer-book.ts";
import type { Auditor } from "./auditor.ts";
import type { Chance } from "./chance.ts";
import type { Plan } from "./plan.ts";
import type { SimTime } from "./sim-time.ts";
import type { Step } from "./store-in-steps.ts";

type AcquirerFaults = Pick<
  Plan,
  "simulator" | "personality" | "certainNoPerMille" | "garbledPerMille" | "liesPerMille" | "slowPerMille" | "laterThanDeclaredMs"
>;

type MessageKind = "authorize" | "verify" | "capture" | "void" | "refund" | "reverse" | "inquire";
type NetworkFault = "lose_request" | "lose_answer" | "late_answer" | "double_request";

/** What is to happen to a merchant's next messages of one kind. */
export interface Instruction {
  readonly next: NetworkFault | { readonly decline: DeclineReason };
  readonly times: number;
  readonly of: MessageKind;
}

interface Request {
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly deadline: Instant;
}

const timedOut: Unknown = { kind: "unknown", cause: "timeout" };

/**
 * An acquirer, and the network to it. A request arrives at once, within the acquirer's latency, or as late as the connector declares: up to
 * `lateArrivalMs` after the last moment in which it may be sent, and mostly close to that bound. Answers are lost, slow or garbled.
 */
export class SimulatedAcquirer {
  readonly book: AcquirerBook;
  readonly capabilities: ConnectorCapabilities;
  readonly #name: string;
  readonly #time: SimTime;
  readonly #chance: Chance;
  readonly #auditor: Auditor;
  readonly #plan: AcquirerFaults;
  readonly #instructions = new Map<string, Instruction[]>();
  /** Whether this acquirer lies about a reversal, by the reference of what is to be reversed: it keeps to it. */
  readonly #lies = new Map<string, boolean>();
  #faultsOn = true;

  constructor(
    name: string,
    parts: { readonly time: SimTime; readonly chance: Chance; readonly auditor: Auditor; readonly plan: AcquirerFaults },
  ) {
    this.#name = name;
    this.#time = parts.time;
    this.#chance = parts.chance;
    this.#auditor = parts.auditor;
    this.#plan = parts.plan;
    const { dedupes, answersInquiries, repeatsFollowUps, lateArrivalMs } = parts.plan.personality;
    this.book = new AcquirerBook(name, parts.plan.personality, (reference) =>
      this.#auditor.violation(`a reference names one request: ${reference}`),
    );
    this.capabilities = {
      dedupesByReference: dedupes,
      answersInquiries,
      partialCapture: true,
      repeatsFollowUps,
      reverses: true,
      lateArrivalMs,
    };
  }

  heal(): void {
    this.#faultsOn = false;
  }

  /** Queues what is to happen to this merchant's next messages of a kind. */
  instruct(merchantId: MerchantId, instruction: Instruction): void {
    const key = `${merchantId} ${instruction.of}`;
    const queue = this.#instructions.get(key) ?? [];
    this.#instructions.set(key, [...queue, ...Array.from({ length: instruction.times }, () => instruction)]);
  }

  /** The acquirer as one process reaches it: by that process's clock, and each exchange is a step of it. */
  linkFrom(clock: Clock, step: Step): Connector {
    const send = <T extends { readonly kind: string }>(
      kind: MessageKind,
      request: Request,
      work: (refusal: DeclineReason | undefined) => T,
    ): Promise<T | Unknown> =>
      step(async () => {
        void this.#auditor.sends(request.merchantId, request.reference);
        this.#auditor.note(`to ${this.#name}: ${kind} ${request.reference}`);
        const outcome = this.#understood(await this.#exchange(kind, request, request.deadline - clock.now(), work));
        if (outcome.kind === "declined") this.#auditor.requests.acquirerRefuses(kind, request.merchantId, request.reference);
        if (outcome.kind === "approved") this.#auditor.isApproved(request.merchantId, request.reference);
        this.#auditor.note(`from ${this.#name}: ${kind} ${request.reference} is ${outcome.kind}`);
        return outcome;
      });
    const { book } = this;
    return {
      name: this.#name,
      capabilities: this.capabilities,
      authorize: (request, card) => {
        const digits = digitsOf(card.card.pan.reveal());
        const no = this.#certainNo();
        this.#auditor.charges(request, card);
        return send("authorize", request, (refusal): AuthorizeOutcome => no ?? book.authorize({ ...request, digits }, refusal));
      },
      verify: (request, card) => {
        const digits = digitsOf(card.card.pan.reveal());
        return send("verify", request, () => book.verify({ ...request, digits }, request.currency));
      },
      capture: (request) => send("capture", request, (refusal) => book.followUp("capture", request, refusal)),
      void: (request) => send("void", request, (refusal) => book.followUp("void", request, refusal)),
      refund: (request) => send("refund", request, (refusal) => book.followUp("refund", request, refusal)),
      reverse: (request) =>
        send("reverse", request, () =>
          this.#liesAbout(request) ? ({ kind: "refused", responseCode: "57" } as const) : book.reverse(request),
        ),
      inquire: (request) => send("inquire", request, () => book.inquire(request)),
    };
  }

  /** Resolves with what the process hears by its deadline, `leftMs` from now. Nothing is sent when that is over. */
  async #exchange<T>(
    kind: MessageKind,
    { merchantId, reference }: Request,
    leftMs: number,
    work: (refusal: DeclineReason | undefined) => T,
  ): Promise<T | Unknown> {
    if (leftMs <= 0) return timedOut;
    const next = this.#next(kind, merchantId);
    if (typeof next === "object") return work(next.decline);
    if (next === "lose_request") return this.#silence(leftMs);
    if (next === "late_answer") {
      this.#arriveLate(leftMs, merchantId, reference, () => work(undefined));
      return this.#silence(leftMs);
    }
    const { outMs, backMs } = this.#latency(kind, leftMs);
    if (outMs > 0) await this.#time.sleep(Math.min(outMs, leftMs));
    const answer = work(undefined);
    if (next === "double_request") this.#time.after(this.#chance.pick([0, 0, 5, 3_000]), () => void work(undefined));
    const rest = Math.max(0, leftMs - outMs);
    if (next === "lose_answer" || backMs > rest) return this.#silence(rest);
    if (backMs > 0) await this.#time.sleep(backMs);
    return answer;
  }

  #silence(leftMs: number): Promise<Unknown> {
    return this.#time.sleep(leftMs).then(() => timedOut);
  }

  #arriveLate(leftMs: number, merchantId: MerchantId, reference: string, work: () => unknown): void {
    const bound = leftMs + this.capabilities.lateArrivalMs;
    const extra = this.#plan.laterThanDeclaredMs;
    const isLater = this.#faultsOn && extra > 0 && this.#chance.happens(300);
    const early = this.#chance.happens(700) ? this.#chance.below(2_000) : this.#chance.below(bound);
    const afterMs = isLater ? bound + 1 + this.#chance.below(extra) : Math.max(1, bound - 1 - early);
    this.#time.after(afterMs, () => {
      this.#auditor.note(`at ${this.#name}: ${reference} arrives ${afterMs} ms after it was sent`);
      if (isLater) this.#auditor.isSurprisedBy(merchantId, reference);
      work();
    });
  }

  /** Questions are slow more often than the rest: what they say is about the moment in which they arrive. */
  #latency(kind: MessageKind, leftMs: number): { readonly outMs: number; readonly backMs: number } {
    if (!this.#faultsOn) return { outMs: 0, backMs: 0 };
    const { simulator, slowPerMille } = this.#plan;
    const isSlow = this.#chance.happens(kind === "inquire" || kind === "reverse" ? slowPerMille * 4 : slowPerMille);
    const wholeMs = isSlow ? this.#chance.between(second, Math.max(second, leftMs + second)) : simulator.latencyMs;
    const outMs = wholeMs > 1 && this.#chance.happens(300) ? this.#chance.below(Math.min(wholeMs, leftMs)) : 0;
    return { outMs, backMs: wholeMs - outMs };
  }

  /** What happens to this message: as instructed, or drawn anew for each sending. */
  #next(kind: MessageKind, merchantId: MerchantId): Instruction["next"] | undefined {
    const instructed = this.#instructions.get(`${merchantId} ${kind}`)?.shift()?.next;
    if (instructed !== undefined) return instructed;
    const { loseRequest, loseAnswer, lateAnswer, doubleRequest } = this.#plan.simulator;
    if (!this.#faultsOn || loseRequest + loseAnswer + lateAnswer + doubleRequest === 0) return undefined;
    let thousandth = this.#chance.below(1_000);
    for (const [fault, share] of [
      ["lose_request", loseRequest],
      ["lose_answer", loseAnswer],
      ["late_answer", lateAnswer],
      ["double_request", doubleRequest],
    ] as const) {
      if (thousandth < share) return fault;
      thousandth -= share;
    }
    return undefined;
  }

  /** Now and then the first acquirer is not reached, or says that it does not work. */
  #certainNo(): AuthorizeOutcome | undefined {
    if (this.#name !== "main" || !this.#faultsOn || !this.#chance.happens(this.#plan.certainNoPerMille)) return undefined;
    const declined = { kind: "declined", reason: "acquirer_error", responseCode: "96", adviceCode: undefined, refusedBeforeIssuer: true };
    return this.#chance.happens(500) ? { kind: "not_sent" } : (declined as AuthorizeOutcome);
  }

  /** The acquirer did what it was asked to, and then says what nothing can read. */
  #understood<T>(outcome: T): T | Unknown {
    if (!this.#faultsOn || !this.#chance.happens(this.#plan.garbledPerMille)) return outcome;
    this.#auditor.mark("an answer is garbled");
    return { kind: "unknown", cause: "garbled" };
  }

  /** Nothing was captured, and the acquirer says that it cannot be reversed for that. */
  #liesAbout({ merchantId, original }: ReverseRequest): boolean {
    const known = this.#lies.get(original.reference);
    const lies = known ?? (this.#faultsOn && this.#chance.happens(this.#plan.liesPerMille));
    this.#lies.set(original.reference, lies);
    if (lies) this.#auditor.isLiedTo(merchantId, original.reference);
    return lies;
  }
}

function digitsOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
