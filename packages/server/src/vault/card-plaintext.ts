import { assert } from "../kernel/assert.ts";
import type { Card } from "./card.ts";
import { Pan } from "./pan.ts";

/**
 * Bytes of an encoded card besides its digits and holder name: one for the number of digits, one
 * for the month, two for the year.
 */
const fixedCardBytes = 4;
/** In bytes: 64 characters in UTF-8, by any way of counting characters. */
const longestName = 256;

/** Number of digits, PAN in ASCII, month, year, holder name in UTF-8. The caller wipes it. */
export function encodeCard({ pan, expiryMonth, expiryYear, holderName }: Card): Buffer {
  assert(
    expiryMonth >= 1 && expiryMonth <= 12 && expiryYear >= 1_000 && expiryYear <= 9_999,
    "a card expires in a month of a four-digit year",
  );
  const digits = pan.reveal();
  const nameAt = digits.length + fixedCardBytes;
  const nameLength = Buffer.byteLength(holderName);
  assert(nameLength <= longestName, "a holder name has at most 256 bytes");
  // Buffer.alloc would place so small a buffer inside V8's heap, where each collection that moves
  // it leaves the digits behind.
  const plaintext = Buffer.from(new ArrayBuffer(nameAt + nameLength));
  plaintext[0] = digits.length;
  plaintext.set(digits, 1);
  plaintext[digits.length + 1] = expiryMonth;
  plaintext.writeUInt16BE(expiryYear, digits.length + 2);
  plaintext.write(holderName, nameAt, "utf8");
  return plaintext;
}

/**
 * Takes ownership of the plaintext: its digits become the card's, the rest is wiped. Undefined when
 * it is not a card; everything is wiped then.
 */
export function decodeCard(plaintext: Buffer): Card | undefined {
  const length = plaintext[0] ?? 0;
  const monthAt = length + 1;
  const pan =
    plaintext.length < length + fixedCardBytes
      ? undefined
      : Pan.from(plaintext.subarray(1, monthAt));
  if (pan === undefined) {
    plaintext.fill(0);
    return undefined;
  }
  const card = {
    pan,
    expiryMonth: plaintext[monthAt] ?? 0,
    expiryYear: plaintext.readUInt16BE(monthAt + 1),
    holderName: plaintext.toString("utf8", monthAt + 3),
  };
  plaintext.fill(0, monthAt);
  return card;
}
