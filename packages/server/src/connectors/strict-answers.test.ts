import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../kernel/instant.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { defaultAccountSettings } from "../merchant/settings.ts";
import type { DeclineReason } from "../payment/payment.ts";
import { Cvv, Pan } from "../vault/pan.ts";
import { connectorsOf } from "./connector-set.ts";
import type { Approval, CardToAuthorize, Connector, Decline, DroppedValue } from "./connector.ts";

const number = "4111111111111111";
const bytes = (text: string) => Uint8Array.from(Buffer.from(text, "latin1"));

function cardInHand(code = "837"): CardToAuthorize {
  const pan = Pan.from(bytes(number));
  assert.ok(pan !== undefined);
  return {
    card: { pan, expiryMonth: 12, expiryYear: 2060, holderName: "" },
    cvv: Cvv.from(bytes(code)),
    cryptogram: undefined,
  };
}

const amount = { minor: 100_00n, currency: "USD" };
const address = {
  merchantId: "00000001" as MerchantId,
  reference: "p-1",
  deadline: instant(1),
  settings: defaultAccountSettings(),
};
const card = { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined } as const;
const authorization = {
  ...address,
  amount,
  capture: true,
  instalments: 1,
  country: "br",
  descriptor: "SHOP",
  card,
  storedCredential: undefined,
  threeDSecure: undefined,
};
const verification = {
  ...address,
  country: "br",
  currency: "USD",
  card,
  storedCredential: undefined,
};
const followUp = {
  ...address,
  amount,
  original: {
    reference: "p-1",
    amount,
    authorizationCode: "123456",
    acquirerReference: "r",
    maskedPan: card.maskedPan,
  },
};

const approval: Approval = {
  kind: "approved",
  authorizationCode: "48213",
  responseCode: "00",
  acquirerReference: "000000000001",
  networkTransactionId: "000000000123456",
};
const decline: Decline = {
  kind: "declined",
  reason: "insufficient_funds",
  responseCode: "51",
  adviceCode: "02",
  refusedBeforeIssuer: false,
};

/** A connector whose acquirer gives these answers; dropped values are collected. */
function answering(answers: Partial<Record<DroppedValue["call"], unknown>>): {
  readonly connector: Connector;
  readonly dropped: string[];
} {
  const never = { kind: "unknown", cause: "timeout" };
  const says = (call: DroppedValue["call"]) => async () => (answers[call] ?? never) as never;
  const dropped: string[] = [];
  const raw: Connector = {
    name: "test",
    capabilities: {
      dedupesByReference: true,
      answersInquiries: true,
      partialCapture: true,
      repeatsFollowUps: true,
      reverses: true,
      lateArrivalMs: 0,
    },
    authorize: says("authorize"),
    verify: says("verify"),
    capture: says("capture"),
    void: says("void"),
    refund: says("refund"),
    reverse: says("reverse"),
    inquire: says("inquire"),
  };
  const set = connectorsOf(
    [raw],
    ({ call, field, cause }) => void dropped.push(`${call} ${field} ${cause}`),
  );
  return { connector: set.of("test"), dropped };
}

describe("an answer that fits its fields", () => {
  test("is the outcome, and nothing beside its fields is", async () => {
    const { connector, dropped } = answering({
      authorize: { ...approval, message: `card ${number}`, raw: { number } },
      verify: {
        kind: "good",
        method: "zero_amount",
        networkTransactionId: "123-a_B",
        note: number,
      },
      capture: { kind: "approved", note: number },
      inquire: {
        kind: "found",
        authorization: decline,
        captured: 0n,
        voided: true,
        refunds: ["p-r1-1"],
        note: number,
      },
    });
    assert.deepEqual(await connector.authorize(authorization, cardInHand()), approval);
    assert.deepEqual(await connector.verify(verification, cardInHand()), {
      kind: "good",
      method: "zero_amount",
      networkTransactionId: "123-a_B",
    });
    assert.deepEqual(await connector.capture(followUp), { kind: "approved" });
    assert.deepEqual(await connector.inquire(followUp), {
      kind: "found",
      authorization: decline,
      captured: 0n,
      voided: true,
      refunds: ["p-r1-1"],
    });
    assert.deepEqual(dropped, []);
  });
});

