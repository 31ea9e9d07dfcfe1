// What can be done to a payment: the wire's own operations, and what in the sandbox an issuer or a reviewer does; each asked for twice.
import { call, newName } from "./api.js";
import { field, h, problem, say } from "./dom.js";
import { amountOf, minorOf } from "./money.js";
import { mayDo } from "./session.js";

/** @import { Listed } from "./api.js" */

/**
 * @typedef {object} Action
 * @property {string} name of the button
 * @property {string} title of the question
 * @property {string} path
 * @property {Readonly<Record<string, string>>} fields
 * @property {string} [amount] what there is, when a part of it may be asked for
 * @property {string} [described] asks why, and what stands there before
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
  if (possible.length === 0) return [h("h2", {}, "Actions"), h("p", { class: "soft" }, "Nothing can be done now.")];
  const buttons = possible.map((action, place) =>
    h(
      "button",
      { type: "button", name: action.name, class: place === 0 ? undefined : "second", onclick: () => ask(action, payment, refresh) },
      `${action.name}…`,
    ),
  );
  return [h("h2", {}, "Actions"), h("p", { class: "actions" }, ...buttons)];
}

/**
 * @param {Listed} payment
 * @returns {readonly Action[]}
 */
function actionsFor({ hash, state, authorized, captured, refunded, charged_back: isChargedBack, disputed }) {
  /** @type {Action} */
  const giveUp = { name: "Void", title: "Give up what is held?", path: "/ws/cancel", fields: { hash }, done: "Voided." };
  /** @type {(action: string) => Pick<Action, "path" | "fields">} */
  const happens = (action) => ({ path: "/__cofre/payment", fields: { hash, action } });
  if (state === "in_review") {
    const accept = { name: "Accept", title: "Does the reviewer accept the payment?", ...happens("accept_review"), done: "Accepted." };
    const reject = { name: "Reject", title: "Does the reviewer reject the payment?", ...happens("reject_review"), done: "Rejected." };
    return [accept, reject, giveUp];
  }
  if (state === "authorized") {
    const take = {
      name: "Capture",
      title: "Take the money that is held?",
      path: "/ws/capture",
      fields: { hash },
      amount: authorized,
      done: "Captured.",
    };
    return [take, giveUp];
  }
  if (state !== "captured") return [];
  if (isChargedBack) {
    const won = { name: "Win back", title: "Does the merchant win the dispute?", ...happens("chargeback_credit"), done: "Won back." };
    return [won];
  }
  const left = minorOf(captured) - minorOf(refunded);
  if (left <= 0n) return [];
  const back = {
    name: "Refund",
    title: "Give money back?",
    path: "/ws/refund",
    fields: { hash, operation: "request" },
    amount: amountOf(left, captured),
    described: "refund",
    done: "Refund requested.",
  };
  const dispute = {
    name: "Dispute",
    title: "Does the issuer take the money back?",
    ...happens("chargeback"),
    described: "goods not received",
    done: "Taken back by the issuer.",
  };
  return disputed ? [back] : [back, dispute];
}

/**
 * @param {Action} action
 * @param {Listed} payment
 * @param {() => Promise<void>} refresh
 */
function ask(action, payment, refresh) {
  // Whoever presses twice, or again after a failure, asks for the same; with another amount it is another request.
  /** @type {Map<string, string>} */
  const names = new Map();
  const { name, title, path, fields, amount, described, done } = action;
  const input = h("input", { name: "amount", inputmode: "decimal", autocomplete: "off", required: true, value: amount ?? "" });
  const why = h("input", { name: "description", maxlength: "200", autocomplete: "off", value: described ?? "" });
  const trouble = h("div");
  const confirm = h("button", { type: "submit" }, name);
  const send = async () => {
    confirm.disabled = true;
    try {
      const asked = amount === undefined || (input.value.trim() === amount && name === "Capture") ? {} : { amount: input.value.trim() };
      const request = { ...fields, ...asked, ...(described === undefined ? {} : { description: why.value }) };
      const once = names.get(JSON.stringify(request)) ?? newName();
      names.set(JSON.stringify(request), once);
      await call(path, request, { once });
      dialog.close();
      say(done);
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    } finally {
      confirm.disabled = false;
    }
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "question", onclose: () => dialog.remove() },
    h("h2", { id: "question" }, title),
    h(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          void send();
        },
      },
      amount !== undefined && field(`Amount in ${payment.currency_ext}, up to ${amount}`, input),
      described !== undefined && field("Why", why),
      trouble,
      h("p", { class: "actions" }, confirm, h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Leave it")),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
