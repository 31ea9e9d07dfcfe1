import assert from "node:assert/strict";
import { test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import { instant } from "../../kernel/instant.ts";
import type { SimulatorBehaviour } from "../../merchant/account.ts";
import { defaultAccountSettings } from "../../merchant/settings.ts";
import type { AuthorizeRequest } from "../connector.ts";
import { withIssuerRules } from "./issuer-rules.ts";

const requiring = { ...defaultAccountSettings(), requireDebitThreeDSecure: true };
const debit: AuthorizeRequest = {
  merchantId: "0000000a" as MerchantId,
  reference: "a-1",
  deadline: instant(1),
  settings: requiring,
  amount: { minor: 100_00n, currency: "BRL" },
  capture: true,
  instalments: 1,
  country: "br",
  descriptor: "SHOP",
  card: { brand: "visa", maskedPan: "411111xxxxxx1111", tokenDigest: undefined },
  storedCredential: undefined,
  threeDSecure: undefined,
  paymentType: "debit",
};

const faultOf = (change: Partial<AuthorizeRequest>) =>
  withIssuerRules({ ...debit, ...change }).settings.simulator.fault;

test("the issuer declines Brazilian debit payments without 3-D Secure if the account requires it", () => {
  assert.deepEqual(faultOf({}), { decline: "three_d_secure_required" });
  const threeDSecure = { eci: "05", version: undefined, transactionId: undefined, xid: undefined };
  const accepted: readonly Partial<AuthorizeRequest>[] = [
    { threeDSecure },
    { paymentType: "credit" },
    { country: "mx" },
    { settings: defaultAccountSettings() },
  ];
  for (const change of accepted) assert.equal(faultOf(change), undefined);
});

test("the account's other settings still apply, and an injected fault takes precedence", () => {
  const simulator: SimulatorBehaviour = { ...requiring.simulator, latencyMs: 7 };
  const settings = { ...requiring, simulator };
  assert.deepEqual(withIssuerRules({ ...debit, settings }).settings.simulator, {
    ...simulator,
    fault: { decline: "three_d_secure_required" },
  });
  const injected: SimulatorBehaviour = { ...simulator, fault: "lose_answer" };
  assert.equal(faultOf({ settings: { ...requiring, simulator: injected } }), "lose_answer");
});
