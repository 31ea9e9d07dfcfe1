/**
 * A receiver of notifications that verifies each message. Run it with Node 24.16 or later; it needs
 * no packages:
 *
 *     COFRE_WEBHOOK_SECRET=whsec_... PORT=3000 node examples/receive-notifications.ts
 *
 * With an older Node, in this repository: `npm exec -- node examples/...` uses the Node that `npm
 * ci` installed.
 *
 * Steps, in the order that matters: read the raw body, verify the signature over exactly those
 * bytes, refuse messages that are too old, acknowledge a duplicate without processing it again, and
 * only then read the content. The content only says that a payment changed: get the new status from
 * `/ws/query`, never from the message.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";

/**
 * Messages whose timestamp is further from now, past or future, are refused: they may be replayed.
 */
const toleranceSeconds = 300;
const longestBody = 16_384;

export interface ReceiverOptions {
  /** The endpoint's secrets, `whsec_` and base64. Two during a rotation. */
  readonly secrets: readonly string[];
  /**
   * Called once per payment in a notification. If it rejects, the message is not marked as seen and
   * is delivered again.
   */
  readonly onPaymentChanged: (hash: string, kind: string) => Promise<void>;
  /**
   * Ids of the messages that were handled. A shop stores the id in its database, in the transaction
   * that handles the message.
   */
  readonly seen: { has(id: string): boolean; add(id: string): void };
  readonly now?: () => number;
}

/**
 * Answers 204: accepted; 400: malformed; 401: wrong signature, or too old; 500: failed, to be sent
 * again.
 */
export function createReceiver(options: ReceiverOptions): Server {
  return createServer((request, response) => {
    handle(options, request).then(
      (status) => response.writeHead(status).end(),
      () => response.writeHead(500).end(),
    );
  });
}

async function handle(
  { secrets, onPaymentChanged, seen, now = Date.now }: ReceiverOptions,
  request: IncomingMessage,
): Promise<number> {
  const body = await bodyOf(request);
  if (request.method !== "POST" || body === undefined) return 400;
  const {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures,
  } = request.headers;
  if (typeof id !== "string" || typeof timestamp !== "string" || typeof signatures !== "string")
    return 401;
  if (
    !/^\d{1,12}$/.test(timestamp) ||
    Math.abs(now() / 1_000 - Number(timestamp)) > toleranceSeconds
  )
    return 401;
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  if (!secrets.some((secret) => isSignedWith(secret, content, signatures))) return 401;

  if (seen.has(id)) return 204;
  const form = new URLSearchParams(body.toString("utf8"));
  const [kind, hashes] = [form.get("notification_type"), form.get("hash_codes")];
  if (form.get("operation") !== "payment_status_change" || kind === null || hashes === null)
    return 400;
  // A message has one hash unless the endpoint takes several payments in a message.
  for (const hash of hashes.split(",")) await onPaymentChanged(hash, kind);
  seen.add(id);
  return 204;
}

/**
 * `signatures` holds one or more signatures, separated by spaces. This receiver checks those of the
 * form `v1,` and base64, and ignores others.
 */
function isSignedWith(secret: string, content: Buffer, signatures: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const expected = createHmac("sha256", key).update(content).digest();
  return signatures.split(" ").some((signature) => {
    const [version, text = ""] = signature.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > longestBody) return undefined;
  }
  return Buffer.concat(chunks);
}

if (import.meta.main) {
  const secrets = (process.env["COFRE_WEBHOOK_SECRET"] ?? "")
    .split(" ")
    .filter((secret) => secret !== "");
  if (secrets.length === 0) {
    process.stderr.write("COFRE_WEBHOOK_SECRET is not set: without it nothing can be verified.\n");
    process.exit(2);
  }
  const seen = new Set<string>();
  const server = createReceiver({
    secrets,
    seen,
    onPaymentChanged: async (hash, kind) => {
      // A shop queries the payment at /ws/query here and acts on its status.
      process.stdout.write(`${kind} ${hash}\n`);
    },
  });
  server.listen(Number(process.env["PORT"] ?? 3_000), "127.0.0.1");
}
