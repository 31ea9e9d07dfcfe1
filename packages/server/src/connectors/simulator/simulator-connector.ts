import type { Clock } from "../../kernel/clock.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { Connector, Unknown } from "../connector.ts";
import type { AcquirerBooks, Personal } from "./messages-and-books.ts";
import { echoOf } from "./echo.ts";
import { withIssuerRules } from "./issuer-rules.ts";
import { traitsOf } from "./magic-cards.ts";
import type { Received, Instruction } from "./network.ts";
import { buildAcquirer, defaultPersonality } from "./personality.ts";
import type { AcquirerSite, Personality } from "./personality.ts";

export interface SimulatorOptions extends Partial<Personality>, SimulatorPorts {}

interface SimulatorPorts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}

/** A connector to an acquirer in this process, with controls that no real acquirer has. */
export interface Simulator extends Connector {
  /** Queues an instruction for the merchant's next messages. Throws InstructionRefused. */
  instruct(merchantId: MerchantId, instruction: Instruction): void;
  /** A copy of the acquirer's books. */
  books(): AcquirerBooks;
  /**
   * Another acquirer with copies of the books, the instructions and the late messages in transit.
   */
  copy(ports: SimulatorPorts): Simulator;
}

type Timed = Personal & { readonly deadline: Instant };

const timedOut: Unknown = { kind: "unknown", cause: "timeout" };

/**
 * The simulated acquirer, called directly. Without latency and faults there is no wait: the answer
 * is available in the same turn of the event loop. A lost or late message is `unknown` exactly at
 * the request's deadline, in the scheduler's time.
 */
export function createSimulator({ clock, scheduler, ...personality }: SimulatorOptions): Simulator {
  return simulatorOf({ clock, scheduler }, { ...defaultPersonality, ...personality });
}

function simulatorOf(
  { clock, scheduler }: SimulatorPorts,
  personality: Personality,
  before?: AcquirerSite,
): Simulator {
  const site = buildAcquirer({ clock, scheduler }, personality);
  const { acquirer, network, judgeCard, capabilities } = site;
  if (before !== undefined) {
    acquirer.copyFrom(before.acquirer);
    network.copyFrom(before.network);
  }

  /** Sends unless the deadline has passed, and returns the answer if it arrives in time. */
  function exchange<Answer>(
    request: Timed,
    send: () => Received<Answer>,
  ): Promise<Answer | Unknown> {
    const left = request.deadline - clock.now();
    if (left <= 0) return Promise.resolve(timedOut);
    const answer = send();
    const { latencyMs, waits = (wait) => wait } = request.settings.simulator;
    if (answer === undefined || latencyMs > left)
      return waits(scheduler.sleep(left)).then(() => timedOut);
    return latencyMs === 0
      ? Promise.resolve(answer)
      : waits(scheduler.sleep(latencyMs)).then(() => answer);
  }

  return {
    name: "simulator",
    capabilities,
    authorize: (request, { card, cvv }) =>
      exchange(request, () =>
        network.authorize(
          withIssuerRules(request),
          judgeCard(card, clock.now()),
          echoOf(card, cvv, request),
        ),
      ),
    verify: (request, { card, cvv }) =>
      exchange(request, () =>
        network.verify(request, judgeCard(card, clock.now()), echoOf(card, cvv, request)),
      ),
    capture: (request) => exchange(request, () => network.capture(request)),
    void: (request) => exchange(request, () => network.void(request)),
    refund: (request) => exchange(request, () => network.refund(request)),
    reverse: (request) => exchange(request, () => network.reverse(request)),
    inquire: (request) => exchange(request, () => network.inquire(request)),
    cardTraits: traitsOf,
    instruct: (merchantId, instruction) => network.instruct(merchantId, instruction),
    books: () => acquirer.books(),
    copy: (ports) => simulatorOf(ports, personality, site),
  };
}
