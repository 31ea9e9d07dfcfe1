// Actions on a payment: the wire's operations, and in the sandbox those of an issuer or a reviewer;
// each needs a confirmation.
import { useState } from "preact/hooks";
import { call, newName, subjectOfTab } from "./api.js";
import { openDialog } from "./dialog.js";
import { amountText, typedAmount } from "./format.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { amountOf, checkMost, exactAmount, minorOf, WrongAmount } from "./money.js";
import { Choice, errorAt, Foreign, Pairs, Problem, TextField, valuesOf } from "./pieces.js";
import { mayDo } from "./session.js";
import { say, shown } from "./shown.js";

/** @import { Listed, Subject } from "./api.js" */

/**
 * @typedef {object} Action
 * @property {string} name of the button
 * @property {string} title of the confirmation
 * @property {string} path
 * @property {Readonly<Record<string, string>>} fields
 * @property {string} [amount] maximum amount, when a partial one is possible
 * @property {string} [described] initial reason; the dialog asks for one
 * @property {readonly (readonly [value: string, title: string])[]} [reasons] the dialog asks for one; the
 *   first is chosen
 * @property {string} done
 */

/** @param {{ payment: Listed, refresh: () => Promise<void> }} props */
export function Actions({ payment, refresh }) {
  if (!mayDo("operator")) return null;
  const possible = actionsFor(payment);
  /** @param {Action} action */
  const ask = (action) => {
    // The account that the payment was shown for, even if another one is open when the button is
    // pressed.
    const subject = subjectOfTab();
    openDialog(
      "question",
      (close) =>
        html`<${Question}
          action=${action}
          payment=${payment}
          subject=${subject}
          refresh=${refresh}
          onClose=${close}
        />`,
    );
  };
  return html`
    <section class="acts">
      <h2>${t("actions.title")}</h2>
      ${
        possible.length === 0
          ? html`<p class="soft">${t("actions.none")}</p>`
          : html`<p class="actions">
              ${possible.map(
                (action, place) => html`
                  <button
                    key=${action.name}
                    type="button"
                    name=${action.name}
                    class=${place === 0 ? undefined : "second"}
                    onClick=${() => ask(action)}
                  >
                    ${`${action.name}…`}
                  </button>
                `,
              )}
            </p>`
      }
    </section>
  `;
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
    reasons: /** @type {const} */ ([
      ["consumer", t("chargeback.consumer")],
      ["fraud", t("chargeback.fraud")],
      ["authorization", t("chargeback.authorization")],
      ["processing", t("chargeback.processing")],
    ]),
    done: t("chargeback.done"),
  };
  return disputed ? [back] : [back, dispute];
}

/**
 * @param {{ action: Action, payment: Listed, subject: Subject, refresh: () => Promise<void>, onClose:
 * () => void }} props
 */
function Question({ action, payment, subject, refresh, onClose }) {
  const { name, title, path, fields, amount, described, reasons, done } = action;
  // A double click, or a retry after a failure, repeats the same request; another amount makes
  // another request.
  const [names] = useState(() => /** @type {Map<string, string>} */ (new Map()));
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const [isBusy, setBusy] = useState(false);
  const aboutAmount = error instanceof WrongAmount ? error : errorAt(error, "amount");
  /** @param {SubmitEvent} event */
  const send = async (event) => {
    event.preventDefault();
    const form = event.target;
    const given = valuesOf(form);
    setBusy(true);
    try {
      const typed = exactAmount(given["amount"] ?? "", payment.currency_ext);
      if (amount !== undefined) checkMost(typed, amount, payment.currency_ext);
      const asked =
        amount === undefined || (typed === amount && path === "/ws/capture")
          ? {}
          : { amount: typed };
      const request = {
        ...fields,
        ...asked,
        ...(described === undefined ? {} : { description: given["description"] ?? "" }),
        ...(reasons === undefined ? {} : { reason: given["reason"] ?? "" }),
      };
      const once = names.get(JSON.stringify(request)) ?? newName();
      names.set(JSON.stringify(request), once);
      await call(path, request, { once, ...subject });
      onClose();
      say(`${done} ${t("actions.payment", { code: shown(payment.merchant_payment_code) })}`);
      await refresh();
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`
    <div>
      <h2 id="question">${title}</h2>
      <${Pairs}
        rows=${[
          [
            t("view.payment"),
            html`<${Foreign} text=${payment.merchant_payment_code} kind="code" />`,
          ],
          [t("head.customer"), html`<${Foreign} text=${payment.name} />`],
          [t("head.card"), shown(`${payment.brand} ${payment.masked_card_number}`)],
          [
            t("head.amount"),
            `${amountText(payment.amount_ext, payment.currency_ext)} ${shown(payment.currency_ext)}`,
          ],
        ]}
      />
      <form onSubmit=${(/** @type {SubmitEvent} */ event) => void send(event)}>
        ${
          amount !== undefined &&
          html`<${TextField}
            label=${t("actions.amount", {
              currency: shown(payment.currency_ext),
              most: amountText(amount, payment.currency_ext),
            })}
            name="amount"
            error=${aboutAmount}
            defaultValue=${typedAmount(amount, payment.currency_ext)}
            inputmode="decimal"
            required
          />`
        }
        ${
          described !== undefined &&
          html`<${TextField}
            label=${t("head.reason")}
            name="description"
            defaultValue=${described}
            maxlength="200"
          />`
        }
        ${
          reasons !== undefined &&
          html`<${Choice} label=${t("chargeback.category")} name="reason" options=${reasons} />`
        }
        ${aboutAmount === undefined && html`<${Problem} error=${error} />`}
        <p class="actions">
          <button type="submit" disabled=${isBusy}>${name}</button>
          <button type="button" class="plain" onClick=${onClose}>${t("cancel")}</button>
        </p>
      </form>
    </div>
  `;
}
