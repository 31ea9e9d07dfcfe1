import type { PaymentId } from "../payment/payment-id.ts";
import { type Condition, foldedText, searchedText } from "./payment-list.ts";
import type { SearchTexts } from "./order-row.ts";

export type TextCondition = Condition & { readonly kind: "text" };

/** One payment of a block. */
export interface TextRow {
  readonly id: PaymentId;
  readonly code: string;
  readonly texts: SearchTexts;
  /** true: the texts may be others when the block is searched, so the payment meets every condition. */
  readonly mayChange?: boolean;
}

/**
 * The texts of consecutive payments, newest first, in which a search looks for its words: one
 * folded string, because looking through it costs a hundredth of looking through each payment. The
 * texts of a payment never change.
 */
export class TextBlock {
  /** Each payment's part begins with its id. */
  readonly #text: string;
  /** Where each payment's part ends. */
  readonly #ends: Uint32Array;
  readonly #changing: readonly number[];

  constructor(rows: readonly TextRow[]) {
    let text = "";
    const ends = new Uint32Array(rows.length);
    for (const [place, { id, code, texts }] of rows.entries()) {
      text += `${foldedText(searchedText(id, code, texts))}\n${texts.country}\n${texts.amounts.join("\n")}\n`;
      ends[place] = text.length;
    }
    this.#text = text;
    this.#ends = ends;
    this.#changing = rows.flatMap(({ mayChange = false }, place) => (mayChange ? [place] : []));
  }

  /** Number of payments. */
  get length(): number {
    return this.#ends.length;
  }

  /** The id of the payment at this place. */
  idAt(place: number): PaymentId {
    const start = this.#startOf(place);
    return this.#text.slice(start, start + idLength) as PaymentId;
  }

  get characters(): number {
    return this.#text.length;
  }

  /** The place of the first payment with a lower id; the length if there is none. */
  placeBelow(id: string): number {
    return firstPlace(this.length, (place) => this.idAt(place) < id);
  }

  /**
   * The places, ascending, of the payments of which one of the texts contains this folded text, or
   * is a whole line, if the text begins and ends with a line feed.
   */
  placesOf(text: string): readonly number[] {
    const places: number[] = [];
    let found = this.#text.indexOf(text);
    while (found >= 0) {
      const at = found;
      const place = firstPlace(this.length, (each) => (this.#ends[each] ?? 0) > at);
      places.push(place);
      // Once for each payment.
      found = this.#text.indexOf(text, this.#ends[place]);
    }
    return places;
  }

  /** The places, ascending, of the payments that meet the condition by their texts. */
  placesMeeting({ text, orMinor }: TextCondition): readonly number[] {
    const places = this.placesOf(text);
    const others = orMinor === undefined ? [] : this.placesOf(`\n${orMinor}\n`);
    if (others.length + this.#changing.length === 0) return places;
    const all = new Set([...places, ...others, ...this.#changing]);
    return [...all].toSorted((one, other) => one - other);
  }

  #startOf(place: number): number {
    return place === 0 ? 0 : (this.#ends[place - 1] ?? 0);
  }
}

/** In hex. */
const idLength = 48;

/** The first place from which `holds` is true; `length` if there is none. */
function firstPlace(length: number, holds: (place: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
