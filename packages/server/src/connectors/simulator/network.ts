import { assert } from "../../kernel/assert.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import { type Instant, laterBy } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { DeclineReason } from "../../payment/payment.ts";
import type { SimulatedAcquirer } from "./acquirer.ts";
import type {
  AuthorizeAnswer,
  AuthorizeMessage,
  FollowUpAnswer,
  FollowUpMessage,
  InquiryAnswer,
  OriginalMessage,
  ReverseAnswer,
  VerifyAnswer,
  VerifyMessage,
  Personal,
} from "./messages-and-books.ts";
import { draw } from "./draw.ts";
import type { Echo } from "./echo.ts";
import { issuerDecline } from "./magic-cards.ts";
import type { CardVerdict } from "./magic-cards.ts";

export const messageKinds = [
  "authorize",
  "verify",
  "capture",
  "void",
  "refund",
  "reverse",
  "inquire",
] as const;
/** A sale is an `authorize`. */
export type MessageKind = (typeof messageKinds)[number];

export const networkFaults = [
  "lose_request",
  "lose_answer",
  "late_answer",
  "double_request",
] as const;
/**
 * - `lose_request`: the acquirer never receives the request.
 * - `lose_answer`: the acquirer does the work, but the answer is lost.
 * - `late_answer`: the acquirer receives the request late (see `lateArrivalMs`) and does the work
 *   then; the caller has timed out.
 * - `double_request`: the acquirer receives the request twice; the first answer is the one that
 *   arrives.
 */
export type NetworkFault = (typeof networkFaults)[number];

/**
 * What may be instructed besides a decline. `echo_card`: the acquirer repeats the card in the texts
 * of its answer (echo.ts).
 */
export const instructable = [...networkFaults, "echo_card"] as const;

/** A fault or decline for the next messages of a merchant. */
export interface Instruction {
  readonly next: (typeof instructable)[number] | { readonly decline: DeclineReason };
  /** Number of messages that it applies to; 1 to 10,000. */
  readonly times: number;
  /**
   * Only messages of this kind. By default, any message that it can apply to. Reversals and
   * inquiries are not declined, and only messages with a card are echoed.
   */
  readonly message?: MessageKind;
}

export interface NetworkOptions {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  readonly acquirer: SimulatedAcquirer;
  /** Longest time from sending a request to its arrival. 0: only the answer is late. */
  readonly lateArrivalMs: number;
}

/** What comes back over the network; undefined when nothing does. */
export type Received<Answer> = Answer | undefined;

type Addressed = Pick<OriginalMessage, "merchantId" | "reference"> & Personal;
type Planned = {
  readonly kind: MessageKind | undefined;
  readonly next: Instruction["next"];
  remaining: number;
};

const maxInstructionsPerMerchant = 100;
const maxTimes = 10_000;
const maxMerchants = 10_000;
const maxSendings = 20_000;
/**
 * When a network takes over from another, it keeps at most this number of delayed messages, the
 * newest.
 */
const maxDelayed = 1_000;

/** What the acquirer does with a message on arrival. */
type Work<Answer> = (acquirer: SimulatedAcquirer, decline: DeclineReason | undefined) => Answer;

/** A message in transit. */
interface DelayedMessage {
  readonly at: Instant;
  readonly work: Work<unknown>;
}

/**
 * An instruction that is refused: a count out of bounds, a decline of a message that cannot be
 * declined, or a full queue.
 */
export class InstructionRefused extends Error {
  override readonly name = "InstructionRefused";
}

/**
 * The network between Cofre and the simulated acquirer. It loses, delays and doubles messages: by
 * the request's own fault, else by an instruction, else by the account's fault rates, drawn from
 * its seed so that a run can be repeated.
 *
 * A request without a fault arrives at once, and the answer spends all of an account's latency on
 * the receiver's side: that keeps `lateArrivalMs` true for every latency. Owns the instructions, a
 * count of sent messages and the late messages, all bounded.
 */
