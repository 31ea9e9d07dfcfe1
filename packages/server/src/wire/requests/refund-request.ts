import type { Account } from "../../merchant/account.ts";
import type { RefundInput, RefundSelector } from "../../operations/direct-input.ts";
import { roundedText } from "./amounts.ts";
import { maskCardNumbers } from "../decode/card-like.ts";
import { fieldOf, hasWrongShape, lengthOf } from "./fields.ts";
import { hasOtherAmount, readSelector } from "./payment-request.ts";
import { refusal } from "../errors/refusal.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";

/** The longer of the two lengths that the sources have for each (interface 5.3). */
export const refundLongest = { description: 1_500, code: 40 } as const;

const largestId = 2 ** 31 - 1;

export type RefundRequest =
  | { readonly kind: "request"; readonly input: RefundInput }
  | { readonly kind: "cancel"; readonly selector: RefundSelector };

/**
 * /ws/refund in its two meanings (interface 5.3). Clients always send `operation`; without it the
 * request is for a refund.
 */
export function readRefundRequest(params: TreeObject, account: Account): RefundRequest {
  if (hasWrongShape(params, "operation")) throw refusal("BP-REF-2");
  const operation = fieldOf(params, "operation")?.toLowerCase() ?? "request";
  if (operation === "cancel") return { kind: "cancel", selector: refundNamed(params) };
  if (operation !== "request") throw refusal("BP-REF-2");
  const selector = readSelector(params, "BP-REF-1");
  return {
    kind: "request",
    input: { selector, amount: amountToRefund(params, account), ...textsOf(params) },
  };
}

/** /ws/refundOrCancel refunds everything: an amount in the request is ignored (interface 5.4). */
export function readRefundOrCancel(params: TreeObject): RefundInput {
  return { selector: readSelector(params, "BP-REF-1"), amount: undefined, ...textsOf(params) };
}

/**
 * One client sends zero for a missing amount (interface 1.2, step 8). A missing amount does not
 * mean a refund of everything.
 */
function amountToRefund(params: TreeObject, account: Account): string {
  const value = params["amount"];
  // The shares of a split (interface 5.3) are parts of the amount beside it.
  if (hasOtherAmount(params, "split")) throw refusal("BP-REF-4");
  if (value === undefined) throw refusal("BP-REF-3");
  if (typeof value !== "string") throw refusal("BP-REF-4");
  const text = value.trim();
  if (text === "" || /^0+(\.0*)?$/.test(text)) throw refusal("BP-REF-3");
  return roundedText(text, account);
}

function textsOf(params: TreeObject): Pick<RefundInput, "description" | "code"> {
  const description = fieldOf(params, "description") ?? "";
  if (lengthOf(description) > refundLongest.description)
    throw refusal("BP-REF-6", { name: "description", longest: refundLongest.description });
  return { description: maskCardNumbers(description), code: refundCodeIn(params) };
}

function refundCodeIn(params: TreeObject): string | undefined {
  const text = textOf(params, "merchant_refund_code");
  // Without its code a repeated refund would be another one.
  if (hasWrongShape(params, "merchant_refund_code")) throw refusal("COFRE-47");
  if (text === undefined || text.trim() === "") return undefined;
  if (lengthOf(text) > refundLongest.code)
    throw refusal("BP-REF-6", { name: "merchant_refund_code", longest: refundLongest.code });
  return text;
}

/**
 * The id takes precedence over the code; an id of 0 counts as missing. A malformed id matches no
 * refund.
 */
function refundNamed(params: TreeObject): RefundSelector {
  const id = fieldOf(params, "refund_id");
  if (hasWrongShape(params, "refund_id")) throw refusal("BP-REF-8");
  if (id !== undefined && !/^0+$/.test(id)) {
    const number = /^\d{1,10}$/.test(id) ? Number(id) : 0;
    return { id: number <= largestId ? number : 0 };
  }
  const code = refundCodeIn(params);
  if (code === undefined) throw refusal("BP-REF-8");
  return { code };
}
