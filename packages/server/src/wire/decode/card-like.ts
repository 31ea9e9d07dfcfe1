import {
  decodedPieces,
  digitsOf,
  escape,
  literalPieces,
  mayHaveDigits,
  type Piece,
} from "../../kernel/written-digits.ts";
import { hasSchemeShape, longestNumber, shortestNumber } from "../../vault/schemes.ts";
import {
  type Hidden,
  hideBehind,
  hideSecurityCodes,
  mayNameSecurityCode,
} from "./security-codes.ts";

/**
 * Detects card numbers that people type into any field. Such a number must not be stored or
 * repeated in clear (docs/wire/parity.md, card numbers in other fields): 12 to 19 digits that pass
 * the Luhn check and start like the cards of a scheme, in one piece, in groups, or inside a longer
 * piece. The same applies to security codes and track data (security-codes.ts). Digits of all
 * scripts count, also written as `%34`, `&#52;` or `\u0034`.
 *
 * Each digit is read a bounded number of times: the work depends only on the length of the text.
 */
const shortest = shortestNumber;
const longest = longestNumber;
const shownFirst = 6;
const shownLast = 4;

/** Maximum number of characters between two digits of one number. None is a letter or a digit. */
const longestGap = 6;

/**
 * Characters that are read beyond a limit before the text is cut there: nineteen digits with six
 * blanks between each. A number that begins before the limit is found, and a megabyte of text is
 * not read to keep forty characters.
 */
const lookAhead = longest * (longestGap + 1);

export function holdsCardNumber(text: string): boolean {
  return runsOf(text).some((run) => cardSpans(run).length > 0);
}

/**
 * `text` with an `x` for each middle digit of anything that looks like a card number. The first six
 * and last four digits and the separators stay. After a number, a possible security code and track
 * data are replaced too; a security code that is named as such is replaced anywhere.
 */
export function maskCardNumbers(text: string): string {
  return withoutHidden(text, hiddenIn(text));
}

/** Whether a text may contain sensitive data. Most texts do not. */
export function mayBeSensitive(text: string): boolean {
  return mayHoldCard(text) || mayNameSecurityCode(text);
}

function hiddenIn(text: string): Hidden[] {
  const hidden: Hidden[] = [];
  if (!mayBeSensitive(text)) return hidden;
  const namesCode = mayNameSecurityCode(text);
  const readings = [literalPieces, ...(escape.test(text) ? [decodedPieces] : [])];
  for (const read of readings) {
    const runs = readRuns(read(text));
    const found = runs
      .map((run) => ({ run, spans: cardSpans(run) }))
      .filter(({ spans }) => spans.length > 0);
    if (found.length === 0 && !namesCode) continue;
    const pieces = [...read(text)];
    const folded = foldedText(pieces);
    const numberFrom = new Int32Array(pieces.length).fill(-1);
    for (const { run, spans } of found) {
      hideMiddles(run, spans, hidden);
      noteNumbers(run, spans, numberFrom);
    }
    const hide = (index: number): void => void hidden.push(pieces[index] ?? { start: 0, end: 0 });
    let gluedUntil = 0;
    for (const { run, spans } of found) {
      for (const end of endsOf(spans))
        gluedUntil = hideBehind(
          folded,
          (run.places[end - 1] ?? 0) + 1,
          gluedUntil,
          numberFrom,
          hide,
        );
    }
    if (namesCode) hideSecurityCodes(folded, hide);
  }
  return hidden;
}

/**
 * Records for each piece of a number the piece in which the number begins. A number inside which
 * another one begins is not recorded: it may be a code and half a card.
 */
function noteNumbers({ places }: Run, spans: readonly Span[], numberFrom: Int32Array): void {
  // The longest number of each start comes first.
  const longestOnes = spans.filter(({ start }, index) => start !== spans[index - 1]?.start);
  for (const [number, { start, end }] of longestOnes.entries()) {
    if ((longestOnes[number + 1]?.start ?? end) < end) continue;
    for (let index = start; index < end; index += 1)
      numberFrom[places[index] ?? 0] = places[start] ?? 0;
  }
}

function endsOf(spans: readonly Span[]): readonly number[] {
  return [...new Set(spans.map(({ end }) => end))].toSorted((one, other) => one - other);
}

/**
 * One character per piece, so that an index into the text is the index of a piece: digits in ASCII,
 * other characters in lower case.
 */
function foldedText(pieces: readonly Piece[]): string {
  let folded = "";
  for (const { character } of pieces) {
    const small = digitsOf(character)?.slice(-1) ?? character.toLowerCase();
    folded += small.length === 1 ? small : "\ufffd";
  }
  return folded;
}

