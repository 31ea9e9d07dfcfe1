import { endOfMonth } from "../../kernel/calendar.ts";
import type { Instant } from "../../kernel/instant.ts";
import { brandOf } from "../../vault/bin.ts";
import type { Card } from "../../vault/card.ts";
import { Cryptogram, Cvv, Pan } from "../../vault/pan.ts";
import { holdsCardNumber } from "../decode/card-like.ts";
import { fieldOf, lengthOf, liftedOf } from "./fields.ts";
import type { Rule } from "./rules.ts";
import type { Lifted, TreeObject } from "../decode/tree.ts";

/**
 * A `creditcard` or `card` node as it came, its secrets in owned buffers: whoever reads one wipes
 * it (`wipeCard`), whatever happens.
 */
export interface CardReading {
  /** Which of the three ways of naming a card it takes; the CVV may accompany each. */
  readonly kind: "pan" | "network_token" | "token";
  readonly numberGiven: boolean;
  /** Undefined when the digits are no card number. */
  readonly pan: Pan | undefined;
  readonly holderName: string | undefined;
  readonly dueDateText: string | undefined;
  readonly dueDate: DueDate | undefined;
  readonly cvvGiven: boolean;
  readonly cvv: Cvv | undefined;
  readonly cryptogramGiven: boolean;
  /** A network token's own, or what 3-D Secure gave for a card. */
  readonly cryptogram: Cryptogram | undefined;
  /** The stored card to charge. */
  readonly token: string | undefined;
}

/** As written: nothing says yet that there is such a month. */
interface DueDate {
  readonly month: number;
  readonly year: number;
}

/**
 * `tokenBeside` is the charge token that stands outside of the node: it counts when the node brings
 * no card.
 */
export function readCardToCharge(node: TreeObject, tokenBeside: string | undefined): CardReading {
  const networkPan = liftedOf(node, "network_token_pan");
  const hasNumber = networkPan !== undefined || liftedOf(node, "card_number") !== undefined;
  const token = fieldOf(node, "token") ?? (hasNumber ? undefined : tokenBeside);
  // A token takes the place of number, name and date (interface 3.3): what stands beside it is not
  // looked at.
  if (token !== undefined) return readCard(node, "token", token);
  return readCard(node, networkPan === undefined ? "pan" : "network_token", undefined);
}

/** A card to be stored comes with its number: a token in the node names nothing there. */
export function readCardToStore(node: TreeObject): CardReading {
  return readCard(node, "pan", undefined);
}

function readCard(
  node: TreeObject,
  kind: CardReading["kind"],
  token: string | undefined,
): CardReading {
  const given =
    kind === "token"
      ? undefined
      : liftedOf(node, kind === "network_token" ? "network_token_pan" : "card_number");
  const dueDateText = fieldOf(
    node,
    kind === "network_token" ? "network_token_expire_date" : "card_due_date",
  );
  const cvv = liftedOf(node, "card_cvv");
  const cryptogram = liftedOf(
    node,
    kind === "network_token" ? "network_token_cryptogram" : "threeds_cryptogram",
  );
  return {
    kind,
    numberGiven: given !== undefined,
    pan: owned(given, (bytes) => Pan.from(bytes)),
    holderName: kind === "token" ? undefined : fieldOf(node, "card_name"),
    dueDateText: kind === "token" ? undefined : dueDateText,
    dueDate: dueDateText === undefined ? undefined : dueDateOf(dueDateText),
    cvvGiven: cvv !== undefined,
    cvv: owned(cvv, (bytes) => Cvv.from(bytes)),
    cryptogramGiven: cryptogram !== undefined,
    cryptogram: owned(cryptogram, (bytes) => Cryptogram.from(bytes)),
    token,
  };
}

function owned<Owned>(
  lifted: Lifted | undefined,
  take: (bytes: Uint8Array) => Owned | undefined,
): Owned | undefined {
  return lifted?.wellFormed === true ? take(lifted.copy()) : undefined;
}

/**
 * `mm/yyyy`, the month padded or not; any two digits for the month, since a wrong month has a code
 * of its own.
 */
function dueDateOf(text: string): DueDate | undefined {
  const match = /^(\d{1,2})\/(\d{4})$/.exec(text);
  return match === null ? undefined : { month: Number(match[1]), year: Number(match[2]) };
}

