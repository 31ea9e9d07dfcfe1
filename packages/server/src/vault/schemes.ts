import { assert } from "../kernel/assert.ts";

/*
 * First digits and lengths of all schemes' cards, whether they can be charged here or not. For
 * texts, in which any card number belongs to a cardholder. The brand that a card is charged as is
 * in bin.ts.
 */

interface SchemeRow {
  /** First digits, at most four; a range has the first and the last prefix. */
  readonly prefixes: readonly (string | readonly [first: string, last: string])[];
  readonly lengths: readonly number[];
  /**
   * Only as a whole group of digits: telephone numbers, barcodes and counters have the same length.
   */
  readonly whole?: true;
}

const long = [16, 17, 18, 19];

const rows: readonly SchemeRow[] = [
  // Visa; Mastercard, Maestro, Elo, Aura, Discover, UnionPay, RuPay, Hipercard, Verve and others:
  // no range that begins with 4 to 6 is known to be free.
  { prefixes: ["4", "5", "6"], lengths: long },
  { prefixes: ["4"], lengths: [13], whole: true },
  // Mastercard's second series; Carnet.
  { prefixes: [["2221", "2720"], "2869"], lengths: [16] },
  // Mir, and BORICA next to it.
  { prefixes: [["2200", "2205"]], lengths: long },
  { prefixes: ["34", "37"], lengths: [15] },
  // Diners.
  { prefixes: ["30", "36", "38", "39"], lengths: [14] },
  { prefixes: [["300", "305"], "3095", "36", "38", "39"], lengths: [15, 16, 17, 18, 19] },
  // JCB.
  { prefixes: [["3528", "3589"]], lengths: long },
  { prefixes: ["1800", "2131"], lengths: [15], whole: true },
  // RuPay and UnionPay; Troy; Mada; Napas; Humo; Uzcard; Belkart.
  { prefixes: ["81", "82"], lengths: long },
  { prefixes: ["9792", "9682", "9860", "8600", "9112"], lengths: [16] },
  { prefixes: ["9704"], lengths: [16, 19] },
  // UATP.
  { prefixes: ["1"], lengths: [15], whole: true },
  // Maestro of 12 to 15 digits. Of its wider ranges, only those without telephone numbers of any
  // country.
  {
    prefixes: [
      "0604",
      "5018",
      "5020",
      "5038",
      "5612",
      "5893",
      "6304",
      "6703",
      "6706",
      "6709",
      "6759",
      ["6761", "6763"],
      "6767",
      "6771",
      "6799",
    ],
    lengths: [12, 13, 14, 15],
    whole: true,
  },
  { prefixes: ["50", "56"], lengths: [12, 13], whole: true },
];

export const shortestNumber = 12;
export const longestNumber = 19;

/**
 * Bit masks of lengths, by the first four digits: of all rows, and of the rows that also match
 * inside a longer group.
 */
const [everywhere, inside] = [new Uint8Array(10_000), new Uint8Array(10_000)];
for (const { prefixes, lengths, whole } of rows) {
  const bits = lengths.reduce((sum, length) => sum | (1 << (length - shortestNumber)), 0);
  for (const prefix of prefixes) {
    const [first, last] = typeof prefix === "string" ? [prefix, prefix] : prefix;
    assert(first.length === last.length && first.length <= 4, "a prefix fits the table");
    for (let at = Number(first.padEnd(4, "0")); at <= Number(last.padEnd(4, "9")); at += 1) {
      everywhere[at] = (everywhere[at] ?? 0) | bits;
      if (whole === undefined) inside[at] = (inside[at] ?? 0) | bits;
    }
  }
}

/**
 * Whether some scheme's numbers begin with these four digits, given as a number, and have this
 * length.
 */
export function hasSchemeShape(firstFour: number, length: number, isWhole: boolean): boolean {
  if (length < shortestNumber || length > longestNumber) return false;
  return (
    (((isWhole ? everywhere : inside)[firstFour] ?? 0) & (1 << (length - shortestNumber))) !== 0
  );
}
