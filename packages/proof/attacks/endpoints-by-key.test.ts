import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { documentedEndpoints } from "../../server/test/keyed-endpoints.ts";
import { startTestServer, type TestServer } from "../../server/test/server.ts";
import { merchants, startThreeMerchants } from "./three-merchants.ts";

/*
 * What each kind of key sees at each of Cofre's own endpoints. Two accounts of the server and two
 * worlds each have a payment, a stored card, a fault, a receiver of notifications and requests, all
 * of which contain a word of their own: no caller sees another's word, and no other caller's action
 * changes a byte of a world's answers.
 */

type Fields = Readonly<Record<string, unknown>>;

/**
 * `own`: answers with the key's own data. `all`: the list of worlds, which is open to all callers
 * where the console has no sign-in.
 */
type Sight = "own" | "refused" | "all";

interface Row {
  readonly account: Sight;
  readonly world: Sight;
  /** A public key, of an account or a world. */
  readonly publicKey: Sight;
  /** No key, or an invalid one. */
  readonly anonymous: Sight;
}

const ownOnly: Row = { account: "own", world: "own", publicKey: "refused", anonymous: "refused" };
const rows: Readonly<Record<string, Row>> = {
  "/__cofre/explain": ownOnly,
  "/__cofre/timeline": ownOnly,
  "/__cofre/requests": ownOnly,
  "/__cofre/payments": ownOnly,
  "/__cofre/figures": ownOnly,
  "/__cofre/tokens": ownOnly,
  "/__cofre/views": ownOnly,
  "/__cofre/payment": ownOnly,
  "/__cofre/simulator": ownOnly,
  "/__cofre/worlds": { account: "all", world: "all", publicKey: "all", anonymous: "all" },
  "/__cofre/world": ownOnly,
  "/__cofre/clock": ownOnly,
  "/__cofre/faults": ownOnly,
  "/__cofre/settings": ownOnly,
  "/__cofre/notifications": ownOnly,
  "/__cofre/stats": ownOnly,
  "/__cofre/countries": ownOnly,
  "/__cofre/test-cards": ownOnly,
};
/**
 * With sign-in, only a server's own account lists worlds, and no key opens the endpoints of user
 * management.
 */
const closedRows: Readonly<Record<string, Row>> = {
  "/__cofre/worlds": {
    account: "all",
    world: "refused",
    publicKey: "refused",
    anonymous: "refused",
  },
  ...Object.fromEntries(
    ["session", "enrolment", "password", "users", "audit"].map((name) => [
      `/__cofre/${name}`,
      { account: "refused", world: "refused", publicKey: "refused", anonymous: "refused" },
    ]),
  ),
};

interface Owner {
  readonly kind: "account" | "world";
  readonly secret: string;
  readonly public: string;
  /** Part of every text of its own. */
  readonly word: string;
}

const owners: readonly Owner[] = [
  { kind: "account", ...merchants[0], word: "Amarilis" },
  { kind: "account", ...merchants[1], word: "Begonia" },
  { kind: "world", secret: "test_ik_dalia", public: "test_pk_dalia", word: "Dalia" },
  { kind: "world", secret: "test_ik_gerbera", public: "test_pk_gerbera", word: "Gerbera" },
];
const refused = /"status_code":"(?:BP-SA-1|BP-SA-2|DA-1|COFRE-110|COFRE-112)"/;

async function send(world: TestServer, path: string, fields: Fields): Promise<string> {
  return (await fetch(world.url + path, { method: "POST", body: JSON.stringify(fields) })).text();
}

async function read(
  world: TestServer,
  path: string,
  parameters: Readonly<Record<string, string>>,
): Promise<string> {
  return (await fetch(`${world.url}${path}?${new URLSearchParams(parameters).toString()}`)).text();
}

async function sent(world: TestServer, path: string, fields: Fields): Promise<string> {
  const answer = await send(world, path, fields);
  assert.match(answer, /"status":"SUCCESS"/, path);
  return answer;
}

/** Fields for each endpoint that needs more than a key, about the owner's own payment. */
function requested(path: string, { word }: Owner): Record<string, string> {
  const code = word.toLowerCase();
  // The list of requests is requested with a payment too, because the call itself is one of the
  // caller's requests.
  if (["/__cofre/explain", "/__cofre/timeline", "/__cofre/requests"].includes(path))
    return { merchant_payment_code: code };
  if (path === "/__cofre/payment") return { merchant_payment_code: code, action: "chargeback" };
  return path === "/__cofre/simulator" ? { next: "lose_answer" } : {};
}

async function live({ word, secret }: Owner, world: TestServer, code: string): Promise<void> {
  const key = { integration_key: secret };
  const creditcard = {
    card_number: "4111111111111111",
    card_name: word,
    card_due_date: "12/2060",
    card_cvv: "123",
  };
  await sent(world, "/ws/direct", {
    ...key,
    operation: "request",
    payment: {
      merchant_payment_code: code,
      amount_total: "100.00",
      currency_code: "PEN",
      country: "pe",
      name: word,
      email: `${word}@example.com`,
      phone_number: "51987654321",
      payment_type_code: "creditcard",
      creditcard,
    },
  });
  await sent(world, "/ws/token", {
    ...key,
    payment_type_code: "creditcard",
    country: "pe",
    creditcard,
  });
}

