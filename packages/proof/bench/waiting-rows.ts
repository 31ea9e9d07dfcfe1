import { execFileSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { Client } from "pg";
import { sha256Hex } from "../../server/src/kernel/digest.ts";
import type { MerchantId } from "../../server/src/kernel/ids.ts";
import type { RunningStore } from "../../server/src/stores/store.ts";
import { accountChange, newAccount } from "../../server/test/contract/store-fixtures.ts";
import { chargeOnce } from "./growth.ts";

/** The merchant whose deliveries wait: the sandbox account has the lowest id. */
const merchantId = "fffffff1" as MerchantId;
const orderMarker = "0000000000";
const rowsPerPiece = 20_000;
const hourMs = 3_600_000;
/** The retries of a broken receiver are spread over this time. */
const spreadMs = 72 * hourMs;

export interface WaitingRows {
  readonly waiting: number;
  /** Those of them that are due now. */
  readonly due: number;
  readonly queues: number;
}

/**
 * Stores an account and one payment with a delivery to its own address, through the store, and
 * closes the store. The other rows are copies of this payment's rows, each with its own id, code,
 * address and time.
 */
async function writeModel(store: RunningStore, receiver: string): Promise<string> {
  await store.commit(accountChange(newAccount(merchantId), []));
  const url = `${receiver}?order=${orderMarker}`;
  await chargeOnce(store, "waiting", { merchantId, notificationUrl: url });
  await store.close();
  return url;
}

/**
 * Column values that differ between copies, as SQL over the copy's number `n` (1 and up), valid for
 * both stores. Odd copies go to one server, in one queue, and a tenth of them is due; each even
 * copy goes to its own server, in its own queue, an hour from now at the earliest.
 */
function differences(receiver: string, now: number) {
  const padded = "substr('0000000000' || n, length('0000000000' || n) - 9)";
  const ownOrigin = `'http://o' || ${padded} || '.example'`;
  const origin = `CASE n % 2 WHEN 1 THEN '${new URL(receiver).origin}' ELSE ${ownOrigin} END`;
  const url = `CASE n % 2 WHEN 1 THEN '${receiver}?order=' || ${padded} ELSE ${ownOrigin} || '/' END`;
  // The step is coprime to the spread, so due times are not in the order of the numbers.
  const later = `(n * 7919) % ${String(spreadMs)}`;
  const dueAt = `${String(now)} + CASE WHEN n % 2 = 0 THEN ${String(hourMs)} + ${later} WHEN n % 20 = 1 THEN -1 ELSE ${String(hourMs)} / 60 + ${later} END`;
  return {
    url,
    endpoint: `'url-' || substr(sha(${origin}), 1, 16) || '-' || substr(sha(${url}), 1, 32)`,
    delivery: { version: "2", attempts: "1", outcome: "'503'", due_at: dueAt },
  };
}

/** Column list of a copy: the value in `over`, or the model's. */
function copied(columns: readonly string[], over: Readonly<Record<string, string>>): string {
  return columns.map((column) => over[column] ?? `model.${column}`).join(", ");
}

/** Fills the file of a closed store; `store` is open on that file and is closed here. */
export async function fillEmbedded(
  store: RunningStore,
  file: string,
  count: number,
  receiver: string,
): Promise<WaitingRows> {
  const modelUrl = await writeModel(store, receiver);
  const database = new DatabaseSync(file);
  database.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000");
  database.function("sha", { deterministic: true }, (text) => sha256Hex(String(text)));
  const columnsOf = (table: string): readonly string[] =>
    database
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name));
  const model = Number(
    database
      .prepare(
        `SELECT no FROM payment WHERE code = 'waiting' AND merchant = unhex('${merchantId}')`,
      )
      .get()?.["no"],
  );
  const { url, endpoint, delivery } = differences(receiver, Date.now());
  const no = `${String(model)} + n`;
  const copies: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    payment: {
      no,
      id: "unhex(substr(lower(hex(model.id)), 1, 38) || printf('%010x', n))",
      code: "model.code || '-' || n",
      order_json: `replace(model.order_json, '${modelUrl}', ${url})`,
    },
    history: { payment: no },
    outbox: { sequence: "NULL", number: "n + 1", payment: no },
    delivery: {
      lane: `'${merchantId} ' || ${endpoint}`,
      number: "n + 1",
      payment: no,
      ...delivery,
    },
  };
  for (let first = 1; first <= count; first += rowsPerPiece) {
    const last = Math.min(count, first + rowsPerPiece - 1);
    database.exec("BEGIN");
    for (const [table, over] of Object.entries(copies)) {
      const columns = columnsOf(table);
      database.exec(`WITH RECURSIVE series (n) AS (SELECT ${String(first)} UNION ALL SELECT n + 1 FROM series WHERE n < ${String(last)})
        INSERT INTO ${table} (${columns.join(", ")}) SELECT ${copied(columns, over)} FROM series CROSS JOIN ${table} AS model
        WHERE model.${table === "payment" ? "no" : "payment"} = ${String(model)}`);
    }
    database.exec("COMMIT");
  }
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  const row = database
    .prepare(countRows(`merchant = '${merchantId}'`, `substr(queue, 1, 8) = '${merchantId}'`))
    .get(Date.now());
  database.close();
  writeBack();
  return checked(row, count);
}

