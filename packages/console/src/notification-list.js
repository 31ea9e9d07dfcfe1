// The account's notifications, newest first, with their deliveries and a button to resend.
import { call } from "./api.js";
import { field, foreign, h, problem, say, select } from "./dom.js";
import { t } from "./language.js";
import { liveList } from "./live-list.js";
import { deliveryList, sentAgain } from "./notifications.js";
import { receiversPart } from "./receivers.js";
import { mayDo } from "./session.js";
import { when } from "./when.js";
import { deliveryOptions, shortHash } from "./words.js";

/** @import { ListedNotification } from "./api.js" */
/** @import { Receiver } from "./receivers.js" */

const headsOfViewer = [
  t("head.number"),
  t("head.type"),
  t("view.payment"),
  t("head.when"),
  t("head.deliveries"),
];
const headsOfOperator = [...headsOfViewer, t("resend")];
const pageSize = 50;
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 15;

/** @type {import("./main.js").View} */
export async function notificationsView(main, _words, query, signal) {
  const state = deliveryOptions.find(([value]) => value === query.get("state"))?.[0];
  const trouble = h("div");
  let refresh = async () => {};

  /**
   * With as many calls as needed; the server resends a batch per call.
   * @param {Readonly<Record<string, string | number>>} selection
   */
  const again = async (selection) => {
    try {
      let count = 0;
      /** @type {number | null} */
      let from = null;
      do {
        const asked = from === null ? selection : { ...selection, from };
        const answer = /** @type {{ deliveries: number, next: number | null }} */ (
          await call("/__cofre/notifications", asked)
        );
        count += answer.deliveries;
        from = answer.next;
      } while (from !== null && !signal.aborted);
      say(
        count === 0 && selection["replay"] === "failed"
          ? t("notifications.none_failed")
          : sentAgain(count),
      );
      trouble.replaceChildren();
      await refresh();
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };

  const receivers = receiversPart();
  main.append(
    receivers.part,
    h("h2", {}, t("head.deliveries")),
    filterForm(
      state,
      mayDo("operator") &&
        h(
          "button",
          {
            type: "button",
            name: "failed",
            class: "second",
            onclick: () => void again({ replay: "failed" }),
          },
          t("notifications.resend_failed"),
        ),
    ),
    trouble,
  );
  refresh = await liveList(main, signal, {
    caption: t("notifications.caption"),
    heads: mayDo("operator") ? headsOfOperator : headsOfViewer,
    counted: (count) => t("notifications.count", { count }),
    isFiltered: state !== undefined,
    page: async (before) => {
      const asked = { order: "newest", limit: pageSize, ...(state === undefined ? {} : { state }) };
      const { notifications, next, endpoints } =
        /** @type {{ notifications: ListedNotification[], next: number | null, endpoints: Receiver[] }} */ (
          await call(
            "/__cofre/notifications",
            before === undefined ? asked : { ...asked, before: Number(before) },
          )
        );
      receivers.show(endpoints);
      return { items: notifications, next: next === null ? null : keyOf(next) };
    },
    keyOf: ({ number }) => keyOf(number),
    whenNone: [t("notifications.none_explained")],
    all: "#/notifications",
    cells: (row) =>
      cells(row, () => void again({ replay: "range", from: row.number, to: row.number })),
  });
}

/** @param {number} number */
function keyOf(number) {
  return String(number).padStart(digits, "0");
}

/**
 * @param {ListedNotification} row
 * @param {() => void} again
 */
function cells({ number, notification_type: kind, hash, at, deliveries }, again) {
  return [
    String(number),
    foreign(kind, "short"),
    h(
      "a",
      { href: `#/payment/${encodeURIComponent(hash)}`, class: "code one-line", title: hash },
      foreign(shortHash(hash)),
    ),
    when(at),
    deliveryList(deliveries),
    ...(mayDo("operator")
      ? [
          h(
            "button",
            {
              type: "button",
              class: "small",
              "aria-label": t("notifications.resend_number", { number: String(number) }),
              onclick: again,
            },
            t("resend"),
          ),
        ]
      : []),
  ];
}

/**
 * @param {string | undefined} state
 * @param {Node | false} button
 */
function filterForm(state, button) {
  const chosen = select("state", [["", t("any")], ...deliveryOptions], state ?? "");
  const apply = () => {
    location.hash =
      chosen.value === "" ? "#/notifications" : `#/notifications?state=${chosen.value}`;
  };
  return h(
    "form",
    { class: "search", onsubmit: (event) => event.preventDefault(), onchange: apply },
    field(t("notifications.state"), chosen),
    button,
  );
}
