import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { WireError } from "../decode/wire-error.ts";
import { documentedErrors } from "./error-reference.ts";
import { answerWithOtherStatus, refusalAnswer } from "../answers/refusal-answer.ts";
import { refusal } from "./refusal.ts";

describe("a refusal", () => {
  test("has its row's message and status", () => {
    const { statusCode, message, httpStatus } = refusal("COFRE-21");
    assert.deepEqual(
      [statusCode, message, httpStatus],
      ["COFRE-21", "Not processed: the request could not be recorded, send it again later", 503],
    );
    assert.equal(refusal("BP-DR-2").httpStatus, 200);
  });

  test("fills in the placeholders, those of a choice too", () => {
    assert.equal(
      refusal("BP-DR-24", { problem: "is invalid" }).message,
      "Field payment.zipcode is invalid",
    );
    assert.equal(
      refusal("BP-DR-52", { longest: 64 }).message,
      "Field payment.creditcard.card_name can have 64 characters maximum",
    );
    const text = "Invalid payment_type_code: {type}";
    assert.equal(
      refusal("BP-DR-35", { text, type: "shells" }).message,
      "Invalid payment_type_code: shells",
    );
  });

  test("has the field that it is about, as the error table names it", () => {
    assert.equal(refusal("BP-DR-17").field, "payment.email");
    assert.equal(
      refusal("COFRE-27", { field: "threeds_eci", problem: "invalid" }).field,
      "payment.creditcard.threeds_eci",
    );
    assert.equal(
      refusal("BP-DR-12", { user_value_n: "user_value_3", longest: 20 }).field,
      "payment.user_value_3",
    );
    const text = "Operation must be request";
    assert.equal(refusal("BP-DR-1", { text, field: "operation" }).field, "operation");
    assert.equal(refusal("BP-CAP-2").field, undefined);
    assert.equal(refusalAnswer("BP-ZIP-2").field, "zipcode");
  });

  test("repeats braces and dollars in a value unchanged", () => {
    const code = "{time} $& {status}";
    const values = { code, time: "2025-11-25 18:13:28", status: "CO" };
    const message = `Payment already exists with merchant_payment_code: ${code} (created on 2025-11-25 18:13:28, status is CO)`;
    assert.equal(refusal("BP-DR-0", values).message, message);
    assert.equal(
      refusal("BP-DR-35", { text: "Invalid payment_type_code: {type}", type: "{text}" }).message,
      "Invalid payment_type_code: {text}",
    );
  });

  test("compiles only with values that its row allows", () => {
    // @ts-expect-error: the row has no such problem.
    assert.ok(refusal("BP-DR-24", { problem: "is unusual" }) instanceof WireError);
    // @ts-expect-error: the placeholder is not filled in.
    assert.ok(refusal("COFRE-6") instanceof WireError);
    // @ts-expect-error: the row has another length.
    assert.ok(refusal("BP-DR-14", { longest: 99 }) instanceof WireError);
    // @ts-expect-error: the code is never sent.
    assert.ok(refusal("BP-DR-18") instanceof WireError);
  });

  test("can be an answer, with the row's other status too", () => {
    assert.deepEqual(refusalAnswer("COFRE-98"), {
      status: 200,
      body: '{"status":"ERROR","status_code":"COFRE-98","status_message":"Parameters add and clear cannot be given together"}',
      code: "COFRE-98",
    });
    assert.deepEqual(
      [refusalAnswer("COFRE-10").status, answerWithOtherStatus("COFRE-10").status],
      [200, 405],
    );
  });
});

test("the documentation lists the choices of a message, and its example has the first of them", () => {
  const byCode = new Map(documentedErrors.map((error) => [error.code, error]));
  const { message, example } = byCode.get("BP-DR-25") ?? {};
  assert.equal(message, "Field payment.address {is required | can have 100 characters maximum}");
  assert.equal(example, "Field payment.address is required");
  assert.equal(
    byCode.get("BP-DR-14")?.message,
    "Field payment.name can have 100 characters maximum",
  );
  assert.equal(byCode.get("BP-DR-35")?.example, "Invalid payment_type_code: type");
  assert.deepEqual(byCode.get("COFRE-10")?.httpStatuses, [200, 405]);
});
