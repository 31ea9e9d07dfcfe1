import assert from "node:assert/strict";
import { createPublicKey, verify, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { before, describe, test } from "node:test";
import { Webhook } from "standardwebhooks";
import type { MerchantId } from "../kernel/ids.ts";
import { instant } from "../kernel/instant.ts";
import { SystemRandom } from "../kernel/system-random.ts";
import {
  type KeyStorage,
  makeRsaPair,
  type NotificationKeys,
  openNotificationKeys,
  receiverPublicKey,
  receiverSecret,
  type RsaPair,
} from "./notification-keys.ts";
import { createSigner } from "./signature.ts";

const merchantId = "0000000a" as MerchantId;
const random = new SystemRandom();
/** The library below refuses messages that are not current by the machine's clock. */
const now = instant(Date.now());
const body =
  "operation=payment_status_change&notification_type=update&hash_codes=6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831";
const message = {
  merchantId,
  id: "msg_00000000000000000000000000000001",
  at: now,
  body,
  secrets: ["shop/2", "shop/1"],
};

function keptInMemory(content?: Uint8Array): KeyStorage & { content: Uint8Array | undefined } {
  const kept = {
    content,
    load: async () => (kept.content === undefined ? undefined : Uint8Array.from(kept.content)),
    save: async (made: Uint8Array) => {
      kept.content ??= Uint8Array.from(made);
      return Uint8Array.from(kept.content);
    },
  };
  return kept;
}

function open(storage: KeyStorage): Promise<NotificationKeys> {
  return openNotificationKeys({
    storage,
    environment: "sandbox",
    random,
    clock: { now: () => now },
  });
}

describe("the keys of an installation's notifications", () => {
  test("are made once: what is opened again signs and derives the same", async () => {
    const kept = keptInMemory();
    const [first, second] = [await open(kept), await open(kept)];

    assert.equal(second.certificate.fingerprint, first.certificate.fingerprint);
    assert.ok(second.rsa.equals(first.rsa));
    assert.deepEqual(await createSigner(second)(message), await createSigner(first)(message));
  });

  test("are of the pair that was made ahead, unless there are keys already", async () => {
    const storage = keptInMemory();
    const openWith = (pair: Promise<RsaPair>): Promise<NotificationKeys> =>
      openNotificationKeys({
        storage,
        environment: "sandbox",
        random,
        clock: { now: () => now },
        pair,
      });
    const [ahead, late] = [await makeRsaPair(), await makeRsaPair()];

    assert.ok((await openWith(Promise.resolve(ahead))).rsa.equals(ahead.privateKey));
    assert.ok((await openWith(Promise.resolve(late))).rsa.equals(ahead.privateKey));
  });

  test("of two that are made at once, the one that was kept first is used by both", async () => {
    const kept = keptInMemory();
    const [first, second] = await Promise.all([open(kept), open(kept)]);
    assert.equal(second.certificate.fingerprint, first.certificate.fingerprint);
  });

  test("come with a certificate of the RSA key that is valid from yesterday on", async () => {
    const { certificate, rsa } = await open(keptInMemory());
    const parsed = new X509Certificate(certificate.pem);
    assert.ok(parsed.checkPrivateKey(rsa));
    assert.equal(parsed.subject, "CN=Cofre notifications sandbox");
    assert.ok(
      Date.parse(parsed.validFrom) < now &&
        Date.parse(parsed.validTo) > now + 19 * 365 * 86_400_000,
    );
  });

  test("derive different secrets for each account, endpoint and version", async () => {
    const keys = await open(keptInMemory());
    const other = await open(keptInMemory());
    const secrets = [
      receiverSecret(keys, merchantId, "shop/1"),
      receiverSecret(keys, merchantId, "shop/2"),
      receiverSecret(keys, merchantId, "books/1"),
      receiverSecret(keys, "0000000b" as MerchantId, "shop/1"),
      receiverSecret(other, merchantId, "shop/1"),
    ];
    assert.equal(new Set(secrets).size, 5);
    for (const secret of secrets) assert.match(secret, /^whsec_[A-Za-z0-9+/]{32}$/);
    assert.notEqual(
      receiverPublicKey(keys, merchantId),
      receiverPublicKey(keys, "0000000b" as MerchantId),
    );
  });
});

describe("the headers of a notification", () => {
  let keys: NotificationKeys;
  before(async () => {
    keys = await open(keptInMemory());
  });

  test("hold the interface's signature of the raw body in both spellings, which the certificate verifies", async () => {
    const headers = await createSigner(keys)(message);
    for (const [type, fingerprint, content] of [
      ["X-SignatureType", "X-SignatureFingerprint", "X-SignatureContent"],
      ["X-Signature-Type", "X-Signature-Fingerprint", "X-Signature-Content"],
    ] as const) {
      assert.equal(headers[type], "rsa,sha1");
      assert.equal(headers[fingerprint], keys.certificate.fingerprint);
      const signature = Buffer.from(headers[content] ?? "", "base64");
      const { publicKey } = new X509Certificate(keys.certificate.pem);
      assert.ok(verify("RSA-SHA1", Buffer.from(body), publicKey, signature));
      assert.ok(!verify("RSA-SHA1", Buffer.from(`${body} `), publicKey, signature));
    }
  });

  test("satisfy the reference library of Standard Webhooks, with the new secret and with the one before", async () => {
    const headers = { ...(await createSigner(keys)(message)) };
    for (const name of ["shop/2", "shop/1"]) {
      new Webhook(receiverSecret(keys, merchantId, name)).verify(body, headers, {
        jsonParse: false,
      });
    }
    const wrong = [
      () =>
        new Webhook(receiverSecret(keys, merchantId, "shop/3")).verify(body, headers, {
          jsonParse: false,
        }),
      () =>
        new Webhook(receiverSecret(keys, merchantId, "shop/2")).verify(`${body}&more=1`, headers, {
          jsonParse: false,
        }),
      () =>
        new Webhook(receiverSecret(keys, merchantId, "shop/2")).verify(
          body,
          { ...headers, "webhook-id": "msg_00000000000000000000000000000002" },
          { jsonParse: false },
        ),
    ];
    for (const attempt of wrong) assert.throws(attempt);
  });

  test("hold an Ed25519 signature that the published key verifies", async () => {
    const headers = await createSigner(keys)(message);
    const [, signature] = /(?:^| )v1a,(\S+)$/.exec(headers["webhook-signature"] ?? "") ?? [];
    const raw = Buffer.from(receiverPublicKey(keys, merchantId).replace("whpk_", ""), "base64");
    const key = createPublicKey({
      key: { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") },
      format: "jwk",
    });
    const content = `${message.id}.${Math.floor(now / 1_000)}.${body}`;
    assert.ok(verify(undefined, Buffer.from(content), key, Buffer.from(signature ?? "", "base64")));
    assert.ok(
      !verify(undefined, Buffer.from(`${content} `), key, Buffer.from(signature ?? "", "base64")),
    );
  });

  test("are the same from a signer that has signed the body before, and right for another body", async () => {
    const sign = createSigner(keys);
    const first = await sign(message);
    assert.deepEqual(await sign(message), first);
    const other = { ...message, body: body.replace("update", "refund") };
    assert.deepEqual(await sign(other), await createSigner(keys)(other));
    assert.notEqual((await sign(other))["X-SignatureContent"], first["X-SignatureContent"]);
  });

  test("have the signatures that the receiver checks, each as it is among all, and always the id and the time", async () => {
    const sign = createSigner(keys);
    const all = await sign(message);
    const [first, second, third] = (all["webhook-signature"] ?? "").split(" ");
    const head = { "webhook-id": all["webhook-id"], "webhook-timestamp": all["webhook-timestamp"] };
    const rsa = Object.fromEntries(
      Object.entries(all).filter(([name]) => name.startsWith("X-Signature")),
    );
    assert.equal(Object.keys(rsa).length, 6);
    assert.deepEqual(await sign({ ...message, signatures: ["hmac"] }), {
      ...head,
      "webhook-signature": `${first} ${second}`,
    });
    assert.deepEqual(await sign({ ...message, signatures: ["ed25519"] }), {
      ...head,
      "webhook-signature": third,
    });
    assert.deepEqual(await sign({ ...message, signatures: ["rsa"] }), { ...rsa, ...head });
  });

  test("change their time and their signatures with each attempt, and nothing else", async () => {
    const [first, later] = [
      await createSigner(keys)(message),
      await createSigner(keys)({ ...message, at: instant(now + 5_000) }),
    ];
    const changed = Object.keys(first).filter((name) => first[name] !== later[name]);
    assert.deepEqual(changed, ["webhook-timestamp", "webhook-signature"]);
  });
});

describe("the published vector", () => {
  interface Vector {
    readonly kept: { readonly certificate: string };
    readonly merchantId: MerchantId;
    readonly secretName: string;
    readonly secret: string;
    readonly publicKey: string;
    readonly timestamp: number;
    readonly body: string;
    readonly headers: Readonly<Record<string, string>>;
  }
  const vector = JSON.parse(
    readFileSync(new URL("../../test/vectors/notification.json", import.meta.url), "utf8"),
  ) as Vector;

  test("is what this version signs", async () => {
    const keys = await open(keptInMemory(Buffer.from(JSON.stringify(vector.kept))));
    assert.equal(receiverSecret(keys, vector.merchantId, vector.secretName), vector.secret);
    assert.equal(receiverPublicKey(keys, vector.merchantId), vector.publicKey);
    const { headers, body: signed, timestamp } = vector;
    const id = headers["webhook-id"] ?? "";
    const at = instant(timestamp * 1_000);
    const made = await createSigner(keys)({
      merchantId: vector.merchantId,
      id,
      at,
      body: signed,
      secrets: [vector.secretName],
    });
    assert.deepEqual(made, headers);
  });

  test("is printed whole in the documentation", () => {
    const page = readFileSync(
      new URL("../../../../docs/concepts/notifications.md", import.meta.url),
      "utf8",
    );
    const shown = [
      vector.secret,
      vector.publicKey,
      vector.body,
      vector.kept.certificate,
      ...Object.values(vector.headers),
    ];
    for (const text of shown) assert.ok(page.includes(text), text);
  });
});
