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
 * People type card numbers into any field. What looks like one must not be kept or repeated in
 * clear (docs/wire/parity.md, card numbers in other fields): 12 to 19 digits that pass the Luhn
 * check and begin as some scheme's cards do, in one piece, in groups, or inside of a longer piece.
 * So must security codes and track data (security-codes.ts). Digits of all scripts count, also
 * written as `%34`, `&#52;` or `\u0034`.
 *
 * Each digit is looked at a bounded number of times: the work grows with the text's length and with
 * nothing else.
 */
const shortest = shortestNumber;
const longest = longestNumber;
const shownFirst = 6;
const shownLast = 4;

/** Characters between two digits of one number, none of them a letter or a digit. */
const longestGap = 6;

/**
 * How much of a text behind its limit is looked at before it is cut there: nineteen digits with six
 * blanks between each. A number that begins before the limit is found, and nobody's megabyte is
 * read for the sake of the forty characters that are kept.
 */
const lookAhead = longest * (longestGap + 1);

export function holdsCardNumber(text: string): boolean {
  return runsOf(text).some((run) => cardSpans(run).length > 0);
}

/**
 * `text` with an `x` for each middle digit of whatever looks like a card number; first six and last
 * four stay, separators too. Behind a number also for what may be its security code or its track,
 * and anywhere for a security code that is named as such.
 */
export function maskCardNumbers(text: string): string {
  return withoutHidden(text, hiddenIn(text));
}

/** Whether a text may have something to hide in it: most have not. */
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
 * Notes for each piece of a number in which piece the number begins. A number into which another
 * one begins is not noted: it may be a code and half a card.
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
 * One character for each piece, so that an index in it is a piece's: digits in ASCII, the rest in
 * small letters.
 */
function foldedText(pieces: readonly Piece[]): string {
  let folded = "";
  for (const { character } of pieces) {
    const small = digitsOf(character)?.slice(-1) ?? character.toLowerCase();
    folded += small.length === 1 ? small : "\ufffd";
  }
  return folded;
}

/** At most `characters` of a text that people type, without the middle of any card number in it. */
export function maskedText(text: string, characters: number): string {
  return cut(maskCardNumbers(cut(text, characters + lookAhead)), characters);
}

/**
 * Whether a name that a merchant chose (of a payment, a refund) is a card number or has one between
 * its other parts. Only a whole group of digits counts, or all of them together: a name is refused
 * for it, so it has to be more than a coincidence.
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

/**
 * Whether a text is a hash or a UUID, as programs draw them: digits follow each other by chance in
 * it.
 */
export function isDrawn(text: string): boolean {
  return /^[\da-f-]{32,}$/i.test(text) && /[a-f]/i.test(text);
}

/**
 * Whether a card number has letters, or the ends of the text, on both sides: what counts in a hash.
 */
function holdsCardApart(text: string): boolean {
  return runsOf(text).some((run) =>
    cardSpans(run).some(({ start, end }) => start === 0 && end === run.digits.length),
  );
}

/** Digits that only separators stand between, and where each stands in the text. */
interface Run {
  readonly digits: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Of each digit, the number of the piece that it is written in. */
  readonly places: readonly number[];
  /** Where groups begin, by the index of their first digit. */
  readonly groups: ReadonlySet<number>;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const isGroupStart = ({ digits, groups }: Run, index: number): boolean =>
  index === digits.length || groups.has(index);

/** The first bound of a group behind `index`, at most as far as a card number goes. */
function nextGroup(run: Run, index: number): number {
  let at = index + 1;
  while (at < index + longest + 1 && !isGroupStart(run, at)) at += 1;
  return at;
}

/**
 * Runs long enough to hold a card number, in the text as it is and, where it has escapes, with them
 * read.
 */
function runsOf(text: string): readonly Run[] {
  if (!mayHoldCard(text)) return [];
  const runs = readRuns(literalPieces(text));
  return escape.test(text) ? [...runs, ...readRuns(decodedPieces(text))] : runs;
}

/** Whether a text has enough digits for a card number: most have not. */
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
 * Every way to read a card number in the run: which of two numbers that overlap is the card's is
 * not known, and the digits behind one of them may be its security code though the other takes them
 * for its last four.
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
 * Groups that are the key of a Brazilian electronic invoice, by its length and check digit: almost
 * each has a card number in it by chance.
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

/** Weights 2 to 9 from the right, then 2 again, modulo 11. */
function isInvoiceKey(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < invoiceKeyDigits - 1; index += 1) {
    sum += (digits.charCodeAt(index) - 0x30) * (2 + ((invoiceKeyDigits - 2 - index) % 8));
  }
  const rest = sum % 11;
  return digits.charCodeAt(invoiceKeyDigits - 1) - 0x30 === (rest < 2 ? 0 : 11 - rest);
}

/**
 * What begins and ends where groups do comes first. A number with digits glued behind it counts
 * beside those; one with digits glued before it counts where none of those is, and inside of one
 * group that is such a number as a whole.
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
 * Whether a card number can be here, by how the digits are grouped. It is all of them, or one whole
 * group, or inside of one long group (with a security code behind, say); or what it takes of each
 * group is as long as the groups of card numbers are, or as its other groups. Otherwise two
 * telephone numbers beside each other would be a card every sixth time. `isStrict`: a form that
 * dates and counters have too is one group, or all there is in groups of four.
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
 * Whether the last group of a number in groups of four, of which it takes two or three digits, goes
 * on with as many as a security code has.
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
 * In each span every digit but the first six and the last four. Spans come in the order of their
 * starts, so that each digit is hidden once.
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
 * Whether a number in one piece may be a shorter one with a security code or a date glued to it:
 * its last four would be part of those.
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

/** Nothing shorter has a security code that is glued to it. */
const shortestWithCode = 14;

/** As many `x` as the hidden ranges have characters: no text changes its length. */
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
/** So many digits in a row may be a card number that was mistyped. */
const shortestEcho = 13;
/** More may be one with its security code behind it. */
export const longestWithoutCode = 16;

/**
 * A value of the request as it may stand in an error message: short, one line, without anything
 * that looks like a card number or a security code, and without the middle of any thirteen digits
 * in a row: a message can be shown to anybody, and a mistyped card number is still one.
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

/** A hash has 48 characters, the longest code of a payment 128. */
const longestName = 128;

/**
 * A payment's hash or code as it may stand in an error message: whole, since it is what the payment
 * is looked for by. Not when it holds what looks like a card number or has thirteen digits in a
 * row; in a hash or a UUID these come about by chance.
 */
export function echoName(name: string): string {
  const isPlain = name.length <= longestName && !controlOrHalfPair.test(name);
  const isHash = /^[\da-f-]{32,48}$/i.test(name) && /[a-f]/i.test(name);
  const holdsCard = isHash ? holdsCardApart(name) : /\d{13}/.test(name) || holdsCardNumber(name);
  return isPlain && !holdsCard ? name : echo(name);
}

/** At most `characters` of the text, never half a pair. */
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

/** A control character, or one half of a pair of surrogates without the other. */
export const controlOrHalfPair = /[\p{Cc}\p{Cs}]/u;

/** Controls become blanks, and lone surrogates, which no store keeps as they are, become U+FFFD. */
export function oneLine(text: string): string {
  return controlOrHalfPair.test(text) ? text.replace(/\p{Cc}/gu, " ").toWellFormed() : text;
}
