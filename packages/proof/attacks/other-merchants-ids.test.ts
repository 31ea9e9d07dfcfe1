import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { actionNames } from "../../server/src/http/admin/payment-endpoint.ts";
import { echo } from "../../server/src/wire/decode/card-like.ts";
import { type DocumentedEndpoint, documentedEndpoints } from "../../server/test/keyed-endpoints.ts";
import type { TestServer } from "../../server/test/server.ts";
import { merchants, startThreeMerchants, type MerchantKeys } from "./three-merchants.ts";

/*
 * Row 12 of the attack table: identifiers of another merchant. Every endpoint, the admin ones too,
 * is called with every kind of identifier, once with one of another merchant, once with one that
 * does not exist. The caller must not be able to distinguish the two answers, byte by byte, and
 * none of the owner's data may have changed afterwards.
 */

/**
 * Counts of the whole process, in the sandbox only, by intention: they include other merchants'
 * requests.
 */
const rows = documentedEndpoints().filter(({ id }) => id !== "stats");

type Fields = Readonly<Record<string, unknown>>;

const [owner, ...strangers] = merchants;
const card = {
  card_number: "4111111111111111",
  card_name: "Ana Lima",
  card_due_date: "12/2060",
  card_cvv: "123",
};

/** The owner's identifiers, by kind. */
interface Owned {
  readonly hash: string;
  readonly merchant_payment_code: string;
  readonly token: string;
  readonly refund_id: string;
  readonly merchant_refund_code: string;
  readonly idempotency_key: string;
}
type IdKind = keyof Owned;

/** As long as the owner's, with the same characters, and not in use. */
const missing: Owned = {
  hash: "6f".repeat(24),
  merchant_payment_code: "order-of-nobody",
  token: "token-that-nobody-has".padEnd(40, "x"),
  refund_id: "909090",
  merchant_refund_code: "refund-of-nobody",
  idempotency_key: "request-of-nobody",
};
const kinds = Object.keys(missing) as IdKind[];

async function ask(
  server: TestServer,
  path: string,
  body: Fields,
  idempotencyKey?: string,
): Promise<string> {
  const headers: Record<string, string> =
    idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey };
  const response = await fetch(server.url + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers,
  });
  return `${response.status} ${response.headers.get("idempotent-replayed") ?? "not replayed"} ${await response.text()}`;
}

function payment(
  keys: MerchantKeys,
  code: string,
  changes: Fields = {},
  creditcard: Fields = card,
): Fields {
  return {
    integration_key: keys.secret,
    operation: "request",
    payment: {
      merchant_payment_code: code,
      amount_total: "100.00",
      currency_code: "PEN",
      country: "pe",
      name: "Ana Lima",
      email: "ana.lima@example.com",
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard,
      ...changes,
    },
  };
}

