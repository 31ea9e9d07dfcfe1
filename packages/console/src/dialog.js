// Dialogs over the present view.
import { render } from "preact";
import { html } from "./html.js";
import { t } from "./language.js";

/** @import { VNode } from "preact" */

/**
 * Opens a dialog over the present view; it closes with the view, and nothing of it stays.
 * @param {string} title the id of its heading
 * @param {(close: () => void) => VNode} make its content, with the heading
 */
export function openDialog(title, make) {
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", title);
  const close = () => dialog.close();
  dialog.addEventListener("close", () => {
    render(null, dialog);
    dialog.remove();
  });
  render(make(close), dialog);
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
 * @param {() => unknown} work
 */
export function ask(title, name, work) {
  openDialog("question", (close) => {
    const confirm = () => {
      close();
      void work();
    };
    return html`
      <div>
        <h2 id="question">${title}</h2>
        <p class="actions">
          <button type="button" onClick=${confirm}>${name}</button>
          <button type="button" class="plain" onClick=${close}>${t("cancel")}</button>
        </p>
      </div>
    `;
  });
}
