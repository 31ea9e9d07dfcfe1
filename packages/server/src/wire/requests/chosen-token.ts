import { isAcceptableToken, tokenLength } from "../../vault/token.ts";
import { holdsPan } from "../../vault/own-number.ts";
import type { Pan } from "../../vault/pan.ts";
import { lengthOf } from "./fields.ts";
import { invalid } from "./rules.ts";

/** BP-DR-66: what is wrong with a token that a merchant chose for a card. It becomes the card's name in every system: it does not hold the card's number. */
export function refuseChosenToken(field: string, token: string, pan: Pan | undefined): string | false {
  const length = lengthOf(token);
  const { shortest, longest } = tokenLength;
  if (length < shortest || length > longest) return `Field ${field} must have between ${shortest} and ${longest} characters`;
  if (!isAcceptableToken(token)) return invalid(field);
  return pan !== undefined && holdsPan(token, pan) && `Field ${field} must not hold a card number`;
}