/** At most `characters` of a free text, with the middle digits of any card number masked. */
export function maskedText(text: string, characters: number): string {
  return cut(maskCardNumbers(cut(text, characters + lookAhead)), characters);
}

/**
 * Whether a name that a merchant chose (of a payment or a refund) is a card number or contains one
 * between its other parts. Only a whole group of digits counts, or all digits together: the name is
 * refused, so a match must be more than a coincidence.
 */
export function namesCard(
  text: string,
  isKnown: (digits: string) => boolean = () => true,
): boolean {
  return runsOf(text).some((run) =>
    cardSpans(run).some(({ start, end }) => {
      const isWhole =
        (start === 0 && end === run.digits.length) ||
        (isGroupStart(run, start) && nextGroup(run, start) === end);
      return isWhole && isKnown(run.digits.slice(start, end));
    }),
  );
}

/** Whether a text is a generated hash or UUID, in which card-like digits occur by chance. */
export function isDrawn(text: string): boolean {
  return /^[\da-f-]{32,}$/i.test(text) && /[a-f]/i.test(text);
}

/**
 * Whether a card number has letters, or the ends of the text, on both sides. Only such a number
 * counts in a hash.
 */
function holdsCardApart(text: string): boolean {
  return runsOf(text).some((run) =>
    cardSpans(run).some(({ start, end }) => start === 0 && end === run.digits.length),
  );
}

/** Digits with only separators between them, and the position of each in the text. */
interface Run {
  readonly digits: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** For each digit, the index of its piece. */
  readonly places: readonly number[];
  /** Indexes of the first digit of each group. */
  readonly groups: ReadonlySet<number>;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const isGroupStart = ({ digits, groups }: Run, index: number): boolean =>
  index === digits.length || groups.has(index);

/** The next group boundary after `index`, at most the length of the longest card number away. */
function nextGroup(run: Run, index: number): number {
  let at = index + 1;
  while (at < index + longest + 1 && !isGroupStart(run, at)) at += 1;
  return at;
}

/**
 * Runs that are long enough for a card number: in the text as written and, if it has escapes, in
 * the decoded text.
 */
function runsOf(text: string): readonly Run[] {
  if (!mayHoldCard(text)) return [];
  const runs = readRuns(literalPieces(text));
  return escape.test(text) ? [...runs, ...readRuns(decodedPieces(text))] : runs;
}

/** Whether a text has enough digits for a card number. Most texts do not. */
function mayHoldCard(text: string): boolean {
  return mayHaveDigits(text, shortest);
}

function readRuns(pieces: Iterable<Piece>): readonly Run[] {
  const runs: Run[] = [];
  let digits = "";
  let starts: number[] = [];
  let ends: number[] = [];
  let places: number[] = [];
  let place = -1;
  let groups = new Set<number>();
  let gap = 0;
  const close = (): void => {
    if (digits.length >= shortest) runs.push({ digits, starts, ends, places, groups });
    if (digits === "") return;
    digits = "";
    starts = [];
    ends = [];
    places = [];
    groups = new Set();
  };
  for (const { character, start, end } of pieces) {
    place += 1;
    const folded = digitsOf(character);
    if (folded === undefined) {
      gap += 1;
      if (gap > longestGap || isLetter(character)) close();
      continue;
    }
    if (gap > 0 || digits === "") groups.add(digits.length);
    gap = 0;
    digits += folded;
    for (let count = 0; count < folded.length; count += 1) {
      starts.push(start);
      ends.push(end);
      places.push(place);
    }
  }
  close();
  return runs;
}

function isLetter(character: string): boolean {
  return character.charCodeAt(0) <= 0x7f
    ? /[a-z]/i.test(character)
    : /[\p{L}\p{N}]/u.test(character);
}

/**
 * Every possible card number in the run. If two numbers overlap, it is unknown which one is the
 * card's: the digits after one of them may be its security code although they are the last four of
 * the other.
 */
function cardSpans(run: Run): readonly Span[] {
  const keys = invoiceKeysIn(run);
  if (keys.length === 0) return spansIn(run);
  return spansIn(run).filter(
    ({ start, end }) => !keys.some((key) => key.start <= start && end <= key.end),
  );
}

const invoiceKeyDigits = 44;

/**
 * Groups that are the key of a Brazilian electronic invoice, by length and check digit. Almost
 * every such key contains a card number by chance.
 */
function invoiceKeysIn(run: Run): readonly Span[] {
  const keys: Span[] = [];
  if (run.digits.length < invoiceKeyDigits) return keys;
  const groups = [...run.groups, run.digits.length];
  for (const [index, start] of groups.entries()) {
    const end = groups[index + 1] ?? start;
    if (end - start === invoiceKeyDigits && isInvoiceKey(run.digits.slice(start, end)))
      keys.push({ start, end });
  }
  return keys;
}

/** Check digit with the weights 2 to 9 from the right, repeated, modulo 11. */
function isInvoiceKey(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < invoiceKeyDigits - 1; index += 1) {
    sum += (digits.charCodeAt(index) - 0x30) * (2 + ((invoiceKeyDigits - 2 - index) % 8));
  }
  const rest = sum % 11;
  return digits.charCodeAt(invoiceKeyDigits - 1) - 0x30 === (rest < 2 ? 0 : 11 - rest);
}

