import type { Clock } from "../kernel/clock.ts";
import { type Instant, laterBy, second } from "../kernel/instant.ts";
import type { Connector, NotSent, Unknown } from "./connector.ts";

export interface CircuitOptions {
  readonly name: string;
  readonly clock: Clock;
  /**
   * Most authorizations and verifications in flight to this acquirer; further ones are not sent.
   */
  readonly mostUnderWay: number;
  /** Called when the circuit opens and when it closes. Never throws. */
  readonly report: (event: {
    readonly kind: "open" | "closed";
    readonly connector: string;
  }) => void;
}

/** The circuit opens after this number of consecutive messages, of any kind, without an answer. */
const failuresToOpen = 20;
/** The first open interval, doubled each time the probe is not answered either. */
const firstRestMs = 5 * second;
const longestRestMs = 60 * second;

const notSent: NotSent = { kind: "not_sent" };
const leftAlone: Unknown = { kind: "unknown", cause: "connection" };

/**
 * A circuit breaker around a connector, so that requests do not wait for an acquirer that is dead
 * or slow: an authorization that is certainly not sent can go to another acquirer or be refused at
 * once, and recovery inquires about what was sent. After the open interval one probe at a time is
 * let through; the first answer closes the circuit. Owns a count of failures and of messages in
 * flight.
 */
export function withCircuit(
  connector: Connector,
  { name, clock, mostUnderWay, report }: CircuitOptions,
): Connector {
  let failures = 0;
  let restMs = firstRestMs;
  let restsUntil: Instant | undefined;
  let isProbing = false;
  let underWay = 0;

  async function through<Outcome extends { readonly kind: string }, Left>(
    ask: () => Promise<Outcome>,
    left: Left,
  ): Promise<Outcome | Left> {
    const isProbe = restsUntil !== undefined;
    if (restsUntil !== undefined && (isProbing || rests(restsUntil))) return left;
    if (isProbe) isProbing = true;
    try {
      const outcome = await ask();
      if (outcome.kind === "unknown" || outcome.kind === "not_sent") failed(isProbe);
      else succeeded();
      return outcome;
    } finally {
      if (isProbe) isProbing = false;
    }
  }

  /** Never longer than the interval itself: the clock may have been set back since. */
  function rests(until: Instant): boolean {
    const leftMs = until - clock.now();
    return leftMs > 0 && leftMs <= restMs;
  }

  function failed(isProbe: boolean): void {
    failures += 1;
    // Messages that were in flight when the circuit opened do not count again.
    if (restsUntil !== undefined ? !isProbe : failures < failuresToOpen) return;
    if (isProbe) restMs = Math.min(restMs * 2, longestRestMs);
    else report({ kind: "open", connector: name });
    restsUntil = laterBy(clock.now(), restMs);
  }

  function succeeded(): void {
    if (restsUntil !== undefined) report({ kind: "closed", connector: name });
    failures = 0;
    restMs = firstRestMs;
    restsUntil = undefined;
  }

  async function bounded<Outcome extends { readonly kind: string }>(
    ask: () => Promise<Outcome>,
  ): Promise<Outcome | NotSent> {
    if (underWay >= mostUnderWay) return notSent;
    underWay += 1;
    try {
      return await through(ask, notSent);
    } finally {
      underWay -= 1;
    }
  }

  const { cardTraits } = connector;
  return {
    name,
    capabilities: connector.capabilities,
    authorize: (request, card) => bounded(() => connector.authorize(request, card)),
    verify: (request, card) => bounded(() => connector.verify(request, card)),
    capture: (request) => through(() => connector.capture(request), leftAlone),
    void: (request) => through(() => connector.void(request), leftAlone),
    refund: (request) => through(() => connector.refund(request), leftAlone),
    reverse: (request) => through(() => connector.reverse(request), leftAlone),
    inquire: (request) => through(() => connector.inquire(request), leftAlone),
    ...(cardTraits === undefined ? {} : { cardTraits }),
  };
}
