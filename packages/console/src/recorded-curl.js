// A recorded request as a command that sends it again.
import { curlOf, ShellVariable } from "./curl.js";

/** @import { TestCard } from "./payment-form.js" */

/** @typedef {Readonly<Record<string, unknown>>} Fields */
/**
 * `year` of the account's clock; `cards`: the published test cards.
 * @typedef {{ year: number, cards: readonly Pick<TestCard, "card_number" | "masked_card_number" |
 * "cvv_digits">[] }} Tables
 */

/** What the recording has in place of a value that is not kept. */
export const notKept = "[not kept]";
const usualMask = "411111xxxxxx1111";

/**
 * The command for the request's recorded parameters. Card data was not recorded: a test card takes
 * its place, the same one if the mask is that of a test card. The key, tokens and other values that
 * are not kept come from variables of the shell.
 * @param {string} path
 * @param {Fields} parameters
 * @param {Tables} tables
 * @param {string} [origin]
 */
export function recordedCurl(path, parameters, tables, origin) {
  return curlOf(path, filled(parameters, tables), origin);
}

/**
 * The number and code of the test card that the command has in place of the recorded one.
 * @param {string} mask
 * @param {Tables["cards"]} cards
 */
export function testCardFor(mask, cards) {
  const cardOf = (/** @type {string} */ wanted) =>
    cards.find(({ masked_card_number: each }) => each === wanted);
  const card = cardOf(mask) ?? cardOf(usualMask);
  return {
    card_number: card?.card_number ?? "",
    card_cvv: card?.cvv_digits === 4 ? "1234" : "123",
  };
}

/**
 * @param {Fields} fields
 * @param {Tables} tables
 * @returns {Fields}
 */
function filled(fields, tables) {
  const { card_number: mask } = fields;
  const members = Object.entries(fields).map(([name, value]) => [
    name,
    valueOf(name, value, tables),
  ]);
  return {
    ...Object.fromEntries(members),
    ...(typeof mask === "string" ? testCardFor(mask, tables.cards) : {}),
  };
}

/**
 * @param {string} name
 * @param {unknown} value
 * @param {Tables} tables
 * @returns {unknown}
 */
function valueOf(name, value, tables) {
  if (typeof value === "object" && value !== null)
    return filled(/** @type {Fields} */ (value), tables);
  if (name === "card_name" && value === notKept) return "Ana Lima";
  if (name === "card_due_date" && value === notKept) return `12/${tables.year + 9}`;
  const isCut = name === "token" && typeof value === "string" && value.endsWith("…");
  return value === notKept || isCut ? new ShellVariable(name.toUpperCase()) : value;
}
