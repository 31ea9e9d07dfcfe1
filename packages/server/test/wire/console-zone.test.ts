import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { countryCodes } from "../../src/payment/countries.ts";

const folder = fileURLToPath(new URL("../../../console/src/", import.meta.url));
const storageUrl = JSON.stringify(import.meta.resolve("../support/session-storage.ts"));
const urlOf = (name: string) => JSON.stringify(pathToFileURL(folder + name).href);

/**
 * The result of a program that uses the page's scripts, in a process whose browser has the zone
 * `own`, after `chosen` was chosen in the tab.
 */
function inZone(
  program: string,
  {
    own = "America/Sao_Paulo",
    chosen,
    language = "en-US",
  }: { readonly own?: string; readonly chosen?: string; readonly language?: string } = {},
): unknown {
  const choice = chosen === undefined ? "" : `sessionStorage.setItem("cofre.zone", "${chosen}");`;
  const whole = `
    import ${storageUrl};
    Object.defineProperty(navigator, "languages", { value: ["${language}"] });
    ${choice}
    const zone = await import(${urlOf("zone.js")});
    const format = await import(${urlOf("format.js")});
    console.log(JSON.stringify(${program}));`;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--input-type=module", "--eval", whole],
    { encoding: "utf8", env: { ...process.env, TZ: own } },
  );
  assert.equal(status, 0, stderr);
  // Some spaces of dates are not breaking.
  return JSON.parse(stdout.replaceAll(/[\u00a0\u202f]/g, " "));
}

const shown = `[
  zone.zone,
  format.exactText("2026-01-31T23:30:00.000Z"),
  format.momentText("2026-01-01 02:00:00", Date.parse("2026-01-02T00:00:00Z")),
  format.utcText("2026-01-31T23:30:00.000Z"),
  zone.offsetText(Date.parse("2026-01-31T23:30:00Z")),
]`;

/** What was typed, as the server reads it. */
const typed = (texts: readonly string[]): string =>
  `${JSON.stringify(texts)}.map((text) => zone.serverTime(text))`;

