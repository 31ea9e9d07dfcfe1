import assert from "node:assert/strict";
import { describe, test } from "node:test";
import * as fc from "fast-check";
import { validate as rutOracle } from "stdnum/lib/cjs/cl/rut.js";
import { validate as cnpjOracle } from "stdnum/lib/cjs/br/cnpj.js";
import { validate as cpfOracle } from "stdnum/lib/cjs/br/cpf.js";
import { documentFor } from "./documents.ts";

describe("documents that public clients send", () => {
  const vectors: readonly (readonly [
    country: string,
    text: string,
    normalized: string,
    type?: string,
  ])[] = [
    ["br", "853.513.468-93", "85351346893"],
    ["br", "278.517.215-98", "27851721598"],
    // Pasted: a no-break space, an en dash, a no-break hyphen, direction marks.
    ["br", "278.517.215\u00a098", "27851721598"],
    ["br", "278.517.215\u201398", "27851721598"],
    ["br", "\u202d278.517.215\u201198\u202c", "27851721598"],
    ["cl", "12.531.909\u20112", "125319092"],
    ["br", "000.000.001-91", "00000000191"],
    ["br", "29479146002", "29479146002"],
    ["br", "32593371000110", "32593371000110"],
    ["br", "32.593.371/0001-10", "32593371000110"],
    // The official sample of the CNPJ with letters.
    ["br", "12.abc.345/01DE-35", "12ABC34501DE35"],
    ["ar", "23-33016244-9", "23330162449", "ARG_CUIT"],
    ["ar", "30-52135353-1", "30521353531", "ARG_CUIL"],
    ["ar", "12.345.678", "12345678", "ARG_DNI"],
    ["ar", "23330162449", "23330162449"],
    ["co", "4023030074", "4023030074", "COL_CC"],
    ["co", "1078578409", "1078578409"],
    // A public client's remote test pays in Colombia with a Brazilian CPF.
    ["co", "853.513.468-93", "85351346893"],
    // Numbers of one repeated digit are in use outside of Brazil.
    ["ar", "22.222.222", "22222222", "ARG_DNI"],
    ["co", "1111111", "1111111"],
    ["pe", "44444444", "44444444"],
    ["uy", "1.111.111-1", "11111111"],
    ["ec", "2222222222", "2222222222"],
    ["cl", "11.111.111-1", "111111111"],
    ["cl", "44.444.444-4", "444444444"],
    // Old and provisional RUTs.
    ["cl", "72.041-0", "720410"],
    ["cl", "100.000.000-7", "1000000007"],
    ["pe", "9882884-2", "98828842"],
    ["cl", "76.086.428-5", "760864285"],
    ["cl", "12.531.909-2", "125319092"],
    ["cl", "10.000.013-k", "10000013K"],
    ["uy", "1.234.567-2", "12345672"],
    ["ec", "1714307103", "1714307103"],
    ["mx", "BADD110313HCMLNS09", "BADD110313HCMLNS09"],
  ];
  for (const [country, text, normalized, type] of vectors) {
    test(`${text} is a document in ${country}${type === undefined ? "" : ` as ${type}`}`, () => {
      assert.deepEqual(documentFor(country, text, true, type), { normalized });
    });
  }
});

describe("documents that are refused", () => {
  const vectors: readonly (readonly [why: string, country: string, text: string, type?: string])[] =
    [
      ["a wrong first check digit", "br", "853.513.468-83"],
      ["a wrong second check digit", "br", "853.513.468-94"],
      ["a CNPJ with a wrong check digit", "br", "32593371000111"],
      ["a CNPJ whose check digits are letters", "br", "12ABC34501DEAB"],
      ["one repeated digit", "br", "111.111.111-11"],
      ["one repeated digit", "br", "00000000000000"],
      ["zeros alone", "ar", "00000000"],
      ["zeros alone", "cl", "00.000.000-0"],
      ["too few digits", "br", "8535134689"],
      ["too many digits", "br", "853513468933"],
      ["letters in a CPF", "br", "8535134689A"],
      ["digits of another script", "br", "٨٥٣٥١٣٤٦٨٩٣"],
      ["a wrong check digit", "cl", "76.086.428-4"],
      ["a letter other than K", "cl", "76.086.428-L"],
      ["nine digits", "ar", "123456789"],
      ["a CUIT where a DNI is announced", "ar", "23-33016244-9", "ARG_DNI"],
      ["a DNI where a CUIT is announced", "ar", "12345678", "arg_cuit"],
      ["letters", "co", "AB123456"],
      ["punctuation only", "pe", "-.-"],
      ["other characters", "pe", "98828842;drop"],
      ["33 characters", "uy", "1".padEnd(33, " ")],
      ["nothing", "br", ""],
    ];
  for (const [why, country, text, type] of vectors) {
    test(`${why} in ${country}: ${JSON.stringify(text)}`, () => {
      assert.equal(documentFor(country, text, true, type), "invalid");
    });
  }

  test("an unknown document_type changes nothing", () => {
    assert.deepEqual(documentFor("br", "85351346893", false, "passport"), {
      normalized: "85351346893",
    });
    assert.equal(documentFor("br", "85351346894", false, "passport"), "invalid");
  });
});

test("across the border Chile takes any document, and its check digit is not verified", () => {
  // A public client's suite has sent a Brazilian CPF to Chile for years.
  for (const text of ["853.513.468-93", "76.086.428-4"]) {
    assert.notEqual(documentFor("cl", text, false, "CHL_RUT"), "invalid", text);
    assert.equal(documentFor("cl", text, true), "invalid", `control: ${text} within the country`);
  }
  assert.equal(
    documentFor("br", "853.513.468-94", false),
    "invalid",
    "control: Brazil's are always verified",
  );
});

describe("check digits against an independent library", () => {
  const isRepeated = (text: string) => /^(\d)\1+$/.test(text);
  const compare = (
    country: string,
    oracle: (text: string) => { readonly isValid: boolean },
    front: fc.Arbitrary<string>,
    ends: readonly string[],
  ) => {
    let valid = 0;
    fc.assert(
      fc.property(front, (digits) => {
        for (const end of ends) {
          const text = digits + end;
          const expected = oracle(text).isValid && !(country === "br" && isRepeated(text));
          assert.equal(documentFor(country, text, true) !== "invalid", expected, text);
          if (expected) valid += 1;
        }
      }),
      { numRuns: 500 },
    );
    assert.ok(valid > 400, "control: the random documents include valid ones");
  };
  const twoDigits = Array.from({ length: 100 }, (_, value) => String(value).padStart(2, "0"));

  test("CPF", () => {
    compare("br", cpfOracle, fc.stringMatching(/^\d{9}$/), twoDigits);
  });

  test("CNPJ, with letters", () => {
    compare("br", cnpjOracle, fc.stringMatching(/^[A-Z0-9]{8}[0-9]{4}$/), twoDigits);
  });

  test("RUT of seven and eight digits", () => {
    compare("cl", rutOracle, fc.stringMatching(/^[1-9]\d{6,7}$/), "0123456789K".split(""));
  });
});
