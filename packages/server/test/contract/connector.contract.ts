import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type {
  AuthorizeOutcome,
  AuthorizeRequest,
  Connector,
  FollowUpRequest,
  OriginalAuthorization,
  VerifyOutcome,
} from "../../src/connectors/connector.ts";
import type {
  AcquirerBooks,
  BookedAuthorization,
} from "../../src/connectors/simulator/messages-and-books.ts";
import type { Instruction } from "../../src/connectors/simulator/network.ts";
import type { MerchantId } from "../../src/kernel/ids.ts";
import { laterBy } from "../../src/kernel/instant.ts";
import type { Instant } from "../../src/kernel/instant.ts";
import { defaultAccountSettings } from "../../src/merchant/settings.ts";
import type { StoredCredential, ThreeDSecure } from "../../src/payment/payment.ts";
import type { Brand } from "../../src/vault/brand.ts";
import { maskOf } from "../../src/vault/mask.ts";
import { cardOf } from "../vectors/cards.ts";
import { merchantId } from "./store-fixtures.ts";

/** A connector with control of its acquirer and of time. */
export interface ConnectorHarness {
  readonly connector: Connector;
  /** Data that the acquirer's interface cannot carry, so that no connector can know it. */
  readonly lacks?: {
    /** Transaction names, except those that a stored credential requires. */
    readonly transactionNames?: true;
    /**
     * Capture references: a second capture of the same amount gets the first one's answer, and
     * takes nothing.
     */
    readonly captureNames?: true;
  };
  instruct(merchantId: MerchantId, instruction: Instruction): Promise<void>;
  books(): Promise<AcquirerBooks>;
  now(): Instant;
  /**
   * How long a test waits for an answer that will not come. Less than half of the connector's
   * lateArrivalMs.
   */
  readonly patienceMs: number;
  /** Resolves when this much time has passed and everything due has run. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

const approving = "4111111111111111";
const insufficientFunds = "4716909774636285";
const longEnoughMs = 30_000;
const settings = defaultAccountSettings();
const brl = (minor: bigint) => ({ minor, currency: "BRL" });
const timedOut = { kind: "unknown", cause: "timeout" };

let merchants = 0;

/**
 * Tests the promises of connector.ts, and that the acquirer really has each declared capability.
 */
export function describeConnectorContract(
  name: string,
  make: () => Promise<ConnectorHarness>,
): void {
  describe(`${name} keeps the connector contract`, () => {
    let harness: ConnectorHarness;
    before(async () => {
      harness = await make();
    });
    after(() => harness.close());

    /** A merchant that no other test uses. */
    function given(): Merchant {
      merchants += 1;
      return new Merchant(harness, merchantId(0xc0_0000 + merchants));
    }

    test("an approved authorization has an authorization code and holds the amount", async () => {
      const merchant = given();
      const outcome = await merchant.authorize("a-1");

      assert.equal(outcome.kind, "approved");
      assert.match(outcome.authorizationCode, /^\d{5,6}$/);
      assert.equal(outcome.responseCode, "00");
      assert.deepEqual(await merchant.money(), { held: 100_00n, captured: 0n });
    });

    test("a sale takes the amount at once", async () => {
      const merchant = given();
      assert.equal((await merchant.authorize("a-1", { capture: true })).kind, "approved");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
    });

    test("a declined authorization has a reason and holds nothing", async () => {
      const merchant = given();
      const outcome = await merchant.authorize("a-1", {}, insufficientFunds);

      assert.equal(outcome.kind, "declined");
      assert.equal(outcome.reason, "insufficient_funds");
      assert.equal(outcome.responseCode, "51");
      assert.equal(outcome.refusedBeforeIssuer, false);
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a reference that is sent twice is authorized once exactly if the connector declares so", async () => {
      const merchant = given();
      const first = await merchant.authorize("a-1");
      const second = await merchant.authorize("a-1");

      const { dedupesByReference } = harness.connector.capabilities;
      if (dedupesByReference) assert.deepEqual(second, first);
      assert.equal((await merchant.booked("a-1")).approvals, dedupesByReference ? 1 : 2);
      assert.deepEqual(await merchant.money(), {
        held: dedupesByReference ? 100_00n : 200_00n,
        captured: 0n,
      });
    });

    test("two references are two authorizations", async () => {
      const merchant = given();
      const first = await merchant.authorize("a-1");
      const second = await merchant.authorize("b-1");

      assert.notDeepEqual(second, first);
      assert.deepEqual(await merchant.money(), { held: 200_00n, captured: 0n });
    });

    test("two merchants may use one reference and do not see each other's", async () => {
      const merchant = given();
      const other = given();
      await merchant.authorize("a-1");

      assert.deepEqual(await other.reverse("a-1"), { kind: "unknown_original" });
      if (harness.connector.capabilities.answersInquiries)
        assert.deepEqual(await other.inquire("a-1"), { kind: "not_found" });
      assert.equal((await other.authorize("a-1")).kind, "approved");
      assert.deepEqual(await merchant.money(), { held: 100_00n, captured: 0n });
    });

    test("an authorization whose answer is lost is unknown, and an inquiry finds it if the acquirer answers inquiries", async () => {
      const merchant = given();
      await harness.instruct(merchant.id, { next: "lose_answer", times: 1 });

      assert.deepEqual(await merchant.withoutAnswer("a-1"), timedOut);
      assert.deepEqual(await merchant.money(), { held: 100_00n, captured: 0n });

      const inquiry = await merchant.inquire("a-1");
      if (!harness.connector.capabilities.answersInquiries) {
        assert.deepEqual(inquiry, { kind: "unknown", cause: "refused_to_say" });
        return;
      }
      assert.equal(inquiry.kind, "found");
      assert.equal(inquiry.authorization.kind, "approved");
      assert.equal(inquiry.captured, 0n);
      assert.equal(inquiry.voided, false);
    });

    test("an authorization that is lost on its way is unknown, and the acquirer knows nothing of it", async () => {
      const merchant = given();
      await harness.instruct(merchant.id, { next: "lose_request", times: 1 });

      assert.deepEqual(await merchant.withoutAnswer("a-1"), timedOut);
      if (harness.connector.capabilities.answersInquiries)
        assert.deepEqual(await merchant.inquire("a-1"), { kind: "not_found" });
      assert.deepEqual(await merchant.reverse("a-1"), { kind: "unknown_original" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a request whose deadline has passed is unknown and is not sent", async () => {
      const merchant = given();
      const outcome = await harness.connector.authorize(
        { ...merchant.request("a-1"), deadline: laterBy(harness.now(), -1) },
        { card: cardOf(approving), cvv: undefined, cryptogram: undefined },
      );

      assert.deepEqual(outcome, timedOut);
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a request that arrives late leaves nothing held once it was reversed after the longest time of arrival", async () => {
      const merchant = given();
      const { lateArrivalMs, reverses } = harness.connector.capabilities;
      assert.ok(reverses);
      await harness.instruct(merchant.id, { next: "late_answer", times: 1 });

      assert.deepEqual(await merchant.withoutAnswer("a-1"), timedOut);
      const tooEarly = await merchant.reverse("a-1");
      await harness.pass(lateArrivalMs);
      // The control: had it only been reversed too early, the money would be held now.
      assert.deepEqual(await merchant.money(), {
        held: tooEarly.kind === "reversed" ? 0n : 100_00n,
        captured: 0n,
      });

      assert.deepEqual(await merchant.reverse("a-1"), { kind: "reversed" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a reversal gives the hold back and is safe to repeat", async () => {
      const merchant = given();
      await merchant.authorize("a-1");

      assert.deepEqual(await merchant.reverse("a-1"), { kind: "reversed" });
      assert.deepEqual(await merchant.reverse("a-1"), { kind: "reversed" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
      assert.equal((await merchant.totals()).reversals, 1);
    });

    test("a reversal undoes a sale", async () => {
      const merchant = given();
      await merchant.authorize("a-1", { capture: true });

      assert.deepEqual(await merchant.reverse("a-1"), { kind: "reversed" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a reversal of a declined authorization has nothing to undo", async () => {
      const merchant = given();
      await merchant.authorize("a-1", {}, insufficientFunds);

      assert.deepEqual(await merchant.reverse("a-1"), { kind: "reversed" });
      assert.equal((await merchant.totals()).reversals, 0);
    });

    test("a reversal is refused once the money was captured", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original);

      assert.equal((await merchant.reverse("a-1")).kind, "refused");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
    });

    test("a capture takes what is held", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");

      assert.deepEqual(await merchant.capture("a-2", original), { kind: "approved" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
      const booked = await merchant.booked("a-1");
      assert.deepEqual([booked.held, booked.captured], [0n, 100_00n]);
      if (harness.connector.capabilities.answersInquiries) {
        const inquiry = await merchant.inquire("a-1");
        assert.ok(inquiry.kind === "found" && inquiry.captured === 100_00n && !inquiry.voided);
      }
    });

    test("less than what is held can be captured exactly if the connector declares so", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");

      const { partialCapture } = harness.connector.capabilities;
      assert.equal(
        (await merchant.capture("a-2", original, 30_00n)).kind,
        partialCapture ? "approved" : "declined",
      );
      assert.deepEqual(
        await merchant.money(),
        partialCapture ? { held: 0n, captured: 30_00n } : { held: 100_00n, captured: 0n },
      );
    });

    test("a partial capture is the last: what it did not take is held no longer, and no second capture has it", async (context) => {
      if (!harness.connector.capabilities.partialCapture)
        return context.skip("takes no partial captures");
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original, 40_00n);

      assert.equal((await merchant.capture("a-3", original, 60_00n)).kind, "declined");
      const booked = await merchant.booked("a-1");
      assert.deepEqual([booked.held, booked.captured, booked.captures], [0n, 40_00n, 1]);
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 40_00n });
    });

    test("a void after a partial capture is refused", async (context) => {
      if (!harness.connector.capabilities.partialCapture)
        return context.skip("takes no partial captures");
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original, 30_00n);

      assert.equal((await merchant.void("a-3", original)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 30_00n });
    });

    test("more than what is held is never captured", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");

      assert.equal((await merchant.capture("a-2", original, 100_01n)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 100_00n, captured: 0n });

      await merchant.capture("a-3", original);
      assert.equal(
        (await merchant.capture("a-4", original)).kind,
        harness.lacks?.captureNames === true ? "approved" : "declined",
      );
      assert.equal((await merchant.capture("a-5", original, 1n)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
    });

    test("a capture that is sent again is recognized exactly if the connector declares so", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original);
      const again = await merchant.capture("a-2", original);

      assert.equal(
        again.kind,
        harness.connector.capabilities.repeatsFollowUps ? "approved" : "declined",
      );
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
    });

    test("a partial capture that is sent again takes once, and is recognized exactly if the connector declares so", async (context) => {
      if (!harness.connector.capabilities.partialCapture)
        return context.skip("takes no partial captures");
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original, 30_00n);
      const again = await merchant.capture("a-2", original, 30_00n);

      assert.equal(
        again.kind,
        harness.connector.capabilities.repeatsFollowUps ? "approved" : "declined",
      );
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 30_00n });
    });

    test("a capture whose answer is lost was done, and an inquiry says so", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await harness.instruct(merchant.id, { next: "lose_answer", times: 1 });

      const pending = merchant.capture("a-2", original, 100_00n, harness.patienceMs);
      await harness.pass(harness.patienceMs);
      assert.deepEqual(await pending, timedOut);

      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
      if (harness.connector.capabilities.answersInquiries) {
        const inquiry = await merchant.inquire("a-1");
        assert.ok(inquiry.kind === "found" && inquiry.captured === 100_00n);
      }
    });