/**
 * Numbers that begin and end at group boundaries come first. Numbers with digits glued after them
 * count in addition. A number with digits glued before it counts where there is none of the others,
 * and inside one group that is itself a whole number.
 */
function spansIn(run: Run): readonly Span[] {
  const isWhole = (start: number, end: number): boolean =>
    isGroupStart(run, start) && isGroupStart(run, end);
  const whole = spansWith(run, isWhole);
  const groups = new Map(
    whole
      .filter(({ start, end }) => nextGroup(run, start) === end)
      .map(({ start, end }) => [start, end]),
  );
  let next = 0;
  let covered = 0;
  let groupEnd = 0;
  const inside = spansWith(run, (start, end) => {
    groupEnd = groups.get(start) ?? groupEnd;
    if (isWhole(start, end)) return false;
    if (isGroupStart(run, start) || end < groupEnd) return true;
    for (; next < whole.length && (whole[next]?.start ?? 0) <= start; next += 1)
      covered = Math.max(covered, whole[next]?.end ?? 0);
    return start >= covered && end <= (whole[next]?.start ?? end);
  });
  return inside.length === 0
    ? whole
    : [...whole, ...inside].toSorted((one, other) => one.start - other.start);
}

function spansWith(run: Run, isWanted: (start: number, end: number) => boolean): readonly Span[] {
  const spans: Span[] = [];
  for (let start = 0; start + shortest <= run.digits.length; start += 1) {
    const firstFour = firstFourAt(run.digits, start);
    for (
      let end = Math.min(run.digits.length, start + longest);
      end >= start + shortest;
      end -= 1
    ) {
      const isWhole = isGroupStart(run, start) && isGroupStart(run, end);
      if (!hasSchemeShape(firstFour, end - start, isWhole) || !isWanted(start, end)) continue;
      const isPart = !hasSchemeShape(firstFour, end - start, false);
      if (!isCutOut(run, start, end, isPart) || !passesLuhn(run.digits, start, end)) continue;
      spans.push({ start, end });
    }
  }
  return spans;
}

/**
 * Whether the grouping of the digits allows a card number here: it has all digits, is one whole
 * group, or lies inside one long group (for example before a security code); or its part of each
 * group is as long as the groups of card numbers, or as its other groups. Without this check one in
 * six pairs of adjacent telephone numbers would be a card number. `isStrict`: for a form that dates
 * and counters have too, only one group counts, or all digits in groups of four.
 */
function isCutOut(run: Run, start: number, end: number, isStrict: boolean): boolean {
  const isAll = start === 0 && end === run.digits.length;
  if (isAll && !isStrict) return true;
  const isWhole = isGroupStart(run, start) && isGroupStart(run, end);
  let from = start;
  let width = 0;
  let groups = 0;
  let hasCardGroups = true;
  let hasFours = true;
  let hasEqualGroups = isWhole;
  const isFromGroup = isGroupStart(run, start);
  for (let at = start + 1; at <= end; at += 1) {
    if (at < end && !run.groups.has(at)) continue;
    const taken = at - from;
    if (width === 0) width = taken;
    hasCardGroups &&=
      taken <= 6 &&
      (taken >= 4 ||
        (at === end && width === 4 && (isWhole || (isFromGroup && hasCodeGlued(run, end, taken)))));
    hasFours &&= at === end ? taken <= 5 : taken === 4;
    hasEqualGroups &&= width < 4 && (taken === width || (at === end && taken < width));
    from = at;
    groups += 1;
  }
  if (isStrict) return groups === 1 || (isAll && hasFours);
  return groups === 1 || hasCardGroups || hasEqualGroups;
}

/**
 * Whether the last group of a number in groups of four, of which the number takes two or three
 * digits, continues with as many digits as a security code has.
 */
function hasCodeGlued(run: Run, end: number, taken: number): boolean {
  const glued = nextGroup(run, end - 1) - end;
  return taken >= 2 && (glued === 3 || glued === 4);
}

