import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { instant } from "../../kernel/instant.ts";
import type { MerchantId } from "../../kernel/ids.ts";
import type { PaymentId } from "../../payment/payment-id.ts";
import type { Account, AccountSettings } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import { paymentStates, type PaymentState } from "../../payment/payment-machine.ts";
import {
  declineReasons,
  type Payment,
  type PaymentOrder,
  type Verdict,
} from "../../payment/payment.ts";
import type { PaymentPage } from "../../payment/payment.ts";
import { priceOrder } from "../../payment/pricing.ts";
import { type Refund, refundStates } from "../../payment/refund.ts";
import { newAttempt } from "../../../test/contract/store-fixtures.ts";
import { paymentAnswer, renderPayment, wireStatusOf } from "./payment-answer.ts";

const opened = instant(Date.UTC(2025, 10, 25, 18, 13, 28));
const confirmed = instant(Date.UTC(2025, 10, 25, 19, 2, 11));

function accountWith(settings: Partial<AccountSettings> = {}): Account {
  const all = {
    ...defaultAccountSettings(),
    descriptor: "Loja Exemplo",
    taxPolicy: "brazil-cross-border-2025",
    ...settings,
  };
  return { id: "0a1b2c3d" as MerchantId, version: 1, name: "Loja Exemplo", settings: all };
}

const approved: Verdict = {
  approved: true,
  authorizationCode: "48213",
  responseCode: "00",
  reason: "approved",
  adviceCode: undefined,
  acquirerReference: undefined,
  networkTransactionId: undefined,
  refusedBeforeIssuer: false,
};

const order: PaymentOrder = {
  code: "ord-2025-000417",
  orderNumber: "417",
  amount: { minor: 10_000n, currency: "USD" },
  // From the example of interface 3.4: 100 x 5.36, and 3.5 % of that.
  pricing: {
    rate: "5.3600",
    gross: { minor: 53_600n, currency: "BRL" },
    tax: { minor: 1_876n, currency: "BRL" },
    total: { minor: 55_476n, currency: "BRL" },
  },
  instalments: 1,
  autoCapture: false,
  manualReview: false,
  country: "br",
  paymentType: "credit",
  card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
  customer: {
    name: "Ana Lima",
    email: "ana.lima@example.com",
    document: "85351346893",
    birthDate: undefined,
    personType: "personal",
    phone: "8522847035",
    zipcode: "61919-230",
    address: "Rua E",
    streetNumber: "1040",
    streetComplement: undefined,
    city: "Maracanaú",
    state: "CE",
    ip: undefined,
    responsible: undefined,
  },
  softDescriptor: undefined,
  note: undefined,
  userValues: ["web"],
  notificationUrl: undefined,
  deviceId: undefined,
  storedCredential: undefined,
  threeDSecure: undefined,
  expectedLiability: "merchant",
};

function paymentWith(
  changes: Partial<Payment> = {},
  orderChanges: Partial<PaymentOrder> = {},
): Payment {
  return {
    merchantId: "0a1b2c3d" as MerchantId,
    id: "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831" as PaymentId,
    version: 2,
    state: "authorized",
    createdAt: opened,
    statusAt: undefined,
    capturedAt: undefined,
    order: { ...order, ...orderChanges },
    captureBy: undefined,
    authorized: 10_000n,
    captured: 0n,
    refunded: 0n,
    refunds: [],
    chargeback: undefined,
    review: "none",
    attempt: undefined,
    attempts: 1,
    verdict: approved,
    authorization: 1,
    needsReview: false,
    ...changes,
  };
}

/**
 * The example of interface 3.4, byte for byte except for the pin, which is invented there and
 * derived from the hash here.
 */
const example =
  '{"payment":{"hash":"6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831","pin":"PIN","country":"br","merchant_payment_code":"ord-2025-000417",' +
  '"order_number":"417","status":"PE","status_date":null,"open_date":"2025-11-25 18:13:28","confirm_date":null,"transfer_date":null,' +
  '"amount_br":"554.76","amount_ext":"100.00","amount_iof":"18.76","currency_rate":"5.3600","currency_ext":"USD","due_date":"2025-11-28",' +
  '"instalments":"1","payment_type_code":"visa","details":{"billing_descriptor":"LOJA EXEMPLO"},' +
  '"transaction_status":{"acquirer":"EBANX","code":"OK","description":"Accepted","authcode":"48213"},"pre_approved":true,"capture_available":true,' +
  '"user_value_1":"web","customer":{"document":"85351346893","email":"ana.lima@example.com","name":"ANA LIMA","birth_date":null}},"status":"SUCCESS"}';

