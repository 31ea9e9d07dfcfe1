import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { after as afterAll, describe, test, type TestContext } from "node:test";
import { pathToFileURL } from "node:url";
import { Client } from "pg";
import { BrokenInvariant } from "../../src/kernel/assert.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { instant, type Instant } from "../../src/kernel/instant.ts";
import { systemClock } from "../../src/kernel/system-clock.ts";
import { queueOf, urlEndpoint } from "../../src/notification/endpoint.ts";
import {
  type Delivery,
  type EndpointId,
  type EndpointKey,
  newDelivery,
  openMessage,
} from "../../src/notification/events.ts";
import type { Payment } from "../../src/payment/payment.ts";
import { messageOf } from "../../src/stores/change-message.ts";
import type { Change } from "../../src/stores/change.ts";
import { openEmbeddedStore } from "../../src/stores/embedded/embedded-store.ts";
import { createMemoryStore } from "../../src/stores/memory/memory-store.ts";
import { batchMessageOf } from "../../src/stores/postgres/batch-message.ts";
import type * as Secrets from "../../src/kernel/secret.ts";
import type * as PostgresStores from "../../src/stores/postgres/postgres-store.ts";
import type { DeliverySum, DueMerchant, DueQueue, Store } from "../../src/stores/store.ts";
import { Chance } from "../support/chance.ts";
import { earlierCopy } from "../support/earlier-version.ts";
import { openStoreOn, query, TestDatabases, testUrl } from "../postgres/databases.ts";
import { dueTables } from "../postgres/due-tables.ts";
import * as given from "./store-fixtures.ts";
import { until } from "../until.ts";

const { merchantA, merchantB, start } = given;
const committed = { outcome: "committed" };
const stale = { outcome: "stale" };
const [shop, books] = ["shop", "books"] as EndpointId[] as [EndpointId, EndpointId];
const soon = instant(start + 900);

const databases = testUrl === undefined ? undefined : new TestDatabases(testUrl);
afterAll(() => databases?.drop());

const stores: readonly (readonly [string, () => Promise<Store>])[] = [
  ["the memory store", async () => createMemoryStore()],
  ["the embedded store", () => openEmbeddedStore({ file: ":memory:" })],
  ...(databases === undefined
    ? []
    : [["the PostgreSQL store", () => databases.openStore()] as const]),
];

/** The payment's next version, with a notification to the endpoints. */
function notifying(
  payment: Payment,
  endpoints: readonly EndpointId[] = [shop],
  over: Partial<Change> = {},
): Change {
  const next = { ...payment, version: payment.version + 1 };
  return given.paymentChange(next, {
    at: soon,
    notifications: [{ kind: "update", paymentId: payment.id }],
    endpoints,
    ...over,
  });
}

function moved(
  next: Delivery,
  replaces = next.version === 1 ? undefined : next.version - 1,
  merchantId = next.merchantId,
): Change {
  return {
    merchantId,
    at: soon,
    facts: [],
    entries: [],
    notifications: [],
    deliveries: [{ next, replaces }],
  };
}

function after(delivery: Delivery, over: Partial<Delivery>): Delivery {
  return { ...delivery, version: delivery.version + 1, ...over };
}

function fresh(
  number: number,
  endpoint: EndpointId,
  payment: number,
  merchantId = merchantA,
): Delivery {
  return newDelivery(
    { merchantId, endpoint, number, paymentId: given.paymentId(payment), kind: "update" },
    soon,
  );
}

/** Each queue with due deliveries, with its merchant. */
async function queuesDue(store: Store, now: Instant): Promise<readonly string[]> {
  const merchants = await store.merchantsDue(now, undefined, 100);
  const queues = await Promise.all(
    merchants.map(async ({ merchantId }) =>
      (await store.queuesDue(merchantId, now, undefined, 100)).map(
        ({ queue }) => `${merchantId} ${queue}`,
      ),
    ),
  );
  return queues.flat();
}

