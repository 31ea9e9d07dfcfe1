import type { Unknown } from "../../server/src/connectors/connector.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { second } from "../../server/src/kernel/instant.ts";
import type { DeclineReason } from "../../server/src/payment/payment.ts";
import type { Auditor } from "./auditor.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { Plan } from "./plan.ts";
import type { SimTime } from "../../server/test/support/sim-time.ts";

export type NetworkFaults = Pick<Plan, "simulator" | "slowPerMille" | "laterThanDeclaredMs">;

export type MessageKind =
  | "authorize"
  | "verify"
  | "capture"
  | "void"
  | "refund"
  | "reverse"
  | "inquire";
type NetworkFault = "lose_request" | "lose_answer" | "late_answer" | "double_request";

/** Instruction for a merchant's next messages of one kind. */
export interface Instruction {
  readonly next: NetworkFault | { readonly decline: DeclineReason };
  readonly times: number;
  readonly message: MessageKind;
}

/** A request on the network. */
export interface Sent {
  readonly merchantId: MerchantId;
  readonly reference: string;
}

interface NetworkParts {
  readonly time: SimTime;
  readonly chance: Chance;
  readonly auditor: Auditor;
  readonly plan: NetworkFaults;
  /** The acquirer's name. */
  readonly name: string;
  readonly lateArrivalMs: number;
  /** If a request arrives twice, the answer to the second copy is received. */
  readonly sendsCopies: boolean;
}

export const timedOut: Unknown = { kind: "unknown", cause: "timeout" };

/**
 * The network to an acquirer. A request arrives at once, within the acquirer's latency, or as late
 * as the connector declares: up to `lateArrivalMs` after the last moment in which it may be sent,
 * and mostly close to that bound. Answers are lost or slow.
 */
export class Network {
  readonly #parts: NetworkParts;
  readonly #instructions = new Map<string, Instruction[]>();
  #faultsOn = true;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  heal(): void {
    this.#faultsOn = false;
  }

  /** Whether a fault with this probability, in 1/1000, happens now. */
  isHit(perMille: number): boolean {
    return this.#faultsOn && this.#parts.chance.happens(perMille);
  }

  /** Queues instructions for this merchant's next messages of a kind. */
  instruct(merchantId: MerchantId, instruction: Instruction): void {
    const key = `${merchantId} ${instruction.message}`;
    const queue = this.#instructions.get(key) ?? [];
    this.#instructions.set(key, [
      ...queue,
      ...Array.from({ length: instruction.times }, () => instruction),
    ]);
  }

  /**
   * Resolves with what the process receives by its deadline, `leftMs` from now. Nothing is sent
   * after the deadline.
   */
  async exchange<T>(
    kind: MessageKind,
    { merchantId, reference }: Sent,
    leftMs: number,
    work: (refusal: DeclineReason | undefined) => T,
  ): Promise<T | Unknown> {
    if (leftMs <= 0) return timedOut;
    const { time, chance, sendsCopies } = this.#parts;
    const next = this.#next(kind, merchantId);
    if (typeof next === "object") return work(next.decline);
    if (next === "lose_request") return this.#silence(leftMs);
    if (next === "late_answer") {
      this.#arriveLate(leftMs, merchantId, reference, () => work(undefined));
      return this.#silence(leftMs);
    }
    const { outMs, backMs } = this.#latency(kind, leftMs);
    if (outMs > 0) await time.sleep(Math.min(outMs, leftMs));
    const first = work(undefined);
    const answer = next === "double_request" && sendsCopies ? work(undefined) : first;
    if (next === "double_request")
      time.after(chance.pick([0, 0, 5, 3_000]), () => void work(undefined));
    const rest = Math.max(0, leftMs - outMs);
    if (next === "lose_answer" || backMs > rest) return this.#silence(rest);
    if (backMs > 0) await time.sleep(backMs);
    return answer;
  }

  #silence(leftMs: number): Promise<Unknown> {
    return this.#parts.time.sleep(leftMs).then(() => timedOut);
  }

  #arriveLate(
    leftMs: number,
    merchantId: MerchantId,
    reference: string,
    work: () => unknown,
  ): void {
    const { time, chance, auditor, plan, name, lateArrivalMs } = this.#parts;
    const bound = leftMs + lateArrivalMs;
    const extra = plan.laterThanDeclaredMs;
    const isLater = this.#faultsOn && extra > 0 && chance.happens(300);
    const early = chance.happens(700) ? chance.below(2_000) : chance.below(bound);
    const afterMs = isLater ? bound + 1 + chance.below(extra) : Math.max(1, bound - 1 - early);
    time.after(afterMs, () => {
      auditor.note(`at ${name}: ${reference} arrives ${afterMs} ms after it was sent`);
      if (isLater) auditor.isSurprisedBy(merchantId, reference);
      work();
    });
  }

  /**
   * Inquiries are slow more often than other messages, because their answer describes the moment of
   * their arrival.
   */
  #latency(kind: MessageKind, leftMs: number): { readonly outMs: number; readonly backMs: number } {
    if (!this.#faultsOn) return { outMs: 0, backMs: 0 };
    const { chance, plan } = this.#parts;
    const { simulator, slowPerMille } = plan;
    const isSlow = chance.happens(
      kind === "inquire" || kind === "reverse" ? slowPerMille * 4 : slowPerMille,
    );
    const wholeMs = isSlow
      ? chance.between(second, Math.max(second, leftMs + second))
      : simulator.latencyMs;
    const outMs = wholeMs > 1 && chance.happens(300) ? chance.below(Math.min(wholeMs, leftMs)) : 0;
    return { outMs, backMs: wholeMs - outMs };
  }

  /** What happens to this message: as instructed, or drawn for each sending. */
  #next(kind: MessageKind, merchantId: MerchantId): Instruction["next"] | undefined {
    const instructed = this.#instructions.get(`${merchantId} ${kind}`)?.shift()?.next;
    if (instructed !== undefined) return instructed;
    const { loseRequest, loseAnswer, lateAnswer, doubleRequest } = this.#parts.plan.simulator;
    if (!this.#faultsOn || loseRequest + loseAnswer + lateAnswer + doubleRequest === 0)
      return undefined;
    let thousandth = this.#parts.chance.below(1_000);
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
}
