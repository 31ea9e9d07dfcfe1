import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { MerchantId } from "../../kernel/ids.ts";
import { detailOf, targetOf } from "./audit-texts.ts";

const visa = "4111111111111111";

describe("the target and detail of an entry of the audit log", () => {
  test("names the payment by its hash, also one that is searched for; otherwise the path", () => {
    const hash = "0".repeat(48);
    assert.equal(targetOf("/ws/refund", { hash }), hash);
    assert.equal(targetOf("/__cofre/payments", { search: hash }), hash);
    assert.equal(targetOf("/ws/refund", { hash: visa }), "/ws/refund");
    assert.equal(targetOf("/ws/refund", { hash: visa, search: hash }), "/ws/refund");
    assert.equal(targetOf("/ws/refund", {}), "/ws/refund");
  });

  test("begins with the account and is no longer than 500 characters", () => {
    const account = "0a0b0c0d" as MerchantId;
    assert.equal(detailOf(account), "account 0a0b0c0d");
    assert.equal(
      detailOf(account, undefined, "status 200", "BP-1"),
      "account 0a0b0c0d, status 200, BP-1",
    );
    assert.equal(detailOf(account, "x".repeat(600)).length, 500);
  });
});
