/** A number or a code: text, or the bytes of its ASCII digits, which are copied. */
export type Digits = string | Uint8Array;

/** A card with its number. */
export interface CardDetails {
  /** 14 to 19 digits. Spaces and dashes are removed. */
  readonly number: Digits;
  /** As printed on the card. */
  readonly holderName: string;
  /** `MM/YYYY`. */
  readonly expires: string;
  /** 3 or 4 digits. The server never stores it. */
  readonly securityCode?: Digits | undefined;
}

/** A card that `tokenize`, or a charge with `createToken`, has stored. */
export interface StoredCardDetails {
  readonly token: string;
  readonly securityCode?: Digits | undefined;
}

/** A card by its network token. */
export interface NetworkTokenDetails {
  /** The number of the network token. */
  readonly networkToken: Digits;
  /** `MM/YYYY`. */
  readonly expires: string;
  readonly holderName?: string | undefined;
  /** Base64 or base64url, at most 64 characters. Merchant-initiated payments have none. */
  readonly cryptogram?: string | undefined;
}

/** Fields of a card node of the wire. */
export type CardNode = Readonly<Record<string, string | Uint8Array>>;

/** The fields of a card, for modules of this package only: its entries do not export it. */
export let cardNodeOf: (card: Card) => CardNode;

/**
 * A card of a request. It cannot be printed: JSON, `util.inspect`, `console.log` and string
 * conversion show `[card]`. The number and the security code are kept as bytes.
 */
export class Card {
  static {
    cardNodeOf = (card) => card.#node;
    // For `util.inspect` and `console.log` of Node and Bun, and for those of Deno.
    for (const name of ["nodejs.util.inspect.custom", "Deno.customInspect"])
      Object.defineProperty(Card.prototype, Symbol.for(name), { value: () => shown });
  }

  readonly #node: CardNode;

  /** @throws {TypeError} A number or a code has other characters than digits, spaces and dashes. */
  constructor(details: CardDetails | StoredCardDetails | NetworkTokenDetails) {
    this.#node = nodeOf(details);
  }

  /** Overwrites the number and the security code with zeros: the card cannot be used afterwards. */
  wipe(): void {
    for (const value of Object.values(this.#node))
      if (value instanceof Uint8Array) value.fill(zero);
  }

  toJSON(): string {
    return shown;
  }

  toString(): string {
    return shown;
  }
}

const shown = "[card]";
const [zero, nine] = [0x30, 0x39];
const separators: ReadonlySet<number> = new Set([0x20, 0x2d]);

function nodeOf(details: CardDetails | StoredCardDetails | NetworkTokenDetails): CardNode {
  if ("token" in details) return { token: details.token, ...codeOf(details.securityCode) };
  if ("networkToken" in details) {
    const { networkToken, expires, holderName, cryptogram } = details;
    return {
      network_token_pan: digitsOf(networkToken, "networkToken"),
      network_token_expire_date: expires,
      ...(holderName === undefined ? {} : { card_name: holderName }),
      ...(cryptogram === undefined ? {} : { network_token_cryptogram: cryptogram }),
    };
  }
  const { number, holderName, expires, securityCode } = details;
  return {
    card_number: digitsOf(number, "number"),
    card_name: holderName,
    card_due_date: expires,
    ...codeOf(securityCode),
  };
}

/** The field of a security code. */
export function codeOf(securityCode: Digits | undefined): CardNode {
  return securityCode === undefined ? {} : { card_cvv: digitsOf(securityCode, "securityCode") };
}

/** The bytes of the digits. The error's text has the name only, never the value. */
function digitsOf(value: unknown, name: string): Uint8Array {
  const bytes = value instanceof Uint8Array ? value : new TextEncoder().encode(String(value));
  const digits = bytes.filter((byte) => !separators.has(byte));
  if (digits.length === 0 || digits.some((byte) => byte < zero || byte > nine))
    throw new TypeError(`${name} of a card must have digits only`);
  return digits;
}
