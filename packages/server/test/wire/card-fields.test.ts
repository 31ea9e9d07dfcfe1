import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { brotliCompressSync } from "node:zlib";
import { assert as holds, constant, integer, oneof, property, stringMatching } from "fast-check";
import { isFieldOrigin, readFieldOrigins } from "../../src/merchant/field-origins.ts";
import { brandOf } from "../../src/vault/bin.ts";
import { Pan } from "../../src/vault/pan.ts";
import { integrationKey, publicIntegrationKey, startTestServer } from "../server.ts";

interface CardRules {
  brandOf(digits: string): { readonly name: string } | undefined;
  isCardNumber(digits: string): boolean;
  groupedNumber(digits: string): string;
  typedExpiry(text: string): string;
  expiryOf(text: string, now: Date): string | undefined;
  codeLength(number: string): number;
  caretAfter(before: string, caret: number, after: string): number;
}

const folder = new URL("../../../fields/src/", import.meta.url);
const rules = (await import(new URL("card.js", folder).href)) as CardRules;

/** `digits` with a check digit. */
function completed(digits: string): string {
  for (let last = 0; last < 10; last += 1) {
    const number = `${digits}${last}`;
    if (panOf(number) !== undefined) return number;
  }
  throw new Error("one digit fits");
}

const panOf = (digits: string): Pan | undefined => Pan.from(Buffer.from(digits));

describe("the rules of the card fields", () => {
  test("give each number the brand that the server gives it", () => {
    const starts = oneof(
      ...["34", "36", "3646", "51", "2221", "2720", "527572", "4011", "5066", "5090", "6500"].map(
        (start) => constant(start),
      ),
      stringMatching(/^[1-9]\d{0,7}$/),
    );
    const rule = property(
      starts,
      stringMatching(/^\d{18}$/),
      integer({ min: 13, max: 18 }),
      (start, more, length) => {
        const number = completed(`${start}${more}`.slice(0, length));
        const pan = panOf(number);
        assert.ok(pan !== undefined);
        const brand = brandOf(pan);
        assert.equal(rules.isCardNumber(number), brand !== undefined, number);
        if (brand !== undefined) assert.equal(rules.brandOf(number)?.name, brand, number);
      },
    );
    holds(rule, { numRuns: 20_000 });
  });

  test("refuse a number with a wrong digit or length", () => {
    assert.equal(rules.isCardNumber("4111111111111111"), true);
    for (const wrong of ["4111111111111112", "411111111111111", "", "4"])
      assert.equal(rules.isCardNumber(wrong), false, wrong);
  });

  test("group digits as on the card, and never lose one", () => {
    assert.equal(rules.groupedNumber("378282246310005"), "3782 822463 10005");
    assert.equal(rules.groupedNumber("36490101441625"), "3649 010144 1625");
    assert.equal(rules.groupedNumber("4111111111111111"), "4111 1111 1111 1111");
    assert.equal(rules.groupedNumber("5078601870000127988"), "5078 6018 7000 0127 988");
    const rule = property(stringMatching(/^\d{0,19}$/), (digits) => {
      assert.equal(rules.groupedNumber(digits).replaceAll(" ", ""), digits);
    });
    holds(rule);
  });

  test("read an expiry date as people and browsers write it", () => {
    const written = { "1230": "12/30", "122030": "12/2030", "4": "04", "04/2030": "04/2030" };
    for (const [typed, shown] of Object.entries({ ...written, "4/30": "04/30", "12-30": "12/30" }))
      assert.equal(rules.typedExpiry(typed), shown, typed);
    const now = new Date(2026, 10, 30);
    assert.equal(rules.expiryOf("11/26", now), "11/2026", "the last month is valid to its end");
    assert.equal(rules.expiryOf("04/2030", now), "04/2030");
    for (const wrong of ["10/26", "13/30", "00/30", "1/30", "12/77", "12/3", ""])
      assert.equal(rules.expiryOf(wrong, now), undefined, wrong);
  });

  test("ask American Express for four digits of security code", () => {
    assert.deepEqual(
      [rules.codeLength("37"), rules.codeLength("41"), rules.codeLength("")],
      [4, 3, 3],
    );
  });

  test("keep the caret behind the same digits, and at the end when it was there", () => {
    assert.equal(rules.caretAfter("41112", 5, "4111 2"), 6);
    assert.equal(rules.caretAfter("41 11", 1, "4111"), 1);
    assert.equal(rules.caretAfter("43", 2, "04/3"), 4);
    assert.equal(rules.caretAfter("4111 11", 5, "4111 11"), 4);
  });
});

