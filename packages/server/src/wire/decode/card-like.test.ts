import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { numberUnder } from "../../../test/vectors/cards.ts";
import { separatorKind } from "../../kernel/separators.ts";
import {
  echo,
  echoName,
  holdsCardNumber,
  maskCardNumbers,
  maskedText,
  namesCard,
  oneLine,
} from "./card-like.ts";

const testCards = [
  "378282246310005",
  "5078601870000127985",
  "30569309025904",
  "6011111111111117",
  "6362970000457013",
  "6062825624254001",
  "4111111111111111",
  "5555555555554444",
  "5062224607440872",
  "5045201174402586",
  "5895626292990446",
  "5680095660610110",
];

function masked(card: string): string {
  return card.slice(0, 6) + "x".repeat(card.length - 10) + card.slice(-4);
}

describe("card numbers in free text", () => {
  test("are masked as stored cards are, with any text around them", () => {
    for (const card of testCards) {
      assert.equal(maskCardNumbers(card), masked(card));
      assert.equal(maskCardNumbers(`pan:${card}, exp 12/2030`), `pan:${masked(card)}, exp 12/2030`);
      assert.equal(maskCardNumbers(`${card}\n${card}`), `${masked(card)}\n${masked(card)}`);
    }
  });

  test("are masked in groups, which stay", () => {
    assert.equal(maskCardNumbers("4111 1111 1111 1111"), "4111 11xx xxxx 1111");
    assert.equal(maskCardNumbers("3782-822463-10005"), "3782-82xxxx-x0005");
    assert.equal(maskCardNumbers("4111.1111.1111.1111"), "4111.11xx.xxxx.1111");
    assert.equal(maskCardNumbers("4111  1111 - 1111 1111"), "4111  11xx - xxxx 1111");
    for (const separator of ["/", "_", ", ", "|", "+", "\u2013", "\u00a0", "\u200b"]) {
      assert.equal(
        maskCardNumbers(["4111", "1111", "1111", "1111"].join(separator)),
        ["4111", "11xx", "xxxx", "1111"].join(separator),
      );
    }
  });

  test("are found beside other groups of digits", () => {
    assert.equal(maskCardNumbers("4111 1111 1111 1111 12 30 123"), "4111 11xx xxxx 1111 12 30 xxx");
    assert.equal(maskCardNumbers("order 77 4111111111111111 321"), "order 77 411111xxxxxx1111 xxx");
  });

  test("are found inside runs that are longer than any card number", () => {
    assert.ok(!maskCardNumbers("000000004111111111111111000000").includes("4111111111111111"));
  });

  test("are found with digits glued to them: a security code behind, anything before", () => {
    for (const text of [
      "9994111111111111111",
      "4111111111111111123",
      "37828224631000512",
      "0004111111111111111",
      "4111 1111 1111 1111123",
    ]) {
      assert.ok(holdsCardNumber(text), text);
      assert.ok(!maskCardNumbers(text).replace(/\D/g, "").includes("4111111111111111"), text);
      assert.notEqual(maskCardNumbers(text), text);
    }
  });

  test("are found in the digits of every script, which become as many x as they had characters", () => {
    const card = "4111111111111111";
    // Full width, Arabic-Indic, Devanagari, mathematical bold and double-struck, circled: the code
    // points of their 1 and their 4.
    const scripts = [
      [0xff11, 0xff14],
      [0x0661, 0x0664],
      [0x0967, 0x096a],
      [0x1d7cf, 0x1d7d2],
      [0x1d7d9, 0x1d7dc],
      [0x2460, 0x2463],
    ] as const;
    for (const [one, four] of scripts) {
      const written = card
        .replaceAll("1", String.fromCodePoint(one))
        .replaceAll("4", String.fromCodePoint(four));
      const width = String.fromCodePoint(one).length;
      assert.ok(holdsCardNumber(written));
      assert.equal(
        maskCardNumbers(written),
        written.slice(0, 6 * width) + "x".repeat(6 * width) + written.slice(-4 * width),
      );
    }
  });

  test("are found whatever is written between their groups", () => {
    for (const gap of [
      "    ",
      "      ",
      "*",
      " * ",
      "\u00b7",
      ") (",
      ":",
      "#",
      "~",
      "\ufe0f\u20e3",
      "&nbsp;",
      "%20",
      "%2520",
      "%C2%A0",
      "&#160;",
      "\\u00a0",
    ]) {
      const written = ["4111", "1111", "1111", "1111"].join(gap);
      assert.equal(maskCardNumbers(written), ["4111", "11xx", "xxxx", "1111"].join(gap), gap);
    }
    // The control: seven blanks, or a letter, separate numbers.
    for (const gap of ["       ", "a"])
      assert.ok(!holdsCardNumber(["4111", "1111", "1111", "1111"].join(gap)));
  });

  test("are found where their digits are escaped", () => {
    for (const written of [
      "%34111111111111111",
      "%2534111111111111111",
      "%34%31%31%31%31%31%31%31%31%31%31%31%31%31%31%31",
      "&#52;111111111111111",
      "&#x34;111111111111111",
      "\\u0034111111111111111",
      "%EF%BC%94111111111111111",
    ]) {
      const masked = maskCardNumbers(written);
      assert.ok(holdsCardNumber(written), written);
      assert.equal(masked.length, written.length);
      assert.match(masked, /x{6}/);
      assert.ok(!holdsCardNumber(masked), masked);
    }
  });

  test("are found at the end of what is kept of a long text, however they are spread", () => {
    const spread = Array.from("4111111111111111").join("      ");
    const kept = maskedText("a".repeat(50) + spread, 100);
    assert.equal(kept.length, 100);
    assert.match(kept, /^a{50}4 {6}1 {6}1 {6}1 {6}1 {6}1 {6}x {6}x$/);
  });

  test("what is none stays as it is", () => {
    for (const text of [
      "",
      "Rua E, 1040",
      "4111111111111112",
      // Passes the check digit, but the cards of no scheme begin like that.
      "1111111111111117",
      "9999999999999995",
      // Twelve digits.
      "411111111116",
      "2026-11-28 18:13:28",
      "0b6c2f9e47d1a8355ce09b714fd2683a",
      "85351346893",
      "+55 (85) 2284-7035",
      "2804:1411:1111:1111:1111:1111:0001:0002",
      "https://shop.example.com/2026/11/28/paid?order=1040",
    ]) {
      assert.equal(maskCardNumbers(text), text);
      assert.ok(!holdsCardNumber(text));
    }
  });

  test("is a rare mistake about ordinary values", () => {
    const chance = lcg(20_261_128);
    const digits = (count: number): string =>
      Array.from({ length: count }, () => chance(10)).join("");
    const hex = (count: number): string =>
      Array.from({ length: count }, () => chance(16).toString(16)).join("");
    const pad = (value: number): string => String(value).padStart(2, "0");
    const time = (): string => `${pad(chance(24))}:${pad(chance(60))}:${pad(chance(60))}`;
    const day = (): string => `20${20 + chance(10)}-${pad(1 + chance(12))}-${pad(1 + chance(28))}`;
    const kinds: readonly (readonly [kind: string, perThousand: number, make: () => string])[] = [
      ["telephone numbers", 1, () => `+55 (${11 + chance(88)}) 9${digits(4)}-${digits(4)}`],
      [
        "two telephone numbers",
        30,
        () =>
          `+55 (${11 + chance(88)}) 9${digits(4)}-${digits(4)} / +55 (${11 + chance(88)}) ${digits(4)}-${digits(4)}`,
      ],
      ["counters", 0, () => `0000${digits(8)}`],
      ["dates and times", 1, () => `${day()} ${time()}.${digits(3)}`],
      ["dates with counters", 1, () => `${day().replaceAll("-", "")}${digits(6)}`],
      ["milliseconds since 1970", 1, () => `1${5 + chance(4)}${digits(11)}`],
      ["UUIDs", 3, () => `${hex(8)}-${hex(4)}-4${hex(3)}-${hex(4)}-${hex(12)}`],
      ["hashes", 10, () => hex(64)],
      ["tax numbers", 1, () => `${digits(3)}.${digits(3)}.${digits(3)}-${digits(2)}`],
      [
        "addresses",
        1,
        () => `Rua ${chance(99)}, ${chance(9999)} ap ${chance(999)}, ${digits(5)}-${digits(3)}`,
      ],
    ];
    for (const [kind, perThousand, make] of kinds) {
      const taken = Array.from({ length: 2_000 }, make).filter((text) =>
        holdsCardNumber(text),
      ).length;
      assert.ok(taken <= perThousand * 2, `${taken} of 2000 ${kind}`);
    }
    // The control: a few per cent of random texts of sixteen digits count as card numbers.
    const random = Array.from({ length: 2_000 }, () => digits(16)).filter((text) =>
      holdsCardNumber(text),
    ).length;
    assert.ok(random > 40 && random < 200, String(random));
  });

  test("no text keeps a test card whole, and masking twice changes nothing more", () => {
    const noise = fc
      .string({ maxLength: 12, unit: "grapheme-ascii" })
      .map((text) => text.replace(/[\d\s.-]/g, ""));
    fc.assert(
      fc.property(
        noise,
        fc.constantFrom(...testCards),
        fc.constantFrom("", " ", "-", "."),
        noise,
        (before, card, separator, after) => {
          const grouped = card.replace(/(\d{4})(?=\d)/g, `$1${separator}`);
          const once = maskCardNumbers(before + grouped + after);
          assert.ok(!once.replace(/\D/g, "").includes(card));
          assert.equal(once.length, before.length + grouped.length + after.length);
          assert.equal(maskCardNumbers(once), once);
        },
      ),
    );
  });
});

