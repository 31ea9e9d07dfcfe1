import { type Bytes, bytesOf } from "./base64.ts";
import { publicKeyOf } from "./certificate.ts";
import { CofreSignatureError } from "./errors.ts";
import { type ByteStream, systemRuntime } from "./runtime.ts";

/** The keys of one kind of signature. Several during a rotation. */
export type NotificationKeys =
  /** The endpoint's secrets, `whsec_` and base64: HMAC-SHA256 of Standard Webhooks. */
  | { readonly secret: string | readonly string[] }
  /** The account's public key, `whpk_` and base64: Ed25519 of Standard Webhooks. */
  | { readonly publicKey: string | readonly string[] }
  /**
   * Certificates as PEM: the interface's RSA signature. It covers neither id nor time, so a message
   * can be replayed.
   */
  | { readonly certificate: string | readonly string[] };

export type VerifyOptions = NotificationKeys & {
  /**
   * Largest difference between the signed time and now, in milliseconds. Default: five minutes. The
   * RSA signature has no time.
   */
  readonly toleranceMs?: number | undefined;
  /** Milliseconds since 1970. In a test world the clock of that world. */
  readonly now?: (() => number) | undefined;
};

/** A verified message. It says only that payments changed: query each for its state. */
export interface Notification {
  readonly type: "update" | "refund" | "chargeback" | "chargeback_credit";
  /** One payment, unless the endpoint accepts several in one message. */
  readonly hashes: readonly string[];
  /** The same in every repetition of a message. Undefined with the RSA signature. */
  readonly id: string | undefined;
  /** Time of this attempt. Undefined with the RSA signature. */
  readonly sentAt: Date | undefined;
}

/** Headers of node:http, of a fetch `Request`, or a plain object. */
export type HeadersLike =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** A request of node:http, or a fetch `Request`. */
export type ReceivedRequest = {
  readonly method?: string | undefined;
  readonly headers: HeadersLike;
} & (AsyncIterable<Uint8Array> | { readonly body: ByteStream | null });

export type ReceiverOptions = VerifyOptions & {
  /**
   * Called with each verified message, repetitions included. If it rejects, the server delivers the
   * message again.
   */
  readonly onNotification: (notification: Notification) => Promise<void> | void;
};

/** The longest message: 100 payments have 5 kB. */
const maxBody = 65_536;

const types: readonly Notification["type"][] = [
  "update",
  "refund",
  "chargeback",
  "chargeback_credit",
];

/**
 * Verifies a message over its raw body, as it was received. Comparisons take constant time.
 *
 * @throws {CofreSignatureError} The signature is missing or wrong, too old, or the message is not
 *   one of the interface.
 * @throws {TypeError} A key is malformed.
 */
export async function verify(
  rawBody: Uint8Array | string,
  headers: HeadersLike,
  options: VerifyOptions,
): Promise<Notification> {
  const body = typeof rawBody === "string" ? encoder.encode(rawBody) : rawBody;
  const signed =
    "certificate" in options
      ? await rsaVerified(body, headers, listOf(options.certificate))
      : await webhookVerified(body, headers, options);
  const form = new URLSearchParams(new TextDecoder().decode(body));
  const type = types.find((each) => each === form.get("notification_type"));
  const hashes = form.get("hash_codes")?.split(",") ?? [];
  const isKnown = form.get("operation") === "payment_status_change" && type !== undefined;
  if (!isKnown || hashes.length === 0 || hashes.some((hash) => !/^[\da-f]{48}$/.test(hash)))
    throw new CofreSignatureError("malformed");
  return { type, hashes, ...signed };
}

/**
 * A receiver for node:http, or for handlers with a fetch `Request`: it resolves with the status to
 * answer. 204: accepted; 400: malformed; 401: wrong signature or too old; 405, 413: not a message;
 * 500: `onNotification` failed, and the message will be delivered again.
 */
export function receiver(options: ReceiverOptions): (request: ReceivedRequest) => Promise<number> {
  return async (request) => {
    if (request.method !== "POST") return 405;
    const body = await bodyOf("body" in request ? piecesOf(request.body) : request);
    if (body === undefined) return 413;
    let notification: Notification;
    try {
      notification = await verify(body, request.headers, options);
    } catch (error) {
      if (!(error instanceof CofreSignatureError)) throw error;
      return error.reason === "malformed" ? 400 : 401;
    }
    try {
      await options.onNotification(notification);
      return 204;
    } catch {
      return 500;
    }
  };
}

const encoder = new TextEncoder();
const defaultToleranceMs = 300_000;