    test("a void gives the hold back", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");

      assert.deepEqual(await merchant.void("a-2", original), { kind: "approved" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
      if (harness.connector.capabilities.answersInquiries) {
        const inquiry = await merchant.inquire("a-1");
        assert.ok(inquiry.kind === "found" && inquiry.captured === 0n && inquiry.voided);
      }
    });

    test("a void that is sent again is recognized exactly if the connector declares so", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.void("a-2", original);
      const again = await merchant.void("a-2", original);

      assert.equal(
        again.kind,
        harness.connector.capabilities.repeatsFollowUps ? "approved" : "declined",
      );
      assert.equal((await merchant.totals()).voids, 1);
    });

    test("of a capture and a void the first wins", async () => {
      const merchant = given();
      const captured = await merchant.authorized("a-1");
      const voided = await merchant.authorized("b-1");
      await merchant.capture("a-2", captured);
      await merchant.void("b-2", voided);

      assert.equal((await merchant.void("a-3", captured)).kind, "declined");
      assert.equal((await merchant.capture("b-3", voided)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
    });

    test("a capture of a reversed, declined or unknown authorization and of a sale is declined", async () => {
      const merchant = given();
      const reversed = await merchant.authorized("a-1");
      await merchant.reverse("a-1");
      await merchant.authorize("b-1", {}, insufficientFunds);
      await merchant.authorize("c-1", { capture: true });

      assert.equal((await merchant.capture("a-2", reversed)).kind, "declined");
      for (const reference of ["b", "c", "d"]) {
        assert.equal(
          (await merchant.capture(`${reference}-2`, merchant.original(`${reference}-1`))).kind,
          "declined",
        );
        assert.equal(
          (await merchant.void(`${reference}-3`, merchant.original(`${reference}-1`))).kind,
          "declined",
        );
      }
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 100_00n });
    });

