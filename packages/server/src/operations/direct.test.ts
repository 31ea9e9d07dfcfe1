import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { describe, test } from "node:test";
import { StillTime } from "../../test/contract/connector-harness.ts";
import * as given from "../../test/contract/store-fixtures.ts";
import { runDeclared } from "../../test/run-declared.ts";
import { cardOf, numberUnder } from "../../test/vectors/cards.ts";
import type {
  AuthorizeOutcome,
  AuthorizeRequest,
  CardToAuthorize,
  CardTraits,
  Connector,
  ReverseOutcome,
} from "../connectors/connector.ts";
import {
  decideAuthorizeOutcome,
  decideReversal,
  decideReversed,
} from "../decisions/payment-decisions.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import { createSimulator } from "../connectors/simulator/simulator-connector.ts";
import { day, laterBy } from "../kernel/instant.ts";
import { SeededRandom } from "../kernel/seeded-random.ts";
import { ServiceError } from "../payment/service-error.ts";
import type { Account } from "../merchant/account.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { Change } from "../stores/change.ts";
import { type CommitFault, createMemoryStore } from "../stores/memory/memory-store.ts";
import { StoreError } from "../stores/store.ts";
import { CvvCache } from "../vault/cvv-cache.ts";
import { Keyring } from "../vault/keyring.ts";
import { createLocalVault } from "../vault/local-vault.ts";
import {
  createMemoryKeyProvider,
  createMemoryWrappedKeyStore,
} from "../vault/memory-key-provider.ts";
import { Cvv } from "../vault/pan.ts";
import { createRecordVault } from "../vault/record-vault.ts";
import { type CardKeys, createWorldCardKeys } from "../vault/records/card-keys.ts";
import { noEarlierRows, RowMacs } from "../vault/row-mac.ts";
import { tokenExpiresAt } from "../vault/token.ts";
import type { DirectInput } from "./direct-input.ts";
import { type Direct, direct } from "./direct.ts";
import { Runner } from "./runner.ts";
import { setCvv } from "./set-cvv.ts";
import { tokenize } from "./tokenize.ts";
import { verifyCard } from "./verify-card.ts";

const visa = "4111111111111111";
const amex = "378282246310005";
const token = "t".repeat(32);
const approval: AuthorizeOutcome = {
  kind: "approved",
  authorizationCode: "123456",
  responseCode: "00",
  acquirerReference: "REF",
  networkTransactionId: "123456789012345",
};
const notSent: AuthorizeOutcome = { kind: "not_sent" };
const unknown: AuthorizeOutcome = { kind: "unknown", cause: "timeout" };
const decline: AuthorizeOutcome = {
  kind: "declined",
  reason: "insufficient_funds",
  responseCode: "51",
  adviceCode: undefined,
  refusedBeforeIssuer: false,
};

interface Given {
  readonly settings?: Partial<Account["settings"]>;
  /** The answer of each acquirer by name; `first` is the default without a route. */
  readonly says?: Readonly<Record<string, AuthorizeOutcome>>;
  readonly traits?: Partial<CardTraits>;
  readonly faultOf?: (change: Change) => CommitFault | undefined;
  /** Runs during the acquirer call. */
  readonly meanwhile?: () => Promise<unknown>;
  readonly reverse?: Connector["reverse"];
  /** The keys of cards; without them the keys are in files. */
  readonly cardKeys?: CardKeys;
}

