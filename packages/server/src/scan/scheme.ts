import { brandOf } from "../vault/bin.ts";
import { Pan } from "../vault/pan.ts";

/**
 * First digits and lengths of schemes that our merchants cannot accept, but whose numbers belong to
 * cardholders as well.
 */
const others: readonly (readonly [first: string, last: string, lengths: readonly number[]])[] = [
  // JCB, UnionPay, Maestro. UATP and the shorter numbers of Maestro are omitted: every tenth
  // counter would match.
  ["3528", "3589", [16, 17, 18, 19]],
  ["62", "62", [16, 17, 18, 19]],
  ["5018", "5018", [16, 17, 18, 19]],
  ["5020", "5020", [16, 17, 18, 19]],
  ["5038", "5038", [16, 17, 18, 19]],
  ["6304", "6304", [16, 17, 18, 19]],
  ["6759", "6763", [16, 17, 18, 19]],
  ["644", "649", [16, 19]],
  // Mir; Diners; RuPay and UnionPay; Troy; Mada.
  ["2200", "2204", [16, 17, 18, 19]],
  ["36", "36", [16, 19]],
  ["39", "39", [14, 16, 19]],
  ["508", "508", [16]],
  ["60", "60", [16]],
  ["81", "82", [16, 17, 18, 19]],
  ["9792", "9792", [16]],
  ["9682", "9682", [16]],
];

/**
 * Whether these ASCII digits could be a card number: a scheme's first digits and length, and a
 * valid check digit.
 */
export function isPlausibleCard(digits: Uint8Array): boolean {
  if (digits.length < 14 || digits.length > 19) return false;
  // Rejects most candidates before anything is copied.
  const first = digits[0] ?? 0;
  if (first < 0x32 || first === 0x37) return false;
  const pan = Pan.from(Uint8Array.from(digits));
  if (pan === undefined) return false;
  try {
    return brandOf(pan) !== undefined || others.some((range) => fits(digits, range));
  } finally {
    pan.wipe();
  }
}

function fits(digits: Uint8Array, [first, last, lengths]: (typeof others)[number]): boolean {
  if (!lengths.includes(digits.length)) return false;
  let prefix = 0;
  for (let index = 0; index < first.length; index += 1)
    prefix = prefix * 10 + (digits[index] ?? 0) - 0x30;
  return prefix >= Number(first) && prefix <= Number(last);
}
