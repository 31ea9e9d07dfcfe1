// Saved views above the list of payments: searches with a name, which all users of the account share.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call } from "./api.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { TextField, valuesOf } from "./pieces.js";
import { mayDo } from "./session.js";
import { say, shown } from "./shown.js";

/** @import { Subject } from "./api.js" */
/** @typedef {Readonly<Record<string, string>>} Fields of the address */
/** @typedef {Fields & { readonly name: string }} View */

const longestName = 60;

/**
 * Those of the account that was last open.
 * @type {import("@preact/signals").Signal<readonly View[]>}
 */
const views = signal([]);

export function forgetViews() {
  views.value = [];
}

/**
 * @param {Subject} subject
 * @param {AbortSignal} abort
 */
export async function readViews(subject, abort) {
  const read = await asked({}, subject);
  if (!abort.aborted) views.value = read;
}

/**
 * @param {Fields} change
 * @param {Subject} subject
 */
async function asked(change, subject) {
  const answer = /** @type {{ views: View[] }} */ (await call("/__cofre/views", change, subject));
  return answer.views;
}

/**
 * `fields`: those of the present address. `saved`: what a new view would have. `addressOf`: the
 * address of a view. `abort`: of the list, which shows this account's views.
 * @typedef {object} Place
 * @property {Fields} fields
 * @property {Fields} saved
 * @property {(fields: Fields) => string} addressOf
 * @property {Subject} subject
 * @property {AbortSignal} abort
 */

/** @param {{ place: Place }} props */
export function SavedViews({ place }) {
  const { fields, saved, addressOf } = place;
  const open = views.value.find((view) => textOf(view) === textOf({ ...fields, name: view.name }));
  const isNew = open === undefined;
  return html`
    ${
      views.value.length > 0 &&
      html`<nav class="views" aria-label=${t("views.title")}>
        ${views.value.map(
          ({ name, ...others }) =>
            html`<a
              key=${name}
              href=${addressOf(others)}
              aria-current=${name === open?.name ? "page" : undefined}
              ref=${name === open?.name ? intoView : undefined}
              ><bdi>${shown(name)}</bdi></a
            >`,
        )}
      </nav>`
    }
    ${
      mayDo("operator") &&
      (!isNew || Object.keys(saved).length > 0) &&
      html`<${Menu} key=${open?.name ?? ""} name=${open?.name ?? ""} place=${place} />`
    }
  `;
}

/**
 * Saves a new view, or renames and deletes the open one.
 * @param {{ name: string, place: Place }} props
 */
function Menu({ name, place: { saved, addressOf, subject, abort } }) {
  const [typed, setTyped] = useState(name);
  const [error, setError] = useState(/** @type {unknown} */ (undefined));
  const isNew = name === "";
  const replaces = views.value.some((view) => view.name !== name && view.name === typed.trim());
  /**
   * @param {Fields} change
   * @param {string} done
   */
  const send = async (change, done) => {
    try {
      const after = await asked(change, subject);
      if (abort.aborted) return;
      views.value = after;
      say(done);
    } catch (failure) {
      setError(failure);
    }
  };
  /** @param {Event} event */
  const save = async (event) => {
    event.preventDefault();
    const { view = "" } = valuesOf(event.currentTarget);
    if (!isNew) return send({ rename: name, name: view }, t("views.renamed"));
    await send({ save: view, ...saved }, t("views.saved"));
    // The columns of this tab are part of the view, and now of the address.
    if (!abort.aborted && views.value.some((each) => each.name === view))
      location.replace(addressOf(saved));
  };
  return html`
    <details class="menu">
      <summary>${isNew ? t("views.save") : t("views.change")}</summary>
      <form class="choices" onSubmit=${save}>
        <${TextField}
          label=${t("views.name")}
          name="view"
          value=${typed}
          maxlength=${longestName}
          required
          error=${error}
          onInput=${(/** @type {Event} */ { currentTarget }) =>
            setTyped(/** @type {HTMLInputElement} */ (currentTarget).value)}
        />
        <p class="soft">${isNew && replaces ? t("views.replaces") : t("views.shared")}</p>
        <p class="actions">
          <button type="submit">${isNew ? t("save") : t("views.rename")}</button>
          ${
            !isNew &&
            html`<button
              type="button"
              class="small"
              onClick=${() => void send({ delete: name }, t("views.deleted"))}
            >
              ${t("views.delete")}
            </button>`
          }
        </p>
      </form>
    </details>
  `;
}

/**
 * The open view may be beyond the end of the line.
 * @param {Element | null} chip
 */
function intoView(chip) {
  const line = chip?.parentElement;
  if (chip === null || line === null || line === undefined) return;
  line.scrollLeft += chip.getBoundingClientRect().left - line.getBoundingClientRect().left;
}

/**
 * Equal for views with equal fields in any order.
 * @param {Fields} view
 */
function textOf(view) {
  return JSON.stringify(Object.entries(view).toSorted(([one], [other]) => (one < other ? -1 : 1)));
}