export class SimulatedNetwork {
  readonly #clock: Clock;
  readonly #scheduler: Scheduler;
  readonly #acquirer: SimulatedAcquirer;
  readonly #lateArrivalMs: number;
  readonly #instructions = new Map<MerchantId, Planned[]>();
  readonly #late = new BoundedMap<DelayedMessage, true>(maxDelayed);
  #sendings = new BoundedMap<string, { times: number }>(maxSendings);

  constructor(options: NetworkOptions) {
    assert(
      Number.isSafeInteger(options.lateArrivalMs) && options.lateArrivalMs >= 0,
      "lateArrivalMs is a whole number of milliseconds",
    );
    this.#clock = options.clock;
    this.#scheduler = options.scheduler;
    this.#acquirer = options.acquirer;
    this.#lateArrivalMs = options.lateArrivalMs;
  }

  /**
   * Takes the verdict instead of the card, because a late request arrives after its sender wiped
   * the card. `echo` is called before this returns.
   */
  authorize(
    request: AuthorizeMessage & Personal,
    verdict: CardVerdict,
    echo?: Echo,
  ): Received<AuthorizeAnswer> {
    const work: Work<AuthorizeAnswer> = (acquirer, decline) =>
      acquirer.authorize(request, decline === undefined ? verdict : issuerDecline(decline));
    return this.#exchange("authorize", request, work, echo);
  }

  verify(
    request: VerifyMessage & Personal,
    verdict: CardVerdict,
    echo?: Echo,
  ): Received<VerifyAnswer> {
    const work: Work<VerifyAnswer> = (acquirer, decline) =>
      acquirer.verify(request, decline === undefined ? verdict : issuerDecline(decline));
    return this.#exchange("verify", request, work, echo);
  }

