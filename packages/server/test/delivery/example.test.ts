import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { describe, test, type TestContext } from "node:test";
import { createReceiver } from "../../../../examples/receive-notifications.ts";

interface Vector {
  readonly secret: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}
const vector = JSON.parse(
  readFileSync(new URL("../vectors/notification.json", import.meta.url), "utf8"),
) as Vector;
const hash = "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831";

interface Shop {
  readonly changes: string[];
  readonly post: (body?: string, headers?: Readonly<Record<string, string>>) => Promise<number>;
}

async function shop(
  context: TestContext,
  { secrets = [vector.secret], lateBy = 0, fails = 0 } = {},
): Promise<Shop> {
  const changes: string[] = [];
  let failures = fails;
  const server = createReceiver({
    secrets,
    seen: new Set<string>(),
    now: () => (vector.timestamp + lateBy) * 1_000,
    onPaymentChanged: async (changed, kind) => {
      failures -= 1;
      if (failures >= 0) throw new Error("the database is down");
      changes.push(`${kind} ${changed}`);
    },
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return {
    changes,
    post: async (body = vector.body, headers = {}) =>
      (await fetch(url, { method: "POST", body, headers: { ...vector.headers, ...headers } }))
        .status,
  };
}

describe("the example of a receiver", () => {
  test("takes the published message, once however often it comes", async (context) => {
    const { changes, post } = await shop(context);
    assert.deepEqual([await post(), await post(), await post()], [204, 204, 204]);
    assert.deepEqual(changes, [`update ${hash}`]);
  });

  test("takes it with either secret of a rotation", async (context) => {
    const { post } = await shop(context, {
      secrets: ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", vector.secret],
    });
    assert.equal(await post(), 204);
  });

  test("refuses what was altered, in the body or in any signed header", async (context) => {
    const { changes, post } = await shop(context);
    const refused = [
      await post(vector.body.replace("update", "refund")),
      await post(`${vector.body} `),
      await post(vector.body, { "webhook-id": "msg_other" }),
      await post(vector.body, { "webhook-timestamp": String(vector.timestamp + 1) }),
      await post(vector.body, { "webhook-signature": "v1,AAAA" }),
      await post(vector.body, {
        "webhook-signature": (vector.headers["webhook-signature"] ?? "").replaceAll("v1,", "v0,"),
      }),
      await post(vector.body, { "webhook-signature": "" }),
    ];
    assert.deepEqual(new Set(refused), new Set([401]));
    assert.deepEqual(changes, []);
  });

  test("refuses every message in which one character of the body is another", async (context) => {
    const { changes, post } = await shop(context);
    for (let at = 0; at < vector.body.length; at += 1) {
      const other = vector.body[at] === "a" ? "b" : "a";
      assert.equal(await post(vector.body.slice(0, at) + other + vector.body.slice(at + 1)), 401);
    }
    assert.deepEqual(changes, []);
  });

  test("refuses what is of another secret, of long ago, or of the future", async (context) => {
    const others = [
      await shop(context, { secrets: ["whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] }),
      await shop(context, { lateBy: 301 }),
      await shop(context, { lateBy: -301 }),
    ];
    for (const { post, changes } of others) {
      assert.equal(await post(), 401);
      assert.deepEqual(changes, []);
    }
    assert.equal(await (await shop(context, { lateBy: 299 })).post(), 204, "control");
  });

  test("asks for a message again that it could not handle", async (context) => {
    const { changes, post } = await shop(context, { fails: 1 });
    assert.deepEqual([await post(), await post(), await post()], [500, 204, 204]);
    assert.deepEqual(changes, [`update ${hash}`]);
  });
});
