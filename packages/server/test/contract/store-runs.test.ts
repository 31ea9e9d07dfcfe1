import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Client } from "pg";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { instant } from "../../src/kernel/instant.ts";
import { queueOf, urlEndpoint } from "../../src/notification/endpoint.ts";
import { type Delivery, type EndpointId, newDelivery } from "../../src/notification/events.ts";
import type { Payment } from "../../src/payment/payment.ts";
import { messageOf } from "../../src/stores/change-message.ts";
import type { Change } from "../../src/stores/change.ts";
import {
  type BatchMessage,
  batchMessageOf,
  batchOf,
  movesFirst,
} from "../../src/stores/postgres/batch-message.ts";
import { Chance } from "../support/chance.ts";
import { query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { dueTables } from "../postgres/due-tables.ts";
import * as given from "./store-fixtures.ts";

/**
 * Batches of random changes, written in runs and one by one: the same answers, and the same rows in
 * every table.
 */

const { start } = given;
const skip = testUrl === undefined && "COFRE_TEST_POSTGRES_URL names no server";
const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
after(() => databases?.drop());

const merchants: readonly MerchantId[] = [1, 2, 3].map(given.merchantId);
const endpoints = [
  ...(["shop", "books"] as EndpointId[]),
  ...["https://a.example/1", "https://a.example/2", "https://b.example/"].map(urlEndpoint),
];

/**
 * Changes that wait together, as nodes produce them: none depends on another one of the batch. Some
 * are stale, some conflict with existing rows.
 */
class Batches {
  readonly chance: Chance;
  /** By merchant and number, as they were before the batch. */
  readonly payments = new Map<string, Payment>();
  /** All of them, as they were before the batch. */
  deliveries: readonly Delivery[] = [];
  /** Versions of accounts. */
  readonly accounts = new Map<MerchantId, number>();

  constructor(seed: number) {
    this.chance = new Chance(seed);
  }

  next(): readonly Change[] {
    return Array.from({ length: this.chance.between(1, 24) }, () => this.#change()).filter(
      (change) => change !== undefined,
    );
  }

  #change(): Change | undefined {
    const { chance } = this;
    const merchantId = this.#one(merchants);
    const at = instant(start + chance.below(900));
    switch (chance.below(12)) {
      case 0:
        return this.#account(merchantId, at);
      case 1:
        return given.cardChange(given.newCard(chance.between(1, 3), { merchantId }));
      case 2:
        return this.#replayed(merchantId, at);
      case 3:
      case 4:
      case 5:
        return this.#moved(merchantId, at);
      case 6:
        return this.#parked(merchantId, at);
      default:
        return this.#payment(merchantId, at);
    }
  }

  #payment(merchantId: MerchantId, at: Change["at"]): Change {
    const { chance } = this;
    const number = chance.between(1, 9);
    const known = this.payments.get(`${merchantId} ${number}`);
    const use = chance.happens(300)
      ? { cardUse: { tokenDigest: given.tokenDigest(chance.between(1, 3)), at } }
      : {};
    const about = { at, ...this.#reported(given.paymentId(number)), ...use };
    if (known === undefined || chance.happens(50)) {
      const fresh = given.newPayment(number, { merchantId });
      const order = { ...fresh.order, storedCredential: undefined };
      // The code may be another payment's, the id an existing one.
      const payment = {
        ...fresh,
        order: chance.happens(150) ? { ...order, code: `order-${chance.between(1, 9)}` } : order,
      };
      const card = chance.happens(100)
        ? {
            card: {
              next: given.newCard(chance.between(1, 3), { merchantId }),
              replaces: undefined,
            },
          }
        : {};
      return given.paymentChange(payment, { ...about, ...card });
    }
    const next = given.paidNext(known, { version: known.version + (chance.happens(100) ? 2 : 1) });
    if (chance.happens(150)) return given.paymentChange({ ...next, reroutedTo: "other" }, about);
    if (!chance.happens(200))
      return given.paymentChange({ ...next, refunded: 0n, refunds: [] }, about);
    const refunds = [
      given.newRefund(chance.between(1, 12), { code: `refund-${chance.between(1, 4)}` }),
    ];
    return given.paymentChange(
      { ...given.refundedNext(next, refunds), version: next.version },
      about,
    );
  }

  #reported(paymentId: Payment["id"]): Partial<Change> {
    const { chance } = this;
    if (chance.happens(300)) return {};
    const kinds = (["update", "refund", "chargeback"] as const).slice(0, chance.between(1, 3));
    const notifications = kinds.map((kind) => ({ kind, paymentId }));
    const chosen = endpoints.filter(() => chance.happens(400));
    return chosen.length === 0
      ? { notifications }
      : { notifications, endpoints: chosen, batchFor: chosen.filter(() => chance.happens(300)) };
  }

  /**
   * Changes of the dispatcher: one delivery or several, some of them in a version that another
   * change has replaced.
   */
  #moved(merchantId: MerchantId, at: Change["at"]): Change | undefined {
    const { chance } = this;
    const own = this.deliveries.filter((each) => each.merchantId === merchantId);
    if (own.length === 0) return undefined;
    const different = new Map(
      Array.from({ length: chance.between(1, 4) }, () => this.#one(own)).map((each) => [
        `${each.number} ${each.endpoint}`,
        each,
      ]),
    );
    const off = chance.happens(100) ? this.#one([-1, 1]) : 0;
    const deliveries = [...different.values()].map((each) => {
      const version = Math.max(1, each.version + off);
      const next: Delivery = {
        ...each,
        version: version + 1,
        state: this.#one(["waiting", "delivered", "failed", "delivered"] as const),
        dueAt: instant(start + chance.below(900)),
        attempts: each.attempts + 1,
        outcome: this.#one(["200", "500", undefined]),
        inOrder: !chance.happens(200),
        message: chance.happens(200) ? each.number : each.message,
      };
      return { next, replaces: version };
    });
    return { merchantId, at, facts: [], entries: [], notifications: [], deliveries };
  }

  /** An earlier notification, for an endpoint that has not received it. */
  #replayed(merchantId: MerchantId, at: Change["at"]): Change | undefined {
    const own = this.deliveries.filter((each) => each.merchantId === merchantId);
    if (own.length === 0) return undefined;
    const { number, paymentId, kind } = this.#one(own);
    const next = newDelivery(
      { merchantId, endpoint: this.#one(endpoints), number, paymentId, kind },
      at,
    );
    return {
      merchantId,
      at,
      facts: [],
      entries: [],
      notifications: [],
      deliveries: [{ next, replaces: undefined }],
    };
  }

  #account(merchantId: MerchantId, at: Change["at"]): Change {
    const version = (this.accounts.get(merchantId) ?? 0) + (this.chance.happens(100) ? 2 : 1);
    return { ...given.accountChange(given.newAccount(merchantId, { version }), []), at };
  }

  #parked(merchantId: MerchantId, at: Change["at"]): Change {
    const parking = {
      queue: queueOf(this.#one(endpoints)),
      until: instant(start + this.chance.below(2_000)),
      accountVersion: this.accounts.get(merchantId) ?? 1,
    };
    return { merchantId, at, facts: [], entries: [], notifications: [], parking };
  }

  #one<Value>(values: readonly Value[]): Value {
    return values[this.chance.below(values.length)] as Value;
  }
}

