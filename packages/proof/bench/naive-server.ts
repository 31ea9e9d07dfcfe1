/**
 * The comparator for PostgreSQL: charges as an ordinary program does, with a pool of 16 sessions, a
 * statement for each row and a transaction for each change. The tables, the durability settings and
 * the number of commits per charge are the product's; nothing is checked, decrypted, priced or
 * logged, so a ratio to it flatters the comparator. It answers as many bytes as the floor.
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import { Pool } from "pg";

const answer = JSON.stringify({ payment: { note: "x".repeat(990) }, status: "SUCCESS" });
const pool = new Pool({ connectionString: process.env["NAIVE_DATABASE_URL"], max: 16 });
const merchant = Buffer.alloc(4, 1);

interface ChargeRequest {
  readonly payment: {
    readonly merchant_payment_code: string;
    readonly token?: string;
    readonly creditcard?: { readonly token?: string };
  };
}

async function charge({ payment }: ChargeRequest): Promise<void> {
  const { merchant_payment_code: code } = payment;
  const digest = createHash("sha256")
    .update(payment.token ?? payment.creditcard?.token ?? "")
    .digest();
  await pool.query("SELECT ref FROM card WHERE merchant = $1 AND token_digest = $2", [
    merchant,
    digest,
  ]);
  const found = await pool.query("SELECT 1 FROM payment WHERE merchant = $1 AND code = $2", [
    merchant,
    code,
  ]);
  if (found.rowCount !== 0) throw new Error("the code is taken");
  const now = Date.now();
  const seconds = Buffer.alloc(4);
  seconds.writeUInt32BE(Math.floor(now / 1_000));
  const id = Buffer.concat([seconds, randomBytes(20)]);
  const order = JSON.stringify({ ...payment, creditcard: undefined });
  await transaction([
    [
      `INSERT INTO payment (merchant, id, code, created_at, version, state, authorized, captured, refunded, attempts, attempt, due_at, needs_review, order_json)
       VALUES ($1, $2, $3, $4, 1, 'authorizing', 0, 0, 0, 1, '["sale",1,"10050",0,0,0,0]', $5, 0, $6)`,
      [merchant, id, code, now, now + 25_000, order],
    ],
    [
      "INSERT INTO history (merchant, payment, version, at, facts, entries) VALUES ($1, $2, 1, $3, 'as1m', '')",
      [merchant, id, now],
    ],
  ]);
  await transaction([
    ["SELECT version FROM payment WHERE merchant = $1 AND id = $2 FOR UPDATE", [merchant, id]],
    [
      `UPDATE payment SET version = 2, state = 'captured', status_at = $3, captured_at = $3, authorized = 10050, captured = 10050, attempt = NULL,
       due_at = NULL, verdict = '[1,0,"00","123456",0,"SIM-1",0,"123456789012345"]' WHERE merchant = $1 AND id = $2`,
      [merchant, id, now],
    ],
    [
      "INSERT INTO history (merchant, payment, version, at, facts, entries) VALUES ($1, $2, 2, $3, 'sa1m', 'h hUSD10050 cUSD-10050;c hUSD-10050 cUSD10050 aBRL51686 mBRL-51686')",
      [merchant, id, now],
    ],
    [
      "INSERT INTO outbox (merchant, number, payment, version, kind, at) VALUES ($1, nextval('commit_order'), $2, 2, 'update', $3)",
      [merchant, id, now],
    ],
  ]);
}

async function transaction(
  statements: readonly (readonly [text: string, values: readonly unknown[]])[],
): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    for (const [text, values] of statements) await client.query(text, [...values]);
    await client.query("COMMIT");
  } finally {
    client.release();
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const json = new URLSearchParams(Buffer.concat(chunks).toString("utf8")).get("request_body");
    const done = json === null ? Promise.resolve() : charge(JSON.parse(json) as ChargeRequest);
    void done.then(
      () => respond(200),
      () => respond(500),
    );
  });
  const respond = (status: number): void => {
    response.writeHead(status, {
      "Content-Type": "application/json; charset=utf-8",
      "Content-Length": Buffer.byteLength(answer),
    });
    response.end(answer);
  };
});
server.keepAliveTimeout = 600_000;
server.listen(Number(process.env["NAIVE_PORT"] ?? "0"), "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
