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

export interface Chargeback {
  readonly state: Exclude<ChargebackState, "none">;
  /**
   * The rest of the captured amount when it was opened, in minor units of the payment's currency.
   */
  readonly amount: bigint;
  readonly description: string;
  readonly openedAt: Instant;
  readonly creditedAt: Instant | undefined;
}
