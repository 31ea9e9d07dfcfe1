import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import { postgresBinaries } from "../../server/test/postgres/cluster.ts";
import { Chance } from "../../server/test/support/chance.ts";
import { amount } from "./support/amount.ts";
import { dumpAfter } from "./support/core-dump.ts";
import { forgetCards } from "./support/deleted-cards.ts";
import { canaries, sensitiveWayOf } from "../../server/test/support/leak-load.ts";
import { embeddedIn, postgresOfItsOwn } from "./support/leak-store.ts";
import { echoingAcquirers, type LeakReport, runLeaks } from "./support/leak-run.ts";
import { canReadMemory } from "./support/process-memory.ts";
import { plantedCopy, serverRoot } from "../../server/test/support/planted-copy.ts";
import {
  LeakScanner,
  scanForSecurityCodes,
  scanForSensitiveText,
  sensitiveMark,
} from "../../server/test/support/leak-scanner.ts";

const cards = Number(
  process.env["COFRE_LEAK_CARDS"] ?? amount({ quick: 3_000, ci: 10_000, night: 10_000 }),
);
const seed = Number(process.env["COFRE_LEAK_SEED"] ?? "1");
/**
 * A fifth of the cards for each acquirer: only the answers differ, and only valid requests receive
 * them.
 */
const cardsEach = Math.ceil(cards / 5);
/** Card numbers in memory after the load: a core dump may hold as many (reliability 1.1). */
const maxInMemory = 8;

test(`after ${cards} cards no number and no security code is in anything that Cofre has written`, async (context) => {
  const report = await runLeaks({ root: serverRoot, cards, seed });
  for (const [name, figure] of Object.entries(report.figures))
    context.diagnostic(`${name}: ${figure}`);
  for (const { place, offset, form, way } of [...report.findings, ...report.inHeap].slice(0, 50)) {
    context.diagnostic(`found in ${place} at ${offset}: ${form}, sent as "${way}"`);
  }
  assert.deepEqual(
    report.findings.map(({ place, form, way }) => `${way}: ${form} in ${place}`),
    [],
  );
  assert.ok((report.figures["numbers in the heap"] ?? 0) <= maxInMemory);
  assert.ok((report.figures["of those, sent in their own field"] ?? 0) <= maxInMemory);
  // The scan covered what the load had written, and every way was used.
  assert.ok((report.figures["cards of the load in the database"] ?? 0) > cards / 20);
  assert.ok((report.figures["bytes of heap snapshot"] ?? 0) > 1_000_000);
  assert.ok((report.figures["diagnostic reports"] ?? 0) > 0);
  const unanswered = [...report.ways]
    .filter(([, { answered }]) => answered === 0)
    .map(([name]) => name);
  // This request waits for the rest of its body until the connection ends.
  assert.deepEqual(unanswered, ["in a body that never ends"]);
});

test(`after ${cardsEach} texts with security codes and tracks none of them is in anything that Cofre has written`, async (context) => {
  assertNothing(
    context,
    await runLeaks({ root: serverRoot, cards: cardsEach, seed: seed + 3, way: sensitiveWayOf }),
    0,
  );
});

test("control: a program that hides nothing behind a card number does not pass", async (context) => {
  const root = plantedCopy({
    name: "digits behind a card number are not hidden",
    file: "wire/decode/security-codes.ts",
    find: "  let at = Math.max(from, gluedUntil);",
    replace: "  if (from >= 0) return gluedUntil;\n  let at = Math.max(from, gluedUntil);",
  });
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const { findings } = await runLeaks({ root, cards: 600, seed: seed + 3, way: sensitiveWayOf });
  const places = new Set(
    findings
      .filter(({ form }) => form === "security code or track in a text")
      .map(({ place }) => place),
  );
  context.diagnostic(`${findings.length} findings in ${[...places].join(", ")}`);
  for (const place of ["data/cofre.db", "data/cofre.db-wal", "table payment"])
    assert.ok(places.has(place), place);
  assert.ok([...places].some((place) => place.endsWith(".answers")));
});

for (const acquirer of echoingAcquirers) {
  test(`after ${cardsEach} cards at an acquirer that repeats them, ${acquirer}, none of it is in anything that Cofre has written`, async (context) => {
    assertNothing(
      context,
      await runLeaks({ root: serverRoot, cards: cardsEach, seed: seed + 1, acquirer }),
    );
  });
}

