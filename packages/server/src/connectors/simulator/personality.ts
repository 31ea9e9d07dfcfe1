import type { Clock } from "../../kernel/clock.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { Scheduler } from "../../kernel/scheduler.ts";
import type { Card } from "../../vault/card.ts";
import type { ConnectorCapabilities } from "../connector.ts";
import { SimulatedAcquirer } from "./acquirer.ts";
import { cardJudge } from "./magic-cards.ts";
import type { CardVerdict } from "./magic-cards.ts";
import { SimulatedNetwork } from "./network.ts";

/** Behaviour of the simulated acquirer. Every property has a default: that of an ideal acquirer. */
export interface Personality {
  /** Seed of the authorization codes; keep it over restarts. */
  readonly seed: string;
  /**
   * Prefixes of 6 to 8 digits under which any number is approved; none by default (see
   * magic-cards.ts).
   */
  readonly approveTestBins: readonly string[];
  /** Number of references that the acquirer's books hold. */
  readonly rememberedReferences: number;
  readonly dedupes: boolean;
  readonly answersInquiries: boolean;
  readonly repeatsFollowUps: boolean;
  readonly partialCapture: boolean;
  /**
   * true: the texts of all its answers repeat the card (echo.ts), as the instruction `echo_card`
   * does for one. Only in a separate process.
   */
  readonly echoes: boolean;
  /** Longest time from sending a request to its arrival, in milliseconds. */
  readonly lateArrivalMs: number;
}

export const defaultPersonality: Personality = {
  seed: "cofre-simulator",
  approveTestBins: [],
  rememberedReferences: 20_000,
  dedupes: true,
  answersInquiries: true,
  repeatsFollowUps: true,
  partialCapture: true,
  echoes: false,
  // Above recovery's first check (5 s) and below its second (30 s): a reversal that finds nothing
  // at the first check is not final, and the second check settles it.
  lateArrivalMs: 20_000,
};

/** The capabilities of a connector to an acquirer with this personality. */
export function capabilitiesOf(personality: Personality): ConnectorCapabilities {
  return {
    dedupesByReference: personality.dedupes,
    answersInquiries: personality.answersInquiries,
    partialCapture: personality.partialCapture,
    repeatsFollowUps: personality.repeatsFollowUps,
    reverses: true,
    lateArrivalMs: personality.lateArrivalMs,
  };
}

/**
 * An acquirer with this personality behind its network: runs in Cofre's process or in
 * acquirer-process.ts.
 */
export interface AcquirerSite {
  readonly acquirer: SimulatedAcquirer;
  readonly network: SimulatedNetwork;
  readonly judgeCard: (card: Card, now: Instant) => CardVerdict;
  readonly capabilities: ConnectorCapabilities;
}

export function buildAcquirer(
  ports: { readonly clock: Clock; readonly scheduler: Scheduler },
  personality: Personality,
): AcquirerSite {
  const { seed, rememberedReferences } = personality;
  const acquirer = new SimulatedAcquirer({
    clock: ports.clock,
    seed,
    rememberedReferences,
    personality,
  });
  return {
    acquirer,
    network: new SimulatedNetwork({ ...ports, acquirer, lateArrivalMs: personality.lateArrivalMs }),
    judgeCard: cardJudge(personality.approveTestBins),
    capabilities: capabilitiesOf(personality),
  };
}