for (const [name, open] of stores) {
  const opened = async (context: TestContext): Promise<Store> => {
    const store = await open();
    context.after(() => store.close());
    return store;
  };

  /** Payments 1 to `count` of the merchant, with one notification each. */
  const notify = async (
    store: Store,
    count: number,
    endpoints: readonly EndpointId[],
    merchantId = merchantA,
  ): Promise<void> => {
    for (let number = 1; number <= count; number += 1) {
      const payment = given.newPayment(number, { merchantId });
      await store.commit(given.paymentChange(payment));
      assert.deepEqual(await store.commit(notifying(payment, endpoints)), committed);
    }
  };
  const only = async (
    store: Store,
    number: number,
    endpoint: EndpointId = shop,
  ): Promise<Delivery> => {
    const found = (await store.deliveriesOf(merchantA, number, 10)).find(
      (each) => each.number === number && each.endpoint === endpoint,
    );
    assert.ok(found !== undefined);
    return found;
  };

  describe(`${name} keeps notifications and deliveries`, () => {
    test("what is not there reads as empty", async (context) => {
      const store = await opened(context);
      assert.deepEqual(await store.notificationsOf(merchantA, 0, 10), []);
      assert.deepEqual(await store.notificationsOfPayment(merchantA, given.paymentId(1), 10), []);
      assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), []);
      assert.deepEqual(await queuesDue(store, soon), []);
      assert.deepEqual(
        await store.deliveriesDue({ merchantId: merchantA, queue: queueOf(shop) }, soon, 10),
        [],
      );
    });

    test("each merchant's notifications are numbered from 1 without a gap, whatever others and failed changes do", async (context) => {
      const store = await opened(context);
      await notify(store, 2, []);
      await notify(store, 3, [], merchantB);
      assert.deepEqual(await store.commit(notifying(given.newPayment(1))), stale);
      const again = await store.paymentById(merchantA, given.paymentId(1));
      assert.ok(again !== undefined);
      const two = [
        { kind: "refund", paymentId: again.id },
        { kind: "chargeback", paymentId: again.id },
      ] as const;
      await store.commit(notifying(again, [], { notifications: two }));

      const rows = await store.notificationsOf(merchantA, 0, 10);
      assert.deepEqual(
        rows.map(({ number, kind, version }) => [number, kind, version]),
        [
          [1, "update", 2],
          [2, "update", 2],
          [3, "refund", 3],
          [4, "chargeback", 3],
        ],
      );
      assert.deepEqual(await store.notificationsOf(merchantA, 2, 1), rows.slice(2, 3));
      assert.deepEqual(await store.notificationsOf(merchantA, 4, 10), []);
      assert.deepEqual(
        (await store.notificationsOf(merchantB, 0, 10)).map(({ number }) => number),
        [1, 2, 3],
      );
      for (const [limit, numbers] of [
        [10, [1, 3, 4]],
        [2, [3, 4]],
        [1, [4]],
      ] as const) {
        const last = await store.notificationsOfPayment(merchantA, again.id, limit);
        assert.deepEqual(
          last.map(({ number }) => number),
          numbers,
        );
      }
      assert.equal((await store.notificationsOfPayment(merchantB, again.id, 10)).length, 1);
    });

    test("a change makes one delivery of each notification for each endpoint, and none without endpoints", async (context) => {
      const store = await opened(context);
      await notify(store, 1, [shop, books]);
      await notify(store, 1, [], merchantB);

      assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), [
        fresh(1, books, 1),
        fresh(1, shop, 1),
      ]);
      assert.deepEqual(await store.deliveriesOf(merchantB, 1, 10), []);
      assert.deepEqual(await queuesDue(store, instant(soon - 1)), []);
      assert.deepEqual(await queuesDue(store, soon), [`${merchantA} books`, `${merchantA} shop`]);
      assert.deepEqual(
        await store.deliveriesDue({ merchantId: merchantA, queue: queueOf(shop) }, soon, 10),
        [fresh(1, shop, 1)],
      );
      assert.deepEqual(
        await store.deliveriesDue({ merchantId: merchantB, queue: queueOf(shop) }, soon, 10),
        [],
      );
    });

    test("a change that is not applied leaves no delivery", async (context) => {
      const store = await opened(context);
      const payment = given.newPayment(1);
      await store.commit(given.paymentChange(payment));
      assert.deepEqual(await store.commit(notifying({ ...payment, version: 7 })), stale);
      assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), []);
      assert.deepEqual(await queuesDue(store, soon), []);
    });

    test("every member of a delivery reads as it was written", async (context) => {
      const store = await opened(context);
      await notify(store, 1, [shop]);
      let delivery = fresh(1, shop, 1);
      for (const over of [
        { attempts: 1, outcome: "500", dueAt: instant(soon + 5_000) },
        { inOrder: false },
        { state: "failed", attempts: 10 },
        {
          state: "waiting",
          attempts: 0,
          requestedAt: instant(soon + 9_000),
          outcome: undefined,
          inOrder: true,
        },
        { state: "delivered", outcome: "200" },
        { message: openMessage },
        { message: 1 },
      ] as const) {
        delivery = after(delivery, over);
        assert.deepEqual(await store.commit(moved(delivery)), committed);
        assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), [delivery]);
      }
    });

    test("a delivery that was moved since is stale, and so is one that is there already; then nothing is written", async (context) => {
      const store = await opened(context);
      await notify(store, 2, [shop]);
      const [first, second] = [await only(store, 1), await only(store, 2)];
      await store.commit(moved(after(first, { attempts: 1 })));

      assert.deepEqual(await store.commit(moved(after(first, { attempts: 9 }))), stale);
      assert.deepEqual(await store.commit(moved(fresh(1, shop, 1), undefined)), stale);
      const both = [after(second, { attempts: 7 }), after(first, { attempts: 9 })].map((next) => ({
        next,
        replaces: 1,
      }));
      assert.deepEqual(await store.commit({ ...moved(second), deliveries: both }), stale);
      assert.deepEqual(
        (await store.deliveriesOf(merchantA, 1, 10)).map(({ attempts }) => attempts),
        [1, 0],
      );
    });

    test("a delivery can be added to a notification that was committed before, to an endpoint that did not receive it", async (context) => {
      const store = await opened(context);
      await notify(store, 1, [shop]);
      assert.deepEqual(await store.commit(moved(fresh(1, books, 1), undefined)), committed);
      assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), [
        fresh(1, books, 1),
        fresh(1, shop, 1),
      ]);
      assert.deepEqual(await queuesDue(store, soon), [`${merchantA} books`, `${merchantA} shop`]);
    });

    test("deliveries are listed by number and endpoint, from a number on, up to a limit, in a state if need be", async (context) => {
      const store = await opened(context);
      await notify(store, 3, [shop, books]);
      await notify(store, 3, [shop], merchantB);
      await store.commit(moved(after(await only(store, 2), { state: "failed" })));
      await store.commit(moved(after(await only(store, 2, books), { state: "delivered" })));
      const listed = async (
        ...from: [number, number, ("waiting" | "failed")?]
      ): Promise<string[]> =>
        (await store.deliveriesOf(merchantA, ...from)).map(
          ({ number, endpoint }) => `${number} ${endpoint}`,
        );

      assert.deepEqual(await listed(1, 10), [
        "1 books",
        "1 shop",
        "2 books",
        "2 shop",
        "3 books",
        "3 shop",
      ]);
      assert.deepEqual(await listed(2, 3), ["2 books", "2 shop", "3 books"]);
      assert.deepEqual(await listed(1, 10, "failed"), ["2 shop"]);
      assert.deepEqual(await listed(3, 10, "failed"), []);
      assert.deepEqual(await listed(1, 10, "waiting"), ["1 books", "1 shop", "3 books", "3 shop"]);
      assert.deepEqual(await listed(1, 1, "waiting"), ["1 books"]);
    });

    test("deliveries that ended are read by the time of their end, and are deleted unless they wait, ended later or are another merchant's", async (context) => {
      const store = await opened(context);
      await notify(store, 4, [shop]);
      await notify(store, 1, [shop], merchantB);
      const end = async (number: number, state: "delivered" | "failed", at: number) =>
        store.commit(moved(after(await only(store, number), { state, dueAt: instant(at) })));
      await end(3, "delivered", start + 3_000);
      await end(1, "failed", start + 2_000);
      await end(2, "delivered", start + 1_000);
      const ended = async (before: number, limit = 10) =>
        (await store.endedDeliveries(instant(before), limit)).map(
          ({ merchantId, endpoint, number }) => `${merchantId} ${endpoint} ${number}`,
        );
      const remove = (numbers: readonly number[], before: number, merchantId = merchantA) => {
        const deliveryDeletion = {
          deliveries: numbers.map((number) => ({ endpoint: shop, number })),
          endedBefore: instant(before),
        };
        return store.commit({
          merchantId,
          at: soon,
          facts: [],
          entries: [],
          notifications: [],
          deliveryDeletion,
        });
      };
      const left = async () =>
        (await store.deliveriesOf(merchantA, 1, 10)).map(({ number }) => number);

      assert.deepEqual(
        await ended(start + 9_000),
        [2, 1, 3].map((number) => `${merchantA} shop ${number}`),
      );
      assert.deepEqual(await ended(start + 9_000, 1), [`${merchantA} shop 2`]);
      assert.deepEqual(await ended(start + 2_000), [`${merchantA} shop 2`]);
      assert.deepEqual(
        await remove([1, 2, 3, 4, 9], start + 3_000),
        committed,
        "what stays is no conflict",
      );
      assert.deepEqual(await left(), [3, 4]);
      assert.deepEqual(
        await remove([1, 2], start + 3_000),
        committed,
        "what is gone is no conflict",
      );
      assert.equal((await store.deliveriesOf(merchantB, 1, 10)).length, 1);
      assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10, "failed"), []);
      assert.deepEqual(await queuesDue(store, soon), [`${merchantA} shop`, `${merchantB} shop`]);
      assert.equal(
        (await store.notificationsOf(merchantA, 0, 10)).length,
        4,
        "notifications remain",
      );
      assert.deepEqual(
        await store.commit(moved(fresh(1, shop, 1), undefined)),
        committed,
        "and can be delivered again",
      );
      assert.deepEqual(
        (await store.deliveriesBetween(merchantA, 1, 3, 10)).map(({ number }) => number),
        [1, 3],
      );
    });

    test("deliveries of a range of numbers are listed, up to a limit", async (context) => {
      const store = await opened(context);
      await notify(store, 3, [shop, books]);
      await notify(store, 3, [shop], merchantB);
      const between = async (first: number, last: number, limit = 10): Promise<string[]> =>
        (await store.deliveriesBetween(merchantA, first, last, limit)).map(
          ({ number, endpoint }) => `${number} ${endpoint}`,
        );
      assert.deepEqual(await between(2, 2), ["2 books", "2 shop"]);
      assert.deepEqual(await between(2, 9), ["2 books", "2 shop", "3 books", "3 shop"]);
      assert.deepEqual(await between(1, 3, 3), ["1 books", "1 shop", "2 books"]);
      assert.deepEqual(await between(4, 3), []);
    });

    test("the deliveries of several payments are summed by payment, in receivers", async (context) => {
      const store = await opened(context);
      await notify(store, 4, [shop, books]);
      await notify(store, 1, [shop], merchantB);
      const ids = [1, 2, 3, 4, 5].map((number) => given.paymentId(number));
      const sums = async (merchantId = merchantA, of = ids) =>
        (await store.deliverySums(merchantId, of)).toSorted((left, right) =>
          left.paymentId < right.paymentId ? -1 : 1,
        );
      const sum = (payment: number, over: Partial<DeliverySum>): DeliverySum => ({
        paymentId: given.paymentId(payment),
        receivers: 2,
        notified: 0,
        failed: 0,
        waitingSince: soon,
        ...over,
      });
      assert.deepEqual(
        await sums(),
        [1, 2, 3, 4].map((payment) => sum(payment, {})),
      );
      // A second notification of the first payment, which only one receiver has accepted.
      const first = { ...given.newPayment(1), version: 2 };
      const later = instant(start + 5_000);
      await store.commit(notifying(first, [shop, books], { at: later }));
      const end = async (number: number, endpoint: EndpointId, state: "delivered" | "failed") =>
        assert.deepEqual(
          await store.commit(moved(after(await only(store, number, endpoint), { state }))),
          committed,
        );
      await end(1, shop, "delivered");
      await end(1, books, "delivered");
      await end(5, shop, "delivered");
      await end(2, shop, "delivered");
      await end(2, books, "failed");
      await end(3, shop, "delivered");
      await end(3, books, "delivered");
      const expected = [
        sum(1, { notified: 1, waitingSince: later }),
        sum(2, { notified: 1, failed: 1, waitingSince: undefined }),
        sum(3, { notified: 2, waitingSince: undefined }),
        sum(4, {}),
      ];
      assert.deepEqual(await sums(), expected);
      assert.deepEqual(await sums(merchantA, ids.slice(2)), expected.slice(2));
      assert.deepEqual(await sums(merchantB), [
        sum(1, { paymentId: given.paymentId(1), receivers: 1 }),
      ]);
      assert.deepEqual(await sums(merchantA, []), []);
      const deletion = {
        deliveries: [shop, books].map((endpoint) => ({ endpoint, number: 3 })),
        endedBefore: instant(start + 9_000),
      };
      await store.commit({
        merchantId: merchantA,
        at: later,
        facts: [],
        entries: [],
        notifications: [],
        deliveryDeletion: deletion,
      });
      assert.deepEqual(await sums(merchantA, ids.slice(2, 3)), []);
    });

    test("merchants and their queues with something due come longest due first, after the one given, up to a limit", async (context) => {
      const store = await opened(context);
      await notify(store, 2, [shop, books], merchantB);
      await notify(store, 2, [shop, books]);
      const [a, b] = [merchantA, merchantB].map((merchantId) => ({ merchantId, dueAt: soon }));
      assert.deepEqual(await store.merchantsDue(soon, undefined, 10), [a, b]);
      assert.deepEqual(await store.merchantsDue(soon, undefined, 1), [a]);
      assert.deepEqual(await store.merchantsDue(soon, a, 10), [b]);
      assert.deepEqual(await store.merchantsDue(soon, b, 10), []);
      assert.deepEqual(await store.merchantsDue(instant(soon - 1), undefined, 10), []);
      const [first, second] = [books, shop].map((endpoint) => ({
        queue: queueOf(endpoint),
        dueAt: soon,
      }));
      assert.deepEqual(await store.queuesDue(merchantA, soon, undefined, 10), [first, second]);
      assert.deepEqual(await store.queuesDue(merchantA, soon, undefined, 1), [first]);
      assert.deepEqual(await store.queuesDue(merchantA, soon, first, 10), [second]);
      assert.deepEqual(await store.queuesDue(merchantA, soon, second, 10), []);
      assert.deepEqual(await store.queuesDue(merchantA, instant(soon - 1), undefined, 10), []);

      const later = instant(soon + 1);
      for (const number of [1, 2])
        await store.commit(moved(after(await only(store, number), { state: "delivered" })));
      await store.commit(moved(after(await only(store, 1, books), { dueAt: later })));
      assert.deepEqual(
        await store.queuesDue(merchantA, later, undefined, 10),
        [first],
        "one is over, of the other something is still due",
      );
      await store.commit(moved(after(await only(store, 2, books), { dueAt: later })));
      assert.deepEqual(await store.queuesDue(merchantA, soon, undefined, 10), []);
      assert.deepEqual(await store.merchantsDue(soon, undefined, 10), [b]);
      assert.deepEqual(await store.merchantsDue(later, undefined, 10), [
        b,
        { merchantId: merchantA, dueAt: later },
      ]);
      await store.commit(moved(after(await only(store, 2, books), { dueAt: instant(soon - 9) })));
      assert.deepEqual(await store.merchantsDue(soon, undefined, 10), [
        { merchantId: merchantA, dueAt: instant(soon - 9) },
        b,
      ]);
    });

    test("a parked queue is not due before its time, whatever comes, until the account changes", async (context) => {
      const store = await opened(context);
      await store.commit(given.accountChange(given.newAccount(merchantA), [1]));
      await notify(store, 2, [shop, books]);
      await notify(store, 1, [shop], merchantB);
      const hour = instant(soon + 3_600_000);
      const park = (accountVersion: number): Change => ({
        ...moved(fresh(1, shop, 1)),
        deliveries: [],
        parking: { queue: queueOf(shop), until: hour, accountVersion },
      });
      const both = [`${merchantA} books`, `${merchantA} shop`, `${merchantB} shop`];
      assert.deepEqual(await store.commit(park(2)), committed);
      assert.deepEqual(
        await queuesDue(store, soon),
        both,
        "of another version of the account nothing is parked",
      );
      assert.deepEqual(await store.commit(park(1)), committed);
      assert.deepEqual(await queuesDue(store, soon), [`${merchantA} books`, `${merchantB} shop`]);
      assert.equal(
        (await store.deliveriesDue({ merchantId: merchantA, queue: queueOf(shop) }, soon, 10))
          .length,
        2,
        "they may be read all the same",
      );

      const payment = given.newPayment(9);
      await store.commit(given.paymentChange(payment));
      await store.commit(notifying(payment, [shop], { at: instant(soon - 5) }));
      await store.commit(moved(after(await only(store, 1), { state: "failed" })));
      for (const number of [1, 2])
        await store.commit(moved(after(await only(store, number, books), { state: "delivered" })));
      assert.deepEqual(await queuesDue(store, instant(hour - 1)), [`${merchantB} shop`]);
      assert.deepEqual(await queuesDue(store, hour), [`${merchantB} shop`, `${merchantA} shop`]);
      await store.commit(given.accountChange(given.newAccount(merchantA, { version: 2 }), []));
      assert.deepEqual(await queuesDue(store, soon), [`${merchantA} shop`, `${merchantB} shop`]);
    });

    test("a parked queue of which nothing is due when its parking ends is due when something is", async (context) => {
      const store = await opened(context);
      await store.commit(given.accountChange(given.newAccount(merchantA), [1]));
      await notify(store, 1, [shop]);
      const [until, later] = [instant(soon + 1_000), instant(soon + 2_000)];
      const parking = { queue: queueOf(shop), until, accountVersion: 1 };
      await store.commit({ ...moved(fresh(1, shop, 1)), deliveries: [], parking });
      assert.deepEqual(
        await queuesDue(store, until),
        [`${merchantA} shop`],
        "control: what was due before is due then",
      );
      await store.commit(moved(after(await only(store, 1), { dueAt: later })));
      assert.deepEqual(await queuesDue(store, instant(later - 1)), []);
      assert.deepEqual(await queuesDue(store, later), [`${merchantA} shop`]);
    });

    test("payments' own addresses at one origin share a queue, and those of the version before have one each", async (context) => {
      const store = await opened(context);
      const urls = [
        "https://a.example/?order=1",
        "https://a.example/?order=2",
        "https://b.example/?order=3",
      ].map(urlEndpoint);
      const old = [
        "url-0123456789abcdef0123456789abcdef",
        "url-fedcba98765432100123456789abcdef",
      ] as EndpointId[];
      for (const [index, endpoint] of [...urls, ...old].entries()) {
        const payment = given.newPayment(index + 1);
        await store.commit(given.paymentChange(payment));
        await store.commit(notifying(payment, [endpoint]));
      }
      const [a, sameOrigin, b] = urls.map(queueOf);
      assert.equal(a, sameOrigin);
      assert.deepEqual(
        new Set((await store.queuesDue(merchantA, soon, undefined, 10)).map(({ queue }) => queue)),
        new Set([a, b, ...old.map(queueOf)]),
      );
      assert.ok(a !== undefined);
      const due = await store.deliveriesDue({ merchantId: merchantA, queue: a }, soon, 10);
      assert.deepEqual(
        due.map(({ number, endpoint }) => [number, endpoint]),
        [
          [1, urls[0]],
          [2, urls[1]],
        ],
      );
    });

    test("a payment's delivery is not due while an earlier one to the same endpoint waits in order, whenever that is due", async (context) => {
      const store = await opened(context);
      let payment = given.newPayment(1);
      await store.commit(given.paymentChange(payment));
      for (let count = 0; count < 3; count += 1) {
        await store.commit(notifying(payment, [shop, books]));
        payment = { ...payment, version: payment.version + 1 };
      }
      const due = async (endpoint: EndpointId, at = soon): Promise<number[]> =>
        (
          await store.deliveriesDue({ merchantId: merchantA, queue: queueOf(endpoint) }, at, 10)
        ).map(({ number }) => number);

      assert.deepEqual(await due(shop), [1]);
      await store.commit(moved(after(await only(store, 1), { dueAt: instant(soon + 60_000) })));
      assert.deepEqual(await due(shop), [], "the first is later, and the others wait for it");
      assert.deepEqual(await due(books), [1], "another endpoint does not care");
      await store.commit(moved(after(await only(store, 1), { inOrder: false })));
      assert.deepEqual(await due(shop), [2], "nobody waits for what is out of order");
      await store.commit(moved(after(await only(store, 2), { state: "failed" })));
      assert.deepEqual(await due(shop), [3]);
      assert.deepEqual(await due(shop, instant(soon + 60_000)), [3, 1]);
      await store.commit(moved(after(await only(store, 2), { state: "waiting" })));
      assert.deepEqual(await due(shop), [2], "a replay puts one back before another");
      await store.commit(moved(after(await only(store, 1), { inOrder: true })));
      assert.deepEqual(await due(shop), []);
      assert.deepEqual(
        await queuesDue(store, soon),
        [`${merchantA} books`],
        "a queue of which nothing may be tried is not due",
      );
    });

    test("what is due comes longest due first, then by number, up to a limit", async (context) => {
      const store = await opened(context);
      await notify(store, 4, [shop]);
      await store.commit(moved(after(await only(store, 4), { dueAt: instant(soon - 5) })));
      await store.commit(moved(after(await only(store, 1), { dueAt: instant(soon + 5) })));
      const due = await store.deliveriesDue(
        { merchantId: merchantA, queue: queueOf(shop) },
        instant(soon + 5),
        3,
      );
      assert.deepEqual(
        due.map(({ number }) => number),
        [4, 2, 3],
      );
    });

    test("what may go together is marked when it is made, for the endpoints that gather and for no other", async (context) => {
      const store = await opened(context);
      const payment = given.newPayment(1);
      await store.commit(given.paymentChange(payment));
      const two = (["refund", "chargeback"] as const).map((kind) => ({
        kind,
        paymentId: payment.id,
      }));
      assert.deepEqual(
        await store.commit(
          notifying(payment, [shop, books], { notifications: two, batchFor: [books] }),
        ),
        committed,
      );
      assert.deepEqual(
        (await store.deliveriesOf(merchantA, 1, 10)).map(({ number, endpoint, message }) => [
          number,
          endpoint,
          message,
        ]),
        [
          [1, books, openMessage],
          [1, shop, undefined],
          [2, books, openMessage],
          [2, shop, undefined],
        ],
      );
      assert.deepEqual(
        await store.deliveriesOfMessage({ merchantId: merchantA, endpoint: books }, openMessage),
        [],
      );
    });

    test("of a message its first is due for all, the others stay with it whatever becomes of them, and the next of their payments wait", async (context) => {
      const store = await opened(context);
      await notify(store, 4, [shop, books]);
      await notify(store, 4, [shop], merchantB);
      const key = { merchantId: merchantA, endpoint: shop };
      const together = await Promise.all(
        [1, 2, 4].map(async (number) => after(await only(store, number), { message: 1 })),
      );
      const change = {
        ...moved(await only(store, 1)),
        deliveries: together.map((next) => ({ next, replaces: 1 })),
      };
      assert.deepEqual(await store.commit(change), committed);
      const due = async (at = soon): Promise<number[]> =>
        (await store.deliveriesDue({ ...key, queue: queueOf(shop) }, at, 10)).map(
          ({ number }) => number,
        );

      assert.deepEqual(await due(), [1, 3]);
      assert.deepEqual(await store.deliveriesOfMessage(key, 1), together);
      assert.deepEqual(await store.deliveriesOfMessage(key, 2), []);
      assert.deepEqual(await store.deliveriesOfMessage({ ...key, endpoint: books }, 1), []);
      assert.deepEqual(await store.deliveriesOfMessage({ ...key, merchantId: merchantB }, 1), []);

      const second = await store.paymentById(merchantA, given.paymentId(2));
      assert.ok(second !== undefined);
      await store.commit(notifying(second));
      assert.deepEqual(await due(), [1, 3], "the fifth is of the second one's payment");

      const done = together.map((each) => after(each, { state: "delivered", outcome: "200" }));
      await store.commit({ ...change, deliveries: done.map((next) => ({ next, replaces: 2 })) });
      assert.deepEqual(await due(), [3, 5]);
      assert.deepEqual(await store.deliveriesOfMessage(key, 1), done);
    });

    test("one that waits although its message's first does not is due for itself", async (context) => {
      const store = await opened(context);
      await notify(store, 2, [shop]);
      const key = { merchantId: merchantA, endpoint: shop };
      await store.commit(moved(after(await only(store, 1), { message: 1, state: "delivered" })));
      await store.commit(moved(after(await only(store, 2), { message: 1 })));
      assert.deepEqual(
        (await store.deliveriesDue({ ...key, queue: queueOf(shop) }, soon, 10)).map(
          ({ number }) => number,
        ),
        [2],
      );
    });

    test("a change with an unsound delivery is a broken invariant and leaves nothing behind", async (context) => {
      const store = await opened(context);
      await notify(store, 1, [shop]);
      const delivery = await only(store, 1);
      for (const change of [
        moved({ ...delivery, version: 3 }, 1),
        moved(after(delivery, { number: 0 })),
        moved(after(delivery, { attempts: -1 })),
        moved(after(delivery, { message: 2 })),
        moved(after(delivery, { message: -1 })),
        notifying(given.newPayment(1), [shop], { batchFor: [books] }),
        moved(after(delivery, { endpoint: "no good" as EndpointId })),
        moved(after(delivery, {}), 1, merchantB),
        {
          ...moved(delivery),
          deliveries: [after(delivery, {}), after(delivery, {})].map((next) => ({
            next,
            replaces: 1,
          })),
        },
        notifying(given.newPayment(1), [shop, shop]),
        notifying(given.newPayment(1), ["Shop" as EndpointId]),
      ]) {
        await assert.rejects(store.commit(change), BrokenInvariant);
      }
      assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), [delivery]);
    });
  });
}