describe("security codes and tracks in free text", () => {
  test("are masked behind a card number: groups of three or four digits, and digits that are glued to it", () => {
    for (const [text, masked] of [
      ["card 4111 1111 1111 1111 exp 12/35 cvv 837", "card 4111 11xx xxxx 1111 exp 12/35 cvv xxx"],
      ["4111111111111111 837", "411111xxxxxx1111 xxx"],
      ["4111111111111111, 12/2035, 8370", "411111xxxxxx1111, 12/2035, xxxx"],
      // Digits after a year are not a year, although a code of four digits may look like one.
      ["378282246310005 12-35-2074", "378282xxxxx0005 12-35-xxxx"],
      ["378282246310005 12/35/2036", "378282xxxxx0005 12/35/xxxx"],
      ["378282246310005 01/12/2036", "378282xxxxx0005 01/12/2036"],
      ["378282246310005 / 1234 Ana", "378282xxxxx0005 / xxxx Ana"],
      ["4111111111111111123", "411111xxxxxx1111xxx"],
      // The nineteen digits pass the check, too: it is unknown which digits are the last of the
      // number.
      ["4111111111111111837", "411111xxxxxxxxxxxxx"],
      ["41111111111111111235", "411111xxxxxx1111xxxx"],
      ["41111111111111111235837", "411111xxxxxx1111xxxxxxx"],
      [
        "4111-1111-1111-1111 (Ana Lima, visa gold) 837",
        "4111-11xx-xxxx-1111 (Ana Lima, visa gold) xxx",
      ],
      ["4111111111111111\n837", "411111xxxxxx1111\nxxx"],
      ["4111111111111111 \uff18\uff13\uff17", "411111xxxxxx1111 xxx"],
      ["4111111111111111%20837", "411111xxxxxx1111%20xxx"],
    ] as const) {
      assert.equal(maskCardNumbers(text), masked);
    }
    // The control: farther away, and groups of other lengths.
    assert.equal(
      maskCardNumbers("4111111111111111 1235837 ap 12"),
      "411111xxxxxx1111 1235xxx ap 12",
    );
    assert.equal(
      maskCardNumbers("4111111111111111 tel 22334455, 1335837"),
      "411111xxxxxx1111 tel 22334455, 1335837",
    );
    const far = `411111xxxxxx1111 ${"a".repeat(40)} 837`;
    assert.equal(maskCardNumbers(far.replace("xxxxxx", "111111")), far);
    assert.equal(
      maskCardNumbers("4111111111111111 ap 12, 80230-01"),
      "411111xxxxxx1111 ap 12, 80230-01",
    );
  });

  test("never show a security code in the last four of a number that the code makes longer", () => {
    for (let cvv = 0; cvv < 1_000; cvv += 1) {
      const glued = String(cvv).padStart(3, "0");
      assert.ok(!maskCardNumbers(`4111111111111111${glued}`).endsWith(glued), glued);
    }
  });

  const spellings: readonly (readonly [
    name: string,
    write: (card: string, code: string) => string,
  ])[] = [
    ["glued", (card, code) => `${card}${code}`],
    ["behind a blank", (card, code) => `${card} ${code}`],
    ["behind a dash", (card, code) => `${card}-${code}`],
    ["behind a slash", (card, code) => `${card} / ${code}`],
    ["behind groups of four", (card, code) => `${inFours(card, " ")} ${code}`],
    ["glued to groups of four", (card, code) => `${inFours(card, " ")}${code}`],
    ["behind groups of four, six and the rest", (card, code) => `${inFourAndSix(card)} ${code}`],
    ["glued to groups of four, six and the rest", (card, code) => `${inFourAndSix(card)}${code}`],
    ["behind a date", (card, code) => `${card} 12/35 ${code}`],
    ["behind a date without a slash", (card, code) => `${card} 1235 ${code}`],
    [
      "behind a date of four digits for the year",
      (card, code) => `${inFours(card, " ")} 12/2035 ${code}`,
    ],
    ["glued, behind a date that is glued", (card, code) => `${card}1235${code}`],
    ["behind a date that is glued", (card, code) => `${card}1235 ${code}`],
    ["glued, with a digit before", (card, code) => `5${card}${code}`],
    ["glued, with zeros before", (card, code) => `000${card}${code}`],
    ["glued, with a counter before", (card, code) => `5 ${card}${code}`],
    ["behind an order number and groups", (card, code) => `5512 ${inFours(card, " ")} ${code}`],
    ["glued to a date", (card, code) => `${card} 1235${code}`],
    [
      "glued to a date of four digits for the year",
      (card, code) => `${inFours(card, " ")}, 122035${code}`,
    ],
    ["glued to a date with a slash", (card, code) => `${card} 12/35${code}`],
    [
      "glued to a date with a dash and four digits for the year",
      (card, code) => `${card} val 12-2035${code}`,
    ],
    ["behind bars", (card, code) => `${card}|12|2035|${code}`],
    ["in a track", (card, code) => `${card}=3005101000${code}`],
    ["behind two numbers", (card, code) => `4111111111111111 ${card} ${code}`],
    ["escaped", (card, code) => `${card}%20${code}`],
  ];
  for (const [name, write] of spellings) {
    test(`a security code ${name} is hidden, whatever else its digits and the number's may be together`, () => {
      const chance = lcg(1_235);
      for (const prefix of ["4", "55", "37", "36", "6"]) {
        for (let turn = 0; turn < 150; turn += 1) {
          const length = prefix === "37" ? 15 : prefix === "36" ? 14 : 16;
          const card = numberUnder(
            prefix + Array.from({ length: length - prefix.length - 1 }, () => chance(10)).join(""),
            length,
          );
          const code = Array.from({ length: turn % 2 === 0 ? 3 : 4 }, () => chance(10)).join("");
          const text = write(card, code);
          assert.match(maskCardNumbers(text).slice(-code.length), /^x+$/, text);
          assert.doesNotMatch(echo(text).padEnd(text.length, "x").slice(-code.length), /\d/, text);
        }
      }
    });
  }

  test("a code between two numbers is hidden, also where it makes a number with the beginning of the second", () => {
    for (let code = 0; code < 10_000; code += 1) {
      for (const digits of [
        String(code).padStart(4, "0"),
        String(code).padStart(3, "0").slice(-3),
      ]) {
        const masked = maskCardNumbers(`4111 1111 1111 1111 ${digits} 5555 5555 5555 4444`);
        assert.equal(masked.slice(20, 20 + digits.length), "x".repeat(digits.length), masked);
      }
    }
    // The control: a second number keeps the digits that a mask shows.
    assert.equal(
      maskCardNumbers("4111 1111 1111 1111 5555 5555 5555 4444"),
      "4111 11xx xxxx 1111 5555 55xx xxxx 4444",
    );
  });

  test("of tracks nothing is left behind the number", () => {
    for (const [text, masked] of [
      [";4111111111111111=35121010000012345678?", ";411111xxxxxx1111=xxxxxxxxxxxxxxxxxxxx?"],
      ["4111111111111111=3512101123456789 ok", "411111xxxxxx1111=xxxxxxxxxxxxxxxx ok"],
      ["4111111111111111D35121010000012345F", "411111xxxxxx1111DxxxxxxxxxxxxxxxxxF"],
      [
        "%B4111111111111111^LIMA/ANA^35121010000012300000?",
        "%B411111xxxxxx1111^xxxx/xxx^xxxxxxxxxxxxxxxxxxxx?",
      ],
      ["%B4111 1111 1111 1111 ^ LIMA ^ 3512101?.", "%B4111 11xx xxxx 1111 ^ xxxx ^ xxxxxxx?."],
    ] as const) {
      assert.equal(maskCardNumbers(text), masked);
    }
  });

  test("are masked where they are named, also without a number, in Portuguese, Spanish and English", () => {
    for (const name of [
      "cvv",
      "CVV2:",
      "Cvc ",
      "cvc2=",
      "o cvc do cart\u00e3o: ",
      "cvn #",
      "ccv",
      "csc: ",
      "CID: ",
      "cid=",
      '"card_cvv":"',
      "cardCvv ",
      "cod seg ",
      "c\u00f3d. seg.: ",
      "co\u0301digo de seguranc\u0327a ",
      "c\u00f3digo de seguran\u00e7a do cart\u00e3o \u00e9 ",
      "codigo de seguridad es el ",
      "C\u00f3digo Seguridad ",
      "c\u00f3digo verificador: ",
      "clave de seguridad ",
      "security code is ",
      "security_code=",
      "securityCode: ",
      "card code ",
      "o cvv do meu cart\u00e3o \u00e9 ",
    ]) {
      for (const [code, masked] of [
        ["837", "xxx"],
        ["8370", "xxxx"],
        ["8 3 7", "x x x"],
      ] as const) {
        assert.equal(
          maskCardNumbers(`pague j\u00e1, ${name}${code}.`),
          `pague j\u00e1, ${name}${masked}.`,
        );
      }
    }
    assert.equal(maskCardNumbers("cvv%20837"), "cvv%20xxx");
  });

  test("what is neither stays as it is", () => {
    for (const text of [
      "Rua El Cid 300",
      "Pasaje CVC, 6626",
      "CVC Viagens, Rua 300",
      "Cidade 300",
      "Seguran\u00e7a 24h, portaria 120",
      "c\u00f3digo do pr\u00e9dio 4321",
      "cvv 12345",
      "cvv 12",
      "security code 123456",
      "seguro 300",
      "cvv\n837",
      "segunda 1430, Av. 300",
    ]) {
      assert.equal(maskCardNumbers(text), text);
    }
  });
});

