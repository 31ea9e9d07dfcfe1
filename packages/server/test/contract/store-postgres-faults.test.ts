import assert from "node:assert/strict";
import { after, describe, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import type { MerchantId } from "../../src/kernel/ids.ts";
import type { PostgresRefusal } from "../../src/stores/postgres/open-error.ts";
import type { StoreError } from "../../src/stores/store.ts";
import { type BatchFault, PostgresAddress } from "../support/postgres-address.ts";
import {
  holdRows,
  openStoreOn,
  query,
  sessionsOf,
  TestDatabases,
  testUrl,
} from "../postgres/databases.ts";
import * as given from "./store-fixtures.ts";
import { until } from "../until.ts";

const { merchantA, merchantB } = given;

if (testUrl === undefined) {
  test(
    "the PostgreSQL store and a network that fails",
    { skip: "COFRE_TEST_POSTGRES_URL names no server" },
    () => undefined,
  );
} else {
  const databases = new TestDatabases(testUrl);
  after(() => databases.drop());
  describe("the PostgreSQL store", { concurrency: 4 }, () => describeFaults(databases));
}

function describeFaults(databases: TestDatabases): void {
  /** A store behind an address that injects faults, with one payment in it. */
  async function storeBehindAddress(context: TestContext) {
    const url = await databases.copy();
    const address = await PostgresAddress.start(
      Number(new URL(url).port === "" ? "5432" : new URL(url).port),
    );
    const through = new URL(url);
    through.hostname = "127.0.0.1";
    through.port = String(address.port);
    const store = await openStoreOn(through.href);
    context.after(async () => {
      await store.close();
      await address[Symbol.asyncDispose]();
    });
    await store.commit(given.paymentChange(given.newPayment(1)));
    return { url, address, store };
  }

  for (const [fault, isWritten] of [
    ["drop_answer", true],
    ["never_commit", false],
  ] as const satisfies readonly (readonly [BatchFault, boolean])[]) {
    test(`${fault}: the change is commit_unknown, ${isWritten ? "and written" : "and not written"}`, async (context) => {
      const { address, store } = await storeBehindAddress(context);
      address.faultOf = () => fault;
      await assert.rejects(store.commit(given.paymentChange(given.newPayment(2))), {
        name: "StoreError",
        code: "commit_unknown",
      });
      address.faultOf = () => "none";
      assert.equal(
        (await store.paymentById(merchantA, given.paymentId(2))) !== undefined,
        isWritten,
      );
      const again = await store.commit(given.paymentChange(given.newPayment(2)));
      assert.equal(again.outcome, isWritten ? "duplicate" : "committed");
    });
  }

  describe("two batches under way", { concurrency: 4 }, () => {
    /** As many as are sent as two batches. */
    const changes = Array.from({ length: 60 }, (_, index) =>
      given.paymentChange(given.newPayment(index + 2)),
    );
    const codeOf = (
      result: PromiseSettledResult<{ readonly outcome: string }>,
    ): string | undefined =>
      result.status === "fulfilled"
        ? result.value.outcome
        : (result.reason as { code?: string }).code;

    test("are two commits, and the store closes when both are answered", async (context) => {
      const { url, store } = await storeBehindAddress(context);
      const before = store.stats();
      const committed = Promise.all(changes.map((change) => store.commit(change)));
      await store.close();
      assert.deepEqual(
        new Set((await committed).map(({ outcome }) => outcome)),
        new Set(["committed"]),
      );
      assert.equal(store.stats().commits - before.commits, 2);
      const [row] = await query<{ readonly n: number }>(
        url,
        "SELECT count(*)::integer AS n FROM payment",
      );
      assert.equal(row?.n, 1 + changes.length);
    });

    /** A batch takes the server a tenth of a second or two. */
    const slowInserts = (url: string): Promise<unknown> =>
      query(
        url,
        `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END $$;
        CREATE TRIGGER slow BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION slow()`,
      );

    for (const [fault, turn] of [
      ["drop_answer", 1],
      ["drop_answer", 2],
      ["never_commit", 1],
      ["never_commit", 2],
      ["silence", 1],
    ] as const) {
      test(`${fault} of batch ${turn}: the result of each is true`, async (context) => {
        const { url, address, store } = await storeBehindAddress(context);
        await slowInserts(url);
        const earlier = await sessionsOf(url);
        let batches = 0;
        address.faultOf = () => ((batches += 1) === turn ? fault : "none");
        const notified = (
          await Promise.allSettled(changes.map((change) => store.commit(change)))
        ).map(codeOf);
        const unknown = notified.filter((code) => code === "commit_unknown").length;
        // The part of the first answer that the address has not yet forwarded is lost with the
        // connection.
        assert.ok(unknown === 60 || (turn === 2 && unknown === 28), `${unknown} are unknown`);
        address.faultOf = () => "none";
        // The batch that was not faulted may still run at the server when the store abandons the
        // session.
        const isOver = async (): Promise<boolean> =>
          !(await sessionsOf(url)).some((session) => earlier.includes(session));
        await until("the sessions before have ended", isOver);
        for (const [index, change] of changes.entries()) {
          const isThere =
            (await store.paymentById(merchantA, given.paymentId(index + 2))) !== undefined;
          if (notified[index] === "committed") assert.ok(isThere);
          assert.equal((await store.commit(change)).outcome, isThere ? "duplicate" : "committed");
        }
      });
    }

    test("of a merchant whose rows are held: neither is written, and that is said of both", async (context) => {
      const { url, store } = await storeBehindAddress(context);
      const holder = new Client({ connectionString: url });
      await holder.connect();
      try {
        await holder.query("BEGIN");
        await holder.query("SELECT 1 FROM merchant WHERE merchant = decode($1, 'hex') FOR UPDATE", [
          merchantA,
        ]);
        const notified = (
          await Promise.allSettled(changes.map((change) => store.commit(change)))
        ).map(codeOf);
        // Not commit_unknown: the second waits for the same lock as the first, and then as long
        // again, which is still less than the timeout for silence.
        assert.deepEqual(new Set(notified), new Set(["unavailable"]));
      } finally {
        await holder.query("ROLLBACK");
        await holder.end();
      }
      for (const change of changes)
        assert.deepEqual(await store.commit(change), { outcome: "committed" });
    });

    test("of which the first is refused in passing: it is written behind the second", async (context) => {
      const { url, store } = await storeBehindAddress(context);
      await query(
        url,
        `CREATE SEQUENCE refused; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('refused') = 1 THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF;
          RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION refuse()`,
      );
      const notified = (
        await Promise.allSettled(changes.map((change) => store.commit(change)))
      ).map(codeOf);
      assert.deepEqual(new Set(notified), new Set(["committed"]));
      const numbers = await query<{ readonly merchant: string; readonly gaps: number }>(
        url,
        "SELECT encode(merchant, 'hex') AS merchant, (max(number) - count(*))::integer AS gaps FROM outbox GROUP BY merchant",
      );
      for (const { gaps } of numbers) assert.equal(gaps, 0);
    });
  });

  test("a server that is gone without a word: what is under way ends, and the next ones have new sessions", async (context) => {
    const { address, store } = await storeBehindAddress(context);
    await store.paymentById(merchantA, given.paymentId(1));
    address.vanish();
    await Promise.all([
      assert.rejects(store.commit(given.paymentChange(given.newPayment(2))), {
        name: "StoreError",
        code: "commit_unknown",
      }),
      assert.rejects(store.paymentById(merchantA, given.paymentId(1)), {
        name: "StoreError",
        code: "unavailable",
      }),
    ]);
    assert.equal(store.isWriting, false);
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(3))), {
      outcome: "committed",
    });
    assert.ok((await store.paymentById(merchantA, given.paymentId(1))) !== undefined);
  });

  test("a session that its server no longer has is given up before one that is only silent", async (context) => {
    const [gone, silent] = [await storeBehindAddress(context), await storeBehindAddress(context)];
    silent.address.faultOf = () => "silence";
    const order: string[] = [];
    const fails = async (name: string, { store }: typeof gone): Promise<void> => {
      await assert.rejects(store.commit(given.paymentChange(given.newPayment(2))), {
        name: "StoreError",
        code: "commit_unknown",
      });
      order.push(name);
    };
    const waitsForSilence = fails("silent", silent);
    // With the same timeout it would come second.
    await sleep(3_000);
    gone.address.vanish();
    await fails("gone", gone);
    assert.deepEqual(order, ["gone"]);
    await waitsForSilence;
  });

  test("a store whose server is gone without a word closes", async (context) => {
    const { address, store } = await storeBehindAddress(context);
    await store.paymentById(merchantA, given.paymentId(1));
    address.vanish();
    await store.close();
    await assert.rejects(store.paymentById(merchantA, given.paymentId(1)), {
      name: "StoreError",
      code: "closed",
    });
  });

  test("an answer that never comes over a connection that stays: commit_unknown", async (context) => {
    const { address, store } = await storeBehindAddress(context);
    address.faultOf = () => "silence";
    await assert.rejects(store.commit(given.paymentChange(given.newPayment(2))), {
      name: "StoreError",
      code: "commit_unknown",
    });
    address.faultOf = () => "none";
    assert.equal(
      (await store.commit(given.paymentChange(given.newPayment(2)))).outcome,
      "duplicate",
    );
  });

  test("those who need a session to write at once make one", async (context) => {
    const { url, address, store } = await storeBehindAddress(context);
    address.reset();
    assert.equal(await store.testWrite(), false, "the session is found gone");
    const change = given.paymentChange(given.newPayment(2));
    assert.deepEqual(
      await Promise.all([store.testWrite(), store.testWrite(), store.commit(change)]),
      [true, true, { outcome: "committed" }],
    );
    assert.equal(await store.testWrite(), true);
    const sessions =
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cofre cofre_gateway'";
    // The server takes a moment to notice the reset connections.
    await until(
      "the sessions that were reset have ended",
      async () => (await query(url, sessions)).length <= 1,
    );
    assert.equal((await query(url, sessions)).length, 1);
  });

  test("locked rows keep the changes of their merchant from being written, and no other's", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const ofB = (number: number) =>
      given.paymentChange(given.newPayment(number, { merchantId: merchantB }));
    await Promise.all([
      store.commit(given.paymentChange(given.newPayment(1))),
      store.commit(ofB(2)),
    ]);
    const holder = new Client({ connectionString: url });
    await holder.connect();
    try {
      await holder.query("BEGIN");
      await holder.query("SELECT 1 FROM merchant WHERE merchant = decode($1, 'hex') FOR UPDATE", [
        merchantA,
      ]);
      const numbers = Array.from({ length: 10 }, (_, index) => 2 * index + 3);
      const began = performance.now();
      const results = await Promise.allSettled(
        numbers.flatMap((number) => [
          store.commit(given.paymentChange(given.newPayment(number))),
          store.commit(ofB(number + 1)),
        ]),
      );
      for (const [index, result] of results.entries()) {
        if (index % 2 === 1)
          assert.deepEqual(result, { status: "fulfilled", value: { outcome: "committed" } });
        else
          assert.ok(
            result.status === "rejected" &&
              (result.reason as { code?: string }).code === "unavailable",
          );
      }
      assert.equal(await store.paymentById(merchantA, given.paymentId(3)), undefined);
      context.diagnostic(
        `ms that ten changes of the held merchant took: ${Math.round(performance.now() - began)}`,
      );
    } finally {
      await holder.query("ROLLBACK");
      await holder.end();
    }
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(3))), {
      outcome: "committed",
    });
  });

  test("more changes than may wait are refused at once; those that wait are written, and others after them", async (context) => {
    const store = await openStoreOn(await databases.copy(), { maxQueued: 8 });
    context.after(() => store.close());
    const commit = (number: number) => store.commit(given.paymentChange(given.newPayment(number)));
    for (let time = 0; time < 2; time += 1) {
      const waiting = Array.from({ length: 8 }, (_, index) => commit(10 * time + index));
      await assert.rejects(commit(10 * time + 9), { name: "StoreError", code: "overloaded" });
      assert.deepEqual(
        new Set((await Promise.all(waiting)).map(({ outcome }) => outcome)),
        new Set(["committed"]),
      );
    }
  });

  test("of merchants whose rows are held a quarter of those may wait, and no more", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url, { maxQueued: 8 });
    context.after(() => store.close());
    const commit = (number: number) => store.commit(given.paymentChange(given.newPayment(number)));
    await commit(1);
    const holder = await holdRows(url, "merchant");
    const [first, second, third] = [commit(2), commit(3), commit(4)];
    const waits = Promise.all([first, second]);
    await assert.rejects(third, { name: "StoreError", code: "unavailable" });
    await assert.rejects(commit(5), { name: "StoreError", code: "unavailable" });
    await holder.letGo();
    assert.deepEqual(await waits, [{ outcome: "committed" }, { outcome: "committed" }]);
    assert.deepEqual(await commit(4), { outcome: "committed" });
  });

  test("closing waits for what is written apart, and leaves no session behind", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const commit = (number: number) => store.commit(given.paymentChange(given.newPayment(number)));
    await commit(1);
    const holder = await holdRows(url, "merchant");
    const waiting = Promise.all([commit(2), commit(3)]);
    await until(
      "they have a session of their own",
      async () => (await sessionsOf(url)).length >= 2,
    );
    assert.equal((await sessionsOf(url)).length, 2, "they have a session of their own");
    const closed = store.close();
    await holder.letGo();
    assert.deepEqual(await waiting, [{ outcome: "committed" }, { outcome: "committed" }]);
    await closed;
    await until("no session is left", async () => (await sessionsOf(url)).length === 0);
  });

  test("twelve merchants whose rows are held keep the others waiting for a second or two, and none from then on", async (context) => {
    const url = await databases.copy();
    const refused: boolean[] = [];
    const store = await openStoreOn(url, { onWriting: (works) => refused.push(works) });
    context.after(() => store.close());
    const merchants = Array.from(
      { length: 12 },
      (_, index) => (0x10 + index).toString(16).padStart(8, "0") as MerchantId,
    );
    let numbers = 0;
    const commit = (merchantId: MerchantId) =>
      store.commit(given.paymentChange(given.newPayment((numbers += 1), { merchantId })));
    await Promise.all([...merchants, merchantB].map(commit));
    const sessions =
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cofre cofre_gateway'";
    const timed = async (work: Promise<unknown>): Promise<number> => {
      const began = performance.now();
      await work;
      return performance.now() - began;
    };
    const holder = new Client({ connectionString: url });
    await holder.connect();
    try {
      await holder.query("BEGIN");
      for (const merchant of merchants) {
        await holder.query("SELECT 1 FROM merchant WHERE merchant = decode($1, 'hex') FOR UPDATE", [
          merchant,
        ]);
      }
      const theirs = merchants.map((merchant) =>
        timed(assert.rejects(commit(merchant), { name: "StoreError", code: "unavailable" })),
      );
      const first = await timed(commit(merchantB));
      assert.ok(first < 4_000, `the others waited ${Math.round(first)} ms`);
      // From now on the others continue, whatever arrives for the blocked ones.
      const later: number[] = [];
      const more: Promise<unknown>[] = [];
      for (let time = 0; time < 20; time += 1) {
        more.push(
          ...merchants.map((merchant) => assert.rejects(commit(merchant), { code: "unavailable" })),
        );
        later.push(await timed(commit(merchantB)));
      }
      const slowest = Math.max(...later);
      assert.ok(slowest < 1_000, `the others waited ${Math.round(slowest)} ms`);
      assert.ok((await query(url, sessions)).length <= 9);
      const waited = Math.max(...(await Promise.all(theirs)));
      context.diagnostic(
        `ms: others at first ${Math.round(first)}, later ${Math.round(slowest)}; those that were held ${Math.round(waited)}`,
      );
      assert.ok(waited < 20_000);
      await Promise.all(more);
      assert.deepEqual(
        refused,
        [],
        "what one merchant's rows keep from being written is no failure of the store's",
      );
    } finally {
      await holder.query("ROLLBACK");
      await holder.end();
    }
    for (const merchant of merchants)
      assert.deepEqual(await commit(merchant), { outcome: "committed" });
    // The extra sessions are closed when nothing is blocked any more.
    await until(
      "the sessions beside have ended",
      async () => (await query(url, sessions)).length <= 1,
    );
    assert.equal((await query(url, sessions)).length, 1);
  });

  /**
   * The server's error, returned three times, and the resulting code; undefined: written at the
   * fourth attempt. A change that waits for another session's lock is tried twice: with all others,
   * and alone.
   */
  const refusals: readonly (readonly [
    sqlstate: string,
    code: StoreError["code"] | undefined,
    refusals?: number,
  ])[] = [
    ["40001", undefined],
    ["40P01", undefined],
    ["40003", "commit_unknown"],
    ["55P03", "unavailable", 2],
    ["57014", "unavailable", 2],
    ["53100", "unavailable"],
    ["25006", "unavailable"],
    ["57P01", "commit_unknown"],
    ["58030", "commit_unknown"],
    ["XX000", "commit_unknown"],
  ];
  for (const [sqlstate, code, times = 3] of refusals) {
    test(`SQLSTATE ${sqlstate}, three times: ${code ?? "written at the fourth"}`, async (context) => {
      const url = await databases.copy();
      await query(
        url,
        `CREATE SEQUENCE refused; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          IF nextval('refused') <= 3 THEN RAISE EXCEPTION USING ERRCODE = '${sqlstate}'; END IF;
          RETURN NEW; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION refuse()`,
      );
      const store = await openStoreOn(url);
      context.after(() => store.close());
      const change = given.paymentChange(given.newPayment(1));
      const refused = code === undefined ? 0 : times;
      // A lock on one merchant's rows is not a failure of the store.
      const isHeldUp = times === 2;
      for (let time = 0; time < refused; time += 1) {
        await assert.rejects(store.commit(change), { name: "StoreError", code });
        assert.equal(await store.paymentById(merchantA, given.paymentId(1)), undefined);
        assert.equal(store.isWriting, isHeldUp);
      }
      assert.deepEqual(await store.commit(change), { outcome: "committed" });
      assert.equal(store.isWriting, true);
    });
  }

  test("SQLSTATE 40001, six times: unavailable after five tries, and written at the second of the next", async (context) => {
    const url = await databases.copy();
    await query(
      url,
      `CREATE SEQUENCE refused; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('refused') <= 6 THEN RAISE EXCEPTION USING ERRCODE = '40001'; END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION refuse()`,
    );
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const change = given.paymentChange(given.newPayment(1));
    await assert.rejects(store.commit(change), { name: "StoreError", code: "unavailable" });
    const [row] = await query<{ readonly tries: number }>(
      url,
      "SELECT last_value::integer AS tries FROM refused",
    );
    assert.equal(row?.tries, 5);
    assert.deepEqual(await store.commit(change), { outcome: "committed" });
  });

  test("a server that warns of what it says that it has written is not believed", async (context) => {
    const url = await databases.copy();
    // Like a commit that no longer waits for its synchronous standby: the work is done, and the
    // answer is a normal result.
    await query(
      url,
      `CREATE SEQUENCE warned; ALTER FUNCTION lock_merchants_1(bytea[]) RENAME TO locks_merchants;
      CREATE FUNCTION lock_merchants_1(merchants bytea[]) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        PERFORM locks_merchants(merchants);
        IF nextval('warned') <= 2 THEN RAISE WARNING 'not at the standby'; END IF; END $$`,
    );
    const notified: boolean[] = [];
    const store = await openStoreOn(url, { onWriting: (works) => notified.push(works) });
    context.after(() => store.close());
    const change = given.paymentChange(given.newPayment(1));
    assert.equal(await store.testWrite(), false);
    await assert.rejects(store.commit(change), { name: "StoreError", code: "commit_unknown" });
    assert.ok((await store.paymentById(merchantA, given.paymentId(1))) !== undefined);
    assert.deepEqual([store.isWriting, store.stats().commits], [false, 0]);
    assert.equal((await store.commit(change)).outcome, "duplicate");
    assert.equal(store.isWriting, false, "what was only read says nothing of writing");
    assert.equal(await store.testWrite(), true);
    assert.deepEqual(
      [store.stats().commits, notified],
      [0, [false, true]],
      "a batch that wrote nothing is no commit",
    );
  });

  test("of a batch that is tried change by change nothing waits for a session of its own when the session goes", async (context) => {
    const url = await databases.copy();
    await query(
      url,
      `CREATE SEQUENCE inserted; CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE time bigint := nextval('inserted'); BEGIN
        IF time = 1 THEN RAISE EXCEPTION USING ERRCODE = '23514'; END IF;
        IF time = 2 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
        RETURN NEW; END $$;
      CREATE TRIGGER fail BEFORE INSERT ON payment FOR EACH ROW EXECUTE FUNCTION fail()`,
    );
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const changes = [1, 2, 3, 4].map((number) => given.paymentChange(given.newPayment(number)));
    const results = await Promise.allSettled(changes.map((change) => store.commit(change)));
    assert.deepEqual(
      results.map((result) =>
        result.status === "rejected"
          ? (result.reason as { code?: string }).code
          : result.value.outcome,
      ),
      ["commit_unknown", "unavailable", "unavailable", "unavailable"],
    );
    for (const change of changes)
      assert.deepEqual(await store.commit(change), { outcome: "committed" });
  });

  test("what reads follows the writer to the server that it has come to", async (context) => {
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const vault =
      "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'cofre cofre_vault'";
    await store.cardByToken(merchantA, given.tokenDigest(1));
    const [before] = await query<{ readonly pid: number }>(url, vault);
    await query(
      url,
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'cofre cofre_gateway' AND datname = current_database()",
    );
    await store.testWrite();
    assert.equal(await store.testWrite(), true);
    await store.cardByToken(merchantA, given.tokenDigest(1));
    // The earlier session ends by itself, after its current statement.
    await until("the session before has ended", async () => (await query(url, vault)).length <= 1);
    const after = await query<{ readonly pid: number }>(url, vault);
    assert.equal(after.length, 1);
    assert.notEqual(after[0]?.pid, before?.pid);
  });

  test("a server that a start would refuse is refused in the middle too, and reported once", async (context) => {
    const url = await databases.copy();
    const name = new URL(url).pathname.slice(1);
    const notified: PostgresRefusal[] = [];
    const store = await openStoreOn(url, { onRefused: (code) => void notified.push(code) });
    context.after(() => store.close());
    const renew = (): Promise<unknown> =>
      query(
        url,
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'cofre %' AND datname = current_database()",
      );
    await query(url, `ALTER DATABASE ${name} SET synchronous_commit = 'off'`);
    await renew();
    for (let time = 0; time < 3; time += 1) assert.equal(await store.testWrite(), false);
    await assert.rejects(store.commit(given.paymentChange(given.newPayment(1))), {
      name: "StoreError",
      code: "unavailable",
    });
    assert.deepEqual(notified, ["synchronous_commit_off"]);
    await query(url, `ALTER DATABASE ${name} RESET synchronous_commit`);
    assert.equal(await store.testWrite(), true);
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(1))), {
      outcome: "committed",
    });
  });

  test("a session that takes no changes is given up for one that does", async (context) => {
    const url = await databases.copy();
    const name = new URL(url).pathname.slice(1);
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await query(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    await query(
      url,
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name LIKE 'cofre %' AND datname = current_database()",
    );
    await assert.rejects(store.commit(given.paymentChange(given.newPayment(1))));
    await assert.rejects(store.commit(given.paymentChange(given.newPayment(1))), {
      name: "StoreError",
      code: "unavailable",
    });
    await query(
      url,
      `BEGIN READ WRITE; ALTER DATABASE ${name} RESET default_transaction_read_only; COMMIT`,
    );
    assert.deepEqual(await store.commit(given.paymentChange(given.newPayment(1))), {
      outcome: "committed",
    });
  });
}