/** The owner's captured and held payments, a refund, a stored card and a named request. */
async function makeOwned(server: TestServer, held: boolean): Promise<Owned> {
  const made = {
    merchant_payment_code: "order-of-another",
    token: "token-of-another-merchant".padEnd(40, "x"),
    merchant_refund_code: "refund-of-another",
    idempotency_key: "request-of-another",
  };
  const body = payment(owner, made.merchant_payment_code, {}, { ...card, auto_capture: !held });
  const paid = await ask(server, "/ws/direct", body, made.idempotency_key);
  const hash = /"hash":"([0-9a-f]{48})"/.exec(paid)?.[1] ?? "";
  const stored = {
    integration_key: owner.secret,
    payment_type_code: "creditcard",
    country: "pe",
    token: made.token,
    creditcard: card,
  };
  assert.match(await ask(server, "/ws/token", stored), /SUCCESS/);
  let refundId = "1";
  if (!held) {
    const refund = {
      integration_key: owner.secret,
      operation: "request",
      hash,
      amount: "10.00",
      description: "one",
    };
    const answer = await ask(server, "/ws/refund", {
      ...refund,
      merchant_refund_code: made.merchant_refund_code,
    });
    refundId = /"refunds":\[\{"id":"?(\w+)/.exec(answer)?.[1] ?? "";
  }
  assert.ok(hash !== "" && refundId !== "", paid);
  return { ...made, hash, refund_id: refundId };
}

/** Everything that the owner sees of its own data. */
async function viewOfOwner(server: TestServer, { hash }: Owned): Promise<readonly string[]> {
  const key = { integration_key: owner.secret };
  return [
    await ask(server, "/ws/query", { ...key, hash }),
    await ask(server, "/__cofre/explain", { ...key, hash }),
    await ask(server, "/__cofre/notifications", { ...key, after: 0 }),
    await ask(server, "/__cofre/settings", key),
    await ask(server, "/ws/merchantIntegrationProperties/get", key),
  ];
}

/** The forms in which an endpoint takes an identifier. */
function requestsOf(
  row: DocumentedEndpoint,
  kind: IdKind,
  ids: Owned,
  keys: MerchantKeys,
): Fields[] {
  const { merchant_payment_code: _, ...rest } = { ...row.example } as Record<string, unknown>;
  const example = withKeys(rest, keys);
  const id = kind === "idempotency_key" ? {} : { [kind]: ids[kind] };
  switch (row.id) {
    case "direct":
      if (kind === "token")
        return [payment(keys, "own-order-1", {}, { token: ids.token, card_cvv: "123" })];
      if (kind === "idempotency_key") return [payment(keys, "own-order-2")];
      return [{ ...payment(keys, "own-order-3", id), ...id }];
    case "verifyCard":
    case "verifyCardAscardverify":
      return [
        kind === "token" ? { ...example, card: { token: ids.token } } : { ...example, ...id },
      ];
    case "refund":
      return [
        { ...example, ...id },
        { integration_key: keys.secret, operation: "cancel", ...id },
        { integration_key: keys.secret, operation: "cancel", refund_id: ids.refund_id, ...id },
      ];
    case "actOnPayment":
      return actionNames.map((action) => ({ ...example, action, ...id }));
    case "listPayments":
      // Other results are the stranger's own, in the order of random identifiers.
      return kind === "hash" || kind === "merchant_payment_code"
        ? [{ ...example, search: ids[kind] }]
        : [];
    case "notifications":
      return [
        { ...example, ...id },
        { ...example, replay: "payment", hash: ids.hash },
        { ...example, hash: ids.hash },
        { ...example, replay: "range", from: 1, to: 99 },
        { ...example, replay: "failed", from: 1 },
      ];
    default:
      return [{ ...example, ...id }];
  }
}

function withKeys(example: Fields, keys: MerchantKeys): Fields {
  const text = JSON.stringify(example)
    .replaceAll("$PUBLIC_KEY", keys.public)
    .replaceAll("$KEY", keys.secret)
    .replaceAll("$DUE", "12/2060");
  return JSON.parse(text.replaceAll("$TOKEN", "own-token".padEnd(40, "x"))) as Fields;
}

/**
 * Without the requested identifier, and without the values that are random for each payment and
 * card.
 */
function comparable(answer: string, ids: Owned): string {
  let text = answer;
  // A message quotes the first forty characters of the requested value.
  for (const id of Object.values<string>({ ...ids }))
    if (id.length > 6) text = text.replaceAll(id, "(id)").replaceAll(echo(id), "(id)");
  return (
    text
      .replaceAll(/[0-9a-f]{128}/g, "(token)")
      .replaceAll(/[0-9a-f]{48}/g, "(hash)")
      .replaceAll(
        /"name":"World [^"]+"|"(?:integration_key|public_integration_key|ebanx_session_id|pin|authcode|mandate_id|id|secret|payment_url_secret|public_key|certificate_fingerprint)":"[^"]+"|"attempt":\d{5,}/g,
        "(drawn)",
      )
      .replaceAll(/"(?:authorization_code|acquirer_reference)":"[^"]+"|-r\d+-\d+/g, "(drawn)")
      .replaceAll(
        /"(?:accessToken|paymentId|ucaf|ucafAuthenticationData|xid|authenticationTransactionId|directoryServerTransactionId)":"[^"]+"/g,
        "(drawn)",
      )
      // Of a recorded request: its number among the stranger's, and its duration.
      .replaceAll(
        /"number":\d+,"at":"[^"]+T[^"]+"|"duration_ms":[\d.]+|after (?:less than 1|\d+) ms/g,
        "(recorded)",
      )
  );
}

/** The answer about an identifier, on a server on which the owner has its data. */
async function answers(
  row: DocumentedEndpoint,
  kind: IdKind,
  ids: Owned,
  keys: MerchantKeys,
  server: TestServer,
): Promise<readonly string[]> {
  const texts: string[] = [];
  for (const request of requestsOf(row, kind, ids, keys)) {
    texts.push(
      comparable(
        await ask(
          server,
          row.path,
          request,
          kind === "idempotency_key" ? ids.idempotency_key : undefined,
        ),
        ids,
      ),
    );
  }
  return texts;
}

for (const held of [true, false]) {
  describe(`another merchant's identifiers of a ${held ? "held" : "paid and refunded"} payment`, () => {
    test("answer like unknown identifiers, at every endpoint, and leave the owner's as it was", async (context) => {
      await using three = await startThreeMerchants();
      await using empty = await startThreeMerchants();
      const owned = await makeOwned(three.server, held);
      const before = await viewOfOwner(three.server, owned);
      let compared = 0;
      for (const row of rows) {
        for (const kind of kinds) {
          for (const stranger of strangers) {
            // The same request in an installation without any data, so that the stranger's own new
            // data is the same too.
            const about = await answers(row, kind, owned, stranger, three.server);
            const unknown = await answers(row, kind, owned, stranger, empty.server);
            assert.deepEqual(
              about,
              unknown,
              `${row.path} tells that another merchant has this ${kind}`,
            );
            compared += about.length;
          }
        }
      }
      context.diagnostic(`${compared} answers compared`);
      assert.ok(compared > 250);
      assert.deepEqual(await viewOfOwner(three.server, owned), before);
    });
  });
}

test("unknown and foreign identifiers in one installation answer alike where nothing is made", async () => {
  await using three = await startThreeMerchants();
  const owned = await makeOwned(three.server, false);
  // listRequests returns the stranger's own requests, with each identifier unchanged.
  const others = [
    "token",
    "direct",
    "request",
    "settings",
    "editProperties",
    "instructSimulator",
    "faults",
    "listRequests",
  ];
  const reading = rows.filter(({ id }) => !others.includes(id));
  for (const row of reading) {
    for (const kind of kinds) {
      const foreign = await answers(row, kind, owned, strangers[0], three.server);
      assert.deepEqual(
        foreign,
        await answers(row, kind, missing, strangers[0], three.server),
        `${row.path}, ${kind}`,
      );
    }
  }
});

test("control: the owner's own identifiers answer otherwise than unknown ones", async () => {
  const requested = {
    hash: "query",
    merchant_payment_code: "query",
    token: "verifyCard",
    refund_id: "refund",
    merchant_refund_code: "refund",
    idempotency_key: "direct",
  };
  for (const [kind, operation] of Object.entries(requested) as [IdKind, string][]) {
    await using three = await startThreeMerchants();
    const owned = await makeOwned(three.server, false);
    const row = documentedEndpoints().find(({ id }) => id === operation);
    assert.ok(row !== undefined);
    const own = await answers(row, kind, owned, owner, three.server);
    assert.notDeepEqual(own, await answers(row, kind, missing, owner, three.server), kind);
  }
});
