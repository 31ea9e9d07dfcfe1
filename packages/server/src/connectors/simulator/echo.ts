import type { Card } from "../../vault/card.ts";
import type { Cvv } from "../../vault/pan.ts";
import type { Approval, Decline } from "../connector.ts";
import type { OriginalMessage, VerifyAnswer } from "./messages-and-books.ts";
import { draw } from "./draw.ts";
import type { Personal } from "./messages-and-books.ts";

/** Returns the answer with the card repeated in its texts. */
export type Echo = <Answer extends Approval | Decline | VerifyAnswer>(answer: Answer) => Answer;

type Addressed = Pick<OriginalMessage, "reference"> & Personal;

/**
 * Simulates an acquirer with wrongly mapped fields: its answers have the card number or the
 * security code where a code or a reference belongs. Only here is the number a string: only the
 * sandbox does this, on request, with test cards. The card is not read before the echo is used.
 */
export function echoOf(card: Pick<Card, "pan">, cvv: Cvv | undefined, request: Addressed): Echo {
  return (answer) => lastingEcho(card, cvv, request)(answer);
}

/** The same for answers that are sent after the card was wiped. */
export function lastingEcho(
  { pan }: Pick<Card, "pan">,
  cvv: Cvv | undefined,
  { reference, settings }: Addressed,
): Echo {
  const digits = Buffer.from(pan.reveal()).toString("latin1");
  const code = cvv === undefined ? "" : Buffer.from(cvv.reveal()).toString("latin1");
  const spellings = [
    digits,
    code === "" ? digits.slice(0, 8) : code,
    `${digits} ${code}`,
    (digits.match(/\d{1,4}/g) ?? []).join("-"),
    code === "" ? digits.slice(-8) : `CVV${code}`,
    Buffer.from(digits).toString("hex"),
    Buffer.from(digits).toString("base64url"),
  ];
  // A different spelling in each field and for each request, and the same ones in each run.
  const offset = draw(settings.simulator.seed, `echo\n${reference}`);
  const echoed = (field: number): string =>
    spellings[(offset + field) % spellings.length] ?? digits;
  return (answer) => {
    if (answer.kind === "declined")
      return { ...answer, responseCode: echoed(0), adviceCode: echoed(1) };
    if (answer.kind === "good") return { ...answer, networkTransactionId: echoed(0) };
    return {
      ...answer,
      authorizationCode: echoed(0),
      responseCode: echoed(1),
      acquirerReference: echoed(2),
      networkTransactionId: echoed(3),
    };
  };
}
