import type { Pan } from "../vault/pan.ts";

/** What the simulated directory server and bank do with a card. */
export const behaviours = {
  frictionless: { ares: "Y", outcome: "Y, without a challenge" },
  attempt: { ares: "A", outcome: "A: attempted, the bank took no part" },
  informational: { ares: "I", outcome: "I: informational, without authentication" },
  unavailable: { ares: "U", outcome: "U: the bank could not authenticate" },
  directory_server_silent: { ares: "U", outcome: "U: the directory server does not answer" },
  refused: { ares: "N", outcome: "N: refused without a challenge" },
  rejected: { ares: "R", outcome: "R: rejected, do not try again" },
  challenge_succeeds: { ares: "C", outcome: "challenge: Y with the right code" },
  challenge_fails: { ares: "C", outcome: "challenge: N with every code" },
  challenge_unavailable: { ares: "C", outcome: "challenge: U with every code" },
  bank_silent: { ares: "C", outcome: "challenge whose page stays empty: not completed" },
  result_lost: {
    ares: "C",
    outcome: "challenge whose result (RReq) is lost: not completed",
  },
  result_forged: {
    ares: "C",
    outcome: "challenge that only the browser says is passed (CRes): not completed",
  },
} as const;
export type Behaviour = keyof typeof behaviours;
export const behaviourNames = Object.keys(behaviours) as readonly Behaviour[];

/** Faults that a test can inject into an authentication, whatever the card is. */
export const authenticationFaults = [
  "directory_server_silent",
  "bank_silent",
  "bank_late",
  "result_lost",
  "result_forged",
] as const;
export interface AuthenticationFault {
  readonly kind: (typeof authenticationFaults)[number];
  /** Of `bank_late`: the time until the bank's page has its content. */
  readonly delayMs: number;
}

/**
 * Test numbers of 3-D Secure. The processors publish those that end in 1000 to 1117; the others
 * are Cofre's own, in the same range.
 */
export const authenticationCards: readonly (readonly [digits: string, Behaviour])[] = [
  ["4000000000001000", "frictionless"],
  ["4000000000001018", "refused"],
  ["4000000000001026", "attempt"],
  ["4000000000001034", "unavailable"],
  ["4000000000001042", "rejected"],
  ["4000000000001075", "directory_server_silent"],
  ["4000000000001091", "challenge_succeeds"],
  ["4000000000001109", "challenge_fails"],
  ["4000000000001117", "challenge_unavailable"],
  ["4000000000001133", "bank_silent"],
  ["4000000000001141", "result_lost"],
  ["4000000000001158", "result_forged"],
  ["4000000000001166", "informational"],
  ["5200000000001005", "frictionless"],
  ["5200000000001021", "attempt"],
  ["5200000000001096", "challenge_succeeds"],
];

const byDigits = authenticationCards.map(
  ([digits, behaviour]) => [Buffer.from(digits, "latin1"), behaviour] as const,
);

/** Cards that are not in the table are authenticated without a challenge. */
export function behaviourOf(pan: Pan, fault: AuthenticationFault | undefined): Behaviour {
  if (fault !== undefined && fault.kind !== "bank_late") return fault.kind;
  const digits = pan.reveal();
  const row = byDigits.find(([known]) => Buffer.compare(known, digits) === 0);
  const behaviour = row?.[1] ?? "frictionless";
  // Only a challenge has a page.
  return fault !== undefined && behaviours[behaviour].ares !== "C"
    ? "challenge_succeeds"
    : behaviour;
}
