// The language of the page: its texts and its formats.

/** @import { Messages } from "./messages-en.js" */

/** The languages by their tags, and how each is called by those who speak it. */
const languages = {
  en: { name: "English", load: () => import("./messages-en.js") },
  "pt-BR": { name: "Português (Brasil)", load: () => import("./messages-pt-br.js") },
  es: { name: "Español", load: () => import("./messages-es.js") },
};

/** @typedef {keyof typeof languages} Language */
/** @typedef {keyof Messages} Key */
/**
 * A text with the names of its values in braces; or one text for each plural category, chosen by
 * the value `count`.
 * @typedef {string | { readonly one: string, readonly other: string }} Message
 */
/**
 * The names between the braces of a text.
 * @template {string} Text
 * @typedef {Text extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never}
 * NamesIn
 */
/**
 * @template {Key} K
 * @typedef {Messages[K] extends string ? NamesIn<Messages[K]>
 * : Messages[K] extends { readonly other: infer Text extends string } ? NamesIn<Text> | "count"
 * : never} NamesOf
 */
/**
 * The values of a text: none, when it has no names.
 * @template {Key} K
 * @typedef {[NamesOf<K>] extends [never] ? [] : [Readonly<Record<NamesOf<K>, string | number>>]}
 * ValuesOf
 */

const placeOfLanguage = "cofre.language";

/** The language that was chosen in this tab; null: none. */
export function keptLanguage() {
  return sessionStorage.getItem(placeOfLanguage);
}

/** @param {string} tag */
export function keepLanguage(tag) {
  sessionStorage.setItem(placeOfLanguage, tag);
}

/** @param {string} tag */
function baseOf(tag) {
  return tag.toLowerCase().split("-")[0];
}

/**
 * The chosen language, or the first of the browser's that the page has, or English.
 * @param {string | null} chosen
 * @param {readonly string[]} preferred
 * @returns {Language}
 */
function languageFrom(chosen, preferred) {
  const tags = /** @type {readonly Language[]} */ (Object.keys(languages));
  const exact = tags.find((tag) => tag === chosen);
  if (exact !== undefined) return exact;
  for (const wanted of preferred) {
    const found = tags.find((tag) => baseOf(tag) === baseOf(wanted));
    if (found !== undefined) return found;
  }
  return "en";
}

/** @type {Language} */
export const language = languageFrom(keptLanguage(), navigator.languages);

/**
 * The locale of numbers and dates: the browser's own variant of the language, such as Mexican
 * Spanish, which writes a decimal point.
 */
export const locale =
  navigator.languages.find((tag) => baseOf(tag) === baseOf(language)) ?? language;

/** @type {readonly (readonly [tag: Language, name: string])[]} */
export const languageOptions = /** @type {readonly Language[]} */ (Object.keys(languages)).map(
  (tag) => [tag, languages[tag].name],
);

const loaded = await languages[language].load();
/** @type {Readonly<Record<Key, Message>>} */
const messages = loaded.messages;

/**
 * The server's English messages, with the names of their values in braces, and their texts in the
 * language; none in English.
 */
export const refusals = loaded.refusals;

const plurals = new Intl.PluralRules(language);
const integers = new Intl.NumberFormat(locale);

/**
 * The text of the key, in its plural form for the value `count`.
 * @param {Key} key
 * @param {Readonly<Record<string, unknown>>} values
 */
function textOf(key, values) {
  const message = messages[key];
  if (typeof message === "string") return message;
  return plurals.select(Number(values["count"])) === "one" ? message.one : message.other;
}

/**
 * @param {Key} key
 * @param {Readonly<Record<string, unknown>>} values
 */
function filled(key, values) {
  const named = new Map(Object.entries(values));
  return textOf(key, values)
    .split(/(\{\w+\})/)
    .flatMap((part) => {
      if (part === "") return [];
      const value = part.startsWith("{") ? named.get(part.slice(1, -1)) : part;
      return [typeof value === "number" ? integers.format(value) : value];
    });
}

/**
 * A text of the page. Numbers are written as the language does; a number that is a name is passed
 * as text.
 * @template {Key} K
 * @param {K} key
 * @param {ValuesOf<K>} given
 * @returns {string}
 */
export function t(key, ...given) {
  return filled(key, given[0] ?? {}).join("");
}

/**
 * The parts of a text in order, for values that are elements.
 * @template {Key} K
 * @template {Readonly<Record<NamesOf<K>, unknown>>} Values
 * @param {K} key
 * @param {Values} values
 * @returns {(Exclude<Values[keyof Values], number> | string)[]}
 */
export function parts(key, values) {
  return /** @type {(Exclude<Values[keyof Values], number> | string)[]} */ (filled(key, values));
}
