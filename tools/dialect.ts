/**
 * Words and patterns that the project's texts avoid because readers have to guess their meaning:
 * persons for parts, verbs of speech for events, private words for terms of the field. Each has an
 * example sentence and what to write instead. `dialect.test.ts` applies the list to the pages, the
 * comments and the texts that users see.
 */
interface DialectRule {
  readonly pattern: RegExp;
  readonly instead: string;
  /** Sentences for the control test: the pattern matches the first and not the second. */
  readonly wrong: string;
  readonly right: string;
}

export const dialectRules: readonly DialectRule[] = [
  {
    pattern: /\b(?:whoever|whomever)\b/i,
    instead: "the part or the person: client, caller, operator",
    wrong: "Whoever is still connected is cut off.",
    right: "Remaining connections are closed.",
  },
  {
    pattern: /\b(?:nobody|somebody)(?:'s)?\b/i,
    instead: "the part or the person, or a passive sentence",
    wrong: "Nobody hears of it.",
    right: "No client is notified.",
  },
  {
    pattern: /\b(?:told|tells)\b/i,
    instead: "reported, notified, returned, shown",
    wrong: "The merchant is told the outcome.",
    right: "The merchant is notified of the outcome.",
  },
  {
    pattern: /\b(?:hears?|heard)\b/i,
    instead: "receives, is notified",
    wrong: "The acquirer never hears of it.",
    right: "The acquirer never receives it.",
  },
  {
    pattern: /\banew\b/i,
    instead: "again, or restarts",
    wrong: "The list begins anew.",
    right: "The list is loaded again.",
  },
  {
    pattern: /\bfor ever\b/i,
    instead: "indefinitely, or never",
    wrong: "It waits for ever.",
    right: "It waits indefinitely.",
  },
  {
    pattern: /(?<!\b(?:there|here|it) )\b(?:is|are|was|were) no (?!longer\b)[a-z]+/i,
    instead: "is not a, has no, cannot",
    wrong: "This account is no world.",
    right: "This account is not a world, is no longer active, and there is no other.",
  },
  {
    pattern: /\b(?:stands?|stood)\b(?!-|by)/i,
    instead: "is, has, exists",
    wrong: "The address stands in the log.",
    right: "The log has the address of the standby.",
  },
  {
    pattern: /\bled\b/i,
    instead: "forwarded, directed",
    wrong: "The request is led there.",
    right: "The request is forwarded.",
  },
  {
    pattern: /\b(?:goes|go|went|going) on\b/i,
    instead: "continues",
    wrong: "The work goes on.",
    right: "The work continues.",
  },
  {
    pattern: /\bheld back\b/i,
    instead: "rate-limited, delayed",
    wrong: "The try is held back.",
    right: "The attempt is rate-limited.",
  },
  {
    pattern: /\b(?:written|writes?|wrote) down\b/i,
    instead: "recorded",
    wrong: "It is written down before.",
    right: "It is recorded before.",
  },
  {
    pattern: /\b(?:found|finds?) out\b/i,
    instead: "resolved, determined",
    wrong: "Recovery finds out.",
    right: "Recovery resolves it.",
  },
  {
    pattern: /\blook(?:ed|s)? at\b/i,
    instead: "read, checked, used",
    wrong: "The body is not looked at.",
    right: "The body is ignored.",
  },
  {
    pattern: /\bso many\b/i,
    instead: "a number",
    wrong: "It meets so many requests.",
    right: "It meets ten requests.",
  },
  { pattern: /\bof late\b/i, instead: "recently", wrong: "Used of late.", right: "Used recently." },
  {
    pattern: /\bas (?:it|they) (?:came|come)\b/i,
    instead: "unchanged",
    wrong: "Passed on as it came.",
    right: "Passed on unchanged.",
  },
  {
    pattern: /\blets? (?:it |them |everything )?go\b/i,
    instead: "delete, release",
    wrong: "It lets everything go.",
    right: "It is deleted.",
  },
  {
    pattern: /, for (?:it|they|there|we|he|she|nothing|who|otherwise)\b/i,
    instead: "because",
    wrong: "Refused, for it would be lost.",
    right: "Refused, because it would be lost. Open, for the next request.",
  },
];

/**
 * The prose of a Markdown page with its lines kept: without code, names of tests (`_in italics_`),
 * link targets and generated parts.
 */
export function proseOf(markdown: string): string {
  const blank = (text: string): string => text.replaceAll(/[^\n]/g, " ");
  return markdown
    .replaceAll(/<!-- made from the program[^]*?<!-- end of[^>]*-->/g, blank)
    .replaceAll(/```[^]*?```/g, blank)
    .replaceAll(/`[^`\n]*`/g, "`x`")
    .replaceAll(/(?<![\w`])_[^_\n]+_(?!\w)/g, "x")
    .replaceAll(/\]\([^)\n]*\)/g, "]");
}

/**
 * The prose of a source's comments with its lines kept: without code in backquotes and types in
 * braces.
 */
export function proseOfComments(comments: string): string {
  return comments.replaceAll(/`[^`\n]*`/g, "`x`").replaceAll(/\{[^{}\n]*\}/g, "{x}");
}

/** The prose of a literal: without code in backquotes, which a template escapes. */
export function proseOfTexts(text: string): string {
  return text.replaceAll(/(\\?`)[^`\n]*?\1/g, "x");
}

/** The places of a text that match the list, as `LINE: WORDS (write INSTEAD)`. */
export function findDialect(text: string): string[] {
  return text.split("\n").flatMap((line, index) =>
    dialectRules.flatMap(({ pattern, instead }) => {
      const found = pattern.exec(line);
      return found === null ? [] : [`${index + 1}: ${found[0]} (write ${instead})`];
    }),
  );
}

/** Texts in other languages than English. Their comments are English. */
export const translations = [
  "packages/console/src/messages-es.js",
  "packages/console/src/messages-pt-br.js",
  "packages/fields/src/messages-es.js",
  "packages/fields/src/checkout-messages-es.js",
  "packages/fields/src/checkout-messages-pt-br.js",
  "packages/fields/src/messages-pt-br.js",
  "packages/server/src/http/checkout-texts-es.ts",
  "packages/server/src/http/checkout-texts-pt-br.ts",
  "packages/server/src/http/challenge-texts-es.ts",
  "packages/server/src/http/challenge-texts-pt-br.ts",
];

/** Words that no identifier has as a part, and what to write instead. */
const rejectedParts: ReadonlyMap<string, string> = new Map([
  ["told", "reported, notified, response"],
  ["untold", "undelivered, unreported"],
  ["heard", "received"],
  ["unheard", "unanswered"],
  ["nobody", "none, unknown, anonymous"],
  ["nobodys", "none, unknown, dummy"],
  ["somebody", "user, client, caller"],
  ["whoever", "user, client, caller"],
  ["anew", "again, restarted"],
]);

/**
 * The identifiers of code that have such a part, as `LINE: IDENTIFIER (write INSTEAD)`. `code` is a
 * source without comments and literals. Parts begin with a capital or after an underscore.
 */
export function findDialectNames(code: string): string[] {
  return code.split("\n").flatMap((line, index) =>
    [...line.matchAll(/[\p{L}_$][\p{L}\d_$]*/gu)].flatMap(([name]) => {
      const parts = name.split(/_|(?<=[\p{Ll}\d])(?=\p{Lu})/u).map((part) => part.toLowerCase());
      const instead = parts
        .map((part) => rejectedParts.get(part))
        .find((each) => each !== undefined);
      return instead === undefined ? [] : [`${index + 1}: ${name} (write ${instead})`];
    }),
  );
}