async function webhookVerified(
  body: Uint8Array,
  headers: HeadersLike,
  options: Exclude<VerifyOptions, { readonly certificate: unknown }>,
): Promise<Pick<Notification, "id" | "sentAt">> {
  const { toleranceMs = defaultToleranceMs, now = systemRuntime.now } = options;
  const id = headerOf(headers, "webhook-id");
  const timestamp = headerOf(headers, "webhook-timestamp");
  const signatures = headerOf(headers, "webhook-signature");
  if (id === undefined || timestamp === undefined || signatures === undefined)
    throw new CofreSignatureError("missing");
  const head = encoder.encode(`${id}.${timestamp}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  const [keys, version] =
    "secret" in options
      ? [await Promise.all(listOf(options.secret).map(secretKeyOf)), "v1"]
      : [await Promise.all(listOf(options.publicKey).map(ed25519KeyOf)), "v1a"];
  const given = signatures
    .split(" ")
    .map((each) => each.split(","))
    .filter(([kind]) => kind === version)
    .map(([, text = ""]) => bytesOf(text));
  if (!(await isSigned(keys, given, content))) throw new CofreSignatureError("wrong");
  const sentAtMs = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN;
  if (!(Math.abs(now() - sentAtMs) <= toleranceMs)) throw new CofreSignatureError("too_old");
  return { id, sentAt: new Date(sentAtMs) };
}

/** The interface's documentation and its sample code spell the header differently. */
const rsaHeaders = ["x-signaturecontent", "x-signature-content"] as const;

async function rsaVerified(
  body: Uint8Array,
  headers: HeadersLike,
  certificates: readonly string[],
): Promise<Pick<Notification, "id" | "sentAt">> {
  const [text] = rsaHeaders.flatMap((name) => headerOf(headers, name) ?? []);
  if (text === undefined) throw new CofreSignatureError("missing");
  const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-1" };
  const keys = await Promise.all(
    certificates.map((pem) =>
      crypto.subtle.importKey("spki", publicKeyOf(pem), algorithm, false, ["verify"]),
    ),
  );
  if (!(await isSigned(keys, [bytesOf(text)], body))) throw new CofreSignatureError("wrong");
  return { id: undefined, sentAt: undefined };
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Whether one of the signatures is by one of the keys. All are checked. */
async function isSigned(
  keys: readonly Key[],
  signatures: readonly (Bytes | undefined)[],
  content: Uint8Array,
): Promise<boolean> {
  const copy = new Uint8Array(content);
  const results = await Promise.all(
    keys.flatMap((key) =>
      signatures
        .filter((signature) => signature !== undefined)
        .map((signature) => crypto.subtle.verify(key.algorithm.name, key, signature, copy)),
    ),
  );
  return results.includes(true);
}

function secretKeyOf(secret: string): Promise<Key> {
  const key = keyBytesOf(secret, "whsec_");
  return crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
}

function ed25519KeyOf(publicKey: string): Promise<Key> {
  const key = keyBytesOf(publicKey, "whpk_");
  return crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
}

function keyBytesOf(text: string, prefix: string): Bytes {
  const bytes = text.startsWith(prefix) ? bytesOf(text.slice(prefix.length)) : undefined;
  if (bytes === undefined || bytes.length < 16)
    throw new TypeError(`a key begins with ${prefix} and base64 of the key`);
  return bytes;
}

function headerOf(headers: HeadersLike, name: string): string | undefined {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined;
  for (const [each, value] of Object.entries(headers))
    if (each.toLowerCase() === name) return typeof value === "string" ? value : undefined;
  return undefined;
}

function isFetchHeaders(headers: HeadersLike): headers is { get(name: string): string | null } {
  return typeof headers["get"] === "function";
}

function listOf(keys: string | readonly string[]): readonly string[] {
  return typeof keys === "string" ? [keys] : keys;
}

async function* piecesOf(stream: ByteStream | null): AsyncGenerator<Uint8Array> {
  const reader = stream?.getReader();
  for (let piece = await reader?.read(); piece?.done === false; piece = await reader?.read())
    if (piece.value !== undefined) yield piece.value;
}

/** Undefined if it is too long. */
async function bodyOf(pieces: AsyncIterable<Uint8Array>): Promise<Uint8Array | undefined> {
  const body = new Uint8Array(maxBody);
  let length = 0;
  for await (const piece of pieces) {
    if (length + piece.length > maxBody) return undefined;
    body.set(piece, length);
    length += piece.length;
  }
  return body.subarray(0, length);
}