async function settle(owner: Owner, world: TestServer): Promise<void> {
  const { kind, word, secret } = owner;
  if (kind === "world") {
    const keys = { new_integration_key: secret, new_public_integration_key: owner.public };
    await sent(world, "/__cofre/worlds", { name: word, seed: word, ...keys });
  }
  const key = { integration_key: secret };
  await sent(world, "/__cofre/settings", {
    ...key,
    settings: { imageUrl: `https://example.com/${word}.png` },
  });
  await sent(world, "/__cofre/views", { ...key, save: word });
  await live(owner, world, word.toLowerCase());
  await sent(world, "/__cofre/faults", {
    ...key,
    add: { kind: "slow", merchant_payment_code: `${word}-later` },
  });
  if (kind === "world")
    await sent(world, "/__cofre/world", { ...key, action: "snapshot", name: word });
}

function keysOf(owner: Owner): readonly (readonly [keyof Row, Record<string, string>])[] {
  return [
    [owner.kind, { integration_key: owner.secret }],
    ["publicKey", { integration_key: owner.public }],
    ["publicKey", { public_integration_key: owner.public }],
    ["anonymous", {}],
    ["anonymous", { integration_key: "test_ik_nobody" }],
  ];
}

function assertSight(answer: string, sight: Sight, { word }: Owner, what: string): void {
  if (sight === "refused") assert.match(answer, refused, what);
  else assert.match(answer, /"status":"(?:SUCCESS|ERROR)"/, what);
  if (sight !== "all")
    assert.doesNotMatch(answer, sight === "own" ? othersOf(word) : anybodys, what);
  if (sight === "own") assert.doesNotMatch(answer, refused, what);
}

const anybodys = new RegExp(owners.map(({ word }) => word).join("|"), "i");
const othersOf = (word: string): RegExp =>
  new RegExp(
    owners
      .map((each) => each.word)
      .filter((each) => each !== word)
      .join("|"),
    "i",
  );

describe("endpoints of Cofre's own", () => {
  test("have a row here, each of them", () => {
    const served = documentedEndpoints()
      .map(({ path }) => path)
      .filter((path) => path.startsWith("/__cofre/"));
    assert.deepEqual(served.toSorted(), Object.keys(rows).toSorted());
  });

  test("show each kind of key what is its own", async () => {
    await using three = await startThreeMerchants();
    for (const owner of owners) await settle(owner, three.server);
    const seen = new Map<string, string>();
    for (const [path, row] of Object.entries(rows)) {
      for (const owner of owners) {
        for (const [who, key] of keysOf(owner)) {
          const answer = await read(three.server, path, { ...requested(path, owner), ...key });
          assertSight(answer, row[who], owner, `${path} ${who} ${owner.word}`);
          if (row[who] === "own") seen.set(owner.word, `${seen.get(owner.word) ?? ""}${answer}`);
        }
      }
    }
    // The control: the words are visible to their owners.
    for (const { word } of owners) assert.match(seen.get(word) ?? "", new RegExp(word, "i"));
  });

  test("answer a world the same, byte for byte, whatever anybody else does meanwhile", async () => {
    await using three = await startThreeMerchants();
    for (const owner of owners) await settle(owner, three.server);
    const [account, , watched, other] = owners;
    assert.ok(account !== undefined && watched !== undefined && other !== undefined);
    const look = async (): Promise<readonly string[]> =>
      Promise.all(
        Object.keys(rows)
          .filter(
            (path) =>
              rows[path]?.world === "own" &&
              path !== "/__cofre/payment" &&
              path !== "/__cofre/simulator",
          )
          .map((path) =>
            read(three.server, path, {
              ...requested(path, watched),
              integration_key: watched.secret,
            }),
          ),
      );
    const before = await look();
    for (const neighbour of [account, other]) await live(neighbour, three.server, "meanwhile");
    await sent(three.server, "/__cofre/clock", { integration_key: other.secret, advance: "4d" });
    assert.deepEqual(await look(), before);
    // The control: its own actions are visible.
    await live(watched, three.server, "meanwhile");
    const after = await look();
    assert.ok(after.filter((answer, index) => answer !== before[index]).length >= 4);
  });

  test("show a key nothing of people or worlds, where people sign in", async () => {
    await using world = await startTestServer({ environment: { COFRE_CONSOLE: "login" } });
    const [account, , guest] = owners;
    assert.ok(account !== undefined && guest !== undefined);
    const keys = { new_integration_key: guest.secret, new_public_integration_key: guest.public };
    await sent(world, "/__cofre/worlds", {
      integration_key: account.secret,
      name: guest.word,
      ...keys,
    });
    for (const [path, row] of Object.entries(closedRows)) {
      for (const owner of [account, guest]) {
        for (const [who, key] of keysOf(owner)) {
          for (const answer of [await read(world, path, key), await send(world, path, key)]) {
            // POST creates a world.
            if (row[who] === "refused")
              assertSight(answer, "refused", owner, `${path} ${who} ${owner.word}`);
          }
        }
      }
    }
  });
});