/** Fills a database without nodes; `store` is open on it and is closed here. */
export async function fillPostgres(
  store: RunningStore,
  address: string,
  count: number,
  receiver: string,
): Promise<WaitingRows> {
  const modelUrl = await writeModel(store, receiver);
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    await client.query(`SET synchronous_commit = off;
      CREATE FUNCTION pg_temp.sha(value text) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT encode(sha256(convert_to(value, ''UTF8'')), ''hex'')'`);
    const owner = `decode('${merchantId}', 'hex')`;
    const { url, endpoint, delivery } = differences(receiver, Date.now());
    const id = "decode(left(encode(model.ID, 'hex'), 38) || lpad(to_hex(n), 10, '0'), 'hex')";
    const payment = id.replace("ID", "payment");
    const copies: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      payment: {
        no: "nextval('commit_order')",
        id: id.replace("ID", "id"),
        code: "model.code || '-' || n",
        order_json: `replace(model.order_json, '${modelUrl}', ${url})`,
      },
      history: { payment },
      outbox: { sequence: "nextval('commit_order')", number: "n + 1", payment },
      delivery: { endpoint, number: "n + 1", payment, ...delivery },
    };
    // A copy has the model's merchant too, so the model's rows are kept in separate tables.
    for (const table of Object.keys(copies)) {
      await client.query(
        `CREATE TEMP TABLE model_${table} AS SELECT * FROM ${table} WHERE merchant = ${owner}`,
      );
    }
    for (let first = 1; first <= count; first += rowsPerPiece) {
      const last = Math.min(count, first + rowsPerPiece - 1);
      await client.query("BEGIN");
      for (const [table, over] of Object.entries(copies)) {
        const { rows } = await client.query<{ readonly name: string }>(
          `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
        );
        const columns = rows.map(({ name }) => name);
        await client.query(`INSERT INTO ${table} (${columns.join(", ")})
          SELECT ${copied(columns, over).replaceAll("sha(", "pg_temp.sha(")}
          FROM generate_series(${String(first)}::bigint, ${String(last)}) AS n CROSS JOIN model_${table} AS model`);
      }
      await client.query("COMMIT");
    }
    await client.query("VACUUM ANALYZE");
    await client.query("CHECKPOINT");
    writeBack();
    const { rows } = await client.query<Record<string, unknown>>(
      countRows(`merchant = ${owner}`, `merchant = ${owner}`).replace("?", "$1"),
      [Date.now()],
    );
    return checked(rows[0], count);
  } finally {
    await client.end();
  }
}

/**
 * Returns when the system has no file data left to write: otherwise gigabytes of the filling would
 * be written during the measurement.
 */
function writeBack(): void {
  execFileSync("sync");
}

function countRows(queues: string, deliveries: string): string {
  return `SELECT (SELECT count(*) FROM due_queue WHERE ${queues}) AS queues, count(*) AS waiting,
    sum(CASE WHEN due_at <= ? THEN 1 ELSE 0 END) AS due FROM due_delivery WHERE ${deliveries}`;
}

function checked(row: Readonly<Record<string, unknown>> | undefined, count: number): WaitingRows {
  const rows = {
    waiting: Number(row?.["waiting"]),
    due: Number(row?.["due"]),
    queues: Number(row?.["queues"]),
  };
  // The model's delivery is one of them.
  if (rows.waiting !== count + 1)
    throw new Error(`${String(rows.waiting)} deliveries wait instead of ${String(count + 1)}`);
  return rows;
}
