import { CircuitBreaker } from "../kernel/circuit-breaker.ts";
import type { Clock } from "../kernel/clock.ts";
import { ConcurrencyLimit } from "../kernel/concurrency-limit.ts";
import { second } from "../kernel/instant.ts";
import type { Connector, NotSent, Unknown } from "./connector.ts";

export interface CircuitBreakerOptions {
  readonly name: string;
  readonly clock: Clock;
  /**
   * Most authorizations and verifications in flight to this acquirer; further ones are not sent.
   */
  readonly maxInFlight: number;
  /** Called when the circuit opens and when it closes. Never throws. */
  readonly report: (event: {
    readonly kind: "open" | "closed";
    readonly connector: string;
  }) => void;
}

const acquirerCircuit = {
  failuresToOpen: 20,
  firstOpenMs: 5 * second,
  longestOpenMs: 60 * second,
};

const notSent: NotSent = { kind: "not_sent" };
const notCalled: Unknown = { kind: "unknown", cause: "connection" };

/**
 * A circuit breaker around a connector, so that requests do not wait for an acquirer that is dead
 * or slow: an authorization that is certainly not sent can go to another acquirer or be refused at
 * once, and recovery inquires about what was sent. Messages of any kind without an answer count as
 * failures. After the open interval one probe at a time is let through; the first answer closes the
 * circuit. Owns a circuit breaker and a limit of messages in flight.
 */
export function withCircuitBreaker(
  connector: Connector,
  { name, clock, maxInFlight, report }: CircuitBreakerOptions,
): Connector {
  const circuit = new CircuitBreaker(acquirerCircuit);
  let isProbing = false;
  const inFlight = new ConcurrencyLimit(maxInFlight, 0);
  const refused = (): NotSent => notSent;

  async function through<Outcome extends { readonly kind: string }, Left>(
    call: () => Promise<Outcome>,
    left: Left,
  ): Promise<Outcome | Left> {
    const state = circuit.stateAt(clock.now());
    const isProbe = state === "half_open";
    if (state === "open" || (isProbe && isProbing)) return left;
    if (isProbe) isProbing = true;
    try {
      const outcome = await call();
      if (outcome.kind === "unknown" || outcome.kind === "not_sent") failed(isProbe);
      else if (circuit.succeeded()) report({ kind: "closed", connector: name });
      return outcome;
    } finally {
      if (isProbe) isProbing = false;
    }
  }

  function failed(isProbe: boolean): void {
    const now = clock.now();
    const wasClosed = circuit.stateAt(now) === "closed";
    // Messages that were in flight when the circuit opened do not count again.
    if (!wasClosed && !isProbe) return;
    if (circuit.failed(now, undefined, isProbe) && wasClosed)
      report({ kind: "open", connector: name });
  }

  const { cardTraits } = connector;
  return {
    name,
    capabilities: connector.capabilities,
    authorize: (request, card) =>
      inFlight.run(() => through(() => connector.authorize(request, card), notSent), refused),
    verify: (request, card) =>
      inFlight.run(() => through(() => connector.verify(request, card), notSent), refused),
    capture: (request) => through(() => connector.capture(request), notCalled),
    void: (request) => through(() => connector.void(request), notCalled),
    refund: (request) => through(() => connector.refund(request), notCalled),
    reverse: (request) => through(() => connector.reverse(request), notCalled),
    inquire: (request) => through(() => connector.inquire(request), notCalled),
    ...(cardTraits === undefined ? {} : { cardTraits }),
  };
}
