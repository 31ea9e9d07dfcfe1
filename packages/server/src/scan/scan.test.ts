import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { separatorKind } from "../kernel/separators.ts";
import { KnownNumbers } from "./known-numbers.ts";
import { PlausibleNumbers } from "./plausible-numbers.ts";
import type { Hit, Search } from "./search.ts";
import { StreamScan } from "./stream-scan.ts";

const pan = "4111111111111111";
const groups = pan.match(/.{4}/g) ?? [];
const hex = Buffer.from(pan).toString("hex");

async function scanned(
  search: Search,
  bytes: Uint8Array,
  pieceBytes = bytes.length,
): Promise<readonly Hit[]> {
  const hits: Hit[] = [];
  const scan = new StreamScan(search, {
    found: (hit) => hits.push(hit),
    unread: (offset) => assert.fail(`unread at ${offset}`),
  });
  for (let at = 0; at < bytes.length; at += pieceBytes)
    await scan.write(bytes.subarray(at, at + pieceBytes));
  await scan.end();
  return hits;
}

function escaped(write: (code: number) => string): string {
  return Array.from(pan, (digit) => write(digit.charCodeAt(0))).join("");
}

function zipOf(name: string, content: Uint8Array): Buffer {
  const header = Buffer.alloc(30);
  header.write("PK\u0003\u0004", "latin1");
  header.writeUInt16LE(8, 8);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, Buffer.from(name), deflateRawSync(content)]);
}

/** The number in the digits of a script, by its zero. */
function inScript(zero: number): string {
  return Array.from(pan, (digit) => String.fromCodePoint(zero + Number(digit))).join("");
}

