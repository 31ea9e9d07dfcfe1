// Stores and charges a card as a shop does, and shows the same as shell commands.
import { call, newName } from "./api.js";
import { curlOf, ShellVariable } from "./curl.js";
import { field, foreign, h, problem, select } from "./dom.js";
import { typedAmount } from "./format.js";
import { parts, t } from "./language.js";
import { stateMark } from "./list.js";
import { withPoint } from "./money.js";
import { testCards } from "./test-cards.js";
import { own, reasonWords } from "./words.js";

/** @import { Page, Payment } from "./api.js" */

/** The customer's country, with all data that it requires. */
/** @type {Readonly<Record<string, Readonly<Record<string, string>>>>} */
const customers = {
  pe: { country: "pe", phone_number: "51987654321" },
  br: {
    country: "br",
    phone_number: "8522847035",
    document: "85351346893",
    zipcode: "61919230",
    address: "Rua E",
    street_number: "1040",
    city: "Maracanaú",
    state: "CE",
  },
};

/** @type {readonly (readonly [value: string, text: string])[]} */
const places = [
  ["br USD", t("try.br_usd")],
  ["br BRL", t("try.br_brl")],
  ["pe PEN", t("try.pe_pen")],
  ["pe USD", t("try.pe_usd")],
];

/** @type {import("./main.js").View} */
export async function tryView(main) {
  const card = select(
    "card",
    testCards.map(([number, brand, outcome]) => [
      number,
      `${brand} …${number.slice(-4)}: ${outcome === "approved" ? t("result.approved") : reasonWords(outcome)}`,
    ]),
  );
  const place = select("place", places);
  const amount = h("input", {
    name: "amount",
    inputmode: "decimal",
    autocomplete: "off",
    required: true,
    value: typedAmount("100.00"),
  });
  const name = h("input", {
    name: "customer",
    autocomplete: "off",
    required: true,
    maxlength: "100",
    value: "Ana Lima",
  });
  const email = h("input", {
    name: "email",
    autocomplete: "off",
    required: true,
    maxlength: "100",
    value: "ana.lima@example.com",
  });
  const capture = select("capture", [
    ["true", t("try.immediately")],
    ["false", t("try.later")],
  ]);
  const result = h("div", { "aria-live": "polite" });
  const send = h("button", { type: "submit" }, t("try.send"));

  const run = async () => {
    send.disabled = true;
    try {
      const [country = "", currency = ""] = place.value.split(" ");
      // A world may be at any time.
      const { clock } = /** @type {{ clock: { now: string } }} */ (
        await call("/__cofre/clock", {})
      );
      const dueDate = `12/${Number(clock.now.slice(0, 4)) + 9}`;
      const customer = { name: name.value, email: email.value, ...own(customers, country) };
      const stored = {
        country,
        payment_type_code: "creditcard",
        creditcard: {
          card_number: card.value,
          card_name: "Ana Lima",
          card_due_date: dueDate,
          card_cvv: card.value.startsWith("37") ? "1234" : "123",
        },
      };
      const { token } = /** @type {{ token: string }} */ (await call("/ws/token", stored));
      const payment = {
        merchant_payment_code: `try-${newName().slice(0, 12)}`,
        amount_total: withPoint(amount.value),
        currency_code: currency,
        ...customer,
        payment_type_code: "creditcard",
        creditcard: { token, auto_capture: capture.value === "true" },
      };
      const { payment: made } = /** @type {{ payment: Payment }} */ (
        await call("/ws/direct", { operation: "request", payment })
      );
      const { payments } = /** @type {Page} */ (
        await call("/__cofre/payments", { search: made.hash })
      );
      const [listed] = payments;
      result.replaceChildren(
        h("h2", {}, t("try.result")),
        h(
          "p",
          {},
          h("a", { href: `#/payment/${made.hash}` }, foreign(payment.merchant_payment_code)),
          " ",
          listed !== undefined && stateMark(listed.state, listed),
          ` ${made.transaction_status.code}: ${made.transaction_status.description}`,
        ),
        h("h2", {}, t("try.commands")),
        h("p", { class: "soft" }, ...parts("try.with_key", { variable: h("code", {}, "KEY") })),
        curlLines(stored, payment),
      );
    } catch (error) {
      result.replaceChildren(problem(error));
    } finally {
      send.disabled = false;
    }
  };

  main.append(
    h("p", {}, t("try.explained")),
    h(
      "form",
      {
        class: "try",
        onsubmit: (event) => {
          event.preventDefault();
          void run();
        },
      },
      field(t("try.card"), card),
      field(t("try.place"), place),
      field(t("head.amount"), amount),
      field(t("capture.name"), capture),
      field(t("try.name"), name),
      field(t("try.email"), email),
      send,
    ),
    result,
  );
}

/**
 * @param {Readonly<Record<string, unknown>>} stored
 * @param {Readonly<Record<string, unknown>> & { creditcard: Readonly<Record<string, unknown>> }}
 * payment
 */
function curlLines(stored, payment) {
  const charged = {
    ...payment,
    creditcard: { ...payment.creditcard, token: new ShellVariable("TOKEN") },
    merchant_payment_code: new ShellVariable("CODE"),
  };
  const first = `TOKEN=$(${curlOf("/ws/token", stored)} | sed 's/.*"token":"\\([^"]*\\)".*/\\1/'); echo "$TOKEN"`;
  const second = `CODE=try-$(date +%s); ${curlOf("/ws/direct", { operation: "request", payment: charged })}`;
  return h(
    "pre",
    { tabindex: "0", role: "region", "aria-label": t("try.shell") },
    h("code", {}, `${first}\n\n${second}`),
  );
}
