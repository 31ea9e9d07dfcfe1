// Actions on a payment: the wire's operations, and in the sandbox those of an issuer or a reviewer;
// each needs a confirmation.
import { call, newName, Refusal, subjectOfTab } from "./api.js";
import { facts, field, foreign, h, openDialog, problem, say, shown } from "./dom.js";
import { amountOf, minorOf, withPoint } from "./money.js";
import { mayDo } from "./session.js";

/** @import { Listed } from "./api.js" */

/**
 * @typedef {object} Action
 * @property {string} name of the button
 * @property {string} title of the confirmation
 * @property {string} path
 * @property {Readonly<Record<string, string>>} fields
 * @property {string} [amount] maximum amount, when a partial one is possible
 * @property {string} [described] initial reason; the dialog asks for one
 * @property {string} done
 */

/**
 * @param {Listed} payment
 * @param {() => Promise<void>} refresh
 * @returns {readonly Node[]}
 */
export function actions(payment, refresh) {
  if (!mayDo("operator")) return [];
  const possible = actionsFor(payment);
  if (possible.length === 0)
    return [h("h2", {}, "Actions"), h("p", { class: "soft" }, "No actions are available.")];
  const buttons = possible.map((action, place) =>
    h(
      "button",
      {
        type: "button",
        name: action.name,
        class: place === 0 ? undefined : "second",
        onclick: () => ask(action, payment, refresh),
      },
      `${action.name}…`,
    ),
  );
  return [h("h2", {}, "Actions"), h("p", { class: "actions" }, ...buttons)];
}

/**
 * @param {Listed} payment
 * @returns {readonly Action[]}
 */
function actionsFor({
  hash,
  state,
  authorized,
  captured,
  refunded,
  charged_back: isChargedBack,
  disputed,
}) {
  /** @type {Action} */
  const giveUp = {
    name: "Void",
    title: "Void this payment?",
    path: "/ws/cancel",
    fields: { hash },
    done: "Voided.",
  };
  /** @type {(action: string) => Pick<Action, "path" | "fields">} */
  const happens = (action) => ({ path: "/__cofre/payment", fields: { hash, action } });
  if (state === "in_review") {
    const accept = {
      name: "Accept",
      title: "Accept this payment as the reviewer?",
      ...happens("accept_review"),
      done: "Accepted.",
    };
    const reject = {
      name: "Reject",
      title: "Reject this payment as the reviewer?",
      ...happens("reject_review"),
      done: "Rejected.",
    };
    return [accept, reject, giveUp];
  }
  if (state === "authorized") {
    const take = {
      name: "Capture",
      title: "Capture this payment?",
      path: "/ws/capture",
      fields: { hash },
      amount: authorized,
      done: "Captured.",
    };
    return [take, giveUp];
  }
  if (state !== "captured") return [];
  if (isChargedBack) {
    const won = {
      name: "Win dispute",
      title: "Win this dispute for the merchant?",
      ...happens("chargeback_credit"),
      done: "Dispute won.",
    };
    return [won];
  }
  const left = minorOf(captured) - minorOf(refunded);
  if (left <= 0n) return [];
  const back = {
    name: "Refund",
    title: "Refund this payment?",
    path: "/ws/refund",
    fields: { hash, operation: "request" },
    amount: amountOf(left, captured),
    described: "refund",
    done: "Refund requested.",
  };
  const dispute = {
    name: "Charge back",
    title: "Charge this payment back as the issuer?",
    ...happens("chargeback"),
    described: "goods not received",
    done: "Charged back.",
  };
  return disputed ? [back] : [back, dispute];
}

/** Refusals about the amount (docs/wire/errors.md). */
const amountCodes = new Set(["BP-CAP-6", "BP-CAP-11", "BP-REF-3", "BP-REF-4", "BP-REF-5"]);

/**
 * @param {Action} action
 * @param {Listed} payment
 * @param {() => Promise<void>} refresh
 */
function ask(action, payment, refresh) {
  // A double click, or a retry after a failure, repeats the same request; another amount makes
  // another request.
  /** @type {Map<string, string>} */
  const names = new Map();
  // The account that the payment was shown for, even if another one is open when the button is
  // pressed.
  const subject = subjectOfTab();
  const { name, title, path, fields, amount, described, done } = action;
  const input = h("input", {
    name: "amount",
    inputmode: "decimal",
    autocomplete: "off",
    required: true,
    value: amount ?? "",
  });
  const why = h("input", {
    name: "description",
    maxlength: "200",
    autocomplete: "off",
    value: described ?? "",
  });
  const trouble = h("div");
  const confirm = h("button", { type: "submit" }, name);
  const send = async () => {
    confirm.disabled = true;
    try {
      const typed = withPoint(input.value);
      const asked =
        amount === undefined || (typed === amount && name === "Capture") ? {} : { amount: typed };
      const request = {
        ...fields,
        ...asked,
        ...(described === undefined ? {} : { description: why.value }),
      };
      const once = names.get(JSON.stringify(request)) ?? newName();
      names.set(JSON.stringify(request), once);
      await call(path, request, { once, ...subject });
      dialog.close();
      say(`${done} Payment ${shown(payment.merchant_payment_code)}.`);
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
      const isAboutAmount = error instanceof Refusal && amountCodes.has(error.code);
      input.setAttribute("aria-invalid", String(isAboutAmount));
      if (isAboutAmount) input.focus();
    } finally {
      confirm.disabled = false;
    }
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "question" },
    h("h2", { id: "question" }, title),
    facts([
      ["Payment", foreign(payment.merchant_payment_code, "code")],
      ["Customer", foreign(payment.name)],
      ["Card", `${payment.brand} ${payment.masked_card_number}`],
      ["Amount", `${payment.amount_ext} ${payment.currency_ext}`],
    ]),
    h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          void send();
        },
      },
      amount !== undefined && field(`Amount in ${payment.currency_ext}, up to ${amount}`, input),
      described !== undefined && field("Reason", why),
      trouble,
      h(
        "p",
        { class: "actions" },
        confirm,
        h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Cancel"),
      ),
    ),
  );
  openDialog(dialog);
}