/**
 * Writes to its own database as a node does: batches by the function, one session for all of them.
 */
class Writer {
  readonly url: string;
  readonly client: Client;

  private constructor(url: string, client: Client) {
    this.url = url;
    this.client = client;
  }

  static async open(url: string): Promise<Writer> {
    const client = new Client({ connectionString: url });
    await client.connect();
    return new Writer(url, client);
  }

  /** All at once, in runs where possible. */
  async together(messages: readonly BatchMessage[]): Promise<readonly string[]> {
    return this.#write(batchOf(messages));
  }

  /** In one batch, but each as a separate part. */
  async apart(messages: readonly BatchMessage[]): Promise<readonly string[]> {
    const merchantsOf = [...new Set(messages.map(({ merchant }) => merchant))];
    return this.#write(
      `{"merchants":${JSON.stringify(merchantsOf)},"parts":[${messages.map(({ json }) => json).join(",")}]}`,
    );
  }

  async #write(batch: string): Promise<readonly string[]> {
    const { rows } = await this.client.query<{ readonly answer: string }>(
      "SELECT write_batch_2($1) AS answer",
      [batch],
    );
    return (rows[0]?.answer ?? "").split(" ");
  }
}

/**
 * Every row of every table that a batch writes, in a fixed order; the values of the sequence as
 * ranks, since a run draws them table by table.
 */