    test("captured money is given back in parts, until nothing is left", async () => {
      const merchant = given();
      const sale = await merchant.sold("a-1");

      for (const [reference, minor] of [
        ["a-r1", 30_00n],
        ["a-r2", 69_99n],
        ["a-r3", 1n],
      ] as const) {
        assert.deepEqual(await merchant.refund(reference, sale, minor), { kind: "approved" });
      }
      assert.equal((await merchant.refund("a-r4", sale, 1n)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
      assert.equal(await merchant.refunded(), 100_00n);
      assert.equal((await merchant.totals()).refunds, 3);
      if (harness.connector.capabilities.answersInquiries) {
        const inquiry = await merchant.inquire("a-1");
        assert.ok(inquiry.kind === "found");
        assert.deepEqual(inquiry.refunds, ["a-r1", "a-r2", "a-r3"]);
        assert.deepEqual([inquiry.captured, inquiry.voided], [100_00n, false]);
      }
    });

    test("what a capture took is given back like a sale", async () => {
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original);

      assert.deepEqual(await merchant.refund("a-r1", original, 40_00n), { kind: "approved" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 60_00n });
    });

    test("more than what was captured is never given back", async () => {
      const merchant = given();
      const sale = await merchant.sold("a-1");

      assert.equal((await merchant.refund("a-r1", sale, 100_01n)).kind, "declined");
      await merchant.refund("a-r2", sale, 60_00n);
      assert.equal((await merchant.refund("a-r3", sale, 40_01n)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 40_00n });
      if (harness.connector.capabilities.answersInquiries) {
        const inquiry = await merchant.inquire("a-1");
        assert.ok(inquiry.kind === "found");
        assert.deepEqual(inquiry.refunds, ["a-r2"], "what was declined was not carried out");
      }
    });

    test("of what was captured in part only that part is given back", async (context) => {
      if (!harness.connector.capabilities.partialCapture)
        return context.skip("takes no partial captures");
      const merchant = given();
      const original = await merchant.authorized("a-1");
      await merchant.capture("a-2", original, 30_00n);

      assert.equal((await merchant.refund("a-r1", original, 30_01n)).kind, "declined");
      assert.deepEqual(await merchant.refund("a-r2", original, 30_00n), { kind: "approved" });
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("what is only held, voided, reversed, declined or unknown is not given back", async () => {
      const merchant = given();
      const held = await merchant.authorized("a-1");
      const voided = await merchant.authorized("b-1");
      await merchant.void("b-2", voided);
      const reversed = await merchant.sold("c-1");
      await merchant.reverse("c-1");
      await merchant.authorize("d-1", { capture: true }, insufficientFunds);

      for (const original of [
        held,
        voided,
        reversed,
        merchant.original("d-1"),
        merchant.original("e-1"),
      ]) {
        assert.equal(
          (await merchant.refund(`${original.reference}-r`, original, 1n)).kind,
          "declined",
          original.reference,
        );
      }
      assert.equal(await merchant.refunded(), 0n);
    });

    test("what was given back in part can no longer be undone as a whole", async () => {
      const merchant = given();
      const sale = await merchant.sold("a-1");
      await merchant.refund("a-r1", sale, 1n);

      assert.equal((await merchant.reverse("a-1")).kind, "refused");
      assert.equal((await merchant.void("a-2", sale)).kind, "declined");
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 99_99n });
    });

    test("a refund that is sent again gives back once exactly if the connector declares so", async () => {
      const merchant = given();
      const sale = await merchant.sold("a-1");
      await merchant.refund("a-r1", sale, 30_00n);
      assert.deepEqual(await merchant.refund("a-r1", sale, 30_00n), { kind: "approved" });

      assert.equal(
        await merchant.refunded(),
        harness.connector.capabilities.repeatsFollowUps ? 30_00n : 60_00n,
      );
    });

    test("a refund whose answer is lost was carried out, and one that is lost on its way was not; an inquiry shows which", async () => {
      const merchant = given();
      const sale = await merchant.sold("a-1");
      for (const [reference, next] of [
        ["a-r1", "lose_answer"],
        ["a-r2", "lose_request"],
      ] as const) {
        await harness.instruct(merchant.id, { next, times: 1, message: "refund" });
        const pending = merchant.refund(reference, sale, 30_00n, harness.patienceMs);
        await harness.pass(harness.patienceMs);
        assert.deepEqual(await pending, timedOut);
      }

      assert.equal(await merchant.refunded(), 30_00n);
      if (harness.connector.capabilities.answersInquiries) {
        const inquiry = await merchant.inquire("a-1");
        assert.ok(inquiry.kind === "found");
        assert.deepEqual(inquiry.refunds, ["a-r1"]);
      }
    });

    test("a refund that the acquirer is set to decline is declined", async () => {
      const merchant = given();
      const sale = await merchant.sold("a-1");
      await harness.instruct(merchant.id, { next: { decline: "not_accepted" }, times: 1 });

      assert.deepEqual(await merchant.refund("a-r1", sale, 30_00n), {
        kind: "declined",
        responseCode: "05",
      });
      assert.deepEqual(await merchant.refund("a-r2", sale, 30_00n), { kind: "approved" });
    });

    for (const [brand, digits, method] of [
      ["visa", approving, "zero_amount"],
      ["mastercard", "5555555555554444", "zero_amount"],
      ["amex", "378282246310005", "zero_amount"],
      ["diners", "30569309025904", "zero_amount"],
      ["discover", "6011111111111117", "ghost_authorization"],
      ["aura", "5078601870000127985", "ghost_authorization"],
      ["elo", "6362970000457013", "ghost_authorization"],
      ["hipercard", "6062825624254001", "ghost_authorization"],
    ] as const) {
      test(`a good ${brand} is verified by ${method} and nothing is held`, async () => {
        const merchant = given();
        const outcome = await merchant.verify("v-1", brand, digits);

        assert.ok(outcome.kind === "good");
        assert.equal(outcome.method, method);
        if (harness.lacks?.transactionNames !== true)
          assert.match(outcome.networkTransactionId ?? "", /^[0-9A-Z]{15}$/);
        assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
        const { verifications, approvals, reversals } = await merchant.totals();
        // The control: the small authorization was made, and was reversed.
        const ghosts = method === "ghost_authorization" ? 1 : 0;
        assert.deepEqual([verifications, approvals, reversals], [1, ghosts, ghosts]);
      });
    }

    test("an invalid card is reported as invalid, by either method, and nothing is held", async () => {
      const merchant = given();
      const visa = await merchant.verify("v-1", "visa", insufficientFunds);
      const discover = await merchant.verify("v-2", "discover", "6011088896715918");

      assert.ok(visa.kind === "declined" && discover.kind === "declined");
      assert.deepEqual(
        [visa.reason, visa.responseCode, visa.method],
        ["insufficient_funds", "51", "zero_amount"],
      );
      assert.deepEqual([discover.reason, discover.method], ["expired_card", "ghost_authorization"]);
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a verification whose answer is lost is unknown and holds nothing", async () => {
      const merchant = given();
      await harness.instruct(merchant.id, { next: "lose_answer", times: 1 });

      const pending = merchant.verify("v-1", "elo", "6362970000457013", harness.patienceMs);
      await harness.pass(harness.patienceMs);
      assert.deepEqual(await pending, timedOut);
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
      assert.equal((await merchant.totals()).verifications, 1);
    });

    test("stored-credential and 3-D Secure data reach the acquirer as they were given", async () => {
      const merchant = given();
      const storedCredential: StoredCredential = {
        use: "stored",
        initiator: "MIT",
        reason: "SCHEDULED_RECURRING",
        mandateId: "123456789012345",
      };
      const threeDSecure: ThreeDSecure = {
        eci: "05",
        version: "2.2.0",
        transactionId: "c272b04f-6e7b-43a2-bb78-90f4fb94aa25",
        xid: undefined,
      };
      assert.equal(
        (await merchant.authorize("a-1", { storedCredential, threeDSecure })).kind,
        "approved",
      );
      assert.equal((await merchant.authorize("b-1")).kind, "approved");

      const { storedCredential: notified, threeDSecure: found } = await merchant.booked("a-1");
      assert.deepEqual([notified, found], [storedCredential, threeDSecure]);
      const plain = await merchant.booked("b-1");
      assert.deepEqual([plain.storedCredential, plain.threeDSecure], [undefined, undefined]);
    });

    test("an approval names its transaction, each its own", async (context) => {
      if (harness.lacks?.transactionNames === true) return context.skip("names no transactions");
      const merchant = given();
      const [first, second] = [await merchant.authorize("a-1"), await merchant.authorize("b-1")];
      assert.ok(first.kind === "approved" && second.kind === "approved");
      assert.match(first.networkTransactionId ?? "", /^[0-9A-Z]{15}$/);
      assert.notEqual(second.networkTransactionId, first.networkTransactionId);
    });

    test("what the acquirer's tables say of a card is known without a request", async (context) => {
      const { cardTraits } = harness.connector;
      if (cardTraits === undefined) return context.skip("has no such tables");
      const merchant = given();
      assert.deepEqual(cardTraits(cardOf(approving)), {
        funding: "credit",
        foreign: false,
        ecommerce: true,
        exhausted: false,
      });
      assert.equal(cardTraits(cardOf("4000000000002206"))?.funding, "prepaid");
      assert.equal(cardTraits(cardOf("4242424242424242")), undefined);
      assert.deepEqual(await merchant.money(), { held: 0n, captured: 0n });
    });

    test("a request that the network doubles has one effect exactly if the connector declares that repeats are recognized", async () => {
      const merchant = given();
      const { dedupesByReference, repeatsFollowUps } = harness.connector.capabilities;
      await harness.instruct(merchant.id, { next: "double_request", times: 3 });
      const original = await merchant.authorized("a-1");
      assert.equal((await merchant.booked("a-1")).approvals, dedupesByReference ? 1 : 2);

      assert.equal((await merchant.capture("a-2", original)).kind, "approved");
      assert.equal((await merchant.booked("a-1")).captures, 1);

      assert.equal((await merchant.refund("a-r1", original, 30_00n)).kind, "approved");
      assert.equal(await merchant.refunded(), repeatsFollowUps ? 30_00n : 60_00n);
    });
  });
}

