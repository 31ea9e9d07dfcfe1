// The notifications of a payment, and their deliveries.
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { exactText } from "./format.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { Foreign, Problem, Table, When, Wide } from "./pieces.js";
import { mayDo } from "./session.js";
import { say } from "./shown.js";
import { deliveryWords, outcomeWords } from "./words.js";

/** @import { Delivery, ListedNotification } from "./api.js" */

const heads = [t("head.number"), t("head.type"), t("head.when"), t("head.deliveries")];

/**
 * @param {{ hash: string, listed: readonly ListedNotification[], refresh: () => Promise<void> }}
 * props
 */
export function Notifications({ hash, listed, refresh }) {
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const again = async () => {
    try {
      const { deliveries } = /** @type {{ deliveries: number }} */ (
        await call("/__cofre/notifications", { replay: "payment", hash })
      );
      setError(undefined);
      say(sentAgain(deliveries));
      await refresh();
    } catch (failure) {
      setError(failure);
    }
  };
  const rows = listed.map(({ number, notification_type: kind, at, deliveries }) => ({
    key: String(number),
    cells: [
      String(number),
      html`<${Foreign} text=${kind} />`,
      html`<${When} at=${at} />`,
      html`<${Deliveries} deliveries=${deliveries} />`,
    ],
  }));
  return html`
    <section>
      <h2>${t("view.notifications")}</h2>
      ${
        rows.length === 0
          ? html`<p class="soft">${t("notifications.none")}</p>`
          : html`<${Wide} label=${t("view.notifications")}>
              <${Table} caption=${t("view.notifications")} kind="" heads=${heads} rows=${rows} />
            <//>`
      }
      ${
        rows.length > 0 &&
        mayDo("operator") &&
        html`<p class="actions">
          <button type="button" name="again" onClick=${() => void again()}>${t("resend")}</button>
        </p>`
      }
      <${Problem} error=${error} />
    </section>
  `;
}

/** @param {number} deliveries that are waiting again */
export function sentAgain(deliveries) {
  return deliveries === 0
    ? t("notifications.nothing_resent")
    : t("notifications.resent", { count: deliveries });
}

/**
 * The receivers, with the state of each delivery.
 * @param {{ deliveries: readonly Delivery[] }} props
 */
function Deliveries({ deliveries }) {
  if (deliveries.length === 0) return html`<span>${t("notifications.no_receiver")}</span>`;
  return html`
    <ul class="deliveries rest">
      ${deliveries.map((delivery) => {
        const { endpoint, state, attempts, outcome } = delivery;
        const { text, colour } = deliveryWords(state);
        return html`
          <li key=${endpoint}>
            <${Foreign} text=${endpoint} />${" "}
            <span class=${`mark ${colour}`}>${text}</span
            >${`, ${t("notifications.attempts", { count: attempts })}`}
            ${outcome !== undefined && html`, <${Foreign} text=${outcomeWords(outcome)} />`}
            ${dueText(delivery)}
          </li>
        `;
      })}
    </ul>
  `;
}

/**
 * When the next attempt is due, and the message that the delivery is part of.
 * @param {Delivery} delivery
 */
function dueText({ attempts, due_at: due, message }) {
  // Before its first attempt it is due already, and waits behind an earlier one of its payment.
  const next =
    attempts === 0
      ? t("notifications.queued")
      : t("notifications.next_attempt", { at: exactText(due ?? "") });
  return [
    due === undefined ? "" : `, ${next}`,
    message === undefined ? "" : `, ${t("notifications.in_message", { number: String(message) })}`,
  ].join("");
}