describe("an approval holds without what does not fit", () => {
  const echoes = [
    number,
    "4111 1111 1111 1111",
    "837",
    "cvv 837",
    "CVV837",
    "card\n",
    "ñ",
    "",
    "x".repeat(65),
    48213,
    undefined,
  ];
  for (const echo of echoes) {
    test(`${JSON.stringify(echo)} in every field`, async () => {
      const { connector, dropped } = answering({
        authorize: {
          kind: "approved",
          authorizationCode: echo,
          responseCode: echo,
          acquirerReference: echo,
          networkTransactionId: echo,
        },
      });
      assert.deepEqual(await connector.authorize(authorization, cardInHand()), {
        kind: "approved",
        authorizationCode: "",
        responseCode: "00",
        acquirerReference: undefined,
        networkTransactionId: undefined,
      });
      assert.equal(dropped.length, echo === "" || echo === undefined ? 0 : 4);
    });
  }

  test("a code of three digits is kept when it is not the security code", async () => {
    const { connector, dropped } = answering({
      authorize: { ...approval, authorizationCode: "838", responseCode: "001" },
    });
    assert.deepEqual(await connector.authorize(authorization, cardInHand()), {
      ...approval,
      authorizationCode: "838",
      responseCode: "001",
    });
    assert.deepEqual(dropped, []);
  });

  test("the report says where and why, and nothing of the value", async () => {
    const { connector, dropped } = answering({
      authorize: { ...approval, authorizationCode: "837", acquirerReference: `ref ${number}` },
    });
    await connector.authorize(authorization, cardInHand());
    assert.deepEqual(dropped, [
      "authorize authorization_code card_data",
      "authorize acquirer_reference shape",
    ]);
  });
});

describe("a decline holds without what does not fit", () => {
  const rows: readonly (readonly [given: object, kept: object])[] = [
    [{ responseCode: "837" }, { responseCode: "51" }],
    [
      { responseCode: number, reason: "expired_card" },
      { responseCode: "54", reason: "expired_card" },
    ],
    [{ adviceCode: number }, { adviceCode: undefined }],
    [{ adviceCode: "837" }, { adviceCode: undefined }],
    ...[`declined for ${number}`, "constructor", "__proto__", undefined].map(
      (reason) =>
        [
          { reason: reason as DeclineReason, responseCode: "" },
          { reason: "not_accepted", responseCode: "05" },
        ] as const,
    ),
  ];
  for (const [given, kept] of rows) {
    test(JSON.stringify(given), async () => {
      const answer = { ...decline, ...given };
      const { connector, dropped } = answering({
        authorize: answer,
        verify: { ...answer, method: `card ${number}` },
      });
      assert.deepEqual(await connector.authorize(authorization, cardInHand()), {
        ...decline,
        ...kept,
      });
      assert.deepEqual(await connector.verify(verification, cardInHand()), {
        ...decline,
        ...kept,
        method: "zero_amount",
      });
      assert.ok(dropped.length >= 2);
    });
  }
});

