import type { Account } from "../../merchant/account.ts";
import type { Payment } from "../../payment/payment.ts";
import { renderPayment } from "./payment-answer.ts";

/** Members that are numbers in this answer, and texts in all others (interface 5.6, 11a). */
const numbers =
  /"(amount_br|amount_ext|amount_iof|currency_rate|instalments)":"(-?\d+(?:\.\d+)?)"/g;

/** The answer of /ws/request: the payment with the address of its page, inside and beside it. */
export function pageAnswer(payment: Payment, account: Account, url: string): string {
  const address = `"redirect_url":${JSON.stringify(url)}`;
  // Quotation marks inside a text are escaped, so a text does not contain a member.
  const rendered = renderPayment(payment, account).replaceAll(
    numbers,
    (_, name: string, digits: string) => `"${name}":${withoutZeros(digits)}`,
  );
  return `{"payment":${rendered.slice(0, -1)},${address}},${address},"status":"SUCCESS"}`;
}

function withoutZeros(digits: string): string {
  return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}
