import assert from "node:assert/strict";
import { createSign, generateKeyPairSync, X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { publicKeyOf } from "../src/certificate.ts";
import {
  CofreSignatureError,
  type Notification,
  notifications,
  type VerifyOptions,
} from "../src/index.ts";
import { order, startSetting } from "./server.ts";

interface Vector {
  readonly secret: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const { body, headers, secret, timestamp } = JSON.parse(
  readFileSync(new URL("../../server/test/vectors/notification.json", import.meta.url), "utf8"),
) as Vector;
const page = readFileSync(
  new URL("../../../docs/concepts/notifications.md", import.meta.url),
  "utf8",
);
const [certificate = ""] =
  /-----BEGIN CERTIFICATE-----[^]*?-----END CERTIFICATE-----/.exec(page) ?? [];
const [publicKey = ""] = /whpk_[\w+/]+=*/.exec(page) ?? [];
const hash = "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831";
const now = (): number => timestamp * 1_000;
const kinds: readonly (readonly [string, VerifyOptions])[] = [
  ["secret", { secret, now }],
  ["publicKey", { publicKey, now }],
  ["certificate", { certificate, now }],
];

function rejects(reason: CofreSignatureError["reason"]) {
  return (error: unknown) => error instanceof CofreSignatureError && error.reason === reason;
}

describe("verify", () => {
  for (const [kind, options] of kinds)
    test(`takes the published message by its ${kind}, and no other bytes`, async () => {
      const verified = await notifications.verify(body, headers, options);
      const isSigned = kind !== "certificate";
      assert.deepEqual(verified, {
        type: "update",
        hashes: [hash],
        id: isSigned ? headers["webhook-id"] : undefined,
        sentAt: isSigned ? new Date(now()) : undefined,
      });
      await notifications.verify(Buffer.from(body), new Headers(headers), options);
      for (const other of [`${body} `, body.replace("update", "refund"), ""])
        await assert.rejects(notifications.verify(other, headers, options), rejects("wrong"));
      await assert.rejects(notifications.verify(body, {}, options), rejects("missing"));
    });

  test("refuses an altered id, time or signature", async () => {
    const alter = (changes: Readonly<Record<string, string>>, options: VerifyOptions) =>
      notifications.verify(body, { ...headers, ...changes }, options);
    for (const [, options] of kinds.slice(0, 2)) {
      await assert.rejects(alter({ "webhook-id": "msg_other" }, options), rejects("wrong"));
      await assert.rejects(alter({ "webhook-timestamp": "1" }, options), rejects("wrong"));
      for (const signature of ["", "v1,", "v1,AAAA", "v1a,AAAA", "v1,%%", "v2,AAAA"])
        await assert.rejects(alter({ "webhook-signature": signature }, options), rejects("wrong"));
    }
    const rsa = { "X-SignatureContent": "AAAA" };
    await assert.rejects(alter(rsa, { certificate, now }), rejects("wrong"));
    // A signature of the other kind does not count.
    const [v1 = "", v1a = ""] = (headers["webhook-signature"] ?? "").split(" ");
    await assert.rejects(alter({ "webhook-signature": v1a }, { secret, now }), rejects("wrong"));
    await assert.rejects(alter({ "webhook-signature": v1 }, { publicKey, now }), rejects("wrong"));
  });

  test("reads both spellings of the interface's header", async () => {
    const { "X-SignatureContent": content = "" } = headers;
    for (const name of ["X-SignatureContent", "x-signature-content"])
      await notifications.verify(body, { [name]: content }, { certificate });
  });

  test("refuses messages outside the window, in both directions", async () => {
    const at = (lateMs: number, toleranceMs?: number) =>
      notifications.verify(body, headers, { secret, toleranceMs, now: () => now() + lateMs });
    for (const lateMs of [300_000, -300_000]) await at(lateMs);
    for (const lateMs of [300_001, -300_001]) await assert.rejects(at(lateMs), rejects("too_old"));
    await assert.rejects(at(1_001, 1_000), rejects("too_old"));
    await assert.rejects(
      notifications.verify(body, headers, { secret }),
      rejects("too_old"),
      "control: the system's clock counts by default",
    );
  });

  test("takes one of several keys, and refuses malformed ones", async () => {
    const other = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    await notifications.verify(body, headers, { secret: [other, secret], now });
    await assert.rejects(
      notifications.verify(body, headers, { secret: other, now }),
      rejects("wrong"),
    );
    for (const options of [
      { secret: secret.slice(6) },
      { secret: "whsec_" },
      { publicKey: secret },
      { certificate: "" },
      { certificate: certificate.slice(0, 300) },
      { certificate: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----" },
    ])
      await assert.rejects(notifications.verify(body, headers, { ...options, now }), TypeError);
  });

  test("refuses signed bytes that are not a notification", async () => {
    const { privateKey, publicKey: key } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const signed = (text: string): Promise<Notification> => {
      const content = createSign("RSA-SHA1").update(text).sign(privateKey, "base64");
      const given = { "X-SignatureContent": content };
      return notifications.verify(text, given, {
        certificate: certificateWith(key.export({ type: "spki", format: "der" })),
      });
    };
    const good = `operation=payment_status_change&notification_type=refund&hash_codes=${hash},${hash}`;
    assert.deepEqual((await signed(good)).hashes, [hash, hash]);
    for (const text of [
      "",
      good.replace("refund", "gift"),
      good.replace("payment_status", "other"),
      `${good},`,
      `${good},short`,
      "operation=payment_status_change&notification_type=refund",
    ])
      await assert.rejects(signed(text), rejects("malformed"), text);
  });

  test("finds the same public key in a certificate as OpenSSL", () => {
    const expected = new X509Certificate(certificate).publicKey.export({
      type: "spki",
      format: "der",
    });
    assert.deepEqual(Buffer.from(publicKeyOf(certificate)), expected);
  });
});

/** A certificate without a version and without a signature that anything checks. */
function certificateWith(key: Buffer): string {
  const element = (tag: number, content: Buffer): Buffer => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(content.length);
    return Buffer.concat([Buffer.from([tag, 0x82]), length, content]);
  };
  const empty = element(0x30, Buffer.alloc(0));
  const serial = element(0x02, Buffer.from([1]));
  const signed = element(0x30, Buffer.concat([serial, empty, empty, empty, empty, key]));
  const der = element(0x30, Buffer.concat([signed, empty]));
  return `-----BEGIN CERTIFICATE-----\n${der.toString("base64")}\n-----END CERTIFICATE-----\n`;
}

interface Shop {
  readonly url: string;
  readonly received: Notification[];
  readonly statuses: number[];
}

/** A receiver of node:http, or one that is given a fetch `Request`. */
async function startShop(
  context: TestContext,
  keys: () => VerifyOptions,
  {
    style = "node",
    fails = 0,
  }: { readonly style?: "node" | "fetch"; readonly fails?: number } = {},
): Promise<Shop> {
  const [received, statuses]: [Notification[], number[]] = [[], []];
  let failures = fails;
  const handle = async (request: IncomingMessage): Promise<number> => {
    const given =
      style === "node"
        ? request
        : new Request("http://shop.example/hook", {
            method: request.method ?? "",
            headers: new Headers(request.headers as Record<string, string>),
            ...(request.method === "POST" ? { body: await bytesOf(request) } : {}),
          });
    return notifications.receiver({
      ...keys(),
      onNotification: (notification) => {
        failures -= 1;
        if (failures >= 0) throw new Error("the database is down");
        received.push(notification);
      },
    })(given);
  };
  const server = createServer((request, response) => {
    void handle(request).then((status) => {
      statuses.push(status);
      response.writeHead(status).end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/hook`, received, statuses };
}

async function bytesOf(pieces: AsyncIterable<unknown>): Promise<Uint8Array<ArrayBuffer>> {
  const all: Uint8Array[] = [];
  for await (const piece of pieces) all.push(piece as Uint8Array);
  return new Uint8Array(Buffer.concat(all));
}

describe("receiver", () => {
  for (const style of ["node", "fetch"] as const)
    test(`receives what a server sends, by each signature (${style})`, async (context) => {
      await using setting = await startSetting();
      const { client, server } = setting;
      let keys: VerifyOptions = { secret: [] };
      const shop = await startShop(context, () => keys, { style });
      const pem = await (await fetch(`${server.url}/__cofre/certificate.pem`)).text();
      for (const kind of ["hmac", "ed25519", "rsa"] as const) {
        await server.settings.set({
          notificationEndpoints: [{ id: "shop", url: shop.url, signatures: [kind] }],
        });
        const { public_key, endpoints } = (await client.raw("/__cofre/notifications")) as {
          readonly public_key: string;
          readonly endpoints: readonly { readonly secret: string }[];
        };
        keys = {
          hmac: { secret: endpoints[0]?.secret ?? "" },
          ed25519: { publicKey: public_key },
          rsa: { certificate: pem },
        }[kind];
        const { payment } = await client.charge(order(`${style}-${kind}`));
        await delivered(shop);
        assert.deepEqual(shop.statuses.splice(0), [204], kind);
        assert.deepEqual(shop.received.splice(0)[0]?.hashes, [payment.hash]);
      }
    });

  test("answers 401, 400, 405, 413 and 500", async (context) => {
    const shop = await startShop(context, () => ({ secret, now }), { fails: 1 });
    const post = async (text: string, given = headers): Promise<number> =>
      (await fetch(shop.url, { method: "POST", body: text, headers: given })).status;
    assert.deepEqual(
      [
        (await fetch(shop.url)).status,
        await post("x".repeat(65_537)),
        await post(`${body} `),
        await post(body, {}),
        await post(body),
        await post(body),
      ],
      [405, 413, 401, 401, 500, 204],
    );
    assert.equal(shop.received.length, 1);
  });
});

async function delivered({ statuses }: Shop): Promise<void> {
  for (let time = 0; time < 500 && statuses.length === 0; time += 1)
    await new Promise((resolve) => setTimeout(resolve, 20));
}