async function open({
  settings = {},
  says = { first: approval },
  traits,
  faultOf,
  meanwhile,
  reverse,
  cardKeys,
}: Given = {}) {
  const time = new StillTime();
  const random = new SeededRandom("direct");
  const keys = { provider: createMemoryKeyProvider(random), store: createMemoryWrappedKeyStore() };
  const keyring = await Keyring.open({
    ...keys,
    clock: time,
    random,
    environment: "test",
    create: true,
  });
  const store = createMemoryStore({ commitFault: (change) => faultOf?.(change) });
  const requests: (readonly [name: string, request: AuthorizeRequest, card: CardToAuthorize])[] =
    [];
  const connectors = Object.entries(says).map(([name, outcome]): Connector => ({
    ...createSimulator({ clock: time, scheduler: time }),
    name,
    authorize: async (request, card) => {
      requests.push([name, request, card]);
      await meanwhile?.();
      return outcome;
    },
    ...(reverse === undefined ? {} : { reverse }),
    ...(traits === undefined
      ? {}
      : {
          cardTraits: () => ({
            funding: "credit",
            foreign: false,
            ecommerce: true,
            exhausted: false,
            ...traits,
          }),
        }),
  }));
  const account: Account = {
    ...given.newAccount(given.merchantA),
    settings: { ...defaultAccountSettings(), ...settings },
  };
  const alarms: string[] = [];
  const vault =
    cardKeys === undefined
      ? createLocalVault({ keyring, environment: "test", random })
      : createRecordVault({
          keys: cardKeys,
          tokens: keyring.derivedKey("tokens"),
          macs: new RowMacs((label) => keyring.derivedKey(label), noEarlierRows),
          random,
        });
  const runner = new Runner({
    clock: time,
    random,
    store,
    vault,
    connectors: connectorsOf(connectors),
    cvvCache: new CvvCache(random),
    acquirerTimeoutMs: 30_000,
    endpointsOf: () => [],
    onNotificationsCommitted: () => undefined,
    alarm: ({ kind }) => void alarms.push(kind),
  });
  const pay = (over: Partial<DirectInput> = {}): Promise<Direct> =>
    runDeclared(runner, direct, account, { ...input(), ...over });
  const keep = (digits = visa, chosen = token) =>
    runner.run(tokenize, account, { card: cardOf(digits), token: chosen });
  const digestOf = (given: string) => vault.tokenDigests(account.id, given)[0];
  return {
    time,
    store,
    traits: traits ?? {},
    requests,
    alarms,
    account,
    runner,
    pay,
    keep,
    digestOf,
    names: () => requests.map(([name]) => name),
  };
}

type World = Awaited<ReturnType<typeof open>>;

function input(digits = visa): DirectInput {
  const source = {
    kind: "pan",
    card: cardOf(digits),
    cvv: undefined,
    cryptogram: undefined,
  } as const;
  return { order: given.bareOrder("order-1"), source, local: false, createToken: undefined };
}

const ofToken = { kind: "token", token, cvv: undefined, cryptogram: undefined } as const;
const orderOf = (over: Partial<DirectInput["order"]>): DirectInput["order"] => ({
  ...given.bareOrder("order-1"),
  ...over,
});

