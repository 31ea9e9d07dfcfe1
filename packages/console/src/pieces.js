// Parts that several views are made of.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./api.js";
import { exactText, timeOf, utcText } from "./format.js";
import { html } from "./html.js";
import { problemText, shown } from "./shown.js";

/**
 * The error when it is a refusal of one of these fields; undefined otherwise.
 * @param {unknown} error
 * @param {...string} names
 */
export function errorAt(error, ...names) {
  return error instanceof Refusal && names.includes(error.field ?? "") ? error : undefined;
}

/**
 * A refusal or a failure, announced at once; nothing without an error.
 * @param {{ error: unknown }} props
 */
export function Problem({ error }) {
  if (error === undefined) return null;
  const lang = error instanceof Error && "lang" in error ? error.lang : undefined;
  return html`<p class="problem" role="alert" lang=${lang}>${problemText(error)}</p>`;
}

/**
 * A time of the server in the shown time zone, with UTC under the pointer.
 * @param {{ at: string }} props
 */
export function When({ at }) {
  const time = timeOf(at);
  return html`<time
    datetime=${Number.isNaN(time) ? undefined : new Date(time).toISOString()}
    title=${utcText(at)}
    >${exactText(at)}</time
  >`;
}

/**
 * External text, isolated from the direction of the text around it.
 * @param {{ text: string, kind?: string }} props
 */
export function Foreign({ text, kind }) {
  return html`<bdi class=${kind}>${shown(text)}</bdi>`;
}

/**
 * A text field with its label, and the error that is about it, which moves the focus to it. `name` is
 * unique in the view; other properties are those of the input.
 * @param {{ label: string, name: string, error?: unknown, hidden?: boolean }} props
 */
export function TextField({ label, name, error, hidden, ...others }) {
  const isWrong = error !== undefined;
  const input = useRef(/** @type {HTMLInputElement | null} */ (null));
  useEffect(() => {
    if (error !== undefined) input.current?.focus();
  }, [error]);
  return html`
    <div class="field" hidden=${hidden}>
      <label for=${`field-${name}`}>${label}</label>
      <input
        ref=${input}
        id=${`field-${name}`}
        name=${name}
        autocomplete="off"
        aria-invalid=${isWrong ? "true" : undefined}
        aria-describedby=${isWrong ? `error-${name}` : undefined}
        ...${others}
      />
      ${isWrong && html`<div id=${`error-${name}`}><${Problem} error=${error} /></div>`}
    </div>
  `;
}

/**
 * A choice with its label.
 * @param {{ label: string, name: string, options: readonly (readonly [value: string, text:
 * string])[], chosen?: string, hidden?: boolean }} props
 */
export function Choice({ label, name, options, chosen = "", hidden, ...others }) {
  return html`
    <div class="field" hidden=${hidden}>
      <label for=${`field-${name}`}>${label}</label>
      <select id=${`field-${name}`} name=${name} ...${others}>
        ${options.map(
          ([value, text]) =>
            html`<option key=${value} value=${value} selected=${value === chosen}>${text}</option>`,
        )}
      </select>
    </div>
  `;
}

/**
 * The values of a form's fields, without spaces around them.
 * @param {EventTarget | null} target of the form's event
 * @returns {Readonly<Record<string, string>>}
 */
export function valuesOf(target) {
  const form = target instanceof Element ? target.closest("form") : null;
  if (form === null) return {};
  return Object.fromEntries(
    [...new FormData(form)].map(([name, value]) => [
      name,
      typeof value === "string" ? value.trim() : "",
    ]),
  );
}

/**
 * A part that scrolls sideways when its content is wider, then also by keyboard.
 * @param {{ label: string, children?: unknown }} props
 */
export function Wide({ label, children, ...others }) {
  const place = useRef(/** @type {HTMLElement | null} */ (null));
  const [isScrolling, setScrolling] = useState(false);
  useLayoutEffect(() => {
    const { scrollWidth = 0, clientWidth = 0 } = place.current ?? {};
    setScrolling(scrollWidth > clientWidth);
  });
  const region = isScrolling ? { role: "region", tabindex: 0, "aria-label": label } : {};
  return html`<div class="wide" ref=${place} ...${region} ...${others}>${children}</div>`;
}

/**
 * A table whose rows have one line each; on a narrow screen the name of a column is beside its cell.
 * Roles are explicit, because a table with another CSS layout would lose them.
 * @param {{ caption: string, heads: readonly string[], rows: readonly { key: string, cells: readonly
 * unknown[] }[], kind?: string, numbers?: readonly string[] }} props `numbers`: the heads of columns
 * that are aligned as numbers
 */
export function Table({ caption, heads, rows, kind = "compact", numbers = [] }) {
  const columns = heads.map((head) => ({ id: head, head, isNumber: numbers.includes(head) }));
  return html`
    <table role="table" class=${kind}>
      <caption class="unseen">
        ${caption}
      </caption>
      <${Heads} columns=${columns} />
      <tbody role="rowgroup">
        ${rows.map(
          ({ key, cells }) =>
            html`<tr key=${key} role="row">
              <${Cells} columns=${columns} cells=${cells} />
            </tr>`,
        )}
      </tbody>
    </table>
  `;
}

/**
 * The heads of a table's columns; `isNumber`: aligned as numbers.
 * @param {{ columns: readonly { id: string, head: string, isNumber?: boolean }[] }} props
 */
export function Heads({ columns }) {
  return html`
    <thead role="rowgroup">
      <tr role="row">
        ${columns.map(
          ({ id, head, isNumber }) => html`
            <th
              key=${id}
              scope="col"
              role="columnheader"
              class=${isNumber === true ? "numbers" : undefined}
            >
              ${head}
            </th>
          `,
        )}
      </tr>
    </thead>
  `;
}

/**
 * The cells of a row, one for each column.
 * @param {{ columns: readonly { id: string, head: string, isNumber?: boolean }[], cells: readonly
 * unknown[] }} props
 */
export function Cells({ columns, cells }) {
  return columns.map(
    ({ id, head, isNumber }, place) => html`
      <td
        key=${id}
        role="cell"
        data-head=${head}
        data-column=${id}
        class=${isNumber === true ? "numbers" : undefined}
      >
        ${cells[place]}
      </td>
    `,
  );
}

/**
 * What a press on a row does: it opens the address. A press on a link or a checkbox in it acts on
 * that alone, and text can still be selected.
 * @param {string} address after the `#`
 * @returns {(event: MouseEvent) => void}
 */
export function opens(address) {
  return ({ target }) => {
    if (target instanceof Element && target.closest("a, label") !== null) return;
    if (getSelection()?.isCollapsed === false) return;
    location.hash = address;
  };
}

/**
 * Names with their values.
 * @param {{ rows: readonly (readonly [name: string, value: unknown])[], kind?: "pairs" | "facts" }}
 * props `facts`: each value below its name, in columns
 */
export function Pairs({ rows, kind = "pairs" }) {
  return html`
    <dl class=${kind}>
      ${rows.map(
        ([name, value]) =>
          html`<div key=${name}>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
    </dl>
  `;
}
