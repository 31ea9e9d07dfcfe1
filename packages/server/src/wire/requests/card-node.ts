import { endOfDueMonth } from "../../vault/card-due-date.ts";
import type { Instant } from "../../kernel/instant.ts";
import { brandOf } from "../../vault/bin.ts";
import type { Card } from "../../vault/card.ts";
import { Cryptogram, Cvv, Pan } from "../../vault/pan.ts";
import { holdsCardNumber } from "../decode/card-like.ts";
import { fieldOf, lengthOf, liftedOf } from "./fields.ts";
import type { Rule } from "./rules.ts";
import type { Lifted, TreeObject } from "../decode/tree.ts";

/**
 * A `creditcard` or `card` node as sent, its secrets in owned buffers. The reader has to wipe it
 * (`wipeCard`) in every case.
 */
export interface CardReading {
  /** How the node names the card; the CVV may accompany each. */
  readonly kind: "pan" | "network_token" | "token";
  readonly numberGiven: boolean;
  /** Undefined if the digits are not a card number. */
  readonly pan: Pan | undefined;
  readonly holderName: string | undefined;
  readonly dueDateText: string | undefined;
  readonly dueDate: DueDate | undefined;
  readonly cvvGiven: boolean;
  readonly cvv: Cvv | undefined;
  readonly cryptogramGiven: boolean;
  /** The network token's own, or the 3-D Secure result of a card. */
  readonly cryptogram: Cryptogram | undefined;
  /** The token of the stored card to charge. */
  readonly token: string | undefined;
}

/** As written; the month may not exist. */
interface DueDate {
  readonly month: number;
  readonly year: number;
}

/** `tokenBeside` is the charge token outside the node: it counts if the node has no card. */
export function readCardToCharge(node: TreeObject, tokenBeside: string | undefined): CardReading {
  const networkPan = liftedOf(node, "network_token_pan");
  const hasNumber = networkPan !== undefined || liftedOf(node, "card_number") !== undefined;
  const token = fieldOf(node, "token") ?? (hasNumber ? undefined : tokenBeside);
  // A token replaces number, name and date (interface 3.3): values beside it are ignored.
  if (token !== undefined) return readCard(node, "token", token);
  return readCard(node, networkPan === undefined ? "pan" : "network_token", undefined);
}

/** A card to be stored must have its number: a token in the node is ignored. */
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
 * `mm/yyyy`, the month padded or not. Any two digits are accepted as the month, because an invalid
 * month has an error code of its own.
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

/** The card of a reading without broken rules; undefined for a token. */
export function cardOf({ pan, dueDate, holderName }: CardReading): Card | undefined {
  if (pan === undefined || dueDate === undefined) return undefined;
  return {
    pan,
    expiryMonth: dueDate.month,
    expiryYear: dueDate.year,
    holderName: holderName ?? "",
  };
}

/** The input of the card rules. */
export interface CardContext {
  readonly card: CardReading | undefined;
  /**
   * Whether a security code is required: not for stored credentials, and not if the account needs
   * none.
   */
  readonly cvvRequired: boolean;
  readonly longestHolderName: 50 | 64;
  readonly now: Instant;
}

/** No card is valid for longer than this. */
const longestValidityYears = 50;

function isPan(reading: CardContext): reading is CardContext & { readonly card: CardReading } {
  return reading.card?.kind === "pan";
}

function isOver(due: DueDate, now: Instant): boolean {
  return endOfDueMonth(due.year, due.month) < now;
}

/** Years from now until the end of the due date's year, rounded down. */
function yearsFrom(now: Instant, due: DueDate): number {
  const meanYearMs = 31_556_952_000;
  return Math.floor((endOfDueMonth(due.year, 12) - now) / meanYearMs);
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
    // A number of an unknown brand can be neither charged nor stored (interface 2.6).
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
