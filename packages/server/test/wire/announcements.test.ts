import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { directBody, startTestServer, testCard, type Answer, type TestServer } from "../server.ts";

/**
 * The changes of a payment that merchants are notified of, with their notification_type: the last
 * column of interface 4.2, through HTTP.
 */
type Fields = Readonly<Record<string, unknown>>;

const hold = { creditcard: { ...testCard, auto_capture: false } };
const declined = { creditcard: { ...testCard, card_number: "4716909774636285" } };
const reviewed = { manual_review: true };

interface Shop {
  /** Creates a payment, and returns its hash. */
  pay(payment?: Fields): Promise<string>;
  post(path: string, fields: Fields): Promise<Answer>;
  review(hash: string, action: string): Promise<Answer>;
  advance(span: string): Promise<Answer>;
}

/** Steps, and the notifications of the payment after them, exactly these and in this order. */
const sequences: readonly (readonly [
  name: string,
  steps: (shop: Shop) => Promise<string>,
  reported: readonly string[],
])[] = [
  ["a payment that is paid at once", (shop) => shop.pay(), ["update"]],
  ["a payment that is declined at once", (shop) => shop.pay(declined), ["update"]],
  ["an authorization", (shop) => shop.pay(hold), []],
  ["a capture", async (shop) => requested(shop, await shop.pay(hold), "/ws/capture"), ["update"]],
  ["a void", async (shop) => requested(shop, await shop.pay(hold), "/ws/cancel"), ["update"]],
  [
    "a void by refundOrCancel",
    async (shop) => requested(shop, await shop.pay(hold), "/ws/refundOrCancel"),
    ["update"],
  ],
  ["a payment that waits for a reviewer", (shop) => shop.pay(reviewed), []],
  [
    "a reviewer's yes to what is to be paid",
    async (shop) => decided(shop, await shop.pay(reviewed), "accept_review"),
    ["update"],
  ],
  // Earlier this change had no notification, so a merchant's program did not learn that it could
  // capture.
  [
    "a reviewer's yes to what is to be captured",
    async (shop) => decided(shop, await shop.pay({ ...reviewed, ...hold }), "accept_review"),
    ["update"],
  ],
  [
    "a reviewer's yes, and the capture",
    async (shop) =>
      requested(
        shop,
        await decided(shop, await shop.pay({ ...reviewed, ...hold }), "accept_review"),
        "/ws/capture",
      ),
    ["update", "update"],
  ],
  [
    "a reviewer's no",
    async (shop) => decided(shop, await shop.pay(reviewed), "reject_review"),
    ["update"],
  ],
  [
    "an authorization that nobody captures",
    async (shop) => later(shop, await shop.pay(hold), "5d"),
    ["update"],
  ],
  ["a refund that is asked for", async (shop) => refunded(shop, await shop.pay()), ["update"]],
  [
    "a refund that is pending",
    async (shop) => later(shop, await refunded(shop, await shop.pay()), "61s"),
    ["update", "refund"],
  ],
  [
    "a refund that is paid",
    async (shop) => later(shop, await refunded(shop, await shop.pay()), "5min"),
    ["update", "refund", "refund"],
  ],
  [
    "a chargeback",
    async (shop) => decided(shop, await shop.pay(), "chargeback"),
    ["update", "chargeback"],
  ],
  [
    "a chargeback that is given back",
    async (shop) =>
      decided(shop, await decided(shop, await shop.pay(), "chargeback"), "chargeback_credit"),
    ["update", "chargeback", "chargeback_credit"],
  ],
];

async function requested(shop: Shop, hash: string, path: string): Promise<string> {
  await done(shop.post(path, { hash }));
  return hash;
}

async function refunded(shop: Shop, hash: string): Promise<string> {
  await done(shop.post("/ws/refund", { operation: "request", hash, amount: "1" }));
  return hash;
}

async function decided(shop: Shop, hash: string, action: string): Promise<string> {
  await done(shop.review(hash, action));
  return hash;
}

async function later(shop: Shop, hash: string, span: string): Promise<string> {
  await done(shop.advance(span));
  return hash;
}

async function done(answer: Promise<Answer>): Promise<Fields> {
  const { body } = await answer;
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body;
}

async function shopIn(
  server: TestServer,
): Promise<Shop & { reported(hash: string): Promise<readonly unknown[]> }> {
  const { world: made } = (await done(
    server.postJson("/__cofre/worlds", { seed: "announcements" }),
  )) as { readonly world: Fields };
  const key = { integration_key: made["integration_key"] };
  const post = (path: string, fields: Fields): Promise<Answer> =>
    server.postJson(path, { ...fields, ...key });
  let codes = 0;
  return {
    post,
    async pay(payment = {}) {
      const { payment: paid } = await done(
        post("/ws/direct", directBody(`told-${(codes += 1)}`, payment)),
      );
      return String((paid as Fields)["hash"]);
    },
    review: (hash, action) => post("/__cofre/payment", { hash, action }),
    advance: (span) => post("/__cofre/clock", { advance: span }),
    async reported(hash) {
      const { notifications } = (await done(post("/__cofre/notifications", { hash }))) as {
        readonly notifications: readonly Fields[];
      };
      return notifications.map((each) => each["notification_type"]);
    },
  };
}

describe("merchants are notified of", { timeout: 60_000 }, () => {
  test("what interface 4.2 says, and of nothing else", async () => {
    await using server = await startTestServer();
    const shop = await shopIn(server);
    for (const [name, steps, reported] of sequences)
      assert.deepEqual(await shop.reported(await steps(shop)), reported, name);
  });

  test("an outcome that no answer reported, once it is resolved, also where the payment stays PE", async () => {
    await using server = await startTestServer({
      environment: { COFRE_ACQUIRER_TIMEOUT_MS: "100" },
    });
    const shop = await shopIn(server);
    const lost = async (message: string, ask: () => Promise<string>): Promise<string> => {
      await done(shop.post("/__cofre/simulator", { next: "lose_answer", message }));
      return ask();
    };
    const foundOut: readonly (readonly [
      name: string,
      payment: Fields,
      reported: readonly string[],
    ])[] = [
      ["a hold", hold, ["update"]],
      ["a hold that waits for a reviewer", reviewed, ["update"]],
      ["a sale", {}, ["update"]],
      ["a decline", declined, ["update"]],
    ];
    for (const [name, payment, reported] of foundOut) {
      const hash = await lost("authorize", () => shop.pay(payment));
      assert.deepEqual(await shop.reported(hash), [], `${name}, before`);
      assert.deepEqual(await shop.reported(await later(shop, hash, "1h")), reported, name);
    }
    // resendNotification sends the last notification again; a hold that was answered has none.
    const hash = await lost("authorize", () => shop.pay(hold));
    await done(
      shop.post("/ws/everest/resendNotification", { hash: await later(shop, hash, "1h") }),
    );
    assert.deepEqual(await shop.reported(hash), ["update", "update"]);
    const { body } = await shop.post("/ws/everest/resendNotification", {
      hash: await shop.pay(hold),
    });
    assert.equal(body["status_code"], "COFRE-29");
  });

  test("an outcome within the request only where the account wants it", async () => {
    await using server = await startTestServer();
    const shop = await shopIn(server);
    await done(shop.post("/__cofre/settings", { settings: { notifySynchronous: false } }));
    assert.deepEqual(await shop.reported(await shop.pay()), []);
    assert.deepEqual(await shop.reported(await shop.pay(declined)), []);
    // The control: later changes are notified.
    assert.deepEqual(
      await shop.reported(await requested(shop, await shop.pay(hold), "/ws/capture")),
      ["update"],
    );
  });
});
