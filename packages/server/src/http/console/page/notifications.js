// What the merchant was told of a payment, and how it went.
import { call } from "./api.js";
import { foreign, h, problem, say, table } from "./dom.js";

/** @import { Told } from "./api.js" */

/**
 * @param {string} hash
 * @param {readonly Told[]} told
 * @param {() => Promise<void>} refresh
 * @returns {readonly Node[]}
 */
export function notifications(hash, told, refresh) {
  const trouble = h("div");
  const again = async () => {
    try {
      const { deliveries } = /** @type {{ deliveries: number }} */ (await call("/__cofre/notifications", { replay: "payment", hash }));
      say(deliveries === 0 ? "Nobody is to hear of it: the account has no address for notifications." : `${deliveries} sent again.`);
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };
  const heads = ["Number", "What", "When (UTC)", "Deliveries"];
  const rows = told.map(({ number, notification_type: kind, at, deliveries }) => [
    String(number),
    kind,
    at,
    deliveries.length === 0
      ? "to nobody: no address"
      : h(
          "ul",
          { class: "deliveries" },
          ...deliveries.map(({ endpoint, state, attempts, outcome, due_at: due }) =>
            h(
              "li",
              {},
              foreign(endpoint),
              ` ${state}, ${attempts} ${attempts === 1 ? "attempt" : "attempts"}`,
              outcome === undefined ? "" : ", ",
              outcome === undefined ? "" : foreign(outcome),
              due === undefined ? "" : `, again at ${due}`,
            ),
          ),
        ),
  ]);
  return [
    h("h2", {}, "Notifications"),
    told.length === 0
      ? h("p", { class: "soft" }, "Nothing has been announced.")
      : h("div", { class: "wide" }, table("Notifications", heads, rows)),
    told.length > 0 &&
      h("p", { class: "actions" }, h("button", { type: "button", name: "again", onclick: () => void again() }, "Send again")),
    trouble,
  ].filter((node) => node !== false);
}
