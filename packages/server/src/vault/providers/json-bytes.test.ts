import assert from "node:assert/strict";
import { test } from "node:test";
import { stringAt } from "./json-bytes.ts";

function at(json: string, ...path: string[]): string | undefined {
  const found = stringAt(Buffer.from(json), path);
  return found === undefined ? undefined : Buffer.from(found).toString();
}

test("a string in an object is found by the names that lead to it", () => {
  assert.equal(at('{"Plaintext":"AAAA","KeyId":"k"}', "Plaintext"), "AAAA");
  assert.equal(at('{ "KeyId" : "k" , "Plaintext" : "AAAA" }', "Plaintext"), "AAAA");
  assert.equal(
    at('{"a":1,"data":{"b":[],"plaintext":"AA+/"},"c":null}', "data", "plaintext"),
    "AA+/",
  );
  assert.equal(at('{"data":{"plaintext":""}}', "data", "plaintext"), "");
});

test("a string elsewhere, or another value, is not taken for it", () => {
  for (const json of [
    "",
    "{}",
    "[]",
    '"plaintext"',
    '{"plaintext":"no"}',
    '{"data":"plaintext","plaintext":"no"}',
    '{"data":null,"plaintext":"no"}',
    '{"data":null,"other":{"plaintext":"no"}}',
    '{"data":[{"plaintext":"no"}]}',
    '{"data":["plaintext","no"]}',
    '{"data":{"inner":{"plaintext":"no"}}}',
    '{"data":{"inner":{"plaintext":"no"},"x":"plaintext"}}',
    '{"inner":{"data":{"plaintext":"no"}}}',
    '{"data":{"plaintext":null,"x":"no"}}',
    '{"data":{"plaintext":{"x":"no"}}}',
    '{"data":{"plaintext":["no"]}}',
    '{"data":{},"x":{"plaintext":"no"}}',
    '{"data":{"x":"\\",\\"plaintext\\":\\"no"}}',
    '{"data":{"plaintext":"no',
    '}}{"data":',
  ])
    assert.equal(at(json, "data", "plaintext"), undefined, json);
});
