import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { KnownNumbers } from "../../src/scan/known-numbers.ts";
import { canaries, wayOf } from "../support/leak-load.ts";
import { scanForSecurityCodes } from "../support/leak-scanner.ts";
import { WireClient } from "../support/wire-client.ts";
import { Chance } from "../support/chance.ts";
import {
  directBody,
  integrationKey,
  publicIntegrationKey,
  startTestServer,
  testCard,
  type TestServer,
} from "../server.ts";

interface Recorded {
  readonly number: number;
  readonly path: string;
  readonly key: string;
  readonly hash: string | null;
  readonly merchant_payment_code: string | null;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly http_status?: number;
  readonly status_code?: string | null;
  readonly response: Readonly<Record<string, unknown>> | null;
  readonly response_prefix?: string;
  readonly replayed?: boolean;
}

interface Page {
  readonly requests: readonly Recorded[];
  readonly next: number | null;
  readonly recording: { readonly since: string | null; readonly capacity: number };
}

async function page(
  server: TestServer,
  requested: Readonly<Record<string, string>> = {},
): Promise<Page> {
  const { body } = await server.get("/__cofre/requests", {
    integration_key: integrationKey,
    ...requested,
  });
  assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
  return body as object as Page;
}

async function all(
  server: TestServer,
  requested: Readonly<Record<string, string>> = {},
): Promise<readonly Recorded[]> {
  const requests: Recorded[] = [];
  for (let after = 0; ;) {
    const { requests: some, next } = await page(server, { ...requested, after: String(after) });
    requests.push(...some);
    if (next === null) return requests;
    after = next;
  }
}