const inText = JSON.stringify({ card: pan });
const plausible: readonly (readonly [encoding: string, what: string, bytes: Uint8Array])[] = [
  ["plain", "a field of JSON", Buffer.from(inText)],
  ["plain", "a number of JSON", Buffer.from(`{"card":${pan},"x":1}`)],
  ["plain", "letters around it", Buffer.from(`card${pan}end`)],
  ["plain", "an escape before it", Buffer.from(`%22${pan}%22`)],
  ["plain", "an escape with a letter before it", Buffer.from(`card%3A${pan}%2C`)],
  ["plain", "an escape of JSON before it", Buffer.from(`\\u0022${pan}\\u0022`)],
  ["plain", "the first track", Buffer.from(`%B${pan}^LIMA/ANA^30121010000`)],
  ["plain", "the second track", Buffer.from(`;${pan}=30121010000?`)],
  ["plain", "a chip's field in a dump", Buffer.from(`9F02065A08${pan}5F2403301231`)],
  ["plain", "American Express", Buffer.from("378282246310005")],
  ["plain", "Diners", Buffer.from("30569309025904")],
  ["grouped", "blanks", Buffer.from(groups.join(" "))],
  ["grouped", "dashes", Buffer.from(`is ${groups.join("-")}.`)],
  ["grouped", "a security code and a date behind", Buffer.from(`${groups.join(" ")} 123 12/30`)],
  ["grouped", "escaped blanks", Buffer.from(groups.join("%20"))],
  ...[
    "\u00a0",
    "\t",
    "\u2009",
    "\u202f",
    "\u2011",
    "\u2013",
    "\u2014",
    ":",
    "|",
    "*",
    "·",
    "~",
    " - ",
    " | ",
    "--",
    "    ",
    "\u200b",
    "%2D",
    "%2d",
    "%C2%A0",
    "%E2%80%91",
    "&nbsp;",
    "&#160;",
    "&#xA0;",
    "\\u00a0",
  ].map(
    (gap) =>
      [
        "grouped",
        `groups with ${JSON.stringify(gap)}`,
        Buffer.from(`is ${groups.join(gap)}.`),
      ] as const,
  ),
  ["digits of a script", "full-width digits", Buffer.from(`is ${inScript(0xff10)}.`)],
  ["digits of a script", "Arabic-Indic digits", Buffer.from(inScript(0x660))],
  [
    "digits of a script",
    "full-width digits in groups",
    Buffer.from(inScript(0xff10).replace(/(.{4})(?=.)/gu, "$1 ")),
  ],
  ["digits of a script", "mathematical digits", Buffer.from(inScript(0x1d7ce))],
  ["grouped", "a blank of forms", Buffer.from(`number=${groups.join("+")}&`)],
  ["grouped", "American Express", Buffer.from("3782 822463 10005")],
  ["grouped", "digit by digit", Buffer.from(Array.from(pan).join(" "))],
  ["utf-16", "little end first", Buffer.from(inText, "utf16le")],
  ["utf-16", "big end first", Buffer.from(inText, "utf16le").swap16()],
  ["utf-16", "nothing around it", Buffer.from(pan, "utf16le").swap16()],
  ["utf-16", "in groups", Buffer.from(groups.join(" "), "utf16le")],
  ["hex", "small letters", Buffer.from(Buffer.from(inText).toString("hex"))],
  ["hex", "capitals", Buffer.from(Buffer.from(`z${pan}z`).toString("hex").toUpperCase())],
  ["hex", "nothing around it", Buffer.from(hex)],
  ["hex", "in groups", Buffer.from(Buffer.from(groups.join("-")).toString("hex"))],
  ["hex", "of 16 bits", Buffer.from(Buffer.from(inText, "utf16le").toString("hex"))],
  ...["", "a", "ab", "abc"].flatMap((before) => [
    [
      "base64",
      `behind ${before.length} letters`,
      Buffer.from(Buffer.from(`${before}${pan},`).toString("base64")),
    ] as const,
    [
      "base64",
      `behind ${before.length} letters, for URLs`,
      Buffer.from(Buffer.from(`${before}"${pan}`).toString("base64url")),
    ] as const,
    [
      "base64",
      `in groups behind ${before.length} letters`,
      Buffer.from(Buffer.from(`${before} ${groups.join("-")} `).toString("base64")),
    ] as const,
    [
      "base64",
      `of 16 bits behind ${before.length} letters`,
      Buffer.from(Buffer.from(`${before} ${pan} `, "utf16le").toString("base64")),
    ] as const,
  ]),
  ["percent-encoded", "all", Buffer.from(escaped((code) => `%${code.toString(16)}`))],
  ["json-escaped", "all", Buffer.from(`"${escaped((code) => `\\u00${code.toString(16)}`)}"`)],
  ["html-escaped", "all", Buffer.from(escaped((code) => `&#${code};`))],
  ["html-escaped", "all, hexadecimal", Buffer.from(escaped((code) => `&#x${code.toString(16)};`))],
  ["packed bcd", "a chip's field", Buffer.from(`5a08${pan}5f2403`, "hex")],
  ["packed bcd", "a chip's second track", Buffer.from(`5711${pan}d3012101000000000f`, "hex")],
  ["plain in gzip", "a file", gzipSync(inText)],
  ["plain in zlib", "a file", deflateSync(inText)],
  ["plain in zstd", "a file", zstdCompressSync(inText)],
  ["plain in zip", "a member", zipOf("cards.txt", Buffer.from(inText))],
  [
    "base64 in gzip in zip",
    "one in the other",
    zipOf("cards.gz", gzipSync(Buffer.from(Buffer.from(inText).toString("base64")))),
  ],
];

describe("a card number is found, once and masked", () => {
  const search = new PlausibleNumbers();
  for (const [encoding, what, bytes] of plausible) {
    test(`${encoding}: ${what}`, async () => {
      const hits = await scanned(search, bytes);
      assert.deepEqual([...new Set(hits.map((hit) => hit.encoding))], [encoding]);
      assert.ok(hits.every(({ maskedPan }) => /^\d{6}x{4,9}\d{4}$/.test(maskedPan)));
      // Within noise, in chunks of any size, at the edges of a search window. A zlib stream is not
      // found within other data.
      if (encoding.includes("zlib")) return;
      for (const [length, at, pieceBytes] of [
        [40_000, 20_000, 7],
        [1_200_000, 600_000, 65_536],
        [1_200_000, (1 << 20) - 5, 1 << 20],
        [1_200_000, (1 << 20) - 1_020, 1 << 20],
        [1_200_000, (1 << 20) - bytes.length, 1 << 20],
      ] as const) {
        const noise = noiseOf(length);
        noise.set(Buffer.concat([Buffer.from("\n\n"), bytes, Buffer.from("\n\n")]), at - 2);
        const inNoise = await scanned(search, noise, pieceBytes);
        assert.equal(inNoise.length, hits.length, `at ${at} in pieces of ${pieceBytes}`);
        for (const hit of inNoise) assert.ok(hit.offset >= at && hit.offset < at + bytes.length);
      }
    });
  }
});

