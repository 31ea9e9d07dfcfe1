import { decodedPieces, digitsOf, escape, literalPieces, mayHaveDigits, type Piece } from "../../kernel/written-digits.ts";

/**
 * People type card numbers into any field. What looks like one must not be kept or repeated in clear (docs/wire/parity.md, card numbers
 * in other fields): 13 to 19 digits that pass the Luhn check and begin as some scheme's cards do, in one piece, in groups, or inside of
 * a longer piece. Digits of all scripts count, also written as `%34`, `&#52;` or `\u0034`.
 *
 * Each digit is looked at a bounded number of times: the work grows with the text's length and with nothing else.
 */
const shortest = 13;
const longest = 19;
const shownFirst = 6;
const shownLast = 4;

/** Characters between two digits of one number, none of them a letter or a digit. */
const longestGap = 6;

/**
 * How much of a text behind its limit is looked at before it is cut there: nineteen digits with six blanks between each. A number that
 * begins before the limit is found, and nobody's megabyte is read for the sake of the forty characters that are kept.
 */
const lookAhead = longest * (longestGap + 1);

export function holdsCardNumber(text: string): boolean {
  return runsOf(text).some((run) => cardSpans(run).length > 0);
}

/** `text` with an `x` for each middle digit of whatever looks like a card number; first six and last four stay, separators too. */
export function maskCardNumbers(text: string): string {
  return maskSpans(text, cardSpans);
}

/** At most `characters` of a text that people type, without the middle of any card number in it. */
export function maskedText(text: string, characters: number): string {
  return cut(maskCardNumbers(cut(text, characters + lookAhead)), characters);
}

/**
 * Whether a name that a merchant chose (of a payment, a refund) is a card number or has one between its other parts. Only a whole group
 * of digits counts, or all of them together: a name is refused for it, so it has to be more than a coincidence.
 */
export function namesCard(text: string, isKnown: (digits: string) => boolean = () => true): boolean {
  return runsOf(text).some((run) =>
    cardSpans(run).some(({ start, end }) => {
      const isWhole = (start === 0 && end === run.digits.length) || (isGroupStart(run, start) && nextGroup(run, start) === end);
      return isWhole && isKnown(run.digits.slice(start, end));
    }),
  );
}

/** Whether a text is a hash or a UUID, as programs draw them: digits follow each other by chance in it. */
export function isDrawn(text: string): boolean {
  return /^[\da-f-]{32,}$/i.test(text) && /[a-f]/i.test(text);
}

/** Whether a card number has letters, or the ends of the text, on both sides: what counts in a hash. */
function holdsCardApart(text: string): boolean {
  return runsOf(text).some((run) => cardSpans(run).some(({ start, end }) => start === 0 && end === run.digits.length));
}

/** Digits that only separators stand between, and where each stands in the text. */
interface Run {
  readonly digits: string;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
  /** Where groups begin, by the index of their first digit. */
  readonly groups: ReadonlySet<number>;
}

interface Span {
  readonly start: number;
  readonly end: number;
}

const isGroupStart = ({ digits, groups }: Run, index: number): boolean => index === digits.length || groups.has(index);

/** The first bound of a group behind `index`, at most as far as a card number goes. */
function nextGroup(run: Run, index: number): number {
  let at = index + 1;
  while (at < index + longest + 1 && !isGroupStart(run, at)) at += 1;
  return at;
}

/** Runs long enough to hold a card number, in the text as it is and, where it has escapes, with them read. */
function runsOf(text: string): readonly Run[] {
  if (!mayHoldCard(text)) return [];
  const runs = readRuns(literalPieces(text));
  return escape.test(text) ? [...runs, ...readRuns(decodedPieces(text))] : runs;
}

/** Whether a text has enough digits for a card number: most have not. */
export function mayHoldCard(text: string): boolean {
  return mayHaveDigits(text, shortest);
}

function readRuns(pieces: Iterable<Piece>): readonly Run[] {
  const runs: Run[] = [];
  let digits = "";
  let starts: number[] = [];
  let ends: number[] = [];
  let groups = new Set<number>();
  let gap = 0;
  const close = (): void => {
    if (digits.length >= shortest) runs.push({ digits, starts, ends, groups });
    if (digits === "") return;
    digits = "";
    starts = [];
    ends = [];
    groups = new Set();
  };
  for (const { character, start, end } of pieces) {
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
    }
  }
  close();
  return runs;
}

function isLetter(character: string): boolean {
  return character.charCodeAt(0) <= 0x7f ? /[a-z]/i.test(character) : /[\p{L}\p{N}]/u.test(character);
}

/**
 * For each place where a card number begins, the longest one. What begins and ends where groups do comes first: only what no such
 * number touches is searched for one with digits glued to it.
 */