describe("a payment by card", () => {
  test("is sent to the acquirer once, complete, after the attempt was recorded", async () => {
    const states: (string | undefined)[] = [];
    const world = await open({
      settings: { descriptor: "SHOP" },
      meanwhile: async () =>
        states.push((await world.store.paymentByCode(given.merchantA, "order-1"))?.state),
    });
    const order = orderOf({
      ...given.newPayment(1).order,
      code: "order-1",
      softDescriptor: undefined,
      manualReview: false,
    });
    const sentAt = world.time.now();
    const { payment, token: none } = await world.pay({ order });
    assert.deepEqual([states, payment.state, none], [["authorizing"], "captured", undefined]);
    const [[name, request] = []] = world.requests;
    assert.equal(world.requests.length, 1);
    assert.equal(name, "first");
    assert.deepEqual(request, {
      merchantId: given.merchantA,
      reference: `${payment.id}-1`,
      deadline: laterBy(sentAt, 30_000),
      settings: world.account.settings,
      amount: order.amount,
      capture: true,
      instalments: 3,
      country: "br",
      descriptor: "SHOP",
      card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
      storedCredential: order.storedCredential,
      threeDSecure: order.threeDSecure,
      customer: order.customer,
      paymentType: "credit",
    });
    assert.equal(payment.order.connector, "first");
    const history = await world.store.history(given.merchantA, payment.id);
    assert.deepEqual(
      new Set(history.flatMap(({ facts }) => facts.map(({ by }) => by))),
      new Set(["merchant"]),
    );
  });

  test("of a token takes along the security code that was left for it, once, unless it has its own; each is wiped", async () => {
    const codes: (string | undefined)[] = [];
    const world: World = await open({
      meanwhile: async () => {
        const { cvv } = world.requests.at(-1)?.[2] ?? {};
        codes.push(cvv === undefined ? undefined : Buffer.from(cvv.reveal()).toString("latin1"));
      },
    });
    await world.keep();
    const cvvOf = (digits: string): Cvv => Cvv.from(Buffer.from(digits)) ?? assert.fail();
    const leave = (digits: string) =>
      world.runner.run(setCvv, world.account, { token, cvv: cvvOf(digits) });
    const pay = (code: string, cvv?: Cvv) =>
      world.pay({ order: orderOf({ code }), source: { ...ofToken, cvv } });
    await leave("123");
    await pay("with-the-code-left");
    assert.throws(
      () => world.requests[0]?.[2].cvv?.reveal(),
      "it is wiped when the payment is through",
    );
    await pay("a-second-one");
    await leave("456");
    await pay("with-its-own", cvvOf("789"));
    await pay("and-after-that");
    assert.deepEqual(codes, ["123", undefined, "789", undefined]);
  });

  test("is held when it is not captured at once, or is to be reviewed; its own words are on the statement", async () => {
    const world = await open();
    const { payment } = await world.pay({
      order: orderOf({ autoCapture: false, softDescriptor: "OWN" }),
    });
    assert.deepEqual(
      [payment.state, world.requests[0]?.[1].capture, world.requests[0]?.[1].descriptor],
      ["authorized", false, "OWN"],
    );
    const reviewed = await open();
    assert.equal(
      (await reviewed.pay({ order: orderOf({ manualReview: true }) })).payment.state,
      "in_review",
    );
    const large = await open({ settings: { reviewAboveUsd: 99 } });
    assert.equal((await large.pay()).payment.state, "in_review");
    const small = await open({ settings: { reviewAboveUsd: 101 } });
    assert.equal((await small.pay()).payment.state, "captured");
  });

  test("is taxed unless it is processed within the country", async () => {
    const abroad = await open();
    assert.ok((await abroad.pay()).payment.order.pricing.tax.minor > 0n);
    const local = await open();
    assert.equal((await local.pay({ local: true })).payment.order.pricing.tax.minor, 0n);
  });

  test("is what the acquirer says; of no answer it stays open", async () => {
    for (const [outcome, state] of [
      [decline, "declined"],
      [notSent, "declined"],
      [unknown, "authorizing"],
    ] as const) {
      const world = await open({ says: { first: outcome } });
      const { payment, token: none } = await world.pay({ createToken: { token } });
      assert.deepEqual([payment.state, none], [state, undefined]);
      assert.equal(
        await world.store.cardByToken(given.merchantA, world.digestOf(token)),
        undefined,
      );
    }
  });

  test("is not sent when the attempt could not be recorded", async () => {
    for (const fault of [
      "unavailable",
      "commit_unknown_applied",
      "commit_unknown_not_applied",
    ] as const) {
      const world = await open({ faultOf: () => fault });
      await assert.rejects(world.pay(), ServiceError);
      assert.deepEqual(world.requests, []);
    }
  });
});

