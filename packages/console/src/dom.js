// The only way in which the page makes elements: text stays text, whatever it says.

/** @typedef {Node | string | undefined | false} Child */

/**
 * An element. `props` are attributes, or listeners when the name begins with "on"; what is
 * undefined or false is left out.
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

/** The name of a language, asked of nobody. */
const svg = "http://www.w3.org/2000/svg";

/**
 * A shape of a drawing. Attributes as text; what is undefined is left out.
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
 * Characters that turn the writing around or cannot be seen: shown by their numbers, so that a text
 * is read as it is stored.
 */
const unseen = /[\p{Cc}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

/** @param {string} text */
export function shown(text) {
  return text.replaceAll(
    unseen,
    (character) =>
      `[U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
  );
}

/**
 * Text of somebody else's, kept apart from the writing around it.
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
 * A table with names for its columns, which a narrow screen shows beside each cell.
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
 * Roles are said, for a table that is laid out in another way would lose them.
 * @param {readonly string[]} heads
 * @param {readonly Child[]} cells
 */
export function tableRow(heads, cells) {
  return h(
    "tr",
    { role: "row" },
    ...cells.map((cell, index) =>
      h("td", { role: "cell", "data-head": heads[index], class: kindOf(heads[index]) }, cell),
    ),
  );
}

/** Columns whose numbers stand below one another. */
const numbers = new Set(["Amount", "Balance", "Payments", "Approved", "Declined"]);

/** @param {string | undefined} head */
function kindOf(head) {
  return numbers.has(head ?? "") ? "numbers" : undefined;
}

/**
 * A field with its name.
 * @param {string} label
 * @param {HTMLInputElement | HTMLSelectElement} control
 */
export function field(label, control) {
  return h("label", { class: "field" }, h("span", {}, label), control);
}

/**
 * Fields by which a view is narrowed. What they hold goes into the address, from where the view
 * reads it again: at once for what is chosen from a list, and otherwise when somebody says so.
 * @param {string} view
 * @param {() => Readonly<Record<string, string>>} values
 * @param {...Node} fields
 */
export function searchForm(view, values, ...fields) {
  const apply = () => {
    const chosen = new URLSearchParams(
      Object.entries(values()).filter(([, value]) => value !== ""),
    );
    const text = chosen.toString();
    location.hash = text === "" ? `#/${view}` : `#/${view}?${text}`;
  };
  return h(
    "form",
    {
      role: "search",
      class: "search",
      onsubmit: (event) => {
        event.preventDefault();
        apply();
      },
      onchange: (event) => {
        if (event.target instanceof HTMLSelectElement) apply();
      },
    },
    ...fields,
    h("button", { type: "submit" }, "Search"),
  );
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
 * Tells, also whoever cannot see the page, what has come of something; an empty text takes it away.
 * @param {string} text
 */
export function say(text) {
  const status = document.getElementById("status");
  if (status !== null && status.textContent !== text) status.textContent = text;
}

/**
 * A refusal or a failure, read out at once.
 * @param {unknown} error
 */
export function problem(error) {
  return h(
    "p",
    { class: "problem", role: "alert" },
    shown(error instanceof Error ? error.message : String(error)),
  );
}

/**
 * Shows a dialog over the view that is shown; it closes with the view.
 * @param {HTMLDialogElement} dialog
 */
export function openDialog(dialog) {
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Closes every dialog: the payment or world that it is about is not shown any more. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) dialog.close();
}

/**
 * Asks once more before something is done.
 * @param {string} title
 * @param {string} name what the button that does it says
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
      h("button", { type: "button", class: "plain", onclick: () => dialog.close() }, "Leave it"),
    ),
  );
  openDialog(dialog);
}

/**
 * Whoever is at something of the part that has a name is there afterwards, and what was opened is
 * open.
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
