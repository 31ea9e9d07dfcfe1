// The receivers of the account's notifications, and whether they are active.
import { call } from "./api.js";
import { foreign, h, keepingFocus, problem, say, shown, table } from "./dom.js";
import { mayDo } from "./session.js";

/**
 * `disabled`: at `disabled_at` if known; `gone`: it has answered 410, at `gone_at`.
 * @typedef {{ id: string, url: string, state: "enabled" | "disabled" | "gone", disabled_at?: string, gone_at?:
 * string }} Receiver
 */

const headsOfViewer = ["Receiver", "Address", "State"];
const headsOfAdmin = [...headsOfViewer, "Change"];

/**
 * A part of a view that shows the given receivers.
 * @returns {{ part: HTMLElement, show: (receivers: readonly Receiver[]) => void }}
 */
export function receiversPart() {
  const list = h("div");
  const trouble = h("div");
  const part = h("section", {}, h("h2", {}, "Receivers"), list, trouble);
  let made = "";

  /** @param {readonly Receiver[]} receivers */
  const show = (receivers) => {
    const now = JSON.stringify(receivers);
    if (now === made) return;
    made = now;
    keepingFocus(list, () => [
      receivers.length === 0 ? nobody() : listOf(receivers, (receiver) => void turn(receiver)),
    ]);
  };

  /** @param {Receiver} receiver */
  const turn = async ({ id, state }) => {
    try {
      const isOn = state === "enabled";
      const { endpoints } = /** @type {{ endpoints: Receiver[] }} */ (
        await call("/__cofre/notifications", {
          [isOn ? "disable" : "enable"]: id,
          order: "newest",
          limit: 1,
        })
      );
      trouble.replaceChildren();
      show(endpoints);
      say(
        isOn
          ? `${id} is disabled. Its notifications are kept.`
          : `${id} is enabled. Its kept notifications are sent.`,
      );
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };

  return { part, show };
}

function nobody() {
  return h(
    "p",
    { class: "nothing" },
    "This account has no receivers: only payments with their own notification address are notified. Add addresses to ",
    h("code", {}, "notificationEndpoints"),
    " in the ",
    h("a", { href: "#/settings" }, "settings"),
    ", or run ",
    h("code", {}, "cofre listen"),
    " to register a program on your machine.",
  );
}

/**
 * @param {readonly Receiver[]} receivers
 * @param {(receiver: Receiver) => void} turn
 */
function listOf(receivers, turn) {
  const heads = mayDo("admin") ? headsOfAdmin : headsOfViewer;
  const rows = receivers.map((receiver) => [
    foreign(receiver.id, "short"),
    foreign(receiver.url),
    stateOf(receiver),
    ...(mayDo("admin") ? [switchOf(receiver, () => turn(receiver))] : []),
  ]);
  return h("div", { class: "wide" }, table("Receivers", heads, rows));
}

/** @param {Receiver} receiver */
function stateOf({ state, disabled_at: disabledAt, gone_at: goneAt }) {
  if (state === "enabled") return h("span", { class: "mark good" }, "enabled");
  const why =
    state === "disabled"
      ? ["It was disabled", ...at(disabledAt)]
      : ["It answered 410", ...at(goneAt)];
  return h(
    "span",
    {},
    h("span", { class: "mark bad" }, state),
    " ",
    ...why,
    ". Its notifications are kept.",
  );
}

/** @param {string | undefined} time */
function at(time) {
  return time === undefined
    ? []
    : [" at ", h("time", { datetime: `${time.replace(" ", "T")}Z` }, foreign(time)), " (UTC)"];
}

/**
 * @param {Receiver} receiver
 * @param {() => void} turn
 */
function switchOf({ id, state }, turn) {
  const words = state === "enabled" ? "Disable" : "Enable";
  return h(
    "button",
    {
      type: "button",
      class: "small",
      name: `switch-${id}`,
      "aria-label": `${words} ${shown(id)}`,
      onclick: turn,
    },
    words,
  );
}