describe("an outcome whose card is not in hand any more", () => {
  const found = (authorizationOf: object, more: object = {}) => ({
    kind: "found",
    authorization: { ...approval, ...authorizationOf },
    captured: 100_00n,
    voided: false,
    refunds: [],
    ...more,
  });

  test("keeps no code of three or four digits, and no number that fits the mask", async () => {
    for (const echo of ["837", "8371", "41111111", number, `pan-${number}`]) {
      const { connector } = answering({
        inquire: found(
          {
            authorizationCode: echo,
            acquirerReference: echo,
            networkTransactionId: echo,
            responseCode: echo,
          },
          { refunds: [echo, "p-r1-1"] },
        ),
      });
      assert.deepEqual(await connector.inquire(followUp), {
        kind: "found",
        authorization: {
          ...approval,
          authorizationCode: "",
          acquirerReference: undefined,
          networkTransactionId: undefined,
        },
        captured: 100_00n,
        voided: false,
        refunds: ["p-r1-1"],
      });
    }
  });

  test("keeps the reference of the refund that is asked for, though its digits look like the card's by chance", async () => {
    const reference = "6a1b411111c22e84d5f60718293a4b5c6d7e8f9001122334-r1234567890-1";
    const { connector, dropped } = answering({
      inquire: found({}, { refunds: [reference, "6a1b411111c22e84-r2-1"] }),
    });
    const outcome = await connector.inquire({ ...followUp, reference });
    assert.deepEqual(outcome.kind === "found" && outcome.refunds, [reference]);
    assert.deepEqual(dropped, ["inquire refund_reference card_data"]);
  });

  test("is not believed when it says that a card number was captured", async () => {
    const answer = {
      kind: "found",
      authorization: approval,
      captured: BigInt(number),
      voided: false,
      refunds: [],
    };
    const { connector, dropped } = answering({ inquire: answer });
    assert.deepEqual(await connector.inquire(followUp), { kind: "unknown", cause: "garbled" });
    assert.deepEqual(dropped, ["inquire captured card_data"]);
  });

  test("is believed when it says that an amount as long as a card number was captured, where so much was authorized", async () => {
    const minor = BigInt(number);
    const requested = {
      ...followUp,
      original: { ...followUp.original, amount: { minor, currency: "USD" } },
    };
    for (const [captured, isBelieved] of [
      [minor, true],
      [10n ** 13n, true],
      [minor + 1n, false],
    ] as const) {
      const { connector } = answering({ inquire: found({}, { captured }) });
      const outcome = await connector.inquire(requested);
      assert.equal(
        outcome.kind === "found" && outcome.captured === captured,
        isBelieved,
        `${captured}`,
      );
    }
    // The least amount as long as a card number, and a shorter one, both above the authorized
    // amount.
    for (const [captured, kind] of [
      [10n ** 13n, "unknown"],
      [10n ** 13n - 1n, "found"],
    ] as const) {
      assert.equal(
        (await answering({ inquire: found({}, { captured }) }).connector.inquire(followUp)).kind,
        kind,
      );
    }
  });

  for (const call of ["capture", "void", "refund"] as const) {
    test(`keeps the decline of a ${call}, with a code of ours`, async () => {
      for (const responseCode of ["837", number, "card declined", ""]) {
        const { connector } = answering({ [call]: { kind: "declined", responseCode } });
        assert.deepEqual(await connector[call](followUp), { kind: "declined", responseCode: "05" });
      }
    });
  }

  test("keeps the refusal of a reversal, with a code of ours", async () => {
    const { connector } = answering({ reverse: { kind: "refused", responseCode: number } });
    assert.deepEqual(await connector.reverse(followUp), { kind: "refused", responseCode: "21" });
  });
});

test("an outcome of no known kind, or an unknown for no known cause, is garbled", async () => {
  for (const answer of [{ kind: number }, { kind: "unknown", cause: number }, {}]) {
    const { connector } = answering({
      authorize: answer,
      verify: answer,
      capture: answer,
      reverse: answer,
      inquire: answer,
    });
    const garbled = { kind: "unknown", cause: "garbled" };
    assert.deepEqual(await connector.authorize(authorization, cardInHand()), garbled);
    assert.deepEqual(await connector.verify(verification, cardInHand()), garbled);
    assert.deepEqual(await connector.capture(followUp), garbled);
    assert.deepEqual(await connector.reverse(followUp), garbled);
    assert.deepEqual(await connector.inquire(followUp), garbled);
  }
});
