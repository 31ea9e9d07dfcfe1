import { readFileSync } from "node:fs";
import dictionary from "dictionary-en-gb";
import nspell from "nspell";
import { pathOf } from "./generated-docs.ts";

/**
 * The spelling of the project: British, with -ize (`authorize` is the interface's word). A word is
 * correct if the dictionary or `words.txt` has it: names, abbreviations, terms of the wire, parts
 * of identifiers.
 */
const speller = nspell({
  aff: Buffer.from(dictionary.aff),
  dic: Buffer.from(dictionary.dic),
});

const projectWords = new Set(
  readFileSync(pathOf("tools/words.txt"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#")),
);

/** `authorise`, `authorisation`: words that the project writes with z. Not `promise`, `revise`. */
const withS = /is(?=(?:e[ds]?|ers?|ing|ations?|able|ably)$)/i;
const withZ = /iz(?=(?:e[ds]?|ers?|ing|ations?|able|ably)$)/i;
const alwaysWithS =
  /^(?:adv|advert|ar|compr|comprom|conc|cr|d|dev|disgu|enterpr|exerc|expert|likew|merchand|no|otherw|po|pra|prec|prem|prom|ra|rev|r|superv|surpr|w)is(?:e[ds]?|ers?|ing|able)$/i;

const verdicts = new Map<string, boolean>();

/** Whether a word without digits, dashes and capitals inside is correct. */
export function isCorrect(word: string): boolean {
  const known = verdicts.get(word);
  if (known !== undefined) return known;
  const verdict = projectWords.has(word.toLowerCase()) || isInDictionary(word);
  verdicts.set(word, verdict);
  return verdict;
}

function isInDictionary(word: string): boolean {
  if (withS.test(word) && !alwaysWithS.test(word)) return false;
  return [word, word.toLowerCase(), word.replace(withZ, "is").toLowerCase()].some((form) =>
    speller.correct(form),
  );
}

/**
 * The words of a text with four letters or more that are not correct, as `LINE: WORD`. Identifiers
 * are split at capitals. Shorter words are mostly abbreviations, and those of the letters a to f
 * hexadecimal numbers.
 */
export function findMisspellings(text: string): string[] {
  return text.split("\n").flatMap((line, index) =>
    wordsOf(line)
      .filter((word) => !isCorrect(word))
      .map((word) => `${index + 1}: ${word}`),
  );
}

function wordsOf(line: string): string[] {
  return (line.match(/\p{L}[\p{L}'’]*/gu) ?? [])
    .map((name) => name.replace(/(?<=\p{Lu}{2})s$/u, ""))
    .flatMap((name) => name.split(/(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u))
    .map((word) => word.replaceAll("’", "'").replace(/'s?$/, ""))
    .filter((word) => word.length >= 4 && !/^x?[a-f]+$/i.test(word));
}
