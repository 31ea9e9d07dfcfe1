import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Authentication, outcomes } from "../authentication/authenticator.ts";
import type { AccountSettings } from "../merchant/account.ts";
import { judge } from "./page-authentication.ts";

function authentication(status: Authentication["status"]): Authentication {
  return {
    id: "an id",
    directoryServerId: "an id of the directory server",
    xid: "B".repeat(28),
    version: "2.2.0",
    status,
    reason: undefined,
    eci: status === "Y" ? "05" : "07",
    authenticationValue: "A".repeat(28),
  };
}

function accepted(
  pageAuthentication: AccountSettings["pageAuthentication"],
  paymentType: "credit" | "debit",
): readonly string[] {
  return [...outcomes, "C" as const].filter(
    (status) =>
      judge(authentication(status), { paymentType }, { brand: "visa" }, { pageAuthentication })
        .kind === "passed",
  );
}

describe("the outcome of an authentication", () => {
  test("is accepted by the account's policy; a challenge that was not passed never is", () => {
    assert.deepEqual(accepted("strict", "credit"), ["Y", "A"]);
    assert.deepEqual(accepted("strict", "debit"), ["Y", "A"]);
    assert.deepEqual(accepted("normal", "credit"), ["Y", "A", "I", "U"]);
    assert.deepEqual(accepted("normal", "debit"), ["Y", "A"]);
  });

  test("is that of a bank that could not authenticate where no 3-D Secure server is", () => {
    const without = (pageAuthentication: AccountSettings["pageAuthentication"]) =>
      judge(undefined, { paymentType: "credit" }, { brand: "visa" }, { pageAuthentication });
    assert.deepEqual(without("normal"), {
      kind: "passed",
      proof: { threeDSecure: undefined, expectedLiability: "merchant" },
      value: undefined,
    });
    assert.deepEqual(without("strict"), {
      kind: "failed",
      outcome: { status: "U", isFinal: false },
    });
  });

  test("goes to the acquirer with its proof, and says who is expected to bear fraud", () => {
    const settings = { pageAuthentication: "strict" } as const;
    const judged = judge(
      authentication("Y"),
      { paymentType: "credit" },
      { brand: "visa" },
      settings,
    );
    assert.deepEqual(judged, {
      kind: "passed",
      proof: {
        threeDSecure: {
          eci: "05",
          version: "2.2.0",
          transactionId: "an id of the directory server",
          xid: undefined,
        },
        expectedLiability: "issuer",
      },
      value: "A".repeat(28),
    });
    assert.deepEqual(
      judge(authentication("R"), { paymentType: "credit" }, { brand: "visa" }, settings),
      { kind: "failed", outcome: { status: "R", isFinal: true } },
    );
  });
});
