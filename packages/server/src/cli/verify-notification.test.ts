import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import { Secret } from "../kernel/secret.ts";
import { RepeatWatch, SequenceWatch } from "./sequence-watch.ts";
import { readVerifyingKeys, verifyNotification } from "./verify-notification.ts";

interface Vector {
  readonly kept: { readonly certificate: string };
  readonly secret: string;
  readonly publicKey: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The message that the documentation prints for receivers in other languages. */
const vector = JSON.parse(
  readFileSync(new URL("../../test/vectors/notification.json", import.meta.url), "utf8"),
) as Vector;
const keys = readVerifyingKeys({
  secret: new Secret(vector.secret),
  publicKey: vector.publicKey,
  certificate: vector.kept.certificate,
});
const now = instant(vector.timestamp * 1_000);
const headers = Object.fromEntries(
  Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value]),
);
const body = Buffer.from(vector.body);

describe("what a listener verifies", () => {
  test("the published message fits, with a clock that is five minutes off at most", () => {
    assert.deepEqual(verifyNotification(keys, { headers, body }, now), []);
    for (const offMs of [-300_000, 300_000])
      assert.deepEqual(verifyNotification(keys, { headers, body }, instant(now + offMs)), []);
    for (const offMs of [-300_001, 300_001]) {
      assert.deepEqual(verifyNotification(keys, { headers, body }, instant(now + offMs)), [
        "webhook: the timestamp is more than five minutes off",
      ]);
    }
  });

  test("another body fits neither family", () => {
    const problems = [
      "rsa: the signature does not match",
      "webhook: no HMAC matches",
      "webhook: no Ed25519 signature matches",
    ];
    assert.deepEqual(
      verifyNotification(keys, { headers, body: Buffer.from(`${vector.body}0`) }, now),
      problems,
    );
  });

  for (const name of Object.keys(headers)) {
    test(`a message without or with another ${name} does not fit`, () => {
      assert.equal(
        verifyNotification(keys, { headers: { ...headers, [name]: undefined }, body }, now).length,
        1,
      );
      const another =
        name === "webhook-timestamp"
          ? String(vector.timestamp + 1)
          : `x${headers[name] ?? ""}`.slice(0, -1);
      assert.ok(
        verifyNotification(keys, { headers: { ...headers, [name]: another }, body }, now).length >
          0,
      );
    });
  }

  test("one signature among several is enough, while a secret is rotated", () => {
    const [mine = "", ed25519 = ""] = (headers["webhook-signature"] ?? "").split(" ");
    const other = `v1,${Buffer.alloc(32, 7).toString("base64")}`;
    const rotated = { ...headers, "webhook-signature": [other, mine, ed25519].join(" ") };
    assert.deepEqual(verifyNotification(keys, { headers: rotated, body }, now), []);
    const foreign = { ...headers, "webhook-signature": [other, ed25519].join(" ") };
    assert.deepEqual(verifyNotification(keys, { headers: foreign, body }, now), [
      "webhook: no HMAC matches",
    ]);
  });
});

describe("the sequence as a listener sees it", () => {
  test("begins anywhere, reports a gap once, and knows what fills it", () => {
    const watch = new SequenceWatch();
    const seen = [7, 8, 11, 9, 9, 6, 12].map((number) => watch.see(number));
    assert.deepEqual(seen, [
      { gap: undefined, late: false },
      { gap: undefined, late: false },
      { gap: [9, 10], late: false },
      { gap: undefined, late: true },
      { gap: undefined, late: false },
      { gap: undefined, late: false },
      { gap: undefined, late: false },
    ]);
  });

  test("a jump over a million numbers is reported without storing them", () => {
    const watch = new SequenceWatch();
    watch.see(1);
    assert.deepEqual(watch.see(1_000_000), { gap: [2, 999_999], late: false });
    assert.equal(watch.see(2).late, false);
    assert.equal(watch.see(999_999).late, true);
  });

  test("a repeat is known by its id", () => {
    const watch = new RepeatWatch();
    assert.deepEqual(
      ["msg_a", "msg_b", "msg_a"].map((id) => watch.isRepeat(id)),
      [false, false, true],
    );
  });
});