describe("digits that are not a card number are not taken for one", () => {
  const search = new PlausibleNumbers();
  const harmless: readonly (readonly [string, string])[] = [
    ["a mask", "411111xxxxxx1111 and 411111******1111"],
    ["a wrong check digit", "4111111111111112"],
    ["no scheme's first digits", "1111111111111117 9999999999999995"],
    ["a longer number", "41111111111111111111 1234111111111111111156"],
    ["a piece of a hash", "3f4111111111111111a0c9e1 and ab4111111111111111c1"],
    ["columns of a table", "1000 4111 1111 1111 1111 2000"],
    ["a number with digits behind its letters", "4111111111111111e10"],
    ["a UUID", "41111111-1111-1111-1111-111111111111"],
  ];
  for (const [what, text] of harmless) {
    test(what, async () => assert.deepEqual(await scanned(search, Buffer.from(text)), []));
  }

  test("32 MB of noise hold none, in bytes, in base64 and in hexadecimal", async (context) => {
    const noise = noiseOf(32_000_000);
    assert.deepEqual(await scanned(search, noise), []);
    assert.deepEqual(
      await scanned(search, Buffer.from(noise.subarray(0, 8_000_000).toString("base64"))),
      [],
    );
    assert.deepEqual(
      await scanned(search, Buffer.from(noise.subarray(0, 8_000_000).toString("hex"))),
      [],
    );
    context.diagnostic("32 MB of bytes, 10.7 MB of base64, 16 MB of hexadecimal: 0 findings");
  });

  test("100,000 tokens, payment identifiers and digests of ours hold none", async () => {
    const noise = noiseOf(100_000 * 112).toString("hex");
    const lines = Array.from({ length: 100_000 }, (_, index) => {
      const from = index * 224;
      return `${noise.slice(from, from + 128)} ${noise.slice(from + 128, from + 176)} ${noise.slice(from + 176, from + 224)}`;
    });
    assert.deepEqual(await scanned(search, Buffer.from(lines.join("\n"))), []);
  });

  test("of separate numbers of 16 digits, about one in twenty could be a card's, and none can be excluded", async (context) => {
    const noise = noiseOf(8 * 100_000);
    const numbers = Array.from({ length: 100_000 }, (_, index) =>
      String(noise.readBigUInt64LE(index * 8))
        .padStart(20, "0")
        .slice(-16),
    );
    const hits = await scanned(search, Buffer.from(numbers.join("\n")));
    context.diagnostic(`${hits.length} of 100,000`);
    assert.ok(hits.length > 1_000 && hits.length < 5_000);
  });
});

test("known numbers are found in forms that noise has too", async () => {
  const search = new KnownNumbers([pan, "30569309025904"]);
  const number = Buffer.alloc(8);
  number.writeDoubleLE(Number(pan));
  const forms: readonly (readonly [string, Uint8Array])[] = [
    ["packed bcd", Buffer.from(pan, "hex")],
    ["float64 le", number],
    ["digits reversed", Buffer.from(Array.from(pan).toReversed().join(""))],
    ["ascii in gzip", gzipSync(pan)],
  ];
  for (const [encoding, bytes] of forms) {
    const noise = noiseOf(2_000_000);
    noise.set(bytes, (1 << 20) - 3);
    const hits = await scanned(search, noise, 100_000);
    assert.deepEqual([...new Set(hits.map((hit) => hit.encoding))], [encoding]);
    assert.equal(hits[0]?.offset, (1 << 20) - 3);
  }
});

/** Bytes of every value, the same each time. */
function noiseOf(length: number): Buffer {
  const noise = Buffer.alloc(length);
  let state = 0x9e3779b9;
  for (let at = 0; at + 4 <= length; at += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    noise.writeUInt32LE(Math.imul(state, 0x2545f491) >>> 0, at);
  }
  return noise;
}

test("every separator that the wire passes over is one here, but for line breaks", () => {
  const known = new KnownNumbers([pan]);
  for (let codePoint = 0; codePoint < 0x1_0000; codePoint += 1) {
    if (separatorKind(codePoint) === 0) continue;
    const written = Buffer.from(` ${groups.join(String.fromCharCode(codePoint))} `);
    const isBreak = codePoint === 0x0a || codePoint === 0x0d;
    assert.equal(
      new PlausibleNumbers().search(written).length,
      isBreak ? 0 : 1,
      codePoint.toString(16),
    );
    assert.equal(known.search(written).length > 0, !isBreak, codePoint.toString(16));
  }
});
