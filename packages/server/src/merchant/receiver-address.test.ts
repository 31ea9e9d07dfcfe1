import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isHidden, effectiveAddress, shownAddress } from "./receiver-address.ts";

describe("an address of a receiver", () => {
  const rows: readonly (readonly [string, string])[] = [
    ["https://shop:secret@example.com/hook", "https://shop:***@example.com/hook"],
    ["http://shop:secret@127.0.0.1:3000/hook?a=b", "http://shop:***@127.0.0.1:3000/hook?a=b"],
    ["https://token@example.com/", "https://***@example.com/"],
    ["https://:secret@example.com/", "https://:***@example.com/"],
    ["https://a:b@c@example.com/", "https://a:***@example.com/"],
    ["https://a:b:c@example.com", "https://a:***@example.com"],
    ["https:///a:secret@example.com/", "https:///a:***@example.com/"],
    ["https:\\\\a:secret@example.com\\x", "https:\\\\a:***@example.com\\x"],
    ["HTTPS://a:se\ncret@example.com/", "HTTPS://a:***@example.com/"],
  ];
  for (const [url, shown] of rows) {
    test(`is shown without its password, which comes back with it: ${JSON.stringify(url)}`, () => {
      assert.equal(shownAddress(url), shown);
      assert.equal(new URL(shown).host, new URL(url).host);
      assert.equal(effectiveAddress(shown, url), url);
      assert.equal(isHidden(shown), true);
    });
  }

  for (const url of [
    "https://example.com/hook",
    "https://example.com/@user",
    "https://example.com/?mail=a:b@example.com",
    "https://example.com/#a@b",
    "",
  ]) {
    test(`control: is shown as it is: ${url}`, () => {
      assert.equal(shownAddress(url), url);
      assert.equal(isHidden(url), false);
    });
  }

  test("is what is given where it is another one", () => {
    assert.equal(
      effectiveAddress("https://shop:new@example.com/", "https://shop:old@example.com/"),
      "https://shop:new@example.com/",
    );
    assert.equal(
      effectiveAddress("https://shop:***@other.example/", "https://shop:old@example.com/"),
      "https://shop:***@other.example/",
    );
    assert.equal(
      effectiveAddress("https://shop:***@example.com/", undefined),
      "https://shop:***@example.com/",
    );
  });
});
