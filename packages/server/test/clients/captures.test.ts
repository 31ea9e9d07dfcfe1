import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startTestServer } from "../server.ts";
import { type Capture, readCaptures, send, withLiveValues } from "./replay.ts";

const recordedKey = "test_ik_loopbackAAAAAAAAAA";
const recordedPublicKey = "test_pk_loopback";
const recordedRefund = "20001";
const liveKey = "live-secret-key-of-another-length";
const livePublicKey = "live-public-key";

type Json = { readonly [name: string]: Json | undefined } & { readonly length?: never };

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/**
 * Requests that an error answers, and rightly: the account that recorded them was answered by a
 * stub that knows no rules.
 */
const refused: ReadonlyMap<string, string> = new Map([
  // manual_review is true: the payment waits for a reviewer, so there is nothing to capture yet.
  ["benjamin-capture-by-code-amount", "BP-CAP-5"],
  // Less than what is authorized, and the account has no partial capture.
  ["activemerchant-capture-amount", "BP-CAP-11"],
  ["activemerchant-rails-capture-amount", "BP-CAP-11"],
  ["net-capture-amount", "BP-CAP-11"],
  // A Mexican payment in BRL: the currency is neither the country's nor USD nor EUR.
  ["benjamin-direct-debit", "BP-DR-4"],
]);

/**
 * What the client needs of the answer to continue (clients.md, interface 11), by what the request
 * asks for.
 */
function check(capture: Capture, status: number, body: Json): void {
  const payment = body["payment"];
  const path = capture.path.toLowerCase().replace(/\/$/, "");
  const code = refused.get(capture.name);
  if (code !== undefined) return assert.deepEqual([status, body["status_code"]], [200, code]);
  const success = (): void =>
    assert.deepEqual([status, body["status"]], [200, "SUCCESS"], JSON.stringify(body));
  switch (path) {
    case "/ws/token":
      if (capture.name.includes("badkey")) return assert.equal(body["status"], "ERROR");
      success();
      assert.match(textOf(body["token"]), /^[0-9a-f]{128}$/);
      assert.match(textOf(body["masked_card_number"]), /^\d{6}x{6}\d{4}$/);
      return;
    case "/ws/direct":
      success();
      assert.equal(payment?.["status"], expectedStatus(capture), JSON.stringify(body));
      assert.equal(payment?.["pre_approved"], expectedStatus(capture) !== "CA");
      assert.equal(
        payment?.["capture_available"],
        expectedStatus(capture) === "PE" && capture.name !== "benjamin-direct-auth-2nd",
      );
      assert.match(textOf(payment?.["hash"]), /^[0-9a-f]{48}$/);
      if (capture.name.includes("create_token"))
        assert.match(textOf(payment?.["token"]), /^[0-9a-f]{32,128}$/);
      return;
    case "/ws/request":
      // It asks for a boleto.
      if (capture.name === "ruby-request") {
        assert.equal(body["status_code"], "BP-R-7");
        return;
      }
      success();
      assert.equal(payment?.["status"], "OP");
      assert.match(textOf(body["redirect_url"]), /\/checkout\/\?hash=[0-9a-f]{48}/);
      return;
    case "/ws/capture":
      success();
      assert.equal(payment?.["status"], "CO");
      return;
    case "/ws/cancel":
      success();
      assert.deepEqual([payment?.["status"], body["operation"]], ["CA", "cancel"]);
      return;
    case "/ws/refund": {
      success();
      if (capture.name.includes("refund-cancel"))
        return assert.equal(body["refund"]?.["status"], "CA");
      assert.deepEqual([payment?.["status"], body["operation"]], ["CO", "refund"]);
      // Ids of refunds are read as whole numbers by one client, and looked for in the list by
      // another.
      assert.match(textOf(body["refund"]?.["id"]), /^[1-9]\d{0,9}$/);
      const refunds = JSON.parse(JSON.stringify(payment?.["refunds"])) as readonly Json[];
      assert.deepEqual(refunds.at(-1), body["refund"]);
      assert.equal(body["refund"]?.["status"], "RE");
      assert.match(textOf(body["refund"]["description"]), /^(?:item returned|again)/);
      return;
    }
    case "/ws/refundorcancel":
      // Recorded on an authorization that was captured before: what is paid is given back.
      success();
      assert.deepEqual(
        [payment?.["status"], body["operation"], body["refund"]?.["description"]],
        ["CO", "refund", "customer gave up"],
      );
      return;
    case "/ws/verifycard":
      success();
      assert.equal(body["payment_type_code"], "creditcard");
      assert.deepEqual(body["card_verification"], {
        transaction_status: { code: "OK", description: "Accepted" },
        transaction_type: "ZERO DOLLAR",
      });
      return;
    case "/ws/token/setcvv":
      success();
      assert.match(textOf(body["masked_card_number"]), /^\d{6}x{6}\d{4}$/);
      return;
    case "/ws/exchange":
      success();
      // Clients multiply by it.
      assert.ok(Number(textOf(body["currency_rate"]?.["rate"])) > 0);
      return;
    case "/ws/merchantintegrationproperties/get":
      success();
      assert.deepEqual(
        [body["success"], body["resource"], body["operation"]],
        [true, "merchantIntegrationProperties", "get"],
      );
      return;
    case "/ws/zipcode":
      success();
      assert.match(textOf(body["zipcode"]?.["state"]), /^[A-Z]{2}$/);
      return;
    case "/ws/documentbalance":
      success();
      assert.equal(body["document_balance"]?.["document"], "85351346893");
      return;
    case "/fingerprint":
      assert.equal(status, 200);
      assert.match(textOf(body["ebanx_session_id"]), /^[0-9a-f]{32}$/);
      assert.deepEqual(body["providers"], []);
      return;
    case "/ws/query":
      success();
      assert.match(textOf(payment?.["hash"]), /^[0-9a-f]{48}$/);
      return;
    case "/ws/merchantintegrationproperties/isvalidpublicintegrationkey":
      if (/bad|409/.test(capture.name)) assert.deepEqual([status, body["success"]], [409, false]);
      else assert.deepEqual([status, body["success"]], [200, true]);
      return;
    default:
      // Operations that come later answer the envelope: every client parses it.
      assert.equal(body["status"], "ERROR", capture.path);
      assert.equal(typeof body["status_message"], "string");
  }
}