function passesLuhn(digits: string, start: number, end: number): boolean {
  let sum = 0;
  for (let index = end - 1, doubled = false; index >= start; index -= 1, doubled = !doubled) {
    const value = (digits.charCodeAt(index) - 0x30) * (doubled ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/**
 * Hides every digit of each span except the first six and the last four. Spans are sorted by their
 * starts, so each digit is hidden once.
 */
function hideMiddles(run: Run, spans: readonly Span[], hidden: Hidden[]): void {
  let done = 0;
  for (const span of spans) {
    const { start, end } = span;
    const last = hasShorterNumber(run, span) ? end : end - shownLast;
    for (let index = Math.max(done, start + shownFirst); index < last; index += 1) {
      hidden.push({ start: run.starts[index] ?? 0, end: run.ends[index] ?? 0 });
    }
    done = Math.max(done, last);
  }
}

function firstFourAt(digits: string, start: number): number {
  let value = 0;
  for (let index = start; index < start + 4; index += 1)
    value = value * 10 + digits.charCodeAt(index) - 0x30;
  return value;
}

/**
 * Whether a number in one piece may be a shorter number with a security code or a date glued to it.
 * Its last four digits would then be part of those.
 */
function hasShorterNumber(run: Run, { start, end }: Span): boolean {
  if (nextGroup(run, start) < end) return false;
  const firstFour = firstFourAt(run.digits, start);
  for (let shorter = end - 1; shorter >= start + shortestWithCode; shorter -= 1) {
    if (hasSchemeShape(firstFour, shorter - start, false) && passesLuhn(run.digits, start, shorter))
      return true;
  }
  return false;
}

/** No shorter number has a security code glued to it. */
const shortestWithCode = 14;

/** Replaces each hidden character with an `x`: the length of a text never changes. */
function withoutHidden(text: string, hidden: Hidden[]): string {
  if (hidden.length === 0) return text;
  let masked = "";
  let at = 0;
  for (const { start, end } of hidden.toSorted((one, other) => one.start - other.start)) {
    const from = Math.max(start, at);
    if (end <= from) continue;
    masked += text.slice(at, from) + "x".repeat(end - from);
    at = end;
  }
  return masked + text.slice(at);
}

const longestEcho = 40;
/** This many digits in a row may be a mistyped card number. */
const shortestEcho = 13;
/** A longer number may be a card number followed by its security code. */
export const longestWithoutCode = 16;

/**
 * A value of the request in the form in which an error message may quote it: short, one line,
 * without anything that looks like a card number or a security code, and without the middle of any
 * thirteen digits in a row. A message can be shown to anyone, and a mistyped card number is still a
 * card number.
 */
export function echo(text: string): string {
  const shown = oneLine(cut(text, longestEcho + lookAhead));
  const hidden = hiddenIn(shown);
  for (const { digits, starts, ends } of runsOf(shown)) {
    if (digits.length < shortestEcho) continue;
    const last = digits.length > longestWithoutCode ? digits.length : digits.length - shownLast;
    for (let index = shownFirst; index < last; index += 1)
      hidden.push({ start: starts[index] ?? 0, end: ends[index] ?? 0 });
  }
  return withoutHidden(shown, hidden).slice(0, longestEcho).toWellFormed();
}

/** A hash has 48 characters, the longest payment code 128. */
const longestName = 128;

/**
 * The hash or code of a payment as an error message may quote it: whole, because it identifies the
 * payment. It is masked if it contains what looks like a card number, or thirteen digits in a row;
 * in a hash or a UUID these occur by chance.
 */
export function echoName(name: string): string {
  const isPlain = name.length <= longestName && !controlOrHalfPair.test(name);
  const isHash = /^[\da-f-]{32,48}$/i.test(name) && /[a-f]/i.test(name);
  const holdsCard = isHash ? holdsCardApart(name) : /\d{13}/.test(name) || holdsCardNumber(name);
  return isPlain && !holdsCard ? name : echo(name);
}

/** At most `characters` of the text, without splitting a surrogate pair. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  let kept = "";
  let count = 0;
  for (const character of text) {
    if (count === characters) break;
    kept += character;
    count += 1;
  }
  return kept;
}

/** A control character, or a lone surrogate. */
export const controlOrHalfPair = /[\p{Cc}\p{Cs}]/u;

/**
 * Replaces controls with blanks, and lone surrogates, which no store keeps unchanged, with U+FFFD.
 */
export function oneLine(text: string): string {
  return controlOrHalfPair.test(text) ? text.replace(/\p{Cc}/gu, " ").toWellFormed() : text;
}
