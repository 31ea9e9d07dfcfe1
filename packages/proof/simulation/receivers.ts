import type { MerchantId } from "../../server/src/kernel/ids.ts";
import { hour, minute, second } from "../../server/src/kernel/instant.ts";
import type { Sender, SendOutcome, SendRequest } from "../../server/src/delivery/sender.ts";
import type { Chance } from "../../server/test/support/chance.ts";
import type { SimTime } from "../../server/test/support/sim-time.ts";

/** A message as it reached a merchant's receiver. */
export interface Message {
  readonly merchantId: MerchantId;
  readonly url: string;
  readonly id: string;
  readonly number: number;
  readonly attempt: number;
  readonly kind: string;
  readonly hash: string;
}

/** Faults of a message and of its receiver. */
const faults = [
  "refuses",
  "busy",
  "moved",
  "unreachable",
  "cut",
  "slow",
  "late",
  "gone",
  "down",
] as const;
type Fault = (typeof faults)[number];

export interface ReceiverPlan {
  /** Endpoints of each account; its payments may bring their own addresses as well. */
  readonly endpoints: number;
  readonly ownAddressPerMille: number;
  readonly faultsPerMille: number;
  /** Whether a merchant whose endpoint answered 410 enables it again after the faults. */
  readonly comesBack: boolean;
}

/** Observer of messages. */
interface Listener {
  /** A message was sent: called before any result. */
  sends(message: Message): Promise<void>;
  /**
   * The receiver has it. `acknowledged`: it answered so, whether or not the sender received the
   * answer.
   */
  onMessage(message: Message, acknowledged: boolean): void;
}

const ok: SendOutcome = { kind: "answered", status: 200, retryAfter: undefined };

/** In slots that several servers share. */
export function merchantIdOf(shop: number): MerchantId {
  return (shop * 11).toString(16).padStart(8, "0") as MerchantId;
}

export function endpointUrl(shop: number, endpoint: number): string {
  return `https://shop${shop}.example/${endpoint}`;
}

export function ownUrl(shop: number, order: number): string {
  return `https://shop${shop}.example/order/${order}`;
}

/**
 * All merchants' receivers and the network to them: every kind of failure on the way occurs at
 * times, and some receivers then stay down.
 */
export class Receivers implements Sender {
  readonly #time: SimTime;
  readonly #chance: Chance;
  readonly #plan: ReceiverPlan;
  readonly #listener: Listener;
  readonly #downUntil = new Map<string, number>();
  #faultsOn = true;

  constructor(time: SimTime, chance: Chance, plan: ReceiverPlan, listener: Listener) {
    this.#time = time;
    this.#chance = chance;
    this.#plan = plan;
    this.#listener = listener;
  }

  heal(): void {
    this.#faultsOn = false;
  }

  async send(request: SendRequest): Promise<SendOutcome> {
    const message = messageOf(request);
    await this.#listener.sends(message);
    const fault = this.#faultAt(request.url);
    const { outcome, afterMs, received } =
      fault === undefined ? this.#well() : this.#consequence(fault, request.url);
    if (received) this.#listener.onMessage(message, outcome === ok);
    const late = afterMs > request.timeoutMs;
    await this.#time.sleep(late ? request.timeoutMs : afterMs);
    return late ? { kind: "failed", cause: "timeout" } : outcome;
  }

  #faultAt(url: string): Fault | undefined {
    if (!this.#faultsOn) return undefined;
    if ((this.#downUntil.get(url) ?? 0) > this.#time.elapsed()) return "unreachable";
    return this.#chance.happens(this.#plan.faultsPerMille) ? this.#chance.pick(faults) : undefined;
  }

  #well(): Consequence {
    return { outcome: ok, afterMs: this.#chance.between(1, 60), received: true };
  }

  #consequence(fault: Fault, url: string): Consequence {
    if (fault === "down")
      this.#downUntil.set(
        url,
        this.#time.elapsed() + this.#chance.pick([30 * second, 10 * minute, 3 * hour]),
      );
    return consequences[fault](this.#chance);
  }
}

interface Consequence {
  readonly outcome: SendOutcome;
  readonly afterMs: number;
  readonly received: boolean;
}

const unreachable: Consequence = {
  outcome: { kind: "failed", cause: "connection" },
  afterMs: 3,
  received: false,
};

const consequences: Readonly<Record<Fault, (chance: Chance) => Consequence>> = {
  refuses: (chance) => answers(chance.pick([400, 404, 500])),
  busy: (chance) => answers(chance.pick([429, 503]), String(chance.pick([1, 30, 600]))),
  moved: () => answers(302),
  unreachable: () => unreachable,
  // The receiver has it, but the sender does not know.
  cut: () => ({ ...unreachable, received: true }),
  slow: (chance) => ({ outcome: ok, afterMs: chance.between(1_000, 19_000), received: true }),
  late: () => ({ outcome: ok, afterMs: hour, received: true }),
  gone: (chance) => answers(chance.happens(300) ? 410 : 404),
  down: () => unreachable,
};

function answers(status: number, retryAfter?: string): Consequence {
  return { outcome: { kind: "answered", status, retryAfter }, afterMs: 20, received: true };
}

function messageOf({ url, headers, body }: SendRequest): Message {
  const fields = new URLSearchParams(body);
  return {
    merchantId: merchantIdOf(Number(/^https:\/\/shop(\d)\./.exec(url)?.[1])),
    url,
    id: headers["webhook-id"] ?? "",
    number: Number(headers["X-Cofre-Sequence"]),
    attempt: Number(headers["X-Cofre-Attempt"]),
    kind: fields.get("notification_type") ?? "",
    hash: fields.get("hash_codes") ?? "",
  };
}
