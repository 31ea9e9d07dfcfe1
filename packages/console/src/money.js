// Amounts in the server's format: decimal text. No floating-point arithmetic.
import { amountText, digitsOf, typedAmount } from "./format.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { shown } from "./shown.js";

/** @param {string} amount */
export function minorOf(amount) {
  return BigInt(amount.replace(".", ""));
}

/**
 * A typed amount with the decimal point that the server expects: `100,00` becomes `100.00`,
 * `1.234,50` or `1,234.50` becomes `1234.50`, and `1.234.567` becomes `1234567`; `50.000` becomes
 * `50000` in a currency without decimals. Any other text stays, for the server to refuse.
 * @param {string} typed
 * @param {string} currency
 */
export function withPoint(typed, currency) {
  const text = typed.trim();
  const isGrouped =
    /^\d{1,3}(?:\.\d{3})+,\d{1,2}$/.test(text) || /^\d{1,3}(?:,\d{3})+\.\d{1,2}$/.test(text);
  const fewestGroups = digitsOf(currency) === 0 ? 1 : 2;
  const isWhole = new RegExp(
    `^\\d{1,3}(?:(?:\\.\\d{3}){${fewestGroups},}|(?:,\\d{3}){${fewestGroups},})$`,
  );
  if (isWhole.test(text)) return text.replaceAll(/\D/g, "");
  return isGrouped
    ? `${text.slice(0, text.search(/\d{1,2}$/)).replaceAll(/\D/g, "")}.${/\d{1,2}$/.exec(text)?.[0]}`
    : text.replace(/^(\d+),(\d{1,2})$/, "$1.$2");
}

/** A typed amount that the page does not send. */
export class WrongAmount extends Error {}

/**
 * Like `withPoint`; throws WrongAmount if the text can mean two amounts: one point or comma before
 * three digits, as in `1.000`, is one thousand to most people in Latin America, and one to the
 * server.
 * @param {string} typed
 * @param {string} currency
 */
export function exactAmount(typed, currency) {
  const amount = withPoint(typed, currency);
  const [, whole, rest] = /^(\d{1,3})[.,](\d{3})$/.exec(amount) ?? [];
  if (whole === undefined || rest === undefined) return amount;
  const small = typedAmount(`${whole}.${rest.slice(0, 2)}`);
  throw new WrongAmount(t("actions.ambiguous", { large: `${whole}${rest}`, small }));
}

/**
 * Throws WrongAmount when a typed amount is more than `most`. A text that is not an amount is left to
 * the server.
 * @param {string} typed as `exactAmount` returns it
 * @param {string} most
 * @param {string} currency
 */
export function checkMost(typed, most, currency) {
  const [, whole, fraction = ""] = /^(\d+)(?:\.(\d+))?$/.exec(typed) ?? [];
  const scale = most.split(".")[1]?.length ?? 0;
  if (whole === undefined || fraction.length > scale) return;
  if (BigInt(whole + fraction.padEnd(scale, "0")) > minorOf(most))
    throw new WrongAmount(
      t("actions.too_much", { most: `${amountText(most, currency)} ${shown(currency)}` }),
    );
}

/**
 * @param {bigint} minor
 * @param {string} like an amount of the same currency
 */
export function amountOf(minor, like) {
  const scale = like.includes(".") ? like.length - like.indexOf(".") - 1 : 0;
  const digits = String(minor).padStart(scale + 1, "0");
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/**
 * The authorized amount, with the captured and the refunded part, as a bar with a legend in words.
 * @param {{ payment: import("./api.js").Listed }} props
 */
export function MoneyBar({ payment }) {
  const { amount_ext: asked, authorized, captured, refunded, currency_ext: currency } = payment;
  const whole = minorOf(authorized) === 0n ? minorOf(asked) : minorOf(authorized);
  const kept = minorOf(captured) - minorOf(refunded);
  const held = captured === amountOf(0n, captured) ? minorOf(authorized) : 0n;
  /** @type {readonly (readonly [kind: string, minor: bigint])[]} */
  const parts = [
    ["refunded", minorOf(refunded)],
    ["captured", kept],
    ["held", held],
  ];
  /** @type {readonly (readonly [kind: string, name: string, amount: string])[]} */
  const legend = [
    ["held", t("money.authorized"), authorized],
    ["captured", t("money.captured"), captured],
    ["refunded", t("money.refunded"), refunded],
  ];
  /** @type {(amount: string) => string} */
  const text = (amount) => amountText(amount, currency);
  const words = t("money.bar", {
    authorized: text(authorized),
    captured: text(captured),
    refunded: text(refunded),
    currency: shown(currency),
  });
  return html`
    <div class="money">
      <div class="bar" role="img" aria-label=${words}>
        ${parts.map(
          ([kind, minor]) =>
            minor > 0n &&
            whole > 0n &&
            // Thousandths of the whole: precise enough for a width.
            html`<span
              key=${kind}
              class=${`part ${kind}`}
              style=${{ width: `${Number((minor * 1000n) / whole) / 10}%` }}
            ></span>`,
        )}
      </div>
      <ul class="legend">
        ${legend.map(
          ([kind, name, amount]) =>
            html`<li key=${kind}>
              <span class=${`key ${kind}`}></span>${`${name} ${text(amount)} ${shown(currency)}`}
            </li>`,
        )}
      </ul>
    </div>
  `;
}
