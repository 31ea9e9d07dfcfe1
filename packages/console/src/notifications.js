// The notifications of a payment, and their deliveries.
import { call } from "./api.js";
import { foreign, h, problem, say, table } from "./dom.js";
import { exactText } from "./format.js";
import { t } from "./language.js";
import { mayDo } from "./session.js";
import { when } from "./when.js";
import { deliveryWords, outcomeWords } from "./words.js";

/** @import { Delivery, ListedNotification } from "./api.js" */

/**
 * @param {string} hash
 * @param {readonly ListedNotification[]} listed
 * @param {() => Promise<void>} refresh
 * @returns {readonly Node[]}
 */
export function notifications(hash, listed, refresh) {
  const trouble = h("div");
  const again = async () => {
    try {
      const { deliveries } = /** @type {{ deliveries: number }} */ (
        await call("/__cofre/notifications", { replay: "payment", hash })
      );
      say(sentAgain(deliveries));
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };
  const heads = [t("head.number"), t("head.type"), t("head.when"), t("head.deliveries")];
  const rows = listed.map(({ number, notification_type: kind, at, deliveries }) => [
    String(number),
    kind,
    when(at),
    deliveryList(deliveries),
  ]);
  return [
    h("h2", {}, t("view.notifications")),
    listed.length === 0
      ? h("p", { class: "soft" }, t("notifications.none"))
      : h("div", { class: "wide" }, table(t("view.notifications"), heads, rows)),
    listed.length > 0 &&
      mayDo("operator") &&
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", name: "again", onclick: () => void again() }, t("resend")),
      ),
    trouble,
  ].filter((node) => node !== false);
}

/** @param {number} deliveries that are waiting again */
export function sentAgain(deliveries) {
  return deliveries === 0
    ? t("notifications.nothing_resent")
    : t("notifications.resent", { count: deliveries });
}

/**
 * The receivers, with the state of each delivery.
 * @param {readonly Delivery[]} deliveries
 */
export function deliveryList(deliveries) {
  if (deliveries.length === 0) return t("notifications.no_receiver");
  return h(
    "ul",
    { class: "deliveries" },
    ...deliveries.map((delivery) => h("li", {}, ...deliveryText(delivery))),
  );
}

/** @param {Delivery} delivery */
function deliveryText({ endpoint, state, attempts, outcome, due_at: due, message }) {
  const { text, colour } = deliveryWords(state);
  return [
    foreign(endpoint),
    " ",
    h("span", { class: `mark ${colour}` }, text),
    `, ${t("notifications.attempts", { count: attempts })}`,
    outcome === undefined ? "" : ", ",
    outcome === undefined ? "" : foreign(outcomeWords(outcome)),
    // Before its first attempt it is due already, and waits behind an earlier one of its payment.
    due === undefined
      ? ""
      : attempts === 0
        ? `, ${t("notifications.queued")}`
        : `, ${t("notifications.next_attempt", { at: exactText(due) })}`,
    message === undefined ? "" : `, ${t("notifications.in_message", { number: String(message) })}`,
  ];
}
