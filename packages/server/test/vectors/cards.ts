import { assert } from "../../src/kernel/assert.ts";
import type { Brand } from "../../src/vault/brand.ts";
import type { Card } from "../../src/vault/card.ts";
import { Pan } from "../../src/vault/pan.ts";

/** The public test cards of interface section 9 and the brand that each must be taken for. */
export const testCards: readonly (readonly [digits: string, brand: Brand])[] = [
  ["378282246310005", "amex"],
  ["378282749798722", "amex"],
  ["378568775709157", "amex"],
  ["5078601870000127985", "aura"],
  ["30569309025904", "diners"],
  ["6011111111111117", "discover"],
  ["6011088896715918", "discover"],
  ["6362970000457013", "elo"],
  ["6362971747129170", "elo"],
  ["6062825624254001", "hipercard"],
  ["6062823936268330", "hipercard"],
  ["4111111111111111", "visa"],
  ["4111115666052208", "visa"],
  ["4716909774636285", "visa"],
  ["4000000000000028", "visa"],
  ["4000000000000002", "visa"],
  ["4000000000001000", "visa"],
  ["4000000000001091", "visa"],
  ["4000000000001109", "visa"],
  ["5555555555554444", "mastercard"],
  ["5555556355564617", "mastercard"],
  ["5102026827345142", "mastercard"],
  ["2306505278551556", "mastercard"],
  ["5062224607440872", "carnet"],
  ["5045201174402586", "credimas"],
  ["5895626292990446", "naranja"],
  ["5896578742026538", "cabal"],
  ["5680095660610110", "magna"],
];

/** A PAN for a test, where the digits are public and may be text. */
export function panOf(digits: string): Pan {
  const pan = Pan.from(Uint8Array.from(Buffer.from(digits, "latin1")));
  assert(pan !== undefined, "a test's card number is one");
  return pan;
}

export function cardOf(digits: string, holderName = "JOSE DA SILVA"): Card {
  return { pan: panOf(digits), expiryMonth: 12, expiryYear: 2060, holderName };
}

/** `length` digits that begin with `prefix`, continue with zeros and pass the Luhn check. */
export function numberUnder(prefix: string, length: number): string {
  const body = prefix.padEnd(length - 1, "0");
  const sum = Array.from(body, Number).reduceRight((total, digit, index) => {
    const value = (length - 1 - index) % 2 === 1 ? digit * 2 : digit;
    return total + (value > 9 ? value - 9 : value);
  }, 0);
  return `${body}${(10 - (sum % 10)) % 10}`;
}
