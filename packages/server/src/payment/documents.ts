import { groupKinds, withoutSeparators } from "../kernel/separators.ts";

/**
 * A customer's tax or identity document with punctuation and blanks removed, letters upper case; or
 * "invalid".
 */
export type DocumentResult = { readonly normalized: string } | "invalid";

interface DocumentRule {
  /** The wire's document_type (interface 3.2); undefined if the wire has no name for it. */
  readonly type: string | undefined;
  /** Applies to the normalized text. */
  readonly shape: RegExp;
  /** Verifies the check digits, if they are known to be verified. */
  readonly checks?: (normalized: string) => boolean;
}

/** Without a known rule: any identity number or passport. */
const anyDocument: readonly DocumentRule[] = [{ type: undefined, shape: /^[A-Z0-9]{4,20}$/ }];

/**
 * Check digits are verified in Brazil, as interface 3.2 says, and for Chile's RUT if the payment is
 * processed within Chile. Cross-border payments in Chile accept any document: a public client's
 * suite has sent a Brazilian CPF for years. Argentina's are not verified, because its published
 * test CUIT 30-52135353-1 fails the check; nor Colombia's, where citizens' numbers have none and a
 * public client's remote test passes with the eleven digits of a CPF.
 */
const rules: ReadonlyMap<string, readonly DocumentRule[]> = new Map<
  string,
  readonly DocumentRule[]
>([
  [
    "br",
    [
      { type: "BRA_CPF", shape: /^\d{11}$/, checks: isCpf },
      { type: "BRA_CNPJ", shape: /^[A-Z0-9]{12}\d{2}$/, checks: isCnpj },
    ],
  ],
  [
    "ar",
    [
      { type: "ARG_CUIT", shape: /^\d{11}$/ },
      { type: "ARG_CUIL", shape: /^\d{11}$/ },
      { type: "ARG_CDI", shape: /^\d{11}$/ },
      { type: "ARG_DNI", shape: /^\d{7,8}$/ },
    ],
  ],
  [
    "co",
    [
      { type: "COL_CC", shape: /^\d{4,11}$/ },
      { type: "COL_CE", shape: /^\d{4,11}$/ },
      { type: "COL_NIT", shape: /^\d{8,11}$/ },
    ],
  ],
  // Old numbers are below a million, provisional ones of immigrants above a hundred million.
  ["cl", [{ type: "CHL_RUT", shape: /^\d{4,9}[\dK]$/, checks: isRut }]],
]);

const longestDocument = 32;

/**
 * Validates a document of `country` (lower case). `type` is the wire's document_type; it selects
 * the rule if the country has that type. Other types are ignored, because clients send the names of
 * their shops. `local`: the payment is processed within the country. A CPF or CNPJ of one repeated
 * digit passes its check digits but is never issued, so it is refused; in other countries such
 * numbers are in use (RUT 11.111.111-1, DNI 22.222.222). No country issues a document of zeros
 * only.
 */
export function documentFor(
  country: string,
  text: string,
  local: boolean,
  type?: string,
): DocumentResult {
  if (text.length > longestDocument) return "invalid";
  const normalized = withoutSeparators(text, groupKinds).toUpperCase();
  if (country === "br" ? isOneDigitRepeated(normalized) : /^0+$/.test(normalized)) return "invalid";
  const known = (country === "cl" && !local ? undefined : rules.get(country)) ?? anyDocument;
  const named = type === undefined ? [] : known.filter((rule) => rule.type === type.toUpperCase());
  const candidates = named.length > 0 ? named : known;
  const fits = candidates.some(
    ({ shape, checks }) => shape.test(normalized) && (checks?.(normalized) ?? true),
  );
  return fits ? { normalized } : "invalid";
}

function isOneDigitRepeated(text: string): boolean {
  return /^(\d)\1+$/.test(text);
}

/**
 * Brazil's number for persons: two check digits, each over all digits before it, weights 2, 3, ...
 * from the right.
 */
function isCpf(text: string): boolean {
  return endsInBrazilianCheckDigits(text, 11);
}

/**
 * Brazil's number for companies, since 2026 with letters, which count as their ASCII code minus 48:
 * weights 2 to 9, then 2 again.
 */
function isCnpj(text: string): boolean {
  return endsInBrazilianCheckDigits(text, 9);
}

function endsInBrazilianCheckDigits(text: string, largestWeight: number): boolean {
  return [text.length - 2, text.length - 1].every((place) => {
    const digit = elevenMinusRemainder(text, place, largestWeight);
    return valueAt(text, place) === (digit > 9 ? 0 : digit);
  });
}

/** Chile's tax number: one check character, weights 2 to 7, `K` for ten. */
function isRut(text: string): boolean {
  const place = text.length - 1;
  return text[place] === "0123456789K0"[elevenMinusRemainder(text, place, 7)];
}

/**
 * 11 minus the weighted sum modulo 11 of the characters before `place`; weights start at 2 on the
 * right and restart after the largest.
 */
function elevenMinusRemainder(text: string, place: number, largestWeight: number): number {
  let sum = 0;
  let weight = 2;
  for (let index = place - 1; index >= 0; index -= 1) {
    sum += valueAt(text, index) * weight;
    weight = weight === largestWeight ? 2 : weight + 1;
  }
  return 11 - (sum % 11);
}

/** The value of a digit, or of a letter by the CNPJ rule. */
function valueAt(text: string, index: number): number {
  return text.charCodeAt(index) - 48;
}
