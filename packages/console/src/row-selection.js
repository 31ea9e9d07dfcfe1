// Two rows of the list of payments, selected to be compared.
import { html } from "./html.js";
import { parts, t } from "./language.js";
import { shown } from "./shown.js";

/** @import { Signal } from "@preact/signals" */
/** @typedef {{ hash: string, merchant_payment_code: string }} Chosen */

/**
 * The checkbox of a row; of three selected rows, the first is not selected any more.
 * @param {{ payment: Chosen, selected: Signal<readonly Chosen[]> }} props
 */
export function Pick({ payment, selected }) {
  const { hash, merchant_payment_code: code } = payment;
  const isChosen = selected.value.some((each) => each.hash === hash);
  const turn = () => {
    const others = selected.value.filter((each) => each.hash !== hash);
    selected.value = isChosen ? others : [...others.slice(-1), payment];
  };
  return html`<label class="pick">
    <input
      type="checkbox"
      checked=${isChosen}
      onChange=${turn}
      aria-label=${t("list.select", { code: shown(code) })}
    />
  </label>`;
}

/**
 * What is selected, and the link that compares it.
 * @param {{ selected: Signal<readonly Chosen[]> }} props
 */
export function Selection({ selected }) {
  const [one, other] = selected.value;
  const code = (/** @type {Chosen} */ { merchant_payment_code: text }) =>
    html`<bdi class="code">${shown(text)}</bdi>`;
  const words =
    one === undefined
      ? ""
      : other === undefined
        ? parts("list.selected_one", { code: code(one) })
        : parts("list.selected_two", { one: code(one), other: code(other) });
  return html`
    <div class="selection" hidden=${one === undefined}>
      <span role="status">${words}</span>
      ${
        one !== undefined &&
        other !== undefined &&
        html`<a href=${`#/compare/${one.hash}/${other.hash}`} class="primary" data-key="c">
          ${t("compare.name")}
        </a>`
      }
      <button type="button" class="small" onClick=${() => (selected.value = [])}>
        ${t("list.selected_none")}
      </button>
    </div>
  `;
}