describe("a payment that stores its card", () => {
  test("gives the token when it was approved, and the card can be paid with", async () => {
    const world = await open();
    const { token: fresh } = await world.pay({ createToken: { token: undefined } });
    assert.match(fresh ?? "", /^[0-9a-f]{128}$/);
    const again = await world.pay({
      order: orderOf({ code: "order-2" }),
      source: { ...ofToken, token: fresh ?? "" },
    });
    assert.equal(again.payment.state, "captured");
    assert.equal(world.requests[1]?.[1].card.tokenDigest, world.digestOf(fresh ?? ""));
  });

  test("under a token that is taken moves no money", async () => {
    const world = await open();
    await world.keep();
    await assert.rejects(world.pay({ createToken: { token } }), { code: "token_taken" });
    assert.deepEqual(world.requests, []);
  });

  test("under a token that is taken in the meantime is valid, without the token", async () => {
    const world = await open({ meanwhile: () => world.keep() });
    const { payment, token: none } = await world.pay({ createToken: { token } });
    assert.deepEqual([payment.state, none], ["captured", undefined]);
    assert.equal((await world.store.paymentByCode(given.merchantA, "order-1"))?.state, "captured");
  });

  test("returns no token when its approval could not be recorded", async () => {
    const world = await open({
      faultOf: ({ payment }) =>
        payment?.replaces === 1 ? "commit_unknown_not_applied" : undefined,
    });
    const { payment, token: none } = await world.pay({ createToken: { token } });
    assert.deepEqual([payment.state, none], ["authorizing", undefined]);
  });

  test("stores nothing when recovery was faster than the answer", async () => {
    const world = await open({
      meanwhile: async () => {
        const sent = await world.store.paymentByCode(given.merchantA, "order-1");
        assert.ok(sent !== undefined);
        await world.store.commit(
          given.paymentChange({ ...sent, version: 2, state: "voided", attempt: undefined }),
        );
      },
    });
    const { payment, token: none } = await world.pay({ createToken: { token } });
    assert.deepEqual([payment.state, none], ["voided", undefined]);
    assert.equal(await world.store.cardByToken(given.merchantA, world.digestOf(token)), undefined);
  });

  test("fails as it does where something else is wrong than its token", async () => {
    const world = await open({
      faultOf: ({ payment }) => (payment?.replaces === 1 ? "stale" : undefined),
    });
    await assert.rejects(world.pay({ createToken: { token } }), { code: "payment_in_flight" });
  });
});

