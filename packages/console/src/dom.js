// The only code of the page that creates elements: text is never parsed as HTML.
import { t } from "./language.js";

/** @typedef {Node | string | undefined | false} Child */

/**
 * An element. `props` are attributes, or listeners when the name begins with "on"; undefined and
 * false are omitted.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Readonly<Record<string, string | boolean | undefined | ((event: Event) => void)>>}
 * [props]
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** A namespace name, never requested. */
const svg = "http://www.w3.org/2000/svg";

/**
 * An SVG element. Attributes as text; undefined ones are omitted.
 * @param {"svg" | "rect" | "path" | "title"} tag
 * @param {Readonly<Record<string, string | number | undefined>>} [attributes]
 * @param {...Child} children
 * @returns {Element}
 */
export function shape(tag, attributes = {}, ...children) {
  const element = document.createElementNS(svg, tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) element.setAttribute(name, String(value));
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/**
 * Characters that change the text direction or are invisible: shown by their code points, so that
 * the page shows a text as it is stored.
 */
export const unseen = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** @param {string} text */
export function shown(text) {
  return text.replaceAll(
    unseen,
    (character) =>
      `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/**
 * External text, isolated from the direction of the text around it.
 * @param {string} text
 * @param {string} [kind]
 */
export function foreign(text, kind) {
  return h("bdi", { class: kind }, shown(text));
}

/** @param {readonly (readonly [name: string, value: Child])[]} rows */
export function facts(rows) {
  return h(
    "dl",
    { class: "facts" },
    ...rows.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/**
 * A table with column names, which a narrow screen shows next to each cell.
 * @param {string} caption
 * @param {readonly string[]} heads
 * @param {readonly (readonly Child[])[]} rows
 */
export function table(caption, heads, rows) {
  const head = h(
    "tr",
    { role: "row" },
    ...heads.map((text) =>
      h("th", { scope: "col", role: "columnheader", class: kindOf(text) }, text),
    ),
  );
  return h(
    "table",
    { role: "table" },
    h("caption", { class: "unseen" }, caption),
    h("thead", { role: "rowgroup" }, head),
    h("tbody", { role: "rowgroup" }, ...rows.map((cells) => tableRow(heads, cells))),
  );
}

/**
 * Roles are explicit, because a table with another CSS layout would lose them.
 * @param {readonly string[]} heads
 * @param {readonly Child[]} cells
 */
function tableRow(heads, cells) {
  return h(
    "tr",
    { role: "row" },
    ...cells.map((cell, index) =>
      h("td", { role: "cell", "data-head": heads[index], class: kindOf(heads[index]) }, cell),
    ),
  );
}

/** Columns with aligned numbers. */
const numbers = new Set([
  t("head.amount"),
  t("head.balance"),
  t("view.payments"),
  t("insights.approved"),
  t("insights.declined"),
]);

/** @param {string | undefined} head */
function kindOf(head) {
  return numbers.has(head ?? "") ? "numbers" : undefined;
}

/**
 * A field with its label.
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement} control
 */
export function field(label, control) {
  return h("label", { class: "field" }, h("span", {}, label), control);
}

/**
 * @param {string} name
 * @param {readonly (readonly [value: string, text: string])[]} options
 * @param {string} [chosen]
 */
export function select(name, options, chosen = "") {
  return h(
    "select",
    { name },
    ...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
}

/**
 * Shows a status message, which screen readers announce; an empty text removes it.
 * @param {string} text
 */
export function say(text) {
  const status = document.getElementById("status");
  if (status !== null && status.textContent !== text) status.textContent = text;
}

/** @param {unknown} error */
export function problemText(error) {
  return shown(error instanceof Error ? error.message : String(error));
}

/**
 * A refusal or a failure, announced at once.
 * @param {unknown} error
 */
export function problem(error) {
  const lang = error instanceof Error && "lang" in error ? String(error.lang) : undefined;
  return h("p", { class: "problem", role: "alert", lang }, problemText(error));
}

/**
 * Opens a dialog over the present view; it closes with the view.
 * @param {HTMLDialogElement} dialog
 */
export function openDialog(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Closes every dialog: its payment or world is not shown any more. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/**
 * Asks for confirmation of an action.
 * @param {string} title
 * @param {string} name of the button that confirms
 * @param {() => void | Promise<void>} work
 */
export function ask(title, name, work) {
  const confirm = () => {
    dialog.close();
    void work();
  };
  const dialog = h(
    "dialog",
    { "aria-labelledby": "question" },
    h("h2", { id: "question" }, title),
    h(
      "p",
      { class: "actions" },
      h("button", { type: "button", onclick: confirm }, name),
      h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, t("cancel")),
    ),
  );
  openDialog(dialog);
}

/**
 * Replaces the content of a part, and keeps the focus on the element with the same name and open
 * details open.
 * @param {HTMLElement} part
 * @param {() => readonly Node[]} make
 */
export function keepingFocus(part, make) {
  const active = document.activeElement;
  const name = part.contains(active) ? nameOf(active) : undefined;
  const open = new Set(Array.from(part.querySelectorAll("details[open] > summary"), nameOf));
  part.replaceChildren(...make());
  const named = Array.from(part.querySelectorAll("[name], [data-name]"));
  for (const each of named)
    if (each.parentElement instanceof HTMLDetailsElement && open.has(nameOf(each)))
      each.parentElement.open = true;
  const again = named.find((each) => name !== undefined && nameOf(each) === name);
  if (again instanceof HTMLElement) again.focus();
}

/** @param {Element | null} element */
function nameOf(element) {
  return element?.getAttribute("name") ?? element?.getAttribute("data-name") ?? undefined;
}
