import type {
  AuthorizeOutcome,
  Connector,
  ConnectorCapabilities,
  ReverseRequest,
  Unknown,
} from "../../server/src/connectors/connector.ts";
import type { Clock } from "../../server/src/kernel/clock.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { Instant } from "../../server/src/kernel/instant.ts";
import type { DeclineReason } from "../../server/src/payment/payment.ts";
import { AcquirerBook } from "./acquirer-book.ts";
import type { Auditor } from "./auditor.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import { type Instruction, type MessageKind, Network, type NetworkFaults } from "./network.ts";
import type { Plan } from "./plan.ts";
import type { SimTime } from "../../server/test/support/sim-time.ts";
import type { Step } from "./store-in-steps.ts";

type AcquirerFaults = NetworkFaults &
  Pick<Plan, "personality" | "certainNoPerMille" | "garbledPerMille" | "liesPerMille">;

interface Request {
  readonly merchantId: MerchantId;
  readonly reference: string;
  readonly deadline: Instant;
}

/** An acquirer and the network to it. Some of the acquirer's answers are garbled. */
export class SimulatedAcquirer {
  readonly book: AcquirerBook;
  readonly capabilities: ConnectorCapabilities;
  readonly #name: string;
  readonly #chance: Chance;
  readonly #auditor: Auditor;
  readonly #plan: AcquirerFaults;
  /**
   * Whether this acquirer gives a false answer about a reversal, by the reference of the
   * authorization; it repeats that answer.
   */
  readonly #lies = new Map<string, boolean>();
  readonly #network: Network;

  constructor(
    name: string,
    parts: {
      readonly time: SimTime;
      readonly chance: Chance;
      readonly auditor: Auditor;
      readonly plan: AcquirerFaults;
    },
  ) {
    this.#name = name;
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
    this.#network = new Network({ ...parts, name, lateArrivalMs, sendsCopies: false });
  }

  heal(): void {
    this.#network.heal();
  }

  /** Queues instructions for this merchant's next messages of a kind. */
  instruct(merchantId: MerchantId, instruction: Instruction): void {
    this.#network.instruct(merchantId, instruction);
  }

  /**
   * The acquirer as one process reaches it: with that process's clock, and each exchange is a step
   * of the process.
   */
  linkFrom(clock: Clock, step: Step): Connector {
    const send = <T extends { readonly kind: string }>(
      kind: MessageKind,
      request: Request,
      work: (refusal: DeclineReason | undefined) => T,
    ): Promise<T | Unknown> =>
      step(async () => {
        void this.#auditor.sends(request.merchantId, request.reference);
        this.#auditor.note(`to ${this.#name}: ${kind} ${request.reference}`);
        const outcome = this.#understood(
          await this.#network.exchange(kind, request, request.deadline - clock.now(), work),
        );
        if (outcome.kind === "declined")
          this.#auditor.requests.acquirerRefuses(kind, request.merchantId, request.reference);
        if (outcome.kind === "approved")
          this.#auditor.isApproved(request.merchantId, request.reference);
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
        return send(
          "authorize",
          request,
          (refusal): AuthorizeOutcome => no ?? book.authorize({ ...request, digits }, refusal),
        );
      },
      verify: (request, card) => {
        const digits = digitsOf(card.card.pan.reveal());
        return send("verify", request, () => book.verify({ ...request, digits }, request.currency));
      },
      capture: (request) =>
        send("capture", request, (refusal) => book.followUp("capture", request, refusal)),
      void: (request) =>
        send("void", request, (refusal) => book.followUp("void", request, refusal)),
      refund: (request) =>
        send("refund", request, (refusal) => book.followUp("refund", request, refusal)),
      reverse: (request) =>
        send("reverse", request, () =>
          this.#liesAbout(request)
            ? ({ kind: "refused", responseCode: "57" } as const)
            : book.reverse(request),
        ),
      inquire: (request) => send("inquire", request, () => book.inquire(request)),
    };
  }

  /** Sometimes the first acquirer is unreachable, or answers that it is out of order. */
  #certainNo(): AuthorizeOutcome | undefined {
    if (this.#name !== "main" || !this.#network.isHit(this.#plan.certainNoPerMille))
      return undefined;
    const declined = {
      kind: "declined",
      reason: "acquirer_error",
      responseCode: "96",
      adviceCode: undefined,
      refusedBeforeIssuer: true,
    };
    return this.#chance.happens(500) ? { kind: "not_sent" } : (declined as AuthorizeOutcome);
  }

  /** The acquirer did what was requested, but its answer cannot be parsed. */
  #understood<T>(outcome: T): T | Unknown {
    if (!this.#network.isHit(this.#plan.garbledPerMille)) return outcome;
    this.#auditor.mark("an answer is garbled");
    return { kind: "unknown", cause: "garbled" };
  }

  /**
   * Whether the acquirer falsely refuses to reverse an authorization of which nothing was captured.
   */
  #liesAbout({ merchantId, original }: ReverseRequest): boolean {
    const known = this.#lies.get(original.reference);
    const lies = known ?? this.#network.isHit(this.#plan.liesPerMille);
    this.#lies.set(original.reference, lies);
    if (lies) this.#auditor.isLiedTo(merchantId, original.reference);
    return lies;
  }
}

function digitsOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}