  capture(request: FollowUpMessage & Personal): Received<FollowUpAnswer> {
    return this.#exchange("capture", request, (acquirer, decline) =>
      acquirer.capture(request, decline),
    );
  }

  void(request: FollowUpMessage & Personal): Received<FollowUpAnswer> {
    return this.#exchange("void", request, (acquirer, decline) => acquirer.void(request, decline));
  }

  refund(request: FollowUpMessage & Personal): Received<FollowUpAnswer> {
    return this.#exchange("refund", request, (acquirer, decline) =>
      acquirer.refund(request, decline),
    );
  }

  reverse(request: OriginalMessage & Personal): Received<ReverseAnswer> {
    return this.#exchange("reverse", request, (acquirer) => acquirer.reverse(request));
  }

  inquire(request: OriginalMessage & Personal): Received<InquiryAnswer> {
    return this.#exchange("inquire", request, (acquirer) => acquirer.inquire(request));
  }

  /** Takes over another network's state: its late messages also arrive here. */
  copyFrom(other: SimulatedNetwork): void {
    for (const [merchantId, queue] of other.#instructions)
      this.#instructions.set(
        merchantId,
        queue.map((planned) => ({ ...planned })),
      );
    this.#sendings = other.#sendings.copy((sent) => ({ ...sent }));
    for (const [late] of other.#late) this.#scheduleArrival(late);
  }

  /**
   * Queues an instruction for this merchant's next messages, after those already queued. Throws
   * InstructionRefused.
   */
  instruct(merchantId: MerchantId, { next, times, message }: Instruction): void {
    if (!Number.isInteger(times) || times < 1 || times > maxTimes)
      throw new InstructionRefused("times is a whole number from 1 to 10000");
    if (typeof next === "object" && message !== undefined && !canBeDeclined(message))
      throw new InstructionRefused("reversals and inquiries are never declined");
    if (next === "echo_card" && message !== undefined && !bringsCard(message))
      throw new InstructionRefused("only what brings a card is echoed");
    const queue = this.#instructions.get(merchantId) ?? [];
    if (queue.length >= maxInstructionsPerMerchant)
      throw new InstructionRefused("this merchant has 100 instructions waiting");
    if (queue.length === 0 && this.#instructions.size >= maxMerchants)
      throw new InstructionRefused("too many merchants have instructions waiting");
    queue.push({ kind: message, next, remaining: times });
    this.#instructions.set(merchantId, queue);
  }

  #exchange<Answer>(
    kind: MessageKind,
    request: Addressed,
    work: Work<Answer>,
    echo?: <Said extends Answer>(said: Said) => Said,
  ): Received<Answer> {
    const next =
      request.settings.simulator.fault ??
      this.#instructed(kind, request.merchantId) ??
      this.#drawn(kind, request);
    if (next === undefined) return work(this.#acquirer, undefined);
    if (typeof next === "object") return work(this.#acquirer, next.decline);
    if (next === "echo_card") {
      const said = work(this.#acquirer, undefined);
      return echo === undefined ? said : echo(said);
    }
    return this.#injectFault(next, kind, request, work);
  }

  #injectFault<Answer>(
    fault: NetworkFault,
    kind: MessageKind,
    request: Addressed,
    work: Work<Answer>,
  ): Received<Answer> {
    if (fault === "double_request") {
      const first = work(this.#acquirer, undefined);
      work(this.#acquirer, undefined);
      return first;
    }
    if (fault === "late_answer" && this.#lateArrivalMs > 0) {
      this.#scheduleArrival({ at: laterBy(this.#clock.now(), this.#delay(kind, request)), work });
    } else if (fault !== "lose_request") {
      work(this.#acquirer, undefined);
    }
    return undefined;
  }

  #scheduleArrival(late: DelayedMessage): void {
    this.#late.set(late, true);
    this.#scheduler.after(Math.max(0, late.at - this.#clock.now()), () => {
      this.#late.delete(late);
      late.work(this.#acquirer, undefined);
    });
  }

  /** A point in the second half of the interval in which a request may arrive. */
  #delay(kind: MessageKind, request: Addressed): number {
    const half = Math.floor(this.#lateArrivalMs / 2);
    return (
      this.#lateArrivalMs -
      (draw(request.settings.simulator.seed, `delay\n${kind}\n${request.reference}`) % (half + 1))
    );
  }

  #instructed(kind: MessageKind, merchantId: MerchantId): Instruction["next"] | undefined {
    if (this.#instructions.size === 0) return undefined;
    const queue = this.#instructions.get(merchantId);
    const index = queue?.findIndex((planned) => applies(planned, kind)) ?? -1;
    const planned = queue?.[index];
    if (queue === undefined || planned === undefined) return undefined;
    planned.remaining -= 1;
    if (planned.remaining === 0) queue.splice(index, 1);
    if (queue.length === 0) this.#instructions.delete(merchantId);
    return planned.next;
  }

  /**
   * One draw decides all four faults: each has its own thousandths, so they exclude each other. A
   * repeated request gets a new draw: otherwise an inquiry that was lost once would be lost every
   * time.
   */
  #drawn(kind: MessageKind, request: Addressed): NetworkFault | undefined {
    const { seed, loseRequest, loseAnswer, lateAnswer, doubleRequest } = request.settings.simulator;
    if (loseRequest + loseAnswer + lateAnswer + doubleRequest === 0) return undefined;
    const message = `${request.merchantId}\n${kind}\n${request.reference}`;
    const sent = this.#sendings.get(message);
    if (sent === undefined) this.#sendings.set(message, { times: 1 });
    else sent.times += 1;
    let thousandth = draw(seed, `fault\n${message}\n${sent?.times ?? 1}`) % 1_000;
    if (thousandth < loseRequest) return "lose_request";
    thousandth -= loseRequest;
    if (thousandth < loseAnswer) return "lose_answer";
    thousandth -= loseAnswer;
    if (thousandth < lateAnswer) return "late_answer";
    thousandth -= lateAnswer;
    return thousandth < doubleRequest ? "double_request" : undefined;
  }
}

function applies({ kind, next }: Planned, of: MessageKind): boolean {
  if (kind !== undefined) return kind === of;
  if (next === "echo_card") return bringsCard(of);
  return typeof next === "string" || canBeDeclined(of);
}

function bringsCard(kind: MessageKind): boolean {
  return kind === "authorize" || kind === "verify";
}

function canBeDeclined(kind: MessageKind): boolean {
  return kind !== "reverse" && kind !== "inquire";
}