const postgres = postgresBinaries() === undefined ? "PostgreSQL is not installed" : false;

test(
  `after ${cardsEach} cards nothing is in the pages, the logs and the tables of PostgreSQL`,
  { skip: postgres },
  async (context) => {
    assertNothing(
      context,
      await runLeaks({
        root: serverRoot,
        cards: cardsEach,
        seed: seed + 2,
        acquirer: "remote",
        store: "postgres",
      }),
    );
  },
);

describe("cards that the job has forgotten", () => {
  const each = 200;

  test("are in no byte of the embedded database and its log", async (context) => {
    const folder = mkdtempSync(join(tmpdir(), "cofre-deleted-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    await using store = embeddedIn(folder);
    const found = await forgetCards({ folder, store, each, ends: () => store.rewrite() });
    assert.deepEqual(found, { before: each, after: 0, kept: each });
  });

  test(
    "are in no page of PostgreSQL once its table was written again",
    { skip: postgres },
    async (context) => {
      const folder = mkdtempSync(join(tmpdir(), "cofre-deleted-"));
      context.after(() => rmSync(folder, { recursive: true, force: true }));
      await using store = await postgresOfItsOwn();
      const found = await forgetCards({ folder, store, each, ends: () => store.rewrite() });
      assert.deepEqual(found, { before: each, after: 0, kept: each });
    },
  );
});

test("control: a program that keeps what acquirers answer does not pass, at any of them", async (context) => {
  const root = plantedCopy({
    name: "texts of acquirers are not looked at",
    file: "connectors/strict-answers.ts",
    find: `    if (typeof value !== "string" || !shapes[field].test(value)) return this.#drop(field, "shape");
    return this.#revealsCard(value) ? this.#drop(field, "card_data") : value;`,
    replace: "    return String(value);",
  });
  context.after(() => rmSync(root, { recursive: true, force: true }));
  for (const acquirer of echoingAcquirers) {
    const { findings } = await runLeaks({ root, cards: 400, seed, acquirer });
    context.diagnostic(`${acquirer}: ${findings.length} findings`);
    assert.ok(
      findings.some(({ place }) => place === "table payment"),
      acquirer,
    );
  }
});

function assertNothing(
  context: TestContext,
  { figures, findings }: LeakReport,
  minStored = cardsEach / 20,
): void {
  for (const [name, figure] of Object.entries(figures)) context.diagnostic(`${name}: ${figure}`);
  assert.deepEqual(
    findings.map(({ place, form, way }) => `${way}: ${form} in ${place}`),
    [],
  );
  assert.ok((figures["cards of the load in the database"] ?? 0) >= minStored);
  assert.ok((figures["files scanned"] ?? 0) > 0);
}

test("control: a program that keeps what people type as it is does not pass", async (context) => {
  const root = plantedCopy({
    name: "card numbers in free text are not masked",
    file: "wire/decode/card-like.ts",
    find: "  return withoutHidden(text, hiddenIn(text));",
    replace: "  return text;",
  });
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const { findings } = await runLeaks({ root, cards: 600, seed });
  const places = new Set(findings.map(({ place }) => place));
  context.diagnostic(`${findings.length} findings in ${[...places].join(", ")}`);
  for (const way of ["in note", "in name", "in user_value_1"])
    assert.ok(findings.some((finding) => finding.way === way));
  for (const place of ["data/cofre.db", "data/cofre.db-wal", "table payment"])
    assert.ok(places.has(place));
});

describe("a core dump", { skip: canReadMemory ? false : "there is no /proc" }, () => {
  test(`of a server that has stored ${cards} cards holds at most ${maxInMemory} of their numbers and no security code`, async (context) => {
    const { answered, numbers, securityCodes, bytes } = await dumpAfter(cards, "cofre");
    context.diagnostic(`${numbers} numbers and ${securityCodes} security codes in ${bytes} bytes`);
    assert.equal(answered, cards);
    assert.ok(numbers <= maxInMemory);
    assert.equal(securityCodes, 0);
    assert.ok(bytes > 10_000_000);
  });

  test("control: of a server that seals each card and reads requests as strings it holds nearly all", async (context) => {
    const { answered, numbers, securityCodes, bytes } = await dumpAfter(cards, "strings");
    context.diagnostic(`${numbers} numbers and ${securityCodes} security codes in ${bytes} bytes`);
    assert.equal(answered, cards);
    assert.ok(numbers > cards * 0.9);
    assert.ok(securityCodes > cards * 0.5);
  });
});

describe("controls: what is planted is found", () => {
  const pans = canaries(1_000, new Chance(7)).map((card) => card.pan);
  const pan = pans.find(({ length }) => length === 16) ?? "";
  const scanner = new LeakScanner(pans);
  const masked = `${pan.slice(0, 6)}xxxxxx${pan.slice(-4)}`;

  const number = Buffer.alloc(32);
  number.writeBigInt64LE(BigInt(pan), 0);
  number.writeBigInt64BE(BigInt(pan), 8);
  number.writeDoubleLE(Number(pan), 16);
  number.writeDoubleBE(Number(pan), 24);
  const groups = pan.match(/.{4}/g) ?? [];

  const samples: readonly (readonly [form: string, bytes: Uint8Array])[] = [
    ["ascii", Buffer.from(JSON.stringify({ number: pan }))],
    ["ascii", Buffer.from(`99${pan}99`)],
    ["ascii with separators", Buffer.from(groups.join(" "))],
    ["ascii with separators", Buffer.from(`is ${groups.join("-")}.`)],
    ["ascii with separators", Buffer.from(groups.join("/"))],
    ["ascii with separators", Buffer.from(Array.from(pan).join(" . "))],
    ["utf-16 le", Buffer.from(pan, "utf16le")],
    ["utf-16 be", Buffer.from(pan, "utf16le").swap16()],
    ["packed bcd", Buffer.from(pan, "hex")],
    ["int64 le", number.subarray(0, 8)],
    ["int64 be", number.subarray(8, 16)],
    ["float64 le", number.subarray(16, 24)],
    ["float64 be", number.subarray(24, 32)],
    ["halves swapped", Buffer.from(pan.slice(8) + pan.slice(0, 8))],
    ["digits reversed", Buffer.from(Array.from(pan).toReversed().join(""))],
    [
      "percent-encoded",
      Buffer.from(
        Array.from(Buffer.from(pan))
          .map((byte) => `%${byte.toString(16)}`)
          .join(""),
      ),
    ],
    [
      "json-escaped",
      Buffer.from(
        Array.from(pan)
          .map((digit) => `\\u${digit.charCodeAt(0).toString(16).padStart(4, "0")}`)
          .join(""),
      ),
    ],
    ["hex of ascii", Buffer.from(Buffer.from(pan).toString("hex"))],
    ["hex of utf-16", Buffer.from(Buffer.from(pan, "utf16le").toString("hex").toUpperCase())],
    ["hex of a number", Buffer.from(number.subarray(16, 24).toString("hex"))],
    ["hex of a number", Buffer.from(number.subarray(0, 8).toString("hex").toUpperCase())],
    ...["", "a", "ab"].map(
      (before) =>
        [
          "base64 of ascii",
          Buffer.from(Buffer.from(`${before}${pan}behind`).toString("base64")),
        ] as const,
    ),
    ...["", "a", "ab"].map(
      (before) =>
        [
          "base64 of ascii",
          Buffer.from(Buffer.from(`${before}${pan}`).toString("base64url")),
        ] as const,
    ),
    ["base64 of utf-16", Buffer.from(Buffer.from(`number ${pan}`, "utf16le").toString("base64"))],
    [
      "base64 of packed bcd",
      Buffer.from(
        Buffer.concat([Buffer.from("a"), Buffer.from(pan, "hex"), Buffer.from("b")]).toString(
          "base64url",
        ),
      ),
    ],
    [
      "all but the first six",
      Buffer.from(JSON.stringify({ bin: pan.slice(0, 6), rest: pan.slice(6) })),
    ],
  ];

  for (const [index, [form, bytes]] of samples.entries()) {
    test(`${form}, sample ${index}`, () => {
      const noise = noiseOf(3_000_000);
      // In the middle, and across the edge of the blocks that are scanned.
      for (const offset of [1_500_000, (1 << 20) - 5]) noise.set(bytes, offset);
      const found = scanner.scan("noise", noise);
      assert.deepEqual(
        [...new Set(found.map((finding) => `${finding.form} ${finding.maskedPan}`))],
        [`${form} ${masked}`],
      );
      assert.equal(found.length, 2);
    });
  }

  test("a mask, a number with a digit changed and noise are not taken for a number", () => {
    const changed = pan.slice(0, 10) + ((Number(pan[10]) + 1) % 10) + pan.slice(11);
    const harmless = [
      masked,
      masked.replaceAll("x", "*"),
      changed,
      `${pan.slice(0, 6)} ${pan.slice(-4)}`,
      pan.slice(6, 15),
    ];
    for (const text of harmless) assert.deepEqual(scanner.scan("harmless", Buffer.from(text)), []);
    assert.deepEqual(scanner.scan("noise", noiseOf(8_000_000)), []);
    const digits = new Chance(11);
    assert.deepEqual(
      scanner.scan(
        "digits",
        Buffer.from(Array.from({ length: 1_000_000 }, () => digits.below(10)).join("")),
      ),
      [],
    );
  });

  test("a security code beside its name, in 8 and in 16 bits", () => {
    const codes = ['{"card_cvv":"737"}', "card_cvv=7373&", "CVV: 123", '"737" is the cvv'];
    for (const text of codes) {
      assert.equal(scanForSecurityCodes("planted", Buffer.from(text)).length, 1);
      assert.equal(scanForSecurityCodes("planted", Buffer.from(text, "utf16le")).length, 1);
    }
    for (const text of [
      "card_cvv is required",
      "cvv 12345",
      "a cvv, and long after it, in another sentence: 737",
    ]) {
      assert.deepEqual(scanForSecurityCodes("harmless", Buffer.from(text)), []);
    }
  });

  test("a security code or the end of a track in a text, in a file, a row or an answer", () => {
    const { pan, cvv } = { pan: "4111111111111111", cvv: "737" };
    for (const text of [
      `${pan.slice(0, 6)}xxxxxx1111 ${cvv}`,
      `${pan.slice(0, 6)}xxxxxxxxx1${cvv}`,
      "=35121010000737000?",
      "cvv 7370",
    ]) {
      const written = Buffer.concat([
        noiseOf(4_000),
        Buffer.from(JSON.stringify({ note: `${text} ${sensitiveMark}abc` })),
        noiseOf(4_000),
      ]);
      assert.equal(scanForSensitiveText("planted", written).length, 1, text);
    }
    for (const text of [`${pan.slice(0, 6)}xxxxxx1111 xxx`, "cvv xxx", "=xxxxxxxxxxxxxxxx?"]) {
      assert.deepEqual(
        scanForSensitiveText("harmless", Buffer.from(`${text} ${sensitiveMark}abc`)),
        [],
        text,
      );
    }
  });

  test("rows of random bytes with the mask of a number beside them have no security code", () => {
    const noise = noiseOf(24_000_000);
    for (let at = 0; at + 80 <= noise.length; at += 80) noise.write(masked, at, "latin1");
    assert.ok((noise.toString("latin1").match(/cvv/gi)?.length ?? 0) > 3);
    assert.deepEqual(scanForSecurityCodes("rows", noise), []);
  });

  test("letters within a drawn value are not a code, wherever they are; beside it they are", () => {
    const drawn = Buffer.from(
      "\u0003cvv~\u0080\u0090\u00a0\u00b0\u00c0\u00d0\u00e0\u00f0cvv",
      "latin1",
    );
    const row = Buffer.concat([drawn, Buffer.from("leak-1234")]);
    assert.equal(scanForSecurityCodes("control", row).length, 1);
    for (const bytes of [
      row,
      Buffer.concat([Buffer.from("7371 "), drawn]),
      Buffer.concat([Buffer.alloc(9), row, Buffer.alloc(9)]),
    ]) {
      assert.deepEqual(scanForSecurityCodes("row", bytes, [noiseOf(40), drawn]), []);
    }
    assert.equal(
      scanForSecurityCodes("planted", Buffer.concat([drawn, Buffer.from("cvv=737")]), [drawn])
        .length,
      1,
    );
  });
});

/** Bytes of every value that form no known number. */
function noiseOf(length: number): Buffer {
  const chance = new Chance(length);
  const noise = Buffer.alloc(length);
  for (let at = 0; at + 4 <= length; at += 4) noise.writeUInt32LE(chance.next(), at);
  return noise;
}