function expectedStatus({ name }: Capture): "CO" | "PE" | "CA" {
  if (/declined/.test(name)) return "CA";
  return /-auth/.test(name) ? "PE" : "CO";
}

describe("recorded requests of public clients", () => {
  test("are answered as each client needs it", async (context) => {
    await using server = await startTestServer({
      environment: {
        COFRE_SANDBOX_INTEGRATION_KEY: liveKey,
        COFRE_SANDBOX_PUBLIC_INTEGRATION_KEY: livePublicKey,
      },
    });
    const answers = new Map<string, Json>();
    let replayed = 0;
    for (const capture of readCaptures()) {
      if (!/^\/(ws|fingerprint)/.test(capture.path)) continue;
      const live = new Map([
        [recordedKey, liveKey],
        [recordedPublicKey, livePublicKey],
      ]);
      for (const { value, fromCapture, jsonPath } of capture.refs) {
        const found = jsonPath
          .split(".")
          .reduce<Json | undefined>(
            (node, name) => node?.[name],
            answers.get(fromCapture.replace(/\.json$/, "")),
          );
        if (found !== undefined) live.set(value, textOf(found));
      }
      // No answer was recorded that the refund's id could come from: it is the one that the same
      // client has just been given.
      const own = answers.get(capture.name.replace("refund-cancel", "refund"))?.["refund"]?.["id"];
      if (own !== undefined) live.set(recordedRefund, textOf(own));
      await context.test(capture.name, async () => {
        const { status, headers, text } = await send(withLiveValues(capture, live), server.port);
        assert.match(headers.get("content-type") ?? "", /^application\/json/);
        const body = JSON.parse(text) as Json;
        answers.set(capture.name, body);
        check(capture, status, body);
      });
      replayed += 1;
    }
    assert.ok(replayed > 140, `${replayed} were replayed`);
  });
});
