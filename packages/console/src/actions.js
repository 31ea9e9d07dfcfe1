// Actions on a payment: the wire's operations, and in the sandbox those of an issuer or a reviewer;
// each needs a confirmation.
import { call, newName, Refusal, subjectOfTab } from "./api.js";
import { facts, field, foreign, h, openDialog, problem, say, shown } from "./dom.js";
import { amountText, typedAmount } from "./format.js";
import { t } from "./language.js";
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
    return [h("h2", {}, t("actions.title")), h("p", { class: "soft" }, t("actions.none"))];
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
  return [h("h2", {}, t("actions.title")), h("p", { class: "actions" }, ...buttons)];
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
    name: t("void.name"),
    title: t("void.question"),
    path: "/ws/cancel",
    fields: { hash },
    done: t("void.done"),
  };
  /** @type {(action: string) => Pick<Action, "path" | "fields">} */
  const happens = (action) => ({ path: "/__cofre/payment", fields: { hash, action } });
  if (state === "in_review") {
    const accept = {
      name: t("accept.name"),
      title: t("accept.question"),
      ...happens("accept_review"),
      done: t("accept.done"),
    };
    const reject = {
      name: t("reject.name"),
      title: t("reject.question"),
      ...happens("reject_review"),
      done: t("reject.done"),
    };
    return [accept, reject, giveUp];
  }
  if (state === "authorized") {
    const take = {
      name: t("capture.name"),
      title: t("capture.question"),
      path: "/ws/capture",
      fields: { hash },
      amount: authorized,
      done: t("capture.done"),
    };
    return [take, giveUp];
  }
  if (state !== "captured") return [];
  if (isChargedBack) {
    const won = {
      name: t("win.name"),
      title: t("win.question"),
      ...happens("chargeback_credit"),
      done: t("win.done"),
    };
    return [won];
  }
  const left = minorOf(captured) - minorOf(refunded);
  if (left <= 0n) return [];
  const back = {
    name: t("refund.name"),
    title: t("refund.question"),
    path: "/ws/refund",
    fields: { hash, operation: "request" },
    amount: amountOf(left, captured),
    described: t("refund.reason"),
    done: t("refund.done"),
  };
  const dispute = {
    name: t("chargeback.name"),
    title: t("chargeback.question"),
    ...happens("chargeback"),
    described: t("chargeback.reason"),
    done: t("chargeback.done"),
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
    value: amount === undefined ? "" : typedAmount(amount),
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
        amount === undefined || (typed === amount && path === "/ws/capture")
          ? {}
          : { amount: typed };
      const request = {
        ...fields,
        ...asked,
        ...(described === undefined ? {} : { description: why.value }),
      };
      const once = names.get(JSON.stringify(request)) ?? newName();
      names.set(JSON.stringify(request), once);
      await call(path, request, { once, ...subject });
      dialog.close();
      say(`${done} ${t("actions.payment", { code: shown(payment.merchant_payment_code) })}`);
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
      [t("view.payment"), foreign(payment.merchant_payment_code, "code")],
      [t("head.customer"), foreign(payment.name)],
      [t("head.card"), `${payment.brand} ${payment.masked_card_number}`],
      [
        t("head.amount"),
        `${amountText(payment.amount_ext, payment.currency_ext)} ${shown(payment.currency_ext)}`,
      ],
    ]),
    h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          void send();
        },
      },
      amount !== undefined &&
        field(
          t("actions.amount", {
            currency: shown(payment.currency_ext),
            most: amountText(amount, payment.currency_ext),
          }),
          input,
        ),
      described !== undefined && field(t("head.reason"), why),
      trouble,
      h(
        "p",
        { class: "actions" },
        confirm,
        h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, t("cancel")),
      ),
    ),
  );
  openDialog(dialog);
}