const pin = /"pin":"(\d{9})"/;

interface Shown {
  readonly [name: string]: unknown;
}

function shown(payment: Payment, account = accountWith(), token?: string): Shown {
  return JSON.parse(renderPayment(payment, account, token)) as Shown;
}

describe("the answer of a payment", () => {
  test("is interface 3.4's example to the byte", () => {
    const body = paymentAnswer(paymentWith(), accountWith());
    assert.equal(body.replace(pin, '"pin":"PIN"'), example);
  });

  test("has a pin of nine digits that never changes", () => {
    const first = pin.exec(renderPayment(paymentWith(), accountWith()))?.[1];
    assert.equal(
      first,
      pin.exec(
        renderPayment(paymentWith({ state: "captured", captured: 10_000n }), accountWith()),
      )?.[1],
    );
    const other = paymentWith({
      id: "6925f1c8000000000000000000000000000000000000000a" as PaymentId,
    });
    assert.equal(pin.exec(renderPayment(other, accountWith()))?.[1], "000000000");
    assert.notEqual(first, "000000000");
  });

  test("of a capture is CO with both dates", () => {
    const answer = shown(
      paymentWith({
        state: "captured",
        captured: 10_000n,
        statusAt: confirmed,
        capturedAt: confirmed,
      }),
    );
    assert.equal(answer["status"], "CO");
    assert.equal(answer["status_date"], "2025-11-25 19:02:11");
    assert.equal(answer["confirm_date"], "2025-11-25 19:02:11");
    assert.equal(answer["capture_available"], false);
    assert.equal(answer["pre_approved"], true);
    assert.equal(answer["amount_br"], "554.76");
  });

  test("of a decline is CA, refused, without authorization code and confirmation", () => {
    const verdict: Verdict = {
      ...approved,
      approved: false,
      authorizationCode: undefined,
      responseCode: "51",
      reason: "insufficient_funds",
    };
    const answer = shown(
      paymentWith({ state: "declined", statusAt: opened, authorized: 0n, verdict }),
    );
    assert.deepEqual(answer["transaction_status"], {
      acquirer: "EBANX",
      code: "NOK",
      description: "Insufficient funds",
    });
    assert.equal(answer["status"], "CA");
    assert.equal(answer["status_date"], answer["open_date"]);
    assert.equal(answer["confirm_date"], null);
    assert.equal(answer["pre_approved"], false);
  });

  test("of a void keeps the issuer's word, as clients' tests have it", () => {
    const body = paymentAnswer(
      paymentWith({ state: "voided", statusAt: confirmed }),
      accountWith(),
      { operation: "cancel" },
    );
    assert.ok(body.endsWith('},"operation":"cancel","status":"SUCCESS"}'));
    const { payment } = JSON.parse(body) as { readonly payment: Shown };
    assert.equal((payment["transaction_status"] as Shown)["description"], "Accepted");
    assert.deepEqual(
      [payment["status"], payment["pre_approved"], payment["capture_available"]],
      ["CA", false, false],
    );
  });

  test("of an unknown outcome is neither an approval nor a decline to any client", () => {
    for (const state of ["received", "authorizing", "reversing"] as const) {
      const answer = shown(paymentWith({ state, verdict: undefined, authorized: 0n }));
      const { code } = answer["transaction_status"] as Shown;
      assert.equal(answer["status"], "PE");
      assert.ok(code !== "OK" && code !== "NOK" && code !== "RETRY");
      assert.equal(answer["pre_approved"], false);
      assert.equal(answer["capture_available"], false);
      assert.equal(answer["status_date"], null);
    }
  });

  test("of a reversed authorization asks for another try: nothing is held", () => {
    const answer = shown(
      paymentWith({ state: "voided", statusAt: confirmed, verdict: undefined, authorized: 0n }),
    );
    assert.deepEqual(answer["transaction_status"], {
      acquirer: "EBANX",
      code: "RETRY",
      description: "No response from acquirer",
    });
    assert.equal(answer["status"], "CA");
  });

  test("says for each state what merchants may do", () => {
    const rows = paymentStates.map((state) => {
      const {
        status,
        pre_approved: pre,
        capture_available: available,
      } = shown(paymentWith({ state }));
      return [state, status, pre, available];
    });
    assert.deepEqual(rows, [
      ["received", "PE", false, false],
      ["opened", "OP", false, null],
      ["authenticating", "PE", false, false],
      ["authorizing", "PE", false, false],
      ["authorized", "PE", true, true],
      ["in_review", "PE", true, false],
      ["capturing", "PE", true, false],
      ["captured", "CO", true, false],
      ["voiding", "PE", true, false],
      ["reversing", "PE", false, false],
      ["declined", "CA", false, false],
      ["voided", "CA", false, false],
      ["expired", "CA", false, false],
    ] satisfies (readonly [PaymentState, string, boolean, boolean | null])[]);
    assert.equal(wireStatusOf(paymentWith({ state: "captured" })), "CO");
  });

  test("of a page is open with the types of its request until a card is tried, and pending while the outcome is unknown", () => {
    const page = {
      lapsesAt: instant(Date.UTC(2025, 10, 27, 12)),
      paymentTypes: "_creditcard,debitcard",
      instalments: [1, 3],
      redirectUrl: undefined,
      tries: 0,
      declined: undefined,
      refusedCards: [],
    } as const;
    const open = { verdict: undefined, authorized: 0n, attempt: undefined } as const;
    const seen = (changes: Partial<Payment>, over: Partial<PaymentOrder>) =>
      shown(paymentWith({ ...open, ...changes }, { page, ...over }));
    const opened = seen({ state: "opened" }, { card: undefined });
    assert.deepEqual(
      [opened["status"], opened["status_date"], opened["payment_type_code"], opened["due_date"]],
      ["OP", null, "_creditcard,debitcard", "2025-11-27"],
    );
    assert.deepEqual(
      [opened["transaction_status"], opened["capture_available"]],
      [undefined, null],
      "no card was answered for",
    );
    const attempt = newAttempt({ checks: 0 });
    assert.equal(seen({ state: "authorizing", attempt }, {})["status"], "OP");
    const pending = seen({ state: "authorizing", attempt: newAttempt({ checks: 1 }) }, {});
    assert.deepEqual([pending["status"], pending["payment_type_code"]], ["PE", "visa"]);
    const code = (state: PaymentState, over: Partial<PaymentPage>) => {
      const { transaction_status: status } = seen({ state }, { page: { ...page, ...over } });
      return (status as { readonly code?: unknown } | undefined)?.code;
    };
    // Cancelled or lapsed while it waited; reversed after an unknown outcome.
    assert.deepEqual(
      [code("voided", {}), code("expired", {}), code("voided", { tries: 1, declined: "timeout" })],
      ["NOK", "NOK", "NOK"],
    );
    assert.equal(code("voided", { tries: 1 }), "RETRY");
  });

  test("has a text of interface 4.3 for each reason", () => {
    const texts = declineReasons.map((reason) => {
      const verdict: Verdict = {
        ...approved,
        approved: false,
        authorizationCode: undefined,
        reason,
      };
      const { code, description } = shown(paymentWith({ state: "declined", verdict }))[
        "transaction_status"
      ] as Shown;
      return `${String(code)} ${String(description)}`;
    });
    assert.deepEqual(texts, [
      "NOK Not accepted",
      "NOK Insufficient funds",
      "NOK Incorrect customer data",
      "NOK Expired card",
      "NOK Security code mismatch",
      "NOK Invalid card or card type",
      "NOK Invalid card number",
      "NOK 3-D Secure required",
      "NOK High risk transaction",
      "RETRY Timeout",
      "RETRY No response from acquirer",
      "RETRY Acquirer response error",
    ]);
  });

  test("of a partial capture shows what was captured", () => {
    const account = accountWith({ taxPolicy: "brazil-cross-border" });
    const amount = { minor: 100n, currency: "USD" };
    const pricing = priceOrder(amount, "br", opened, account.settings);
    const answer = shown(
      paymentWith({ state: "captured", captured: 99n, authorized: 100n }, { amount, pricing }),
      account,
    );
    // 0.99 x 5.83 = 5.7717, and 99 % of a tax of 0.02.
    assert.deepEqual(
      [answer["amount_ext"], answer["amount_br"], answer["amount_iof"]],
      ["0.99", "5.79", "0.02"],
    );
  });

  test("before its capture shows what was asked for", () => {
    assert.equal(shown(paymentWith({ state: "capturing" }))["amount_ext"], "100.00");
  });

  test("shows a token only when one was made, with the masked card", () => {
    const token = "0b".repeat(64);
    const answer = shown(paymentWith(), accountWith(), token);
    assert.equal(answer["token"], token);
    assert.equal(answer["masked_card_number"], "411111xxxxxx1111");
    assert.ok(
      !("token" in shown(paymentWith())) && !("masked_card_number" in shown(paymentWith())),
    );
  });

  test("names a debit card as such, whatever its brand", () => {
    assert.equal(
      shown(paymentWith({}, { paymentType: "debit" }))["payment_type_code"],
      "debitcard",
    );
  });

  test("has neither customer nor pin on the hosts local to Brazil", () => {
    const answer = shown(paymentWith(), accountWith({ profile: "B" }));
    assert.ok(!("customer" in answer) && !("pin" in answer));
  });

  test("lists the refunds, oldest first, as interface 4.4 prints them", () => {
    const requested: Refund = {
      id: 900_417,
      code: undefined,
      state: "requested",
      amount: 4_000n,
      description: "damaged box",
      request: undefined,
      requestedAt: confirmed,
      pendingAt: undefined,
      confirmedAt: undefined,
      cancelledAt: undefined,
      attempts: 0,
      sentAt: undefined,
      answerBy: undefined,
      checks: 0,
      dueAt: undefined,
    };
    const sent: Refund = {
      ...requested,
      id: 7,
      code: 'r"1',
      state: "sending",
      pendingAt: confirmed,
    };
    const captured = paymentWith({
      state: "captured",
      captured: 10_000n,
      refunded: 8_000n,
      refunds: [requested, sent],
    });
    const body = paymentAnswer(captured, accountWith(), { refund: requested, operation: "refund" });
    const first =
      '{"id":"900417","merchant_refund_code":null,"status":"RE","request_date":"2025-11-25 19:02:11","pending_date":null,' +
      '"confirm_date":null,"cancel_date":null,"amount_ext":"40.00","description":"damaged box"}';
    assert.ok(body.includes(`"capture_available":false,"refunds":[${first},`));
    assert.ok(body.endsWith(`},"refund":${first},"operation":"refund","status":"SUCCESS"}`));
    const second = (shown(captured)["refunds"] as readonly Shown[])[1];
    assert.deepEqual(
      [second?.["id"], second?.["merchant_refund_code"], second?.["status"]],
      ["7", 'r"1', "PE"],
    );
    assert.equal(second?.["pending_date"], "2025-11-25 19:02:11");
    const statuses = refundStates.map((state) => {
      const [refund] = shown(
        paymentWith({ state: "captured", refunds: [{ ...requested, state }] }),
      )["refunds"] as readonly Shown[];
      return refund?.["status"];
    });
    assert.deepEqual(statuses, ["RE", "PE", "PE", "CO", "CA"]);
    assert.ok(!("refunds" in shown(paymentWith())));
  });

  test("has a chargeback node once there is one", () => {
    const chargeback = {
      state: "opened",
      amount: 10_000n,
      description: "not mine",
      openedAt: confirmed,
      creditedAt: undefined,
    } as const;
    const day = "2025-11-25 19:02:11";
    const node = {
      create_date: day,
      chargeback_date: day,
      description: "not mine",
      chargeback_credit: false,
    };
    assert.deepEqual(shown(paymentWith({ state: "captured", chargeback }))["chargeback"], node);
    const credited = { ...chargeback, state: "credited", creditedAt: confirmed } as const;
    assert.deepEqual(
      shown(paymentWith({ state: "captured", chargeback: credited }))["chargeback"],
      { ...node, chargeback_credit: true },
    );
    assert.ok(!("chargeback" in shown(paymentWith())));
  });

  test("names the mandate of an initial stored credential, and of no other", () => {
    const verdict = { ...approved, networkTransactionId: "480212345678901" };
    const credential = {
      use: "initial",
      initiator: "CIT",
      reason: "CUSTOMER_COF",
      mandateId: undefined,
    } as const;
    assert.deepEqual(
      shown(paymentWith({ verdict }, { storedCredential: credential }))["cof_info"],
      { mandate_id: "480212345678901" },
    );
    assert.ok(
      !(
        "cof_info" in
        shown(paymentWith({ verdict }, { storedCredential: { ...credential, use: "stored" } }))
      ),
    );
    assert.ok(!("cof_info" in shown(paymentWith({ verdict }))));
  });

  test("of what a reviewer refused is a high risk, of what lapsed not accepted", () => {
    const rejected = shown(
      paymentWith({ state: "voided", statusAt: confirmed, review: "rejected" }),
    )["transaction_status"];
    assert.deepEqual(rejected, {
      acquirer: "EBANX",
      code: "NOK",
      description: "High risk transaction",
    });
    const lapsed = shown(paymentWith({ state: "expired", statusAt: confirmed }))[
      "transaction_status"
    ];
    assert.deepEqual(lapsed, { acquirer: "EBANX", code: "NOK", description: "Not accepted" });
  });

  const refused: Verdict = {
    ...approved,
    approved: false,
    authorizationCode: undefined,
    responseCode: "51",
    reason: "insufficient_funds",
    adviceCode: "02",
  };

  test("shows the codes of a decline where the account and the country have them, and never those of an approval", () => {
    const account = accountWith({ declineCodes: true });
    const status = shown(paymentWith({ state: "declined", verdict: refused }), account)[
      "transaction_status"
    ] as Shown;
    assert.deepEqual([status["iso_code"], status["mac_code"]], ["51", "02"]);
    const bare = shown(
      paymentWith({ state: "declined", verdict: { ...refused, adviceCode: undefined } }),
      account,
    )["transaction_status"];
    assert.ok(!("mac_code" in (bare as Shown)));
    for (const other of [
      shown(paymentWith({ state: "declined", verdict: refused })),
      shown(paymentWith({ state: "declined", verdict: refused }, { country: "uy" }), account),
      shown(paymentWith(), account),
    ]) {
      assert.ok(!("iso_code" in (other["transaction_status"] as Shown)));
    }
  });

  test("speaks as the sandbox of 2017 did where the account wants it", () => {
    const account = accountWith({ legacyDescriptions: true, acquirerName: 'A "test"' });
    const reported = (payment: Payment): readonly unknown[] => {
      const { acquirer, code, description } = shown(payment, account)[
        "transaction_status"
      ] as Shown;
      assert.equal(acquirer, 'A "test"');
      return [code, description];
    };
    assert.deepEqual(reported(paymentWith({ state: "captured", captured: 10_000n })), [
      "OK",
      "Sandbox - Test credit card, transaction captured",
    ]);
    assert.deepEqual(reported(paymentWith()), [
      "OK",
      "Sandbox - Test credit card, transaction will be approved",
    ]);
    assert.deepEqual(reported(paymentWith({ state: "declined", verdict: refused })), [
      "NOK",
      "Sandbox - Test credit card, transaction declined reason insufficientFunds",
    ]);
    assert.deepEqual(reported(paymentWith({ state: "voided" })), [
      "NOK",
      "Sandbox - Test credit card, transaction cancelled",
    ]);
  });

  test("prints the payment's own descriptor, and null where there is no order number", () => {
    const answer = shown(paymentWith({}, { softDescriptor: "Minha loja", orderNumber: undefined }));
    assert.deepEqual(answer["details"], { billing_descriptor: "MINHA LOJA" });
    assert.equal(answer["order_number"], null);
  });

  test("is JSON whatever people typed", () => {
    const odd =
      'a "quoted" \\ text\n\t with \u0000 controls, \ud800 halves, 🛍, <b>&amp;</b> and \u2028';
    const answer = shown(
      paymentWith(
        {},
        {
          code: odd,
          orderNumber: odd,
          note: odd,
          userValues: [odd, undefined, odd],
          softDescriptor: odd,
          customer: { ...order.customer, name: odd },
        },
      ),
    );
    assert.equal(answer["merchant_payment_code"], odd);
    assert.equal(answer["note"], odd);
    assert.deepEqual(
      [answer["user_value_1"], answer["user_value_2"], answer["user_value_3"]],
      [odd, undefined, odd],
    );
  });
});