describe("a payment is refused before money moves", () => {
  const refused = async (
    code: string,
    world: Awaited<ReturnType<typeof open>>,
    over: Partial<DirectInput> = {},
  ): Promise<void> => {
    await assert.rejects(world.pay(over), { code });
    assert.deepEqual(world.requests, []);
    assert.equal(await world.store.paymentByCode(given.merchantA, "order-1"), undefined);
  };

  test("when its code is taken", async () => {
    const world = await open();
    await world.pay();
    await assert.rejects(world.pay(), { code: "payment_code_taken" });
    assert.equal(world.requests.length, 1);
  });

  test("when there is no such token, its card does not open, or no brand is known of the card number", async () => {
    const world = await open();
    await refused("token_not_found", world, { source: ofToken });
    const source = {
      kind: "pan",
      card: cardOf(numberUnder("9", 16)),
      cvv: undefined,
      cryptogram: undefined,
    } as const;
    await refused("card_not_storable", world, { source });
    await world.store.commit(
      given.cardChange(
        given.newCard(1, { tokenDigest: world.digestOf(token), createdAt: world.time.now() }),
      ),
    );
    await refused("card_not_readable", world, { source: ofToken });
    assert.deepEqual(world.alarms, ["card_not_readable"]);
  });

  test("when its token is over: from the very millisecond on that is 14 months after the last use", async () => {
    for (const [earlierMs, isOver] of [
      [1, false],
      [0, true],
    ] as const) {
      const world = await open();
      const { card } = await world.keep();
      await world.time.pass(tokenExpiresAt(card.lastUsedAt) - world.time.now() - earlierMs);
      if (isOver) await refused("token_not_found", world, { source: ofToken });
      else assert.equal((await world.pay({ source: ofToken })).payment.state, "captured");
    }
  });

  test("when the card of a token has no such plan of instalments", async () => {
    const world = await open();
    await world.keep(amex);
    await refused("instalments_not_offered", world, {
      source: ofToken,
      order: orderOf({ instalments: 12 }),
    });
    const detail = { brand: "amex", country: "br", count: 12 };
    await assert.rejects(world.pay({ source: ofToken, order: orderOf({ instalments: 12 }) }), {
      detail,
    });
    assert.equal(
      (await world.pay({ source: ofToken, order: orderOf({ instalments: 6 }) })).payment.state,
      "captured",
    );
    await world.keep(visa, "v".repeat(32));
    const source = { ...ofToken, token: "v".repeat(32) };
    assert.equal(
      (await world.pay({ source, order: orderOf({ code: "order-2", instalments: 12 }) })).payment
        .state,
      "captured",
    );
  });

  test("for what the acquirer's tables say of the card, in the order of the interface; of a network token they say nothing", async () => {
    const plan = { order: orderOf({ instalments: 2 }) };
    await refused(
      "card_foreign",
      await open({
        traits: { foreign: true, funding: "prepaid", ecommerce: false, exhausted: true },
      }),
      plan,
    );
    await refused(
      "instalments_on_prepaid",
      await open({ traits: { funding: "prepaid", ecommerce: false } }),
      plan,
    );
    await refused(
      "instalments_on_debit",
      await open({ traits: { funding: "debit", exhausted: true } }),
      plan,
    );
    await refused(
      "card_not_eligible",
      await open({ traits: { ecommerce: false, exhausted: true } }),
    );
    await refused("card_exhausted", await open({ traits: { exhausted: true } }));
    for (const funding of ["prepaid", "debit"] as const)
      assert.equal((await (await open({ traits: { funding } })).pay()).payment.state, "captured");
    assert.equal((await (await open({ traits: {} })).pay(plan)).payment.state, "captured");
    const world = await open({ traits: { foreign: true } });
    const source = {
      kind: "network_token",
      card: cardOf(visa),
      cvv: undefined,
      cryptogram: undefined,
    } as const;
    assert.equal((await world.pay({ source })).payment.state, "captured");
    assert.equal(world.requests[0]?.[2].networkToken, true);
  });

  test("on a strict account when it names no mandate, or another card's", async () => {
    const stored = (mandateId: string | undefined) =>
      ({ use: "stored", initiator: "MIT", reason: "SCHEDULED_RECURRING", mandateId }) as const;
    const world = await open({ settings: { strictMandates: true } });
    const initial = {
      use: "initial",
      initiator: "CIT",
      reason: "SCHEDULED_RECURRING",
      mandateId: undefined,
    } as const;
    await world.pay({ order: orderOf({ code: "initial", storedCredential: initial }) });
    world.requests.length = 0;
    const mandate = "123456789012345";
    await refused("mandate_mismatch", world, {
      order: orderOf({ storedCredential: stored(undefined) }),
    });
    await refused("mandate_mismatch", world, {
      order: orderOf({ storedCredential: stored("543210987654321") }),
    });
    const others: readonly string[] = [amex, "4111115666052208"];
    for (const digits of others) {
      await refused("mandate_mismatch", world, {
        source: input(digits).source,
        order: orderOf({ storedCredential: stored(mandate) }),
      });
    }
    assert.equal(
      (await world.pay({ order: orderOf({ storedCredential: stored(mandate) }) })).payment.state,
      "captured",
    );
    const lax = await open();
    assert.equal(
      (await lax.pay({ order: orderOf({ storedCredential: stored(undefined) }) })).payment.state,
      "captured",
    );
  });
});

describe("a payment that is asked for again", () => {
  const again = { request: "a".repeat(64) };

  test("is returned before any reason that would refuse it now, and under its own key as it is", async () => {
    const taken = { createToken: { token: "u".repeat(40) } };
    const rows: readonly (readonly [
      refusal: string,
      input: Partial<DirectInput>,
      meanwhile?: (world: World) => unknown,
    ])[] = [
      ["token_taken", taken],
      ["token_not_found", { source: ofToken }, ({ time }) => time.pass(500 * day)],
      ["card_exhausted", {}, ({ traits }) => Object.assign(traits, { exhausted: true })],
      ["card_foreign", {}, ({ traits }) => Object.assign(traits, { foreign: true })],
    ];
    for (const [refusal, input, meanwhile] of rows) {
      const world = await open({ traits: {} });
      if (input.source !== undefined) await world.keep();
      const { payment, token: made } = await world.pay({ ...input, ...again });
      await meanwhile?.(world);
      const reported = await world.pay({ ...input, ...again });
      assert.deepEqual([reported.payment.id, reported.token], [payment.id, made], refusal);
      for (const request of [undefined, "b".repeat(64)]) {
        await assert.rejects(
          world.pay({ ...input, request }),
          { code: "payment_code_taken" },
          refusal,
        );
      }
      // The control: with another code it is refused for its own reason.
      await assert.rejects(world.pay({ ...input, order: orderOf({ code: "order-2" }) }), {
        code: refusal,
      });
      assert.equal(world.requests.length, 1);
    }
  });

  test("under a key does not get another request's payment, though it asks for the same", async () => {
    const world = await open();
    await world.pay();
    await assert.rejects(world.pay(again), { code: "payment_code_taken" });
  });
});

