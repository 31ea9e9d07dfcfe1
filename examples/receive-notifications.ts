/**
 * A receiver of notifications that checks what it hears. Run it with Node 24.16 or later, no
 * packages needed:
 *
 *   COFRE_WEBHOOK_SECRET=whsec_... PORT=3000 node examples/receive-notifications.ts
 *
 * With an older Node, in this repository: `npm exec -- node examples/...` takes the one that `npm
 * ci` brought.
 *
 * What it does, in the order that matters: reads the raw body, verifies the signature over exactly
 * those bytes, refuses what is old, answers what it has seen before without doing it again, and
 * only then looks at the content. The content is a hint that a payment changed: what it changed to
 * is asked of `/ws/query`, never taken from the message.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server } from "node:http";

/** A message this far from now, in either direction, is refused: somebody may have kept it. */
const toleranceSeconds = 300;
const longestBody = 16_384;

export interface ReceiverOptions {
  /** The endpoint's secret, `whsec_` and base64. Two while a rotation lasts. */
  readonly secrets: readonly string[];
  /**
   * Called once per notification. When it rejects, the message is not remembered, and comes again.
   */
  readonly onPaymentChanged: (hash: string, kind: string) => Promise<void>;
  /**
   * Whether a message with this id was handled. A shop keeps this in its database, in the
   * transaction that handles it.
   */
  readonly seen: { has(id: string): boolean; add(id: string): void };
  readonly now?: () => number;
}

/**
 * 204: heard. 400: not what it should look like. 401: not from there, or too old. 500: try again
 * later.
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
  // One hash today; the interface allows several.
  for (const hash of hashes.split(",")) await onPaymentChanged(hash, kind);
  seen.add(id);
  return 204;
}

/**
 * `signatures` holds one or more, divided by blanks: `v1,` and base64 are ours, whatever else there
 * is, is for others.
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
      // Here a shop asks /ws/query for the payment and does what its status says.
      process.stdout.write(`${kind} ${hash}\n`);
    },
  });
  server.listen(Number(process.env["PORT"] ?? 3_000), "127.0.0.1");
}