async function rowsOf(url: string): Promise<readonly string[]> {
  const ranked: Readonly<Record<string, string>> = {
    payment: "no",
    due_payment: "no",
    outbox: "sequence",
    card: "no",
  };
  const tables =
    "account account_key card delivery due_delivery due_merchant due_payment due_queue history merchant named_request outbox payment refund".split(
      " ",
    );
  const lines: string[] = [];
  for (const table of tables) {
    const column = ranked[table];
    const row =
      column === undefined
        ? "to_jsonb(each)"
        : `to_jsonb(each) || jsonb_build_object('${column}', rank() OVER (ORDER BY ${column}))`;
    const rows = await query<{ readonly line: string }>(
      url,
      `SELECT '${table} ' || (${row})::text AS line FROM ${table} AS each`,
    );
    lines.push(...rows.map(({ line }) => line).toSorted());
  }
  return lines;
}

test(
  "batches of all kinds of changes, written in runs and change by change, have the same answers and leave the same rows",
  { skip },
  async (context) => {
    assert.ok(databases !== undefined);
    const seen = new Map<string, number>();
    const count = (word: string, times = 1): void =>
      void seen.set(word, (seen.get(word) ?? 0) + times);
    for (let seed = 1; seed <= 2; seed += 1) {
      const runs: Writer = await Writer.open(await databases.copy());
      const single: Writer = await Writer.open(await databases.copy());
      context.after(() => Promise.all([runs, single].map(({ client }) => client.end())));
      const batches = new Batches(seed);
      for (let step = 0; step < 80; step += 1) {
        const changes = movesFirst(
          batches.next().map((change) => ({ change, message: batchMessageOf(messageOf(change)) })),
        );
        if (changes.length === 0) continue;
        const messages = changes.map(({ message }) => message);
        const answers = await runs.together(messages);
        assert.deepEqual(answers, await single.apart(messages), `seed ${seed}, step ${step}`);
        for (const part of ["run", "moves"])
          if (batchOf(messages).includes(`{"${part}"`)) count(part);
        for (const [index, { change, message }] of changes.entries()) {
          count(`${kindOf(message)} ${answers[index]}`);
          if (answers[index] !== "committed") continue;
          const { payment, account } = change;
          if (account !== undefined) batches.accounts.set(change.merchantId, account.next.version);
          if (payment !== undefined)
            batches.payments.set(
              `${change.merchantId} ${Number(`0x${payment.next.id}`)}`,
              payment.next,
            );
        }
        batches.deliveries = await deliveriesOf(runs.client);
        if (step % 20 === 19)
          assert.deepEqual(
            await rowsOf(runs.url),
            await rowsOf(single.url),
            `seed ${seed}, step ${step}`,
          );
      }
      assert.ok((await rowsOf(runs.url)).length > 1_000, "control: there is something to compare");
      const parked = await query(
        runs.url,
        "SELECT 1 FROM due_queue WHERE parked_until IS NOT NULL",
      );
      count("parked", parked.length);
      await query(runs.url, "UPDATE due_queue SET parked_until = NULL, due_at = first_at");
      await query(
        runs.url,
        "UPDATE due_merchant SET due_at = (SELECT min(due_at) FROM due_queue WHERE due_queue.merchant = due_merchant.merchant)",
      );
      const { held, expected, blocked } = await dueTables(runs.url);
      assert.deepEqual(held, expected);
      count("blocked", blocked);
    }
    for (const word of expectedOften) {
      assert.ok(
        (seen.get(word) ?? 0) > 2,
        `control: ${word} comes up, ${seen.get(word) ?? 0} times`,
      );
    }
  },
);

/**
 * What the batches must contain: parts, table contents, and the kinds of changes with their
 * answers.
 */
const expectedOften = [
  "run",
  "moves",
  "parked",
  "blocked",
  "plain committed",
  "plain stale",
  "plain payment_code",
  "plain payment_id",
  "move committed",
  "move stale",
  "other committed",
  "other stale",
  "other refund_id",
  "other refund_code",
];

function kindOf({ plain, isMove }: BatchMessage): string {
  if (isMove) return "move";
  return plain === undefined ? "other" : "plain";
}

async function deliveriesOf(client: Client): Promise<readonly Delivery[]> {
  const { rows } = await client.query<
    Omit<Delivery, "number"> & { readonly number: string; readonly [column: string]: unknown }
  >(
    `SELECT encode(merchant, 'hex') AS "merchantId", endpoint, number, encode(payment, 'hex') AS "paymentId", kind, version, state,
       asked_at::float8 AS "requestedAt", due_at::float8 AS "dueAt", attempts, outcome, in_order = 1 AS "inOrder", message::float8 AS message
     FROM delivery ORDER BY merchant, number, endpoint`,
  );
  return rows.map((row) => ({
    ...row,
    number: Number(row.number),
    outcome: row.outcome ?? undefined,
    message: row.message ?? undefined,
  }));
}