export function wipeCard(reading: Pick<CardReading, "pan" | "cvv" | "cryptogram">): void {
  reading.pan?.wipe();
  reading.cvv?.wipe();
  reading.cryptogram?.wipe();
}

/** The card that a reading without broken rules holds; undefined for a token. */
export function cardOf({ pan, dueDate, holderName }: CardReading): Card | undefined {
  if (pan === undefined || dueDate === undefined) return undefined;
  return {
    pan,
    expiryMonth: dueDate.month,
    expiryYear: dueDate.year,
    holderName: holderName ?? "",
  };
}

/** What the rules about cards look at. */
export interface CardContext {
  readonly card: CardReading | undefined;
  /** A security code is asked for: not for stored credentials, nor where the account needs none. */
  readonly cvvRequired: boolean;
  readonly longestHolderName: 50 | 64;
  readonly now: Instant;
}

/** No card is issued for as long as that. */
const longestValidityYears = 50;

function isPan(reading: CardContext): reading is CardContext & { readonly card: CardReading } {
  return reading.card?.kind === "pan";
}

function isOver(due: DueDate, now: Instant): boolean {
  return endOfMonth(due.year, due.month) < now;
}

/** The years from now until a due date, rounded down, by the calendar. */
function yearsFrom(now: Instant, due: DueDate): number {
  const meanYearMs = 31_556_952_000;
  return Math.floor((endOfMonth(due.year, 12) - now) / meanYearMs);
}

const hasMonth = ({ month }: DueDate): boolean => month >= 1 && month <= 12;

/** BP-DR-48 to 67, 75, 95 and 136, as far as a card node alone can break them (interface 7.2). */
export const cardRules = {
  nodeRequired: {
    code: 48,
    broken: ({ card }) => card === undefined,
  },
  numberRequired: {
    code: 49,
    broken: (reading) => isPan(reading) && !reading.card.numberGiven,
  },
  nameRequired: {
    code: 51,
    broken: (reading) => isPan(reading) && reading.card.holderName === undefined,
  },
  nameTooLong: {
    code: 52,
    broken: ({ card, longestHolderName }) =>
      lengthOf(card?.holderName ?? "") > longestHolderName && { longest: longestHolderName },
  },
  cvvRequired: {
    code: 54,
    broken: (reading) =>
      isPan(reading) &&
      reading.cvvRequired &&
      !reading.card.cvvGiven && { field: "payment.creditcard.card_cvv" },
  },
  cvvInvalid: {
    code: 55,
    broken: ({ card }) =>
      card?.cvvGiven === true && card.cvv === undefined && { field: "payment.creditcard.card_cvv" },
  },
  dueDateRequired: {
    code: 56,
    broken: (reading) => isPan(reading) && reading.card.dueDateText === undefined,
  },
  dueDateFormat: {
    code: 57,
    broken: (reading) => isPan(reading) && reading.card.dueDate === undefined,
  },
  dueMonth: {
    code: 58,
    broken: (reading) =>
      isPan(reading) && reading.card.dueDate !== undefined && !hasMonth(reading.card.dueDate),
  },
  dueYear: {
    code: 59,
    broken: (reading) =>
      isPan(reading) &&
      reading.card.dueDate !== undefined &&
      yearsFrom(reading.now, reading.card.dueDate) > longestValidityYears,
  },
  duePast: {
    code: 67,
    broken: (reading) =>
      isPan(reading) &&
      reading.card.dueDate !== undefined &&
      isOver(reading.card.dueDate, reading.now),
  },
  numberInvalid: {
    code: 75,
    // A number of no brand that is known can be neither charged nor stored (interface 2.6).
    broken: ({ card }) =>
      card?.numberGiven === true &&
      (card.pan === undefined || brandOf(card.pan) === undefined) && { problem: "invalid" },
  },
  nameIsNumber: {
    code: 95,
    broken: ({ card }) => card?.holderName !== undefined && holdsCardNumber(card.holderName),
  },
  networkTokenDate: {
    code: 136,
    broken: ({ card, now }) =>
      card?.kind === "network_token" &&
      (card.dueDate === undefined || !hasMonth(card.dueDate) || isOver(card.dueDate, now)),
  },
} as const satisfies Record<string, Rule<CardContext>>;