describe("origins of pages with card fields", () => {
  test("are those that browsers send, with HTTPS or of this machine", () => {
    for (const right of [
      "https://shop.example",
      "https://shop.example:8443",
      "http://localhost:3000",
      "http://127.0.0.1:8080",
      "http://[::1]:3000",
    ])
      assert.ok(isFieldOrigin(right), right);
    for (const wrong of [
      "http://shop.example",
      "https://shop.example/",
      "https://shop.example/path",
      "https://Shop.example",
      "https://*.example",
      "https://shop.example;script-src",
      "null",
      "file://",
      "javascript:1",
      "*",
      "",
    ])
      assert.ok(!isFieldOrigin(wrong), wrong);
    assert.equal(readFieldOrigins("https://a.example http://b.example"), undefined);
    assert.equal(readFieldOrigins(Array(21).fill("https://a.example").join(" ")), undefined);
  });
});

describe("the frame of the card fields", () => {
  const frame = (url: string, fields: Readonly<Record<string, string>>) =>
    fetch(`${url}/fields/?${new URLSearchParams(fields).toString()}`);
  const localPage = { key: publicIntegrationKey, origin: "http://localhost:3000" };

  test("can be contained by the account's pages only, and in a sandbox without any by those of this machine", async () => {
    await using server = await startTestServer();
    const ancestorsOf = async (fields: Readonly<Record<string, string>>) => {
      const response = await frame(server.url, fields);
      const policy = response.headers.get("content-security-policy") ?? "";
      return [response.status, /frame-ancestors ([^;]*)/.exec(policy)?.[1]];
    };
    assert.deepEqual(await ancestorsOf(localPage), [200, "http://localhost:3000"]);
    const foreign = { ...localPage, origin: "https://shop.example" };
    assert.deepEqual(await ancestorsOf(foreign), [403, "'none'"]);

    const settings = { fieldOrigins: "https://shop.example https://pay.example" };
    await server.postJson("/__cofre/settings", { integration_key: integrationKey, settings });
    assert.deepEqual(await ancestorsOf(foreign), [200, "https://shop.example https://pay.example"]);
    assert.deepEqual(await ancestorsOf(localPage), [403, "'none'"], "the list is complete");
    for (const origin of [
      "https://shop.example.evil.example",
      "https://shop.example; script-src *",
      "null",
      "",
    ])
      assert.deepEqual(await ancestorsOf({ ...localPage, origin }), [403, "'none'"], origin);
    for (const key of [integrationKey, "unknown", "", "x".repeat(101)])
      assert.deepEqual(await ancestorsOf({ ...foreign, key }), [403, "'none'"], key);
  });

  test("shows nothing of its address as HTML, and is in the asked language", async () => {
    await using server = await startTestServer();
    const hostile = '"><script>alert(1)</script>';
    const response = await frame(server.url, {
      ...localPage,
      lang: hostile,
      country: hostile,
      only: hostile,
    });
    const text = await response.text();
    assert.ok(!text.includes("alert"), text);
    assert.match(text, /<html lang="es" /, "an unknown country is not Brazil");
    for (const [fields, lang] of [
      [{}, "en"],
      [{ country: "br" }, "pt-BR"],
      [{ country: "mx" }, "es"],
      [{ country: "br", lang: "EN" }, "en"],
    ] as const) {
      const page = await (await frame(server.url, { ...localPage, ...fields })).text();
      assert.ok(page.includes(`<html lang="${lang}" `), page);
    }
  });

  test("has what browsers refused in it logged, without texts of the report and ten times a minute", async () => {
    await using server = await startTestServer();
    const policy = (await frame(server.url, localPage)).headers.get("content-security-policy");
    assert.match(policy ?? "", /report-uri \/fields\/reports$/);
    const report = (fields: object) =>
      fetch(`${server.url}/fields/reports`, {
        method: "POST",
        headers: { "Content-Type": "application/csp-report" },
        body: JSON.stringify({ "csp-report": fields }),
      });
    const reports = [
      { "effective-directive": "script-src-elem", "blocked-uri": "https://evil.example/x.js?a=1" },
      { "effective-directive": "trusted-types", "blocked-uri": "trusted-types-policy" },
      { "effective-directive": "<b>", "blocked-uri": "https://4111111111111111.example/" },
      { "blocked-uri": "javascript:alert(1)", "script-sample": "4111111111111111" },
    ];
    for (const each of reports) assert.equal((await report(each)).status, 204);
    const logged = () =>
      server.events.flatMap((event) =>
        event.event === "fields_changed" ? [[event.directive, event.blocked]] : [],
      );
    assert.deepEqual(logged(), [
      ["script-src-elem", "https://evil.example"],
      ["trusted-types", "trusted-types-policy"],
      ["other", "https://411111xxxxxx1111.example"],
      ["other", "other"],
    ]);
    for (let more = 0; more < 20; more += 1) await report({});
    assert.equal(logged().length, 10);
    server.clock.advance(60_000);
    await report({});
    assert.equal(logged().length, 11);
    for (const body of ["", "[]", "{}", '{"csp-report": 1}', "no JSON"])
      await fetch(`${server.url}/fields/reports`, { method: "POST", body });
    assert.equal(logged().length, 11);
  });

  test("and its files have the digests of the inventory", async () => {
    await using server = await startTestServer();
    const response = await fetch(`${server.url}/cofre.js.integrity`);
    assert.equal(response.headers.get("access-control-allow-origin"), "*");
    const { files } = (await response.json()) as {
      readonly files: readonly { readonly path: string; readonly integrity: string }[];
    };
    assert.deepEqual(
      files.map(({ path }) => path),
      [
        "/cofre.js",
        "/fields/fields-en.js",
        "/fields/fields-es.js",
        "/fields/fields-pt-br.js",
        "/fields/fields.css",
        "/fields/checkout-en.js",
        "/fields/checkout-es.js",
        "/fields/checkout-pt-br.js",
        "/fields/checkout.css",
      ],
    );
    const sizes = new Map<string, number>();
    for (const { path, integrity } of files) {
      const body = Buffer.from(await (await fetch(server.url + path)).arrayBuffer());
      assert.equal(integrity, `sha384-${createHash("sha384").update(body).digest("base64")}`, path);
      sizes.set(path, brotliCompressSync(body).length);
    }
    for (const lang of ["en", "es", "pt-BR"]) {
      const page = await (await frame(server.url, { ...localPage, lang })).text();
      const loaded = files.filter(({ path }) => path === "/cofre.js" || page.includes(path));
      assert.equal(loaded.length, 3, page);
      for (const { path, integrity } of loaded.slice(1))
        assert.ok(page.includes(`${path}" integrity="${integrity}"`), path);
      const compressed = loaded.reduce(
        (sum, { path }) => sum + (sizes.get(path) ?? Number.NaN),
        brotliCompressSync(page).length,
      );
      assert.ok(compressed <= 6 * 1024, `${lang}: ${compressed} bytes`);
    }
  });
});

test("the card fields have all texts in each language, and no text in two", async () => {
  const read = async (name: string) =>
    Object.values(
      (await import(new URL(`messages-${name}.js`, folder).href)) as Readonly<
        Record<string, Readonly<Record<string, string>>>
      >,
    )[0] ?? {};
  const [en, es, pt] = [await read("en"), await read("es"), await read("pt-br")];
  for (const name of Object.keys(en)) {
    const [inEnglish, inSpanish, inPortuguese] = [en[name], es[name], pt[name]];
    assert.notEqual(inSpanish, undefined, name);
    assert.notEqual(inPortuguese, undefined, name);
    assert.notEqual(inSpanish, inEnglish, name);
    assert.notEqual(inPortuguese, inEnglish, name);
  }
  const script = ["fields.js", "card-form.js"]
    .map((name) => readFileSync(new URL(name, folder), "utf8"))
    .join("");
  for (const name of Object.keys(en))
    if (!name.includes("_"))
      assert.ok(new RegExp(`["."]${name}\\b`).test(script), `${name} is used`);
});
