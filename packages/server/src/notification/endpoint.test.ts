import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../kernel/ids.ts";
import type { PaymentId } from "../payment/payment-id.ts";
import { instant } from "../kernel/instant.ts";
import {
  isUrlEndpoint,
  maximumEndpoints,
  messageBody,
  messageId,
  type NotificationEndpoint,
  readEndpoints,
  withEndpointGone,
  targetOf,
  targetsOf,
  urlEndpoint,
  urlTarget,
  withNextSecret,
} from "./endpoint.ts";
import type { EndpointId } from "./events.ts";

const now = instant(Date.UTC(2026, 10, 28, 12));
const shop: NotificationEndpoint = {
  id: "shop",
  url: "https://shop.example/notify",
  enabled: true,
  secretVersion: 1,
};
const books: NotificationEndpoint = {
  id: "books",
  url: "https://books.example/",
  enabled: true,
  secretVersion: 4,
};

describe("who is notified", () => {
  test("all of the account's endpoints, also those that are off: what is for them is kept", () => {
    assert.deepEqual(targetsOf([shop, { ...books, enabled: false }], undefined), ["shop", "books"]);
    assert.deepEqual(targetsOf([], undefined), []);
  });

  test("a payment's own address alone, when it has one", () => {
    const url = "https://shop.example/orders/17";
    assert.deepEqual(targetsOf([shop, books], url), [urlEndpoint(url)]);
    assert.ok(isUrlEndpoint(urlEndpoint(url)));
    assert.notEqual(urlEndpoint(url), urlEndpoint(`${url}/`));
    assert.equal(urlTarget(url).endpoint, urlEndpoint(url));
  });

  test("no endpoint that the merchant or a 410 has switched off", () => {
    assert.equal(targetOf(shop, now)?.url, shop.url);
    assert.equal(targetOf({ ...shop, enabled: false }, now), undefined);
    assert.equal(targetOf({ ...shop, goneAt: now }, now), undefined);
  });

  test("with every signature, unless the endpoint selects the one that it checks", () => {
    assert.deepEqual(targetOf(shop, now)?.signatures, ["rsa", "hmac", "ed25519"]);
    assert.deepEqual(targetOf({ ...shop, signatures: ["hmac"] }, now)?.signatures, ["hmac"]);
    assert.deepEqual(urlTarget(shop.url).signatures, ["rsa", "hmac", "ed25519"]);
  });
});

describe("secrets", () => {
  test("the newest signs alone, but both while a rotation lasts", () => {
    assert.deepEqual(targetOf(books, now)?.secrets, ["books/4"]);
    const [, rotated] = withNextSecret([shop, books], "books" as EndpointId, instant(now + 1_000));
    assert.ok(rotated !== undefined);
    assert.deepEqual(targetOf(rotated, now)?.secrets, ["books/5", "books/4"]);
    assert.deepEqual(targetOf(rotated, instant(now + 1_000))?.secrets, ["books/5"]);
  });

  test("a rotation leaves the other endpoints alone", () => {
    assert.equal(withNextSecret([shop, books], "books" as EndpointId, now)[0], shop);
  });
});

describe("switching off", () => {
  test("marks the endpoint that is gone, once", () => {
    const after = withEndpointGone([shop, books], "shop" as EndpointId, now);
    assert.deepEqual(after, [{ ...shop, goneAt: now }, books]);
    assert.equal(withEndpointGone(after ?? [], "shop" as EndpointId, now), undefined);
    assert.equal(withEndpointGone([books], "shop" as EndpointId, now), undefined);
  });
});

describe("endpoints as settings", () => {
  test("need a name and an address", () => {
    assert.deepEqual(readEndpoints([{ id: "shop", url: shop.url }]), [shop]);
    assert.deepEqual(readEndpoints([{ ...shop, goneAt: now, previousSecretUntil: now }]), [
      { ...shop, goneAt: now, previousSecretUntil: now },
    ]);
    assert.deepEqual(readEndpoints([]), []);
  });

  test("survive being kept as JSON", () => {
    const endpoints = [
      { ...shop, goneAt: now },
      { ...books, signatures: ["hmac"] as const, hashesPerCall: 100 },
    ];
    assert.deepEqual(readEndpoints(JSON.parse(JSON.stringify(endpoints))), endpoints);
  });

  test("of any other form are refused whole", () => {
    for (const value of [
      undefined,
      "https://shop.example/",
      [shop, shop],
      [{ ...shop, id: "url-abc" }],
      [{ ...shop, id: "Shop" }],
      [{ ...shop, id: "" }],
      [{ ...shop, id: "1shop" }],
      [{ ...shop, id: "a".repeat(33) }],
      [{ ...shop, url: "ftp://shop.example/" }],
      [{ ...shop, url: "https://" }],
      [{ ...shop, url: `https://shop.example/${"a".repeat(2_048)}` }],
      [{ ...shop, enabled: "yes" }],
      [{ ...shop, secretVersion: 0 }],
      [{ ...shop, secretVersion: 1.5 }],
      [{ ...shop, goneAt: "now" }],
      [{ ...shop, signatures: [] }],
      [{ ...shop, signatures: "hmac" }],
      [{ ...shop, signatures: ["hmac", "hmac"] }],
      [{ ...shop, signatures: ["hmac", "sha1"] }],
      [{ ...shop, hashesPerCall: 0 }],
      [{ ...shop, hashesPerCall: 101 }],
      [{ ...shop, hashesPerCall: 1.5 }],
      [{ ...shop, hashesPerCall: "10" }],
      [{ ...shop, colour: "red" }],
      [shop, undefined],
      Array.from({ length: maximumEndpoints + 1 }, (_, index) => ({ ...shop, id: `e${index}` })),
    ]) {
      assert.equal(readEndpoints(value), undefined, JSON.stringify(value));
    }
  });
});

describe("a message", () => {
  const key = {
    merchantId: "0000000a" as MerchantId,
    endpoint: "shop" as EndpointId,
    numbers: [17],
  };

  test("has an id that depends on installation, account, endpoint and numbers, and on nothing else", () => {
    const id = messageId("one", key);
    assert.match(id, /^msg_[0-9a-f]{32}$/);
    assert.equal(messageId("one", { ...key }), id);
    const others = [
      messageId("two", key),
      messageId("one", { ...key, merchantId: "0000000b" as MerchantId }),
      messageId("one", { ...key, endpoint: "books" as EndpointId }),
      messageId("one", { ...key, numbers: [18] }),
      messageId("one", { ...key, numbers: [17, 18] }),
      messageId("one", { ...key, numbers: [17, 18, 19] }),
      messageId("one", { ...key, numbers: [1, 718] }),
    ];
    assert.equal(new Set([id, ...others]).size, 8);
  });

  test("is the form that receivers of this interface read", () => {
    assert.equal(
      messageBody([
        {
          kind: "update",
          paymentId: "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831" as PaymentId,
        },
      ]),
      "operation=payment_status_change&notification_type=update&hash_codes=6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831",
    );
    const refund = (digit: string) => ({
      kind: "refund" as const,
      paymentId: digit.repeat(48) as PaymentId,
    });
    assert.equal(
      messageBody([refund("a"), refund("b")]),
      `operation=payment_status_change&notification_type=refund&hash_codes=${"a".repeat(48)},${"b".repeat(48)}`,
    );
  });
});
