/** Repeatable chance for the fuzzer: small and fast, and nothing else may be drawn from it. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 to `sides` - 1. */
  below(sides: number): number {
    // mulberry32
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * sides);
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.below(choices.length)];
    if (choice === undefined) throw new Error("there is something to choose from");
    return choice;
  }
}

/** What parsers of forms, of JSON and of paths into objects trip over. */
const tokens: readonly string[] = [
  ...Array.from("{}[]\":,&=%+?/\\ \t\r\n\0-.0eE'#;<"),
  "\ufeff",
  "\\u0000",
  "\\ud800",
  "\\u0034",
  "\\",
  "%00",
  "%22",
  "%7B",
  "%u0041",
  "%",
  "%2",
  "null",
  "true",
  "-",
  "1e999",
  "-0",
  "{}",
  "[]",
  '{"',
  '":',
  '",',
  "[[",
  "]]",
  "[]=",
  "request_body=",
  "&request_body=",
  "card_number=",
  '"card_number":',
  '"card_cvv":"',
  "payment[creditcard][card_number]=",
  '"hash":"a","hash":"b",',
  '"__proto__":{"polluted":1},',
  "__proto__[polluted]=1&",
  "constructor[prototype][polluted]=1&",
  "--",
  "\r\n\r\n",
  '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n',
  "\xff\xfe",
  "\xc3",
  "\xed\xa0\x80",
  "\xf0\x9f\x82",
  "\x80",
];

/** A damaged copy: one to six small changes, each of which keeps most of the text as it is. */
export function mutate(original: Buffer, others: readonly Buffer[], dice: Dice): Buffer {
  let text = Buffer.from(original);
  for (let changes = 1 + dice.below(6); changes > 0; changes -= 1)
    text = changed(text, others, dice);
  return text;
}

function changed(text: Buffer, others: readonly Buffer[], dice: Dice): Buffer<ArrayBuffer> {
  const at = dice.below(text.length + 1);
  const to = Math.min(text.length, at + 1 + dice.below(dice.below(4) === 0 ? 200 : 8));
  const before = text.subarray(0, at);
  const piece = text.subarray(at, to);
  const after = text.subarray(to);
  switch (dice.below(8)) {
    case 0:
      return Buffer.concat([before, after]);
    case 1:
      return Buffer.concat([before, piece, piece, after]);
    case 2:
      return Buffer.concat([before, Buffer.from(dice.pick(tokens), "latin1"), piece, after]);
    case 3:
      return Buffer.concat([before, Buffer.from(dice.pick(tokens), "latin1"), after]);
    case 4:
      return Buffer.concat([
        before,
        Buffer.from(piece.map((byte) => byte ^ (1 << dice.below(8)))),
        after,
      ]);
    case 5: {
      const other = dice.pick(others);
      const from = dice.below(other.length + 1);
      return Buffer.concat([before, other.subarray(from, from + dice.below(300)), after]);
    }
    case 6:
      return Buffer.concat([
        before,
        Buffer.from(
          dice.pick(tokens).repeat(dice.below(dice.below(20) === 0 ? 2_000 : 20)),
          "latin1",
        ),
        piece,
        after,
      ]);
    default:
      return Buffer.from(
        dice.below(4) === 0
          ? before
          : Buffer.concat([before, Buffer.from(piece.toReversed()), after]),
      );
  }
}