describe("/__cofre/requests", () => {
  test("records nothing where that is not wanted, and timelines have what the store keeps", async () => {
    await using server = await startTestServer({ environment: { COFRE_REQUEST_LOG: "false" } });
    await server.postJson("/ws/direct", directBody("first"));
    assert.deepEqual(await all(server), []);
    const { body } = await server.get("/__cofre/timeline", {
      integration_key: integrationKey,
      merchant_payment_code: "first",
    });
    const entries = body["entries"] as readonly { readonly kind: string }[];
    assert.deepEqual(
      new Set(entries.map(({ kind }) => kind)),
      new Set(["fact", "notification"]),
      JSON.stringify(body),
    );
  });

  test("lists the account's requests of the interface, oldest first, with what they came to", async () => {
    await using server = await startTestServer();
    assert.deepEqual(await page(server), {
      requests: [],
      next: null,
      recording: { since: null, capacity: 1_000 },
      status: "SUCCESS",
    });
    const stored = {
      public_integration_key: publicIntegrationKey,
      country: "br",
      payment_type_code: "creditcard",
      creditcard: testCard,
    };
    await server.postJson("/ws/token", stored);
    const { body } = await server.postJson("/ws/direct", directBody("first"));
    const { hash } = body["payment"] as { readonly hash: string };
    await server.postJson("/ws/direct", directBody("first"));
    await server.get("/ws/query/", {
      integration_key: integrationKey,
      merchant_payment_code: "first",
    });
    await server.get("/ws/query", { integration_key: integrationKey, hash: "f".repeat(48) });
    // Not recorded: an invalid key, unknown paths, and the console's requests.
    await server.get("/ws/query", { integration_key: "nobody's", hash });
    await server.get("/ws/nothing", { integration_key: integrationKey });
    await server.get("/__cofre/explain", { integration_key: integrationKey, hash });

    const requests = await all(server);
    assert.deepEqual(
      requests.map(({ number, path, key, status_code: code }) => [number, path, key, code]),
      [
        [1, "/ws/token", "public", null],
        [2, "/ws/direct", "secret", null],
        [3, "/ws/direct", "secret", "BP-DR-0"],
        [4, "/ws/query", "secret", null],
        [5, "/ws/query", "secret", "BP-QRY-2"],
      ],
    );
    assert.deepEqual(requests[1]?.response, body);
    const parameters = requests[1]?.parameters as {
      readonly payment: Readonly<Record<string, unknown>>;
    };
    assert.deepEqual(parameters.payment["creditcard"], {
      card_number: "411111xxxxxx1111",
      card_name: "[not kept]",
      card_due_date: "[not kept]",
    });
    assert.ok(!JSON.stringify(requests).includes(integrationKey));
    assert.deepEqual(
      (await all(server, { hash })).map(({ number }) => number),
      [2, 4],
    );
    assert.deepEqual(
      (await all(server, { merchant_payment_code: "first" })).map(({ number }) => number),
      [2, 3, 4],
    );
    assert.deepEqual(
      (await page(server, { after: "4" })).requests.map(({ number }) => number),
      [5],
    );
  });

  test("says that an answer was that of an earlier request", async () => {
    await using server = await startTestServer();
    for (let count = 0; count < 2; count += 1) {
      await fetch(`${server.url}/ws/direct`, {
        method: "POST",
        headers: { "Idempotency-Key": "once" },
        body: JSON.stringify(directBody("once")),
      });
    }
    const [first, second] = await all(server);
    assert.deepEqual([first?.replayed, second?.replayed], [false, true]);
    assert.deepEqual(second?.response, first?.response);
  });

  test("keeps the newest thousand, and of a long answer its beginning", async () => {
    await using server = await startTestServer();
    await server.postJson("/ws/direct", directBody("long", { note: "n".repeat(200) }));
    for (let count = 0; count < 30; count += 1) {
      const refund = {
        integration_key: integrationKey,
        operation: "request",
        merchant_payment_code: "long",
        amount: "1.00",
      };
      await server.postJson("/ws/refund", { ...refund, description: "d".repeat(200) });
    }
    const cut = (await all(server)).at(-1);
    assert.deepEqual(
      [cut?.response, cut?.response_prefix?.length, cut?.merchant_payment_code],
      [null, 4_096, "long"],
    );
    const ask = (): Promise<unknown> =>
      server.get("/ws/exchange", { integration_key: integrationKey, currency_code: "USD" });
    for (let count = 0; count < 1_200; count += 20)
      await Promise.all(Array.from({ length: 20 }, ask));
    const requests = await all(server);
    assert.deepEqual(
      [requests.length, requests[0]?.number, requests.at(-1)?.number],
      [1_000, 232, 1_231],
    );
    assert.ok((await page(server)).recording.since !== null);
  });

  test("shows no account what another asked, and nothing of before a world was reset", async () => {
    await using server = await startTestServer();
    const worlds = await Promise.all(
      ["one", "other"].map(async (name) => {
        const { body } = await server.postJson("/__cofre/worlds", { name, seed: "the same" });
        return (body["world"] as { readonly integration_key: string }).integration_key;
      }),
    );
    for (const [index, key] of [integrationKey, ...worlds].entries()) {
      for (let count = 0; count <= index; count += 1)
        await server.postJson("/ws/direct", {
          ...directBody(`order-${count}`),
          integration_key: key,
        });
    }
    const recorded = async (key: string): Promise<number> =>
      (await all(server, { integration_key: key })).length;
    assert.deepEqual(
      [await recorded(integrationKey), ...(await Promise.all(worlds.map(recorded)))],
      [1, 2, 3],
    );
    const [key = ""] = worlds;
    const requested = { integration_key: key, merchant_payment_code: "order-1" };
    const { body } = await server.get("/__cofre/timeline", requested);
    const entries = body["entries"] as readonly {
      readonly kind: string;
      readonly data: Record<string, unknown>;
    }[];
    assert.deepEqual(
      entries.map(({ kind }) => kind),
      ["request", "fact", "call", "fact", "notification"],
      "of a world it is all there, by its own clock",
    );
    assert.equal(
      (await server.get("/__cofre/timeline", { ...requested, integration_key: integrationKey }))
        .body["status_code"],
      "BP-QRY-2",
    );

    await server.postJson("/__cofre/world", { integration_key: key, action: "reset" });
    assert.deepEqual([await recorded(key), await recorded(worlds[1] ?? "")], [0, 3]);
  });

  test("holds no card number and no security code, whatever a card was sent in", async () => {
    await using server = await startTestServer();
    const cards = canaries(300, new Chance(3));
    const client = new WireClient(4);
    const texts: string[] = [];
    try {
      const target = { client, port: server.port, integrationKey };
      for (let from = 0; from < cards.length; from += 50) {
        const some = cards
          .slice(from, from + 50)
          .filter((card) => !/never ends|wrong length/.test(wayOf(card).name));
        await Promise.all(some.map((card) => wayOf(card).send(target, card)));
      }
      // If an account allows it, a payment's code may be a card number.
      await server.postJson("/__cofre/settings", {
        integration_key: integrationKey,
        settings: { refuseCardLikeCodes: false },
      });
      for (const { pan } of cards.slice(0, 3)) {
        await server.postJson("/ws/direct", directBody(pan));
        const refund = {
          integration_key: integrationKey,
          operation: "request",
          merchant_payment_code: pan,
          amount: "1",
        };
        await server.postJson("/ws/refund", {
          ...refund,
          merchant_refund_code: `r ${pan}`,
          description: pan,
        });
        await server.get("/ws/query", {
          integration_key: integrationKey,
          merchant_payment_code: pan,
        });
        // The mask removes part of an escape sequence, and yet the rest can be parsed.
        const escaped = `${pan.slice(0, 6)}\\u003${pan[6] ?? ""}\\u003${pan[7] ?? ""}${pan.slice(8)}`;
        const { body } = await server.postJson("/ws/direct", directBody(escaped));
        assert.equal(body["status"], "SUCCESS", JSON.stringify(body));
      }
    } finally {
      client.close();
    }
    const requests = await all(server);
    texts.push(JSON.stringify(requests));
    const maskedEscapes = `${cards[0]?.pan.slice(0, 6) ?? ""}xxxxxxxxxxxx`;
    assert.ok(
      requests.some(({ merchant_payment_code: code }) => code?.startsWith(maskedEscapes) === true),
    );
    for (const hash of new Set(requests.flatMap(({ hash: named }) => named ?? []))) {
      const { body } = await server.get("/__cofre/timeline", {
        integration_key: integrationKey,
        hash,
      });
      // The payment itself has the code that it was given.
      texts.push(JSON.stringify(body["entries"] ?? []));
    }
    const bytes = Buffer.from(texts.join("\n"));
    const numbers = new KnownNumbers(cards.map(({ pan }) => pan));
    assert.deepEqual(
      numbers
        .search(bytes)
        .map(
          ({ offset, encoding }) =>
            `${encoding}: ${bytes.subarray(offset - 60, offset + 60).toString()}`,
        ),
      [],
    );
    // Each separately: the scan takes a number beside the word for a security code.
    const pieces = requests
      .flatMap(({ parameters, response }) => [parameters, response])
      .map((piece) => JSON.stringify(piece));
    assert.deepEqual(
      scanForSecurityCodes("what is recorded", Buffer.from(pieces.join("\u0001"))),
      [],
    );
    // They were present: most have left a mask, and a planted number is found.
    const masked = cards.filter(({ pan }) =>
      texts.some((text) =>
        text.includes(`${pan.slice(0, 6)}${"x".repeat(pan.length - 10)}${pan.slice(-4)}`),
      ),
    );
    assert.ok(masked.length > 100, `${masked.length}`);
    assert.equal(numbers.search(Buffer.from(`"${cards[0]?.pan ?? ""}"`)).length, 1);
  });
});

test("after a restart a timeline has facts and notifications, and says that the rest is gone", async (context) => {
  const { mkdtempSync, rmSync } = await import("node:fs");
  const { tmpdir } = await import("node:os");
  const { join } = await import("node:path");
  const directory = mkdtempSync(join(tmpdir(), "cofre-recording-"));
  context.after(() => rmSync(directory, { recursive: true, force: true }));
  const environment = { COFRE_DATA_DIR: directory };
  const first = await startTestServer({ environment });
  await first.postJson("/ws/direct", directBody("kept"));
  await first[Symbol.asyncDispose]();
  await using server = await startTestServer({ environment });
  const { body } = await server.get("/__cofre/timeline", {
    integration_key: integrationKey,
    merchant_payment_code: "kept",
  });
  const entries = body["entries"] as readonly {
    readonly kind: string;
    readonly data: Record<string, unknown>;
  }[];
  assert.deepEqual(
    entries.map(({ kind, data }) => data["fact"] ?? kind),
    ["authorization_sent", "sale_approved", "notification"],
  );
  assert.deepEqual(body["recording"], { since: null, complete: false, omitted: 0 });
});