test("numbers of every scheme are masked", () => {
  const schemes: readonly (readonly [
    scheme: string,
    prefix: string,
    lengths: readonly number[],
  ])[] = [
    ["Visa", "4", [13, 16, 19]],
    ["Mastercard", "2221", [16]],
    ["Mastercard", "2720", [16]],
    ["Mastercard", "51", [16]],
    ["American Express", "34", [15]],
    ["Diners", "36", [14, 15, 16, 17, 18, 19]],
    ["Diners", "305", [14, 16, 19]],
    ["Diners", "3095", [14, 16, 19]],
    ["Diners", "39", [14, 16, 19]],
    ["JCB", "3528", [16, 17, 18, 19]],
    ["JCB", "3589", [16, 19]],
    ["UnionPay", "62", [16, 17, 18, 19]],
    ["UnionPay", "8100", [16, 19]],
    ["UnionPay", "8171", [16, 19]],
    ["Mir", "2200", [16, 17, 18, 19]],
    ["Mir", "2204", [16, 19]],
    ["Maestro", "5018", [12, 13, 14, 15, 16, 17, 18, 19]],
    ["Maestro", "5000", [12, 13, 16, 19]],
    ["Maestro", "6304", [12, 13, 16, 19]],
    ["Maestro", "6759", [12, 13, 16, 18, 19]],
    ["Maestro", "6762", [12, 13, 16, 18, 19]],
    ["RuPay", "60", [16]],
    ["RuPay", "6521", [16]],
    ["RuPay", "81", [16]],
    ["RuPay", "82", [16]],
    ["RuPay", "508", [16]],
    ["Troy", "9792", [16]],
    ["Mada", "968201", [16]],
    ["Mada", "588845", [16]],
    ["UATP", "1354", [15]],
    ["Discover", "6011", [16, 19]],
    ["Discover", "644", [16, 19]],
    ["Elo", "506699", [16]],
    ["Hipercard", "606282", [16, 19]],
    ["Aura", "507860", [19]],
    ["Cabal", "604201", [16]],
    ["Naranja", "589562", [16]],
    ["Carnet", "286900", [16]],
    ["Verve", "506099", [16, 18, 19]],
  ];
  for (const [scheme, prefix, lengths] of schemes) {
    for (const length of lengths) {
      const number = numberUnder(
        `${prefix}${"13579246801357924680".slice(0, length - prefix.length - 1)}`,
        length,
      );
      const shown = maskCardNumbers(`paid with ${number}.`);
      assert.ok(holdsCardNumber(number), `${scheme} ${length}`);
      assert.ok(
        shown.startsWith(`paid with ${number.slice(0, 6)}x`) &&
          !shown.includes(number.slice(6, -4)),
        `${scheme} ${length}: ${shown}`,
      );
    }
  }
});