function cardSpans(run: Run): readonly Span[] {
  const whole = spansWith(run, (start, end) => isGroupStart(run, start) && isGroupStart(run, end));
  let next = 0;
  let covered = 0;
  const inside = spansWith(run, (start, end) => {
    for (; next < whole.length && (whole[next]?.start ?? 0) <= start; next += 1) covered = Math.max(covered, whole[next]?.end ?? 0);
    return start >= covered && end <= (whole[next]?.start ?? end);
  });
  return inside.length === 0 ? whole : [...whole, ...inside].toSorted((one, other) => one.start - other.start);
}

function spansWith(run: Run, isWanted: (start: number, end: number) => boolean): readonly Span[] {
  const spans: Span[] = [];
  for (let start = 0; start + shortest <= run.digits.length; start += 1) {
    for (let end = Math.min(run.digits.length, start + longest); end >= start + shortest; end -= 1) {
      if (!hasSchemeShape(run.digits, start, end) || !isWanted(start, end)) continue;
      if (!isCutOut(run, start, end) || !passesLuhn(run.digits, start, end)) continue;
      spans.push({ start, end });
      break;
    }
  }
  return spans;
}

/**
 * Whether a card number can be here, by how the digits are grouped. It is all of them, or one whole group, or inside of one long group
 * (with a security code behind it, say); or what it takes of each group is as long as the groups of card numbers are, or as its other
 * groups. Otherwise two telephone numbers beside each other would be a card every sixth time. Nobody has cards of thirteen digits any
 * more: they do not count inside of anything.
 */
function isCutOut(run: Run, start: number, end: number): boolean {
  if (start === 0 && end === run.digits.length) return true;
  const isWhole = isGroupStart(run, start) && isGroupStart(run, end);
  if (end - start === shortest && !isWhole) return false;
  let from = start;
  let width = 0;
  let groups = 0;
  let hasCardGroups = true;
  let hasEqualGroups = isWhole;
  for (let at = start + 1; at <= end; at += 1) {
    if (at < end && !run.groups.has(at)) continue;
    const taken = at - from;
    if (width === 0) width = taken;
    hasCardGroups &&= taken >= 4 && taken <= 6;
    hasEqualGroups &&= width < 4 && (taken === width || (at === end && taken < width));
    from = at;
    groups += 1;
  }
  return groups === 1 || hasCardGroups || hasEqualGroups;
}

/** Any length of section 2.6 for its first digits, and those of other schemes, which are none of ours but somebody's card all the same. */
function hasSchemeShape(digits: string, start: number, end: number): boolean {
  const first = digits.charCodeAt(start) - 0x30;
  const second = digits.charCodeAt(start + 1) - 0x30;
  switch (end - start) {
    case 13:
      return first === 4;
    case 14:
      return first === 3 && (second === 0 || second === 6 || second === 8 || second === 9);
    case 15:
      return first === 3 && (second === 4 || second === 7);
    case 16:
      if (first === 2) return second >= 2 && second <= 8;
      return first === 3 ? second === 5 || second === 8 : first >= 4 && first <= 6;
    default:
      return first === 3 ? second === 8 : first >= 4 && first <= 6;
  }
}

function passesLuhn(digits: string, start: number, end: number): boolean {
  let sum = 0;
  for (let index = end - 1, doubled = false; index >= start; index -= 1, doubled = !doubled) {
    const value = (digits.charCodeAt(index) - 0x30) * (doubled ? 2 : 1);
    sum += value > 9 ? value - 9 : value;
  }
  return sum % 10 === 0;
}

/** Every digit of the spans but the first six and the last four becomes as many `x` as it has characters: no text changes its length. */
function maskSpans(text: string, spansOf: (run: Run) => readonly Span[]): string {
  const hidden: { readonly start: number; readonly end: number }[] = [];
  for (const run of runsOf(text)) {
    let done = 0;
    for (const { start, end } of spansOf(run)) {
      // Spans come in the order of their starts, so that each digit is hidden once.
      for (let index = Math.max(done, start + shownFirst); index < end - shownLast; index += 1) {
        hidden.push({ start: run.starts[index] ?? 0, end: run.ends[index] ?? 0 });
      }
      done = Math.max(done, end - shownLast);
    }
  }
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

/**
 * A value of the request as it may stand in an error message: short, one line, without anything that looks like a card number, and
 * without the middle of any thirteen digits in a row: a message can be shown to anybody, and a mistyped card number is still one.
 */
export function echo(text: string): string {
  const shown = oneLine(cut(text, longestEcho + lookAhead));
  return maskSpans(shown, ({ digits }) => [{ start: 0, end: digits.length }])
    .slice(0, longestEcho)
    .toWellFormed();
}

/** A hash has 48 characters, the longest code of a payment 128. */
const longestName = 128;

/**
 * A payment's hash or code as it may stand in an error message: whole, since it is what the payment is looked for by. Not when it holds
 * what looks like a card number or has thirteen digits in a row; in a hash or a UUID these come about by chance.
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
