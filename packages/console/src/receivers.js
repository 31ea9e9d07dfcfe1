// The receivers of the account's notifications, and whether they are active.
import { call } from "./api.js";
import { foreign, h, keepingFocus, problem, say, shown, table } from "./dom.js";
import { parts, t } from "./language.js";
import { mayDo } from "./session.js";
import { when } from "./when.js";

/**
 * `disabled`: at `disabled_at` if known; `gone`: it has answered 410, at `gone_at`.
 * @typedef {{ id: string, url: string, state: "enabled" | "disabled" | "gone", disabled_at?: string, gone_at?:
 * string }} Receiver
 */

const headsOfViewer = [t("head.receiver"), t("head.address"), t("head.state")];
const headsOfAdmin = [...headsOfViewer, t("head.change")];

/**
 * A part of a view that shows the given receivers.
 * @returns {{ part: HTMLElement, show: (receivers: readonly Receiver[]) => void }}
 */
export function receiversPart() {
  const list = h("div");
  const trouble = h("div");
  const part = h("section", {}, h("h2", {}, t("receivers.title")), list, trouble);
  let made = "";

  /** @param {readonly Receiver[]} receivers */
  const show = (receivers) => {
    const now = JSON.stringify(receivers);
    if (now === made) return;
    made = now;
    keepingFocus(list, () => [
      receivers.length === 0 ? none() : listOf(receivers, (receiver) => void turn(receiver)),
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
      say(isOn ? t("receivers.now_disabled", { id }) : t("receivers.now_enabled", { id }));
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
  };

  return { part, show };
}

function none() {
  return h(
    "p",
    { class: "nothing" },
    ...parts("receivers.none", {
      setting: h("code", {}, "notificationEndpoints"),
      settings: h("a", { href: "#/settings" }, t("receivers.settings")),
      command: h("code", {}, "cofre listen"),
    }),
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
  return h("div", { class: "wide" }, table(t("receivers.title"), heads, rows));
}

/** @param {Receiver} receiver */
function stateOf({ state, disabled_at: disabledAt, gone_at: goneAt }) {
  if (state === "enabled") return h("span", { class: "mark good" }, t("receivers.enabled"));
  const isDisabled = state === "disabled";
  const since = isDisabled ? disabledAt : goneAt;
  return h(
    "span",
    {},
    h("span", { class: "mark bad" }, isDisabled ? t("receivers.disabled") : t("receivers.gone")),
    " ",
    ...(since === undefined
      ? [isDisabled ? t("receivers.was_disabled") : t("receivers.answered_410")]
      : parts(isDisabled ? "receivers.was_disabled_at" : "receivers.answered_410_at", {
          at: when(since),
        })),
  );
}

/**
 * @param {Receiver} receiver
 * @param {() => void} turn
 */
function switchOf({ id, state }, turn) {
  const words = state === "enabled" ? t("receivers.disable") : t("receivers.enable");
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
