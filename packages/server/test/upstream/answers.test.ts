import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { systemScheduler } from "../../src/kernel/system-scheduler.ts";
import { freePort } from "../free-port.ts";
import { ManualScheduler } from "../manual-scheduler.ts";
import { paymentCodeOf, refundCodeOf } from "../../src/connectors/upstream/references.ts";
import { httpAnswer, paymentBody, startCannedServer } from "./canned-server.ts";
import { authorizeRequest, cardInHand, followUpRequest, upstreamAt } from "./connector.ts";
import { lies } from "./faults.ts";

const { merchantId } = authorizeRequest("any");
const codeOf = (reference: string): string => paymentCodeOf(merchantId, reference);
const declinedAs = (code: string, description: string, more: object = {}) => ({
  status: "CA",
  transaction_status: { acquirer: "EBANX", code, description, ...more },
});

describe("what the upstream answers to an authorization", () => {
  test("a whole approval approves; cut at any byte, or silent from there, it says nothing", async () => {
    await using server = await startCannedServer();
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
    const whole = Buffer.from(httpAnswer(paymentBody(codeOf("p-1"))));
    const causes = new Set<string>();
    for (let end = 0; end < whole.length; end += 1) {
      server.say(whole.subarray(0, end));
      const outcome = await upstream.authorize(authorizeRequest("p-1"), cardInHand());
      assert.equal(outcome.kind, "unknown", `cut after ${end} bytes`);
      causes.add(outcome.cause);
    }
    assert.deepEqual([...causes], ["connection"]);

    server.say(whole);
    assert.deepEqual(await upstream.authorize(authorizeRequest("p-1"), cardInHand()), {
      kind: "approved",
      authorizationCode: "48213",
      responseCode: "00",
      acquirerReference: "6925f1c8b7d04e3aa91c5f20d8e6437b10c2f9a4be7d5831",
      networkTransactionId: undefined,
    });
    assert.equal(server.connections, whole.length + 1, "each request was sent once");
    upstream.close();
  });

  test("an answer outside the interface is unknown, to any request", async () => {
    await using server = await startCannedServer();
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
    for (const lie of lies) {
      server.say(lie);
      const original = {
        ...authorizeRequest("p-1"),
        original: followUpRequest("p-2", "p-1").original,
      };
      for (const outcome of [
        await upstream.authorize(authorizeRequest("p-1"), cardInHand()),
        await upstream.verify({ ...authorizeRequest("p-1"), currency: "BRL" }, cardInHand()),
        await upstream.capture(followUpRequest("p-2", "p-1")),
        await upstream.void(followUpRequest("p-2", "p-1")),
        await upstream.refund(followUpRequest("p-r1-1", "p-1")),
        await upstream.reverse(original),
        await upstream.inquire(original),
      ]) {
        assert.equal(outcome.kind, "unknown", lie);
      }
    }
    upstream.close();
  });

  test("a request without an answer in time is unknown at its deadline, and its bytes are wiped", async () => {
    await using server = await startCannedServer();
    const time = new ManualScheduler();
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`, undefined, time);
    const pending = upstream.authorize(authorizeRequest("p-1"), cardInHand());
    await server.firstBytes;
    time.release();
    assert.deepEqual(await pending, { kind: "unknown", cause: "timeout" });
    assert.equal(server.connections, 1);
    upstream.close();
  });

  test("a server that is not there was certainly sent nothing: the payment may go elsewhere", async () => {
    const upstream = upstreamAt(`http://127.0.0.1:${await freePort()}`);
    assert.deepEqual(await upstream.authorize(authorizeRequest("p-1"), cardInHand()), {
      kind: "not_sent",
    });
    upstream.close();
  });

  const verdicts: readonly (readonly [
    changes: Readonly<Record<string, unknown>>,
    expected: Readonly<Record<string, unknown>>,
  ])[] = [
    [
      declinedAs("NOK", "Insufficient funds"),
      { kind: "declined", reason: "insufficient_funds", responseCode: "51" },
    ],
    [
      declinedAs("NOK", "Expired card", { iso_code: "33", mac_code: "01" }),
      { reason: "expired_card", responseCode: "33", adviceCode: "01" },
    ],
    [declinedAs("NOK", "High risk transaction"), { reason: "high_risk" }],
    [
      declinedAs(
        "NOK",
        "Sandbox - Test credit card, transaction declined reason insufficientFunds",
      ),
      { reason: "insufficient_funds" },
    ],
    [declinedAs("NOK", "words that no page lists"), { reason: "not_accepted", responseCode: "05" }],
    [
      declinedAs("RETRY", "No response from acquirer"),
      { reason: "no_acquirer_response", responseCode: "91" },
    ],
    [declinedAs("RETRY", "words that no page lists"), { reason: "acquirer_error" }],
    [
      {
        status: "PE",
        transaction_status: { code: "PENDING", description: "Waiting for the acquirer" },
      },
      { kind: "unknown", cause: "refused_to_say" },
    ],
    // A sale that is only held, an approval that was cancelled, and a payment in review: recovery
    // checks each of them.
    [
      { status: "PE", capture_available: true },
      { kind: "unknown", cause: "refused_to_say" },
    ],
    [{ status: "CA" }, { kind: "unknown", cause: "refused_to_say" }],
    [
      { status: "PE", capture_available: false },
      { kind: "unknown", cause: "refused_to_say" },
    ],
    [{ amount_ext: "12.35" }, { kind: "unknown", cause: "garbled" }],
    [{ currency_ext: "EUR" }, { kind: "unknown", cause: "garbled" }],
    [{ currency_ext: "XXY" }, { kind: "unknown", cause: "garbled" }],
    [{ hash: "" }, { kind: "unknown", cause: "garbled" }],
    [{ status: "PN" }, { kind: "unknown", cause: "garbled" }],
  ];
  for (const [changes, expected] of verdicts) {
    test(`${JSON.stringify(changes)} is ${JSON.stringify(expected)}`, async () => {
      await using server = await startCannedServer();
      server.say(httpAnswer(paymentBody(codeOf("p-1"), changes)));
      const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
      assert.partialDeepStrictEqual(
        await upstream.authorize(authorizeRequest("p-1"), cardInHand()),
        expected,
      );
      upstream.close();
    });
  }

  const refusals: readonly (readonly [code: string, kind: string, reason?: string])[] = [
    ["BP-DR-75", "declined", "invalid_card_number"],
    ["BP-DR-22", "declined", "incorrect_customer_data"],
    ["BP-DR-101", "declined", "invalid_card"],
    ["DA-1", "declined", "acquirer_error"],
    ["BP-SA-2", "declined", "acquirer_error"],
    ["BP-DR-64", "unknown"],
    ["BP-DR-65", "unknown"],
    ["BP-DR-90", "unknown"],
    ["BP-DR-119", "unknown"],
    ["COFRE-22", "unknown"],
    ["BP-R-5", "unknown"],
  ];
  for (const [code, kind, reason] of refusals) {
    test(`the error ${code} is ${kind}${reason === undefined ? "" : `, ${reason}`}`, async () => {
      await using server = await startCannedServer();
      server.say(httpAnswer(`{"status":"ERROR","status_code":"${code}","status_message":"words"}`));
      const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
      const outcome = await upstream.authorize(authorizeRequest("p-1"), cardInHand());
      assert.equal(outcome.kind, kind);
      if (outcome.kind === "declined")
        assert.deepEqual([outcome.reason, outcome.refusedBeforeIssuer], [reason, true]);
      upstream.close();
    });
  }
});