describe("an approval that comes when the payment has ended otherwise", () => {
  const undo = (how: "voided" | "declined" | "reversing") => async (world: World) => {
    const sent = await world.store.paymentByCode(given.merchantA, "order-1");
    assert.ok(sent !== undefined);
    const now = world.time.now();
    const options = { attempt: 1, notify: true, captureWindowDays: 4 };
    const first =
      how === "declined"
        ? decideAuthorizeOutcome(sent, decline, now, "recovery", options)
        : decideReversal(sent, now, now);
    assert.ok(first !== undefined);
    await world.store.commit(first);
    const reversed = how === "voided" ? decideReversed(first.payment.next, now) : undefined;
    if (reversed !== undefined) await world.store.commit(reversed);
  };
  const late = async (how: Parameters<typeof undo>[0], reversals: readonly ReverseOutcome[]) => {
    const requests: string[] = [];
    const left = [...reversals];
    const world: World = await open({
      meanwhile: () => undo(how)(world),
      reverse: async ({ original }) => {
        requests.push(original.reference.slice(-2));
        return left.shift() ?? { kind: "reversed" };
      },
    });
    const { payment } = await world.pay();
    const stored = await world.store.paymentById(given.merchantA, payment.id);
    assert.deepEqual(stored, payment, "what is answered is what is stored");
    return { ...world, payment, reversals: requests };
  };

  test("is reversed at once, with an alarm, and the payment stays as it is", async () => {
    for (const how of ["voided", "declined"] as const) {
      const { payment, reversals, alarms } = await late(how, []);
      assert.deepEqual(
        [payment.state, payment.needsReview, reversals, alarms],
        [how, false, ["-1"], ["approval_came_late"]],
      );
    }
  });

  test("is reversed without an alarm while recovery undoes it anyway", async () => {
    const { payment, reversals, alarms } = await late("reversing", []);
    assert.deepEqual([payment.state, reversals, alarms], ["reversing", ["-1"], []]);
  });

  test("is left to people when the acquirer does not say that it is undone", async () => {
    const silent: ReverseOutcome = { kind: "unknown", cause: "timeout" };
    const again = await late("voided", [silent, silent]);
    assert.deepEqual([again.payment.needsReview, again.reversals.length], [false, 3]);
    for (const reversals of [
      [silent, silent, silent],
      [{ kind: "refused", responseCode: "21" }],
      [{ kind: "unknown_original" }],
    ] as const) {
      assert.equal((await late("voided", reversals)).payment.needsReview, true);
    }
  });
});