test(
  "a node of the version before, beside newer ones on PostgreSQL, makes deliveries that go alone, and leaves those that it moves in their message",
  { skip: databases === undefined && "COFRE_TEST_POSTGRES_URL names no server" },
  async (context) => {
    assert.ok(databases !== undefined);
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    const client = new Client({ connectionString: url });
    await client.connect();
    context.after(() => client.end());
    /** In that version's format: a delivery has seven columns, and hashesPerCall is missing. */
    const commit = async (change: Change): Promise<string | undefined> => {
      const [head, ...rest] = JSON.parse(batchMessageOf(messageOf(change)).json) as unknown[];
      const [to, deliveries, beginning] = rest[7] as [unknown, unknown[][], unknown[]];
      const short = deliveries.map((each) => [
        ...each.slice(0, 5),
        (each[5] as unknown[]).slice(0, 7),
      ]);
      const json = JSON.stringify([head, ...rest.slice(0, 7), [to, short, beginning.slice(0, 7)]]);
      const batch = `{"merchants":["${change.merchantId}"],"parts":[${json}]}`;
      return (
        await client.query<{ readonly answer: string }>("SELECT write_batch_1($1) AS answer", [
          batch,
        ])
      ).rows[0]?.answer;
    };
    const payment = given.newPayment(1);
    await store.commit(given.paymentChange(payment));
    assert.equal(await commit(notifying(payment)), "committed");
    assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), [fresh(1, shop, 1)]);

    const inMessage = after(fresh(1, shop, 1), { message: 1 });
    assert.deepEqual(await store.commit(moved(inMessage)), committed);
    const next = after(inMessage, { state: "delivered", outcome: "200" });
    assert.equal(await commit(moved(next)), "committed");
    assert.deepEqual(await store.deliveriesOf(merchantA, 1, 10), [next]);
  },
);