test("an echo is short, in one line and without card numbers", () => {
  assert.equal(echo("gold"), "gold");
  assert.equal(echo("a".repeat(100)).length, 40);
  assert.equal(echo("4111111111111111"), "411111xxxxxx1111");
  assert.equal(echo("a\nb\ud800"), "a b\ufffd");
  // Not a card number, but it may be a mistyped one.
  assert.equal(echo("4111 1111 1111 1112"), "4111 11xx xxxx 1112");
  assert.equal(echo("1234567890123"), "123456xxx0123");
  assert.equal(echo("123456789012"), "123456789012");
  assert.ok(!/\d{13}/.test(echo(`${"a".repeat(30)}${"7".repeat(64_000)}`)));
  // The cut leaves no half of a surrogate pair.
  assert.ok(echo(`${"a".repeat(39)}🛍`).isWellFormed());
});

test("a payment's name is whole in a message, unless it holds a card number", () => {
  // The first forty characters of a hash of forty-eight are not a hash, and a date followed by a
  // number is not a card.
  for (const name of [
    "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831",
    "6925f1c8b7d04e3aa91c5f2123456789012345f9a4be7d58",
    "64fa4aba48ee7c7c88a4eb25e6a87389",
    "order-20261128-000123",
    "p-888692581-358552",
    "Ação 🛍 1",
    "b".repeat(128),
  ])
    assert.equal(echoName(name), name);
  for (const name of [
    "4111111111111111",
    "4111-1111-1111-1111",
    "nope-4111111111111111",
    "4111111111111112",
    "b".repeat(129),
    "a\nb",
    `${"ab".repeat(12)}4111111111111111`,
  ]) {
    assert.equal(echoName(name), echo(name));
    assert.notEqual(echoName(name), name);
  }
});