describe("what the upstream answers later", () => {
  test("a refund that is not carried out yet is unknown, one that is cancelled is declined", async () => {
    await using server = await startCannedServer();
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`, undefined, {
      ...systemScheduler,
      sleep: async () => undefined,
    });
    const request = followUpRequest("p-r9-1", "p-1", 5_00n);
    const refund = {
      merchant_refund_code: refundCodeOf(merchantId, "p-1", "p-r9-1"),
      amount_ext: "5.00",
    };
    const answerWith = (status: string): void =>
      server.say(httpAnswer(paymentBody(codeOf("p-1"), { refunds: [{ ...refund, status }] })));

    answerWith("RE");
    assert.deepEqual(await upstream.refund(request), { kind: "unknown", cause: "refused_to_say" });
    answerWith("CA");
    assert.deepEqual(await upstream.refund(request), { kind: "declined", responseCode: "05" });
    answerWith("CO");
    assert.deepEqual(await upstream.refund(request), { kind: "approved" });
    // The same code with another amount is another refund.
    assert.deepEqual(await upstream.refund(followUpRequest("p-r9-1", "p-1", 5_01n)), {
      kind: "unknown",
      cause: "garbled",
    });
    upstream.close();
  });

  test("an inquiry finds what is held only in the amount that was asked for", async () => {
    await using server = await startCannedServer();
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
    const request = followUpRequest("p-1", "p-1");
    server.say(
      httpAnswer(
        paymentBody(codeOf("p-1"), { status: "PE", capture_available: true, user_value_1: "hold" }),
      ),
    );
    assert.partialDeepStrictEqual(await upstream.inquire(request), {
      kind: "found",
      captured: 0n,
      voided: false,
    });
    server.say(
      httpAnswer(
        paymentBody(codeOf("p-1"), { status: "PE", capture_available: true, amount_ext: "12.33" }),
      ),
    );
    assert.deepEqual(await upstream.inquire(request), { kind: "unknown", cause: "garbled" });
    server.say(
      httpAnswer(
        '{"status":"ERROR","status_code":"BP-QRY-2","status_message":"Payment not found"}',
      ),
    );
    assert.deepEqual(await upstream.inquire(request), { kind: "not_found" });
    upstream.close();
  });

  test("a void of what lapsed there first is done, as nothing is held", async () => {
    await using server = await startCannedServer();
    const upstream = upstreamAt(`http://127.0.0.1:${server.port}`);
    server.say(httpAnswer(paymentBody(codeOf("p-1"), declinedAs("NOK", "Not accepted"))));
    assert.deepEqual(await upstream.void(followUpRequest("p-2", "p-1")), { kind: "approved" });
    upstream.close();
  });
});