test(
  "what waits when a newer version brings PostgreSQL's tables up to date is due there, and so is what the version before writes beside it",
  { skip: databases === undefined && "COFRE_TEST_POSTGRES_URL names no server" },
  async (context) => {
    assert.ok(databases !== undefined);
    const url = await databases.create();
    const copy = earlierCopy();
    context.after(() => rmSync(copy, { recursive: true }));
    const earlierFile = (path: string): string => pathToFileURL(join(copy, "src", path)).href;
    const { openPostgresStore } = (await import(
      earlierFile("stores/postgres/postgres-store.ts")
    )) as typeof PostgresStores;
    const { Secret } = (await import(earlierFile("kernel/secret.ts"))) as typeof Secrets;
    const earlier = await openPostgresStore({
      url: new Secret(url),
      clock: systemClock,
      waiveStandby: true,
    });
    context.after(() => earlier.close());
    const send = async (number: number, endpoints: readonly EndpointId[]): Promise<void> => {
      const payment = given.newPayment(number);
      await earlier.commit(given.paymentChange(payment));
      assert.deepEqual(await earlier.commit(notifying(payment, endpoints)), committed);
    };
    const own = urlEndpoint("https://a.example/?order=1");
    await send(1, [shop, own]);

    const newer = await openStoreOn(url);
    context.after(() => newer.close());
    assert.deepEqual(await queuesDue(newer, soon), [
      `${merchantA} shop`,
      `${merchantA} ${queueOf(own)}`,
    ]);
    await send(2, [books]);
    await earlier.commit(moved(after(fresh(1, shop, 1), { state: "delivered" })));
    assert.deepEqual(await queuesDue(newer, soon), [
      `${merchantA} books`,
      `${merchantA} ${queueOf(own)}`,
    ]);
  },
);

