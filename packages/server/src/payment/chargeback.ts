import type { Instant } from "../kernel/instant.ts";
import { defineMachine } from "../kernel/machine.ts";

export const chargebackStates = ["none", "opened", "credited"] as const;
export type ChargebackState = (typeof chargebackStates)[number];

export const chargebackFacts = ["chargeback_opened", "chargeback_credited"] as const;
export type ChargebackFact = (typeof chargebackFacts)[number];

/** The issuer takes the money back; the merchant may win it back (interface 4.5). */
export const chargebackMachine = defineMachine<ChargebackState, ChargebackFact>({
  states: chargebackStates,
  initial: "none",
  final: ["credited"],
  rows: [
    ["none", "chargeback_opened", "opened"],
    ["opened", "chargeback_credited", "credited"],
  ],
});

/**
 * The schemes' categories of a chargeback: the cardholder did not pay; a rule of the authorization
 * was broken; an error such as a wrong amount; goods or services.
 */
export const chargebackReasons = ["fraud", "authorization", "processing", "consumer"] as const;
export type ChargebackReason = (typeof chargebackReasons)[number];

/** A chargeback as the issuer claims it. */
export interface ChargebackClaim {
  readonly description: string;
  readonly reason?: ChargebackReason | undefined;
}

export interface Chargeback {
  readonly state: Exclude<ChargebackState, "none">;
  /**
   * The rest of the captured amount when it was opened, in minor units of the payment's currency.
   */
  readonly amount: bigint;
  readonly description: string;
  /** Absent if none was given, and on chargebacks of earlier versions. */
  readonly reason?: ChargebackReason;
  readonly openedAt: Instant;
  readonly creditedAt: Instant | undefined;
}
