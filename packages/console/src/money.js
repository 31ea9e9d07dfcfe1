// Amounts in the server's format: decimal text. No floating-point arithmetic.
import { h } from "./dom.js";

/** @param {string} amount */
export function minorOf(amount) {
  return BigInt(amount.replace(".", ""));
}

/**
 * A typed amount with the decimal point that the server expects: `100,00` becomes `100.00`.
 * @param {string} typed
 */
export function withPoint(typed) {
  return typed.trim().replace(/^(\d+),(\d{1,2})$/, "$1.$2");
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
 * In both currencies, or in one when they are the same.
 * @param {{ amount_ext: string, currency_ext: string, amount_br: string, currency_br: string }}
 * payment
 */
export function bothAmounts({
  amount_ext: asked,
  currency_ext: currency,
  amount_br: local,
  currency_br: localCurrency,
}) {
  const first = h("span", { class: "amount" }, `${asked} ${currency}`);
  if (currency === localCurrency) return first;
  return h(
    "span",
    { class: "amounts" },
    first,
    " ",
    h("span", { class: "amount soft" }, `${local} ${localCurrency}`),
  );
}

/**
 * The authorized amount, with the captured and the refunded part, as a bar with a legend in words.
 * @param {import("./api.js").Listed} payment
 */
export function moneyBar({
  amount_ext: asked,
  authorized,
  captured,
  refunded,
  currency_ext: currency,
}) {
  const whole = minorOf(authorized) === 0n ? minorOf(asked) : minorOf(authorized);
  const kept = minorOf(captured) - minorOf(refunded);
  const held = captured === amountOf(0n, captured) ? minorOf(authorized) : 0n;
  const parts = [
    { name: "refunded", minor: minorOf(refunded) },
    { name: "captured", minor: kept },
    { name: "held", minor: held },
  ];
  const words = `Authorized ${authorized}, captured ${captured}, refunded ${refunded} ${currency}`;
  const bar = h("div", { class: "bar", role: "img", "aria-label": words });
  for (const { name, minor } of parts) {
    if (minor <= 0n || whole <= 0n) continue;
    const part = h("span", { class: `part ${name}` });
    // Thousandths of the whole: precise enough for a width.
    part.style.width = `${Number((minor * 1000n) / whole) / 10}%`;
    bar.append(part);
  }
  const legend = h(
    "ul",
    { class: "legend" },
    ...[
      ["held", "Authorized", authorized],
      ["captured", "Captured", captured],
      ["refunded", "Refunded", refunded],
    ].map(([kind, name, amount]) =>
      h("li", {}, h("span", { class: `key ${kind}` }), `${name} ${amount} ${currency}`),
    ),
  );
  return h("div", { class: "money" }, bar, legend);
}