/** Sends one merchant's requests, with defaults for the fields that a test does not set. */
class Merchant {
  readonly id: MerchantId;
  readonly #harness: ConnectorHarness;

  constructor(harness: ConnectorHarness, id: MerchantId) {
    this.#harness = harness;
    this.id = id;
  }

  request(reference: string, patienceMs = longEnoughMs): AuthorizeRequest {
    return {
      ...this.#address(reference, patienceMs),
      amount: brl(100_00n),
      capture: false,
      instalments: 1,
      country: "br",
      descriptor: "SHOP",
      card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
      storedCredential: undefined,
      threeDSecure: undefined,
    };
  }

  async authorize(
    reference: string,
    change: Partial<AuthorizeRequest> = {},
    digits = approving,
  ): Promise<AuthorizeOutcome> {
    const card = cardOf(digits);
    try {
      return await this.#harness.connector.authorize(
        { ...this.request(reference), ...change },
        { card, cvv: undefined, cryptogram: undefined },
      );
    } finally {
      card.pan.wipe();
    }
  }

  /** Authorizes, and waits for an answer until the test's patience ends. */
  async withoutAnswer(reference: string): Promise<AuthorizeOutcome> {
    const pending = this.authorize(reference, {
      deadline: laterBy(this.#harness.now(), this.#harness.patienceMs),
    });
    await this.#harness.pass(this.#harness.patienceMs);
    return pending;
  }

  async authorized(reference: string): Promise<OriginalAuthorization> {
    const outcome = await this.authorize(reference);
    assert.equal(outcome.kind, "approved");
    const { authorizationCode, acquirerReference } = outcome;
    return { reference, amount: brl(100_00n), authorizationCode, acquirerReference };
  }

  /** The known fields of an authorization that was never answered. */
  original(reference: string): OriginalAuthorization {
    return {
      reference,
      amount: brl(100_00n),
      authorizationCode: undefined,
      acquirerReference: undefined,
    };
  }

  capture(
    reference: string,
    original: OriginalAuthorization,
    minor = 100_00n,
    patienceMs = longEnoughMs,
  ) {
    return this.#harness.connector.capture(this.#followUp(reference, original, minor, patienceMs));
  }

  /** A sale of 100.00 for refunds. */
  async sold(reference: string): Promise<OriginalAuthorization> {
    const outcome = await this.authorize(reference, { capture: true });
    assert.equal(outcome.kind, "approved");
    const { authorizationCode, acquirerReference } = outcome;
    return { reference, amount: brl(100_00n), authorizationCode, acquirerReference };
  }

  refund(
    reference: string,
    original: OriginalAuthorization,
    minor: bigint,
    patienceMs = longEnoughMs,
  ) {
    return this.#harness.connector.refund(this.#followUp(reference, original, minor, patienceMs));
  }

  async verify(
    reference: string,
    brand: Brand,
    digits: string,
    patienceMs = longEnoughMs,
  ): Promise<VerifyOutcome> {
    const card = cardOf(digits);
    try {
      return await this.#harness.connector.verify(
        {
          ...this.#address(reference, patienceMs),
          country: "br",
          currency: "BRL",
          card: { brand, maskedPan: maskOf(card.pan), tokenDigest: undefined },
          storedCredential: undefined,
        },
        { card, cvv: undefined, cryptogram: undefined },
      );
    } finally {
      card.pan.wipe();
    }
  }

  void(reference: string, original: OriginalAuthorization) {
    return this.#harness.connector.void(this.#followUp(reference, original, 100_00n, longEnoughMs));
  }

  reverse(reference: string) {
    return this.#harness.connector.reverse({
      ...this.#address(`${reference}-r`, longEnoughMs),
      original: this.original(reference),
    });
  }

  inquire(reference: string) {
    return this.#harness.connector.inquire({
      ...this.#address(`${reference}-i`, longEnoughMs),
      original: this.original(reference),
    });
  }

  async booked(reference: string): Promise<BookedAuthorization> {
    const booked = (await this.#books())?.authorizations.find(
      (authorization) => authorization.reference === reference,
    );
    assert.ok(booked !== undefined);
    return booked;
  }

  async refunded(): Promise<bigint> {
    return (await this.#books())?.money.find(({ currency }) => currency === "BRL")?.refunded ?? 0n;
  }

  async money(): Promise<{ readonly held: bigint; readonly captured: bigint }> {
    const balance = (await this.#books())?.money.find(({ currency }) => currency === "BRL");
    return { held: balance?.held ?? 0n, captured: balance?.captured ?? 0n };
  }

  async totals() {
    const books = await this.#books();
    assert.ok(books !== undefined);
    return books.totals;
  }

  async #books() {
    return (await this.#harness.books()).merchants.find(({ merchantId: id }) => id === this.id);
  }

  #followUp(
    reference: string,
    original: OriginalAuthorization,
    minor: bigint,
    patienceMs: number,
  ): FollowUpRequest {
    return { ...this.#address(reference, patienceMs), original, amount: brl(minor) };
  }

  #address(reference: string, patienceMs: number) {
    return {
      merchantId: this.id,
      reference,
      deadline: laterBy(this.#harness.now(), patienceMs),
      settings,
    };
  }
}
