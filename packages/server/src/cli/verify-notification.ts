import { ownValue } from "../kernel/own.ts";
import {
  createHmac,
  createPublicKey,
  type KeyObject,
  timingSafeEqual,
  verify,
  X509Certificate,
} from "node:crypto";
import type { Instant } from "../kernel/instant.ts";
import { Secret } from "../kernel/secret.ts";
import type { Received } from "./http.ts";

/** The keys that verify an endpoint's messages. */
export interface VerifyingKeys {
  /** The bytes of the endpoint's secret. */
  readonly hmac: Secret<Buffer>;
  readonly ed25519: KeyObject;
  readonly certificate: X509Certificate;
}

/** SubjectPublicKeyInfo of an Ed25519 key, up to its 32 bytes (RFC 8410). */
const ed25519Prefix = Buffer.from("302a300506032b6570032100", "hex");

/** Parses the keys in the formats in which Cofre returns them. Throws for another format. */
export function readVerifyingKeys(keys: {
  readonly secret: Secret<string>;
  readonly publicKey: string;
  readonly certificate: string;
}): VerifyingKeys {
  const publicKey = Buffer.from(keys.publicKey.replace(/^whpk_/, ""), "base64");
  return {
    hmac: new Secret(Buffer.from(keys.secret.reveal().replace(/^whsec_/, ""), "base64")),
    ed25519: createPublicKey({
      key: Buffer.concat([ed25519Prefix, publicKey]),
      format: "der",
      type: "spki",
    }),
    certificate: new X509Certificate(keys.certificate),
  };
}

/** A message this far from now, in either direction, is refused, because it may be a replay. */
const toleranceMs = 300_000;

type Message = Pick<Received, "headers" | "body">;

/**
 * Why the message is not from this Cofre, a few words each; empty when both kinds of signatures are
 * valid. Never quotes the message.
 */
export function verifyNotification(keys: VerifyingKeys, message: Message, now: Instant): string[] {
  return [...rsaProblems(keys, message), ...webhookProblems(keys, message, now)];
}

/** The interface's own signature, under both spellings of its headers. */
function rsaProblems({ certificate }: VerifyingKeys, { headers, body }: Message): string[] {
  const fingerprint = certificate.fingerprint.replaceAll(":", "");
  for (const prefix of ["x-signature", "x-signature-"]) {
    const [type, named, content] = ["type", "fingerprint", "content"].map((part) =>
      textOf(ownValue(headers, prefix + part)),
    );
    if (type === undefined || named === undefined || content === undefined)
      return ["rsa: a header is missing"];
    if (type !== "rsa,sha1") return ["rsa: an unknown type of signature"];
    if (named !== fingerprint) return ["rsa: the fingerprint of another certificate"];
    if (!verify("RSA-SHA1", body, certificate.publicKey, Buffer.from(content, "base64")))
      return ["rsa: the signature does not match"];
  }
  return [];
}

function webhookProblems(
  { hmac, ed25519 }: VerifyingKeys,
  { headers, body }: Message,
  now: Instant,
): string[] {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map(
    (name) => textOf(ownValue(headers, name)),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined)
    return ["webhook: a header is missing"];
  if (!/^\d{1,12}$/.test(timestamp)) return ["webhook: the timestamp is not a number"];
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  const expected = createHmac("sha256", hmac.reveal()).update(content).digest();
  const given = (version: string): Buffer[] =>
    signatures
      .split(" ")
      .flatMap((each) =>
        each.startsWith(`${version},`)
          ? [Buffer.from(each.slice(version.length + 1), "base64")]
          : [],
      );
  return [
    ...(Math.abs(now - Number(timestamp) * 1_000) > toleranceMs
      ? ["webhook: the timestamp is more than five minutes off"]
      : []),
    ...(given("v1").some((mac) => mac.length === expected.length && timingSafeEqual(mac, expected))
      ? []
      : ["webhook: no HMAC matches"]),
    ...(given("v1a").some((signature) => verify(undefined, content, ed25519, signature))
      ? []
      : ["webhook: no Ed25519 signature matches"]),
  ];
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === "string" ? header : undefined;
}