describe("the way of a payment", () => {
  const says = { first: approval, a: notSent, b: decline, c: approval };
  const routes = (...connectors: readonly string[]) => ({ routes: [{ connectors }] });

  test("is its route's, and continues with the next acquirer only after a certain refusal", async () => {
    const rows: readonly (readonly [
      route: readonly string[],
      connectors: readonly string[],
      state: string,
    ])[] = [
      [["c"], ["c"], "captured"],
      [["a", "c"], ["a", "c"], "captured"],
      [["a", "a2", "c"], ["a", "a2", "c"], "captured"],
      [["a", "b", "c"], ["a", "b"], "declined"],
      [["c", "a"], ["c"], "captured"],
      [["u", "c"], ["u"], "authorizing"],
      [["a"], ["a"], "declined"],
    ];
    for (const [route, connectors, state] of rows) {
      const world = await open({
        says: { ...says, a2: notSent, u: unknown },
        settings: routes(...route),
      });
      assert.equal((await world.pay()).payment.state, state);
      assert.deepEqual(world.names(), connectors);
      assert.deepEqual(
        world.requests.map(([, { reference }]) => reference.slice(-2)),
        connectors.map((_, index) => `-${index + 1}`),
      );
    }
  });

  test("is the first's when no route fits", async () => {
    const world = await open({
      says,
      settings: {
        routes: [
          {
            connectors: ["c"],
            brands: ["amex"],
            bins: ["3"],
            currencies: ["USD"],
            countries: ["br"],
            fromUsd: 100,
          },
        ],
      },
    });
    await world.pay();
    await world.pay({ ...input(amex), order: orderOf({ code: "order-2" }) });
    await world.pay({
      ...input(amex),
      order: orderOf({ code: "order-3", amount: { minor: 99_99n, currency: "USD" } }),
    });
    assert.deepEqual(world.names(), ["first", "c", "first"]);
  });

  test("ends where the next step could not be recorded", async () => {
    const world = await open({
      says,
      settings: routes("a", "c"),
      faultOf: ({ facts }) =>
        facts.some(({ fact }) => fact === "authorization_rerouted") ? "unavailable" : undefined,
    });
    assert.equal((await world.pay()).payment.state, "declined");
    assert.deepEqual(world.names(), ["a"]);
  });
});

describe("a verification of a stored card", () => {
  test("is a use of it: the token lives 14 months from then", async () => {
    const world = await open();
    const { card } = await world.keep();
    const lastUse = async () =>
      (await world.store.cardByToken(given.merchantA, card.tokenDigest))?.lastUsedAt;
    await world.time.pass(400 * day);
    const verified = await runDeclared(world.runner, verifyCard, world.account, {
      source: ofToken,
      country: "br",
      paymentType: "credit",
      storedCredential: undefined,
    });
    assert.equal(verified.kind, "good");
    assert.equal(await lastUse(), world.time.now());
    await world.time.pass(400 * day);
    assert.equal((await world.pay({ source: ofToken })).payment.state, "captured");
    // The control: without the use in between, the token would be expired.
    assert.ok(tokenExpiresAt(card.lastUsedAt) < world.time.now());
  });
});

// A client received the answer that nothing had been done although the acquirer had approved: the key was made
// after the approval, and only the simulation with key records lets the store fail then.
describe("a payment that stores the first card of its merchant", () => {
  const withKey = createWorldCardKeys("0".repeat(32), createSecretKey(Buffer.alloc(32, 1)));
  const fails = (): Promise<never> => Promise.reject(new StoreError("commit_unknown"));
  const createToken = { token };

  test("is refused before it is sent, if the store fails while the merchant's key is made", async () => {
    const cardKeys = { ...withKey, readyCurrent: () => undefined, current: fails };
    const world = await open({ cardKeys });
    await assert.rejects(world.pay({ createToken }), { code: "store_unavailable" });
    assert.deepEqual(world.requests, []);
    assert.equal(await world.store.paymentByCode(given.merchantA, "order-1"), undefined);
    // The control: without a token no key is needed.
    assert.equal((await world.pay()).payment.state, "captured");
  });

  test("is recorded without the token, if the key is gone when the acquirer has approved", async () => {
    let isGone = false;
    const cardKeys: CardKeys = {
      ...withKey,
      readyCurrent: (id) => (isGone ? undefined : withKey.readyCurrent(id)),
      current: (id) => (isGone ? fails() : withKey.current(id)),
    };
    const world = await open({ cardKeys, meanwhile: async () => (isGone = true) });
    const { payment, token: none } = await world.pay({ createToken });
    assert.deepEqual([payment.state, none], ["captured", undefined]);
    isGone = false;
    const whole = await open({ cardKeys });
    assert.equal((await whole.pay({ createToken })).token, token, "the control");
  });
});
