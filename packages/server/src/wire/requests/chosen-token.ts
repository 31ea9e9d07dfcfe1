import { isAcceptableToken, tokenLength } from "../../vault/token.ts";
import { containsPan } from "../../vault/contains-pan.ts";
import type { Pan } from "../../vault/pan.ts";
import { lengthOf } from "./fields.ts";
import type { Broken } from "./rules.ts";

/**
 * BP-DR-66: what is wrong with a token that a merchant chose for a card. The token becomes the
 * card's name in every system, so it must not contain the card's number.
 */
export function refuseChosenToken(
  field: "payment.token" | "token",
  token: string,
  pan: Pan | undefined,
): Broken<66> {
  const length = lengthOf(token);
  const { shortest, longest } = tokenLength;
  if (length < shortest || length > longest)
    return { field, problem: `must have between ${shortest} and ${longest} characters` };
  if (!isAcceptableToken(token)) return { field, problem: "is invalid" };
  return (
    pan !== undefined &&
    containsPan(token, pan) && { field, problem: "must not hold a card number" }
  );
}
