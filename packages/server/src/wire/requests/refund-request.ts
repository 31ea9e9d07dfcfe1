import type { Account } from "../../merchant/account.ts";
import type { RefundInput, RefundSelector } from "../../operations/direct-input.ts";
import { roundedText } from "./amounts.ts";
import { maskCardNumbers } from "../decode/card-like.ts";
import { fieldOf, hasWrongShape, lengthOf } from "./fields.ts";
import { hasOtherAmount, readSelector } from "./payment-request.ts";
import { parameterTooLong } from "./rules.ts";
import { textOf, type TreeObject } from "../decode/tree.ts";
import { WireError } from "../decode/wire-error.ts";

/** Of the two lengths that the sources give each, the longer one (interface 5.3). */
export const refundLongest = { description: 1_500, code: 40 } as const;

const largestId = 2 ** 31 - 1;

/** BP-REF-1 and 7 are known; the other numbers of the series are ours (interface 5.3). */
export const refundErrors = {
  operation: { code: "BP-REF-2", message: "Parameter operation must be request or cancel" },
  amountRequired: { code: "BP-REF-3", message: "Parameter amount not informed" },
  amountInvalid: { code: "BP-REF-4", message: "Parameter amount is invalid" },
  tooLong: { code: "BP-REF-6", message: "Parameter {name} can have {n} characters maximum" },
  codeInvalid: { code: "COFRE-47", message: "Parameter merchant_refund_code is invalid" },
  unnamed: { code: "BP-REF-8", message: "Parameters refund_id or merchant_refund_code not informed" },
} as const;

export type RefundRequest =
  | { readonly kind: "request"; readonly input: RefundInput }
  | { readonly kind: "cancel"; readonly selector: RefundSelector };

/** /ws/refund in its two meanings (interface 5.3). Clients always send `operation`; what names none asks for a refund. */
export function readRefundRequest(params: TreeObject, account: Account): RefundRequest {
  if (hasWrongShape(params, "operation")) throw refusal("operation");
  const operation = fieldOf(params, "operation")?.toLowerCase() ?? "request";
  if (operation === "cancel") return { kind: "cancel", selector: refundNamed(params) };
  if (operation !== "request") throw refusal("operation");
  const selector = readSelector(params, "refund");
  return { kind: "request", input: { selector, amount: amountToRefund(params, account), ...textsOf(params) } };
}

/** /ws/refundOrCancel gives back everything: an amount beside it is not looked at (interface 5.4). */
export function readRefundOrCancel(params: TreeObject): RefundInput {
  return { selector: readSelector(params, "refund"), amount: undefined, ...textsOf(params) };
}

/** Zero is how one client says that there is none (interface 1.2, step 8); and nothing is no refund of everything. */
function amountToRefund(params: TreeObject, account: Account): string {
  const value = params["amount"];
  // The shares of a split (interface 5.3) are of the amount beside it.
  if (hasOtherAmount(params, "split")) throw refusal("amountInvalid");
  if (value === undefined) throw refusal("amountRequired");
  if (typeof value !== "string") throw refusal("amountInvalid");
  const text = value.trim();
  if (text === "" || /^0+(\.0*)?$/.test(text)) throw refusal("amountRequired");
  return roundedText(text, account);
}

function textsOf(params: TreeObject): Pick<RefundInput, "description" | "code"> {
  const description = fieldOf(params, "description") ?? "";
  refuseLongerThan("description", description, refundLongest.description);
  return { description: maskCardNumbers(description), code: refundCodeIn(params) };
}

function refundCodeIn(params: TreeObject): string | undefined {
  const text = textOf(params, "merchant_refund_code");
  // Without its code a refund that is sent again would be another one.
  if (hasWrongShape(params, "merchant_refund_code")) throw refusal("codeInvalid");
  if (text === undefined || text.trim() === "") return undefined;
  refuseLongerThan("merchant_refund_code", text, refundLongest.code);
  return text;
}

/** The id counts before the code; an id of 0 is none. What is no id at all is no refund's. */
function refundNamed(params: TreeObject): RefundSelector {
  const id = fieldOf(params, "refund_id");
  if (hasWrongShape(params, "refund_id")) throw refusal("unnamed");
  if (id !== undefined && !/^0+$/.test(id)) {
    const number = /^\d{1,10}$/.test(id) ? Number(id) : 0;
    return { id: number <= largestId ? number : 0 };
  }
  const code = refundCodeIn(params);
  if (code === undefined) throw refusal("unnamed");
  return { code };
}

function refusal(name: keyof typeof refundErrors): WireError {
  const { code, message } = refundErrors[name];
  return new WireError(code, message);
}

function refuseLongerThan(name: string, text: string, characters: number): void {
  if (lengthOf(text) > characters) throw new WireError(refundErrors.tooLong.code, parameterTooLong(name, characters));
}