test(
  "what waits is put among what is due in small transactions, and a charge of the same merchant is committed between them",
  { skip: databases === undefined && "COFRE_TEST_POSTGRES_URL names no server" },
  async (context) => {
    assert.ok(databases !== undefined);
    const url = await databases.copy();
    const store = await openStoreOn(url);
    context.after(() => store.close());
    await store.commit(given.accountChange(given.newAccount(merchantA), [1]));
    await store.commit(given.accountChange(given.newAccount(merchantB), [2]));
    // 20,000 deliveries of the earlier version: two per payment, the first of which blocks the
    // second, to an endpoint and to the payment's own address.
    await query(
      url,
      `ALTER TABLE delivery DISABLE TRIGGER USER;
       INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
       SELECT decode('${merchantA}', 'hex'), receiver, number, decode(lpad(to_hex(number / 2), 48, '0'), 'hex'), 'update', 1, 'waiting', 1, 1000 + number % 777, 0, 1
       FROM generate_series(2, 10001) AS number, unnest(ARRAY['shop', 'url-0123456789abcdef-' || number / 2]) AS receiver;
       INSERT INTO delivery (merchant, endpoint, number, payment, kind, version, state, asked_at, due_at, attempts, in_order)
       VALUES (decode('${merchantB}', 'hex'), 'shop', 1, decode(repeat('0', 48), 'hex'), 'update', 1, 'waiting', 1, 5, 0, 1);
       ALTER TABLE delivery ENABLE TRIGGER USER`,
    );
    // The first piece waits in its transaction, and each payment records how much was due when it
    // was written.
    await query(
      url,
      `CREATE FUNCTION wait_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(7); RETURN NULL; END $$;
       CREATE TRIGGER wait_once AFTER INSERT ON due_delivery FOR EACH ROW WHEN (NEW.merchant = decode('${merchantA}', 'hex'))
         EXECUTE FUNCTION wait_once();
       CREATE TABLE seen (due integer NOT NULL);
       CREATE FUNCTION note_due() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN INSERT INTO seen SELECT count(*) FROM due_delivery; RETURN NULL; END $$;
       CREATE TRIGGER note_due AFTER INSERT ON payment FOR EACH STATEMENT EXECUTE FUNCTION note_due()`,
    );
    const holder = new Client({ connectionString: url });
    await holder.connect();
    context.after(() => holder.end());
    await holder.query("SELECT pg_advisory_lock(7)");
    const waiting = async (type: string): Promise<void> => {
      const locksHeld = `SELECT 1 FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = current_database() AND locktype = '${type}' AND NOT granted`;
      await until(
        `a session waits for a lock of type ${type}`,
        async () => (await query(url, locksHeld)).length > 0,
      );
    };
    const filling = query(url, "CALL fill_due_queues_1()");
    await waiting("advisory");
    const charging = store.commit(given.paymentChange(given.newPayment(1)));
    // The charge waits for the piece that has the merchant's lock.
    await waiting("transactionid");
    await holder.query("SELECT pg_advisory_unlock(7)");
    assert.deepEqual(await charging, committed);
    await filling;

    const { held, expected, blocked } = await dueTables(url);
    assert.deepEqual(held, expected);
    assert.equal(blocked, 10_000);
    const [seen] = await query<{ readonly due: number }>(url, "SELECT due FROM seen");
    assert.ok(
      seen !== undefined && seen.due > 0 && seen.due < 10_000,
      `${seen?.due} of 10,000 were due when the charge was written`,
    );
    const [most] = await query<{ readonly rows: number }>(
      url,
      "SELECT max(rows) AS rows FROM (SELECT count(*)::integer AS rows FROM due_delivery GROUP BY xmin) AS pieces",
    );
    assert.ok((most?.rows ?? 0) <= 200, `${most?.rows} rows in one transaction`);
    // An interrupted fill starts again from the beginning.
    await query(
      url,
      "DELETE FROM due_merchant; DELETE FROM due_queue; DELETE FROM due_delivery WHERE number % 3 = 0",
    );
    await query(url, "CALL fill_due_queues_1()");
    assert.deepEqual((await dueTables(url)).held, expected);
  },
);

