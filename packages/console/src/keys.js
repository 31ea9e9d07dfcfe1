// Keyboard shortcuts of the page.
import { useState } from "preact/hooks";
import { openDialog } from "./dialog.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { shell } from "./state.js";

/** Set while the user has switched the shortcuts off, in this tab. */
const place = "cofre.shortcuts_off";

/** @type {readonly (readonly [keys: string, does: string])[]} */
const fixed = [
  ["/", t("keys.search")],
  ["j", t("keys.next")],
  ["k", t("keys.previous")],
  ["Enter", t("keys.open")],
  ["Esc", t("keys.back")],
  ["x", t("keys.select")],
  ["c", t("keys.compare")],
  ["?", t("keys.help")],
];

/** Dispatched to the window when a view has begun. */
export const viewShown = "cofre-view-shown";

/** The time in which a second letter must follow `g`. */
const secondKeyMs = 1_500;

/** Shortcuts apply outside of text fields, without a modifier, and while no dialog is open. */
export function watchKeys() {
  let wasG = -Infinity;
  addEventListener("keydown", (event) => {
    const { key, target, timeStamp } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (document.querySelector("dialog[open]") !== null || shell.value.links.length === 0) return;
    if (sessionStorage.getItem(place) !== null) return;
    if (isTyping(target)) {
      if (key === "Escape" && target instanceof HTMLElement) target.blur();
      return;
    }
    const isSecond = timeStamp - wasG < secondKeyMs;
    wasG = -Infinity;
    if (key === "g" && !isSecond) wasG = timeStamp;
    else if (isSecond ? goTo(`g ${key}`) : act(key)) event.preventDefault();
  });
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  return (
    (target instanceof HTMLInputElement && target.type !== "checkbox") ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
  );
}

/**
 * @param {string} key
 * @returns {boolean} whether the key has a meaning here
 */
function act(key) {
  if (key === "?") showKeys();
  else if (key === "/") search();
  else if (key === "j" || key === "k") return step(key === "j" ? 1 : -1);
  else if (key === "Escape") return leave();
  else if (key === "x")
    return press(document.activeElement?.closest("tr")?.querySelector(".pick>input"));
  else if (key === "c") return press(document.querySelector('main [data-key="c"]'));
  else return goTo(key);
  return true;
}

/** @param {Element | null | undefined} control */
function press(control) {
  if (!(control instanceof HTMLElement)) return false;
  control.click();
  return true;
}

/** Focuses the view's search field; a view without one leads to that of the payments. */
function search() {
  if (focusSearch()) return;
  addEventListener(viewShown, () => void focusSearch(), { once: true });
  location.hash = "#/payments";
}

function focusSearch() {
  const input = document.querySelector('main input[type="search"]');
  if (!(input instanceof HTMLInputElement)) return false;
  input.focus();
  input.select();
  return true;
}

/**
 * Moves to the next or previous row of a list, or presses the view's link to a neighbour.
 * @param {1 | -1} by
 */
function step(by) {
  const neighbour = document.querySelector(`main [rel="${by === 1 ? "next" : "prev"}"]`);
  if (neighbour instanceof HTMLElement) {
    neighbour.click();
    return true;
  }
  const rows = [...document.querySelectorAll("main tbody tr")].flatMap((row) => {
    const link = row.querySelector("a[href]");
    return link instanceof HTMLElement ? [link] : [];
  });
  const row = document.activeElement?.closest("tr");
  const at = rows.findIndex((link) => row?.contains(link) === true);
  const next = rows[at < 0 ? (by === 1 ? 0 : rows.length - 1) : at + by];
  next?.focus();
  return next !== undefined;
}

/** Returns from a view to its list. */
function leave() {
  const { parent } = shell.value;
  if (parent === undefined) return false;
  const back = document.querySelector('main [rel="up"]');
  if (back instanceof HTMLElement) back.click();
  else location.hash = `#/${parent}`;
  return true;
}

/** @param {string} keys */
function goTo(keys) {
  const link = shell.value.links.find(({ key }) => key === keys);
  if (link === undefined) return false;
  location.hash = `#/${link.view}`;
  return true;
}

/** Opens the list of shortcuts. */
export function showKeys() {
  openDialog("shortcuts", (close) => html`<${Shortcuts} onClose=${close} />`);
}

/** @param {{ onClose: () => void }} props */
function Shortcuts({ onClose }) {
  const [isOn, setOn] = useState(sessionStorage.getItem(place) === null);
  const turn = () => {
    if (isOn) sessionStorage.setItem(place, "off");
    else sessionStorage.removeItem(place);
    setOn(!isOn);
  };
  const views = shell.value.links.flatMap(({ key, title }) =>
    key === undefined ? [] : [/** @type {const} */ ([key, title])],
  );
  return html`
    <div>
      <h2 id="shortcuts">${t("keys.title")}</h2>
      <dl class="shortcuts">
        ${[...fixed, ...views].map(
          ([keys, does]) => html`
            <div key=${keys}>
              <dt>${keys.split(" ").map((each) => html`<kbd>${each}</kbd> `)}</dt>
              <dd>${does}</dd>
            </div>
          `,
        )}
      </dl>
      <label class="check">
        <input type="checkbox" name="shortcuts" checked=${isOn} onChange=${turn} />${" "}
        ${t("keys.use")}
      </label>
      <p class="actions"><button type="button" onClick=${onClose}>${t("close")}</button></p>
    </div>
  `;
}