test("one line has no control characters and no halves of pairs", () => {
  assert.equal(oneLine("a\u0000\u0085b\u007f\udc00"), "a  b \ufffd");
  assert.equal(oneLine("São Paulo 🛍"), "São Paulo 🛍");
});

test("a name holds a card number when a whole group of its digits is one, or all of them together", () => {
  for (const name of [
    "4111111111111111",
    "4111-1111-1111-1111",
    "order 4111111111111111",
    "20261128-4111111111111111",
  ])
    assert.ok(namesCard(name), name);
  for (const name of [
    "9994111111111111111",
    "4111111111111111123",
    "4111111111111112",
    "ord-2026-000417",
  ])
    assert.ok(!namesCard(name), name);
  assert.ok(!namesCard("4111111111111111", () => false));
});

function inFours(card: string, separator: string): string {
  return (card.match(/\d{1,4}/g) ?? []).join(separator);
}

function inFourAndSix(card: string): string {
  return card.length === 16
    ? inFours(card, "-")
    : [card.slice(0, 4), card.slice(4, 10), card.slice(10)].join("-");
}

/** Integers below a bound, the same in every run. */
function lcg(seed: number): (below: number) => number {
  let state = BigInt(seed);
  return (below) => {
    state =
      (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) &
      0xff_ff_ff_ff_ff_ff_ff_ffn;
    return Number((state >> 33n) % BigInt(below));
  };
}

test("every separator of the table is looked through, by itself and six in a row", () => {
  for (let codePoint = 0; codePoint < 0x1_0000; codePoint += 1) {
    if (separatorKind(codePoint) === 0) continue;
    const separator = String.fromCharCode(codePoint);
    for (const gap of [separator, separator.repeat(6)]) {
      assert.equal(
        maskCardNumbers(["4111", "1111", "1111", "1111"].join(gap)),
        ["4111", "11xx", "xxxx", "1111"].join(gap),
        codePoint.toString(16),
      );
    }
  }
});