for (const [name, open] of stores.slice(1)) {
  test(`random notifications and deliveries read the same on the memory store and on ${name}`, (context) =>
    compareWithMemory(context, open));
}

async function compareWithMemory(context: TestContext, open: () => Promise<Store>): Promise<void> {
  const pair = [createMemoryStore(), await open()];
  const [left, ...others] = pair;
  assert.ok(left !== undefined && others.length > 0);
  context.after(() => Promise.all(pair.map((store) => store.close())));
  const chance = new Chance(4);
  const merchants: readonly MerchantId[] = [merchantA, merchantB];
  const names = [
    ...(["shop", "books", "url-0123456789abcdef0123456789abcdef"] as EndpointId[]),
    ...["https://a.example/1", "https://a.example/2"].map(urlEndpoint),
  ];
  const payments = new Map<string, Payment>();
  const both = async (change: Change): Promise<string> => {
    const { outcome } = await left.commit(change);
    for (const other of others) assert.equal((await other.commit(change)).outcome, outcome);
    return outcome;
  };

  for (let step = 0; step < 400; step += 1) {
    const merchantId = merchants[chance.below(2)] ?? merchantA;
    if (chance.happens(500)) {
      const number = chance.between(1, 12);
      const key = `${merchantId} ${number}`;
      const payment = payments.get(key) ?? given.newPayment(number, { merchantId });
      if (!payments.has(key)) await both(given.paymentChange(payment));
      const change = notifying(
        payment,
        names.filter(() => chance.happens(500)),
        { at: instant(start + step) },
      );
      const gathering = change.endpoints?.filter(() => chance.happens(300)) ?? [];
      if (
        (await both({ ...change, batchFor: gathering })) === "committed" &&
        change.payment !== undefined
      )
        payments.set(key, change.payment.next);
    } else {
      const known: readonly Delivery[] = await left.deliveriesOf(
        merchantId,
        chance.between(1, 40),
        20,
      );
      const delivery = known[chance.below(Math.max(1, known.length))];
      if (delivery === undefined) continue;
      if (chance.happens(50)) {
        const endedBefore = instant(start + chance.below(900));
        const deliveryDeletion = { deliveries: known.slice(0, 3), endedBefore };
        assert.equal(
          await both({
            merchantId,
            at: start,
            facts: [],
            entries: [],
            notifications: [],
            deliveryDeletion,
          }),
          "committed",
        );
      }
      const state =
        (["waiting", "waiting", "delivered", "failed"] as const)[chance.below(4)] ?? "waiting";
      const next = after(delivery, {
        state,
        dueAt: instant(start + chance.below(900)),
        inOrder: !chance.happens(200),
        attempts: chance.below(10),
        message: chance.happens(300) ? chance.between(0, delivery.number) : delivery.message,
      });
      await both(moved(next));
      // The same change again is stale on all stores.
      if (chance.happens(100)) assert.equal(await both(moved(next)), "stale");
    }
    const now = instant(start + chance.below(900));
    const due: readonly DueMerchant[] = await left.merchantsDue(now, undefined, 100);
    for (const other of others)
      assert.deepEqual(await other.merchantsDue(now, undefined, 100), due);
    for (const { merchantId: owner } of due) {
      const queues: readonly DueQueue[] = await left.queuesDue(owner, now, undefined, 100);
      for (const other of others)
        assert.deepEqual(await other.queuesDue(owner, now, undefined, 100), queues);
      for (const { queue } of queues) {
        const deliveries: readonly Delivery[] = await left.deliveriesDue(
          { merchantId: owner, queue },
          now,
          100,
        );
        for (const other of others)
          assert.deepEqual(
            await other.deliveriesDue({ merchantId: owner, queue }, now, 100),
            deliveries,
          );
        for (const { endpoint } of deliveries) {
          const key: EndpointKey = { merchantId: owner, endpoint };
          const message = chance.between(1, 40);
          for (const other of others)
            assert.deepEqual(
              await other.deliveriesOfMessage(key, message),
              await left.deliveriesOfMessage(key, message),
            );
        }
      }
    }
  }
  for (const merchantId of merchants) {
    const all = await left.deliveriesOf(merchantId, 1, 10_000);
    assert.ok(all.length > 80, "control: there is something to compare");
    for (const other of others) {
      assert.deepEqual(await other.deliveriesOf(merchantId, 1, 10_000), all);
      for (const state of ["waiting", "failed"] as const) {
        assert.deepEqual(
          await other.deliveriesOf(merchantId, 1, 10_000, state),
          await left.deliveriesOf(merchantId, 1, 10_000, state),
        );
      }
    }
  }
}