describe("the time zone of the console", () => {
  test("is the browser's own, UTC or another one, and UTC under the pointer stays", () => {
    assert.deepEqual(inZone(shown), [
      "America/Sao_Paulo",
      "Jan 31, 2026, 8:30:00 PM",
      "Dec 31, 2025, 11:00 PM",
      "2026-01-31 23:30:00 UTC",
      "GMT-3",
    ]);
    assert.deepEqual(inZone(shown, { chosen: "UTC" }), [
      "UTC",
      "Jan 31, 2026, 11:30:00 PM",
      "Jan 1, 2:00 AM",
      "2026-01-31 23:30:00 UTC",
      "UTC",
    ]);
    assert.deepEqual(inZone(shown, { chosen: "America/Mexico_City", own: "Asia/Tokyo" }), [
      "America/Mexico_City",
      "Jan 31, 2026, 5:30:00 PM",
      "Dec 31, 2025, 8:00 PM",
      "2026-01-31 23:30:00 UTC",
      "GMT-6",
    ]);
  });

  test("a zone that is not offered is not chosen", () => {
    for (const chosen of ["Mars/Olympus", "constructor", "Europe/Paris"])
      assert.equal(inZone("zone.zone", { chosen }), "America/Sao_Paulo", chosen);
  });

  test("those of all countries of the wire are offered, by the country's name in the language", () => {
    const program = `[
      zone.zoneOptions(),
      zone.zoneOptions().map(([id]) => new Intl.DateTimeFormat("en", { timeZone: id }).format(0)).length,
    ]`;
    type Options = readonly (readonly [id: string, name: string])[];
    const [options, known] = inZone(program) as [Options, number];
    assert.equal(known, options.length);
    const countries = new Intl.DisplayNames("en-US", { type: "region" });
    for (const code of countryCodes) {
      const name = countries.of(code.toUpperCase());
      assert.ok(
        options.some((option) => option[1] === name),
        code,
      );
    }
    assert.deepEqual(options[0], ["UTC", "UTC"]);
    const names = options.slice(1).map(([, name]) => name);
    assert.deepEqual(
      names,
      names.toSorted((left, right) => left.localeCompare(right)),
    );
    const [inPortuguese] = inZone(program, { language: "pt-BR" }) as [Options, number];
    assert.deepEqual(
      inPortuguese.find(([id]) => id === "America/Sao_Paulo"),
      ["America/Sao_Paulo", "Brasil"],
    );
  });

  test("dates and times are typed in it, and UTC with a Z", () => {
    const texts = [
      "2026-03-01",
      "2026-03-01 12:00",
      " 2026-03-01T12:00:05 ",
      "2026-03-01T12:00:00.250",
      "2026-03-01T12:00:00Z",
    ];
    assert.deepEqual(inZone(typed(texts), { chosen: "America/Lima" }), [
      "2026-03-01T05:00:00.000Z",
      "2026-03-01T17:00:00.000Z",
      "2026-03-01T17:00:05.000Z",
      "2026-03-01T17:00:00.250Z",
      "2026-03-01T12:00:00.000Z",
    ]);
    assert.deepEqual(inZone(typed(texts.slice(0, 2)), { own: "Asia/Tokyo" }), [
      "2026-02-28T15:00:00.000Z",
      "2026-03-01T03:00:00.000Z",
    ]);
  });

  test("what is not a date is left for the server to refuse", () => {
    const texts = ["someday", "2026-02-30", "2026-13-01", "2026-03-01 25:00", "4d", "", "2026-3-1"];
    assert.deepEqual(inZone(typed(texts)), texts);
  });

  test("a day begins with its first moment where the clock skips midnight", () => {
    // Santiago went from 24:00 on 5 September 2026 to 01:00 on the 6th.
    assert.deepEqual(
      inZone(typed(["2026-09-05", "2026-09-06", "2026-09-06 00:30", "2026-09-07"]), {
        chosen: "America/Santiago",
      }),
      [
        "2026-09-05T04:00:00.000Z",
        "2026-09-06T04:00:00.000Z",
        "2026-09-06T04:30:00.000Z",
        "2026-09-07T03:00:00.000Z",
      ],
    );
  });

  test("a time that the clock shows twice is the first of the two", () => {
    // Tijuana shows 01:00 to 02:00 twice on 1 November 2026.
    assert.deepEqual(
      inZone(
        typed([
          "2026-11-01",
          "2026-11-01 00:59",
          "2026-11-01 01:30",
          "2026-11-01 02:00",
          "2026-11-02",
        ]),
        { chosen: "America/Tijuana" },
      ),
      [
        "2026-11-01T07:00:00.000Z",
        "2026-11-01T07:59:00.000Z",
        "2026-11-01T08:30:00.000Z",
        "2026-11-01T10:00:00.000Z",
        "2026-11-02T08:00:00.000Z",
      ],
    );
  });

  test("a time of a file or a field is the one that was shown, on every hour of a year with changes", () => {
    const wrong = inZone(
      `Array.from({ length: 366 * 24 }, (_, hour) => Date.UTC(2026, 0, 1, hour, 17, 9)).filter((ms) => {
        const read = zone.timeTyped(zone.plainText(ms));
        return read !== ms && zone.plainText(read) !== zone.plainText(ms);
      })`,
      { chosen: "America/Santiago" },
    );
    assert.deepEqual(wrong, []);
    const twice = inZone(
      `Array.from({ length: 366 * 24 }, (_, hour) => Date.UTC(2026, 0, 1, hour, 17, 9)).filter((ms) => zone.timeTyped(zone.plainText(ms)) !== ms)`,
      { chosen: "America/Santiago" },
    ) as readonly number[];
    assert.equal(twice.length, 1, "only the second of the two equal hours reads as the first");
    assert.equal(
      inZone('zone.plainText(Date.parse("2026-07-01T03:04:05.900Z"))', {
        chosen: "America/Santiago",
      }),
      "2026-06-30 23:04:05",
    );
  });

  test("the dates of a search are sent to the server in UTC, and nothing else is changed", () => {
    const searched = [
      "after:2026-01-31 visa BEFORE:2026-02-01T12:00",
      "before:2026-02-01T12:00Z",
      "after:someday before: x:after:2026-01-31 after 2026-01-31",
    ];
    assert.deepEqual(
      inZone(
        `${JSON.stringify(searched)}.map((text) => [zone.serverSearch(text), zone.hasDates(text)])`,
        { chosen: "America/Bogota" },
      ),
      [
        ["after:2026-01-31T05:00:00.000Z visa BEFORE:2026-02-01T17:00:00.000Z", true],
        ["before:2026-02-01T12:00:00.000Z", false],
        [searched[2], false],
      ],
    );
  });
});
