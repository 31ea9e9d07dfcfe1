// A request beside its form, as JSON and as a command; and its answer unchanged.
import { useState } from "preact/hooks";
import { curlOf, escapeUnseen } from "./curl.js";
import { say, shown } from "./shown.js";
import { amountText, countText, timeOf } from "./format.js";
import { html } from "./html.js";
import { t } from "./language.js";
import { StateCell } from "./list.js";
import { clock } from "./state.js";

/** @import { Exchange, Listed } from "./api.js" */
/** @import { Outcome } from "./new-payment.js" */
/** @import { Request } from "./payment-form.js" */

/** @param {{ text: string, label: string }} props */
export function CopyButton({ text, label }) {
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => say(t("copied")),
      () => say(t("copy.refused")),
    );
  return html`<button type="button" class="small" aria-label=${label} onClick=${copy}>
    ${t("copy")}
  </button>`;
}

/**
 * The requests as they are sent; the key and a token that is not known yet are variables.
 * @param {{ forShell: readonly Request[], asJson: readonly Request[] }} props the same requests,
 * for each of the two forms
 */
export function RequestView({ forShell, asJson }) {
  const [isCurl, setCurl] = useState(true);
  const text = isCurl ? commands(forShell) : bodies(asJson);
  return html`
    <section class="box">
      <h2>${t("new.request")}</h2>
      <p class="tools">
        <button type="button" class="small" aria-pressed=${isCurl} onClick=${() => setCurl(true)}>
          curl
        </button>
        <button type="button" class="small" aria-pressed=${!isCurl} onClick=${() => setCurl(false)}>
          JSON
        </button>
        <${CopyButton} text=${text} label=${t("new.copy_request")} />
      </p>
      <pre tabindex="0" role="region" aria-label=${t("new.request")}>${text}</pre>
    </section>
  `;
}

/** @param {readonly Request[]} requests */
function commands(requests) {
  const [first, second] = requests.map(({ path, fields }) => curlOf(path, fields));
  if (second === undefined) return first ?? "";
  return String.raw`TOKEN=$(${first} | sed 's/.*"token":"\([^"]*\)".*/\1/')` + `\n\n${second}`;
}

/** @param {readonly Request[]} requests */
function bodies(requests) {
  return requests
    .map(({ path, fields }) => {
      const body = JSON.stringify({ integration_key: "$KEY", ...fields }, undefined, 2);
      return `POST ${path}\n\n${escapeUnseen(body)}`;
    })
    .join("\n\n");
}

/** @param {{ outcome: Outcome | undefined, onQuery: () => void }} props */
export function Answer({ outcome, onQuery }) {
  if (outcome === undefined)
    return html`<section class="box">
      <h2>${t("new.answer")}</h2>
      <p class="soft">${t("new.no_answer_yet")}</p>
    </section>`;
  const { isBusy, exchanges, payment, trouble, refusal } = outcome;
  const last = exchanges.at(-1);
  return html`
    <section class="box">
      <h2>${t("new.answer")}</h2>
      ${isBusy && html`<p class="soft">${t("new.waiting")}</p>`}
      ${payment !== undefined && html`<${State} payment=${payment} />`}
      ${trouble !== "" && html`<p class="problem" role="alert">${trouble}</p>`}
      ${
        refusal !== undefined &&
        html`<p class="problem">
          <${RefusalText} refusal=${refusal} />
        </p>`
      }
      ${!isBusy && payment === undefined && last !== undefined && isUnclear(last) && html`<${Lost} last=${last} onQuery=${onQuery} />`}
      ${exchanges
        .map(
          (each, place) => html`<${Shown} key=${place} exchange=${each} isLast=${each === last} />`,
        )
        .toReversed()}
    </section>
  `;
}

/**
 * What was refused, with a link to the explanation of the server's code; the page has none.
 * @param {{ refusal: NonNullable<Outcome["refusal"]> }} props
 */
export function RefusalText({ refusal: { text, lang, code } }) {
  return html`<span lang=${lang}>${shown(text)}</span>${
      code !== "" && html` <a href=${`/docs/errors#${code}`}>${shown(code)}</a>`
    }`;
}

/** @param {{ payment: Listed }} props */
function State({ payment }) {
  const { hash, merchant_payment_code: code, amount_ext: amount, currency_ext: currency } = payment;
  return html`
    <p class="made">
      <strong>${amountText(amount, currency)} ${shown(currency)}</strong>${" "}
      <${StateCell} payment=${payment} now=${timeOf(clock.value?.now ?? "")} />${" "}
      <a href=${`#/payment/${hash}`} class="code"><bdi>${shown(code)}</bdi></a>
    </p>
  `;
}

/**
 * Whether a shop cannot know from the answer if there is a payment.
 * @param {Exchange} exchange
 */
function isUnclear({ end, status = 0, body }) {
  return end !== "answer" || status >= 500 || typeof body["status"] !== "string";
}

/** @param {{ last: Exchange, onQuery: () => void }} props */
function Lost({ last: { end }, onQuery }) {
  return html`
    <div class="lost-answer">
      <p>
        <strong
          >${end === "cut" ? t("new.cut") : end === "stopped" ? t("new.stopped") : t("new.unclear")}</strong
        >
      </p>
      <p>${t("new.lost_explained")}</p>
      <p><button type="button" onClick=${onQuery}>${t("new.query")}</button></p>
    </div>
  `;
}

/** @param {{ exchange: Exchange, isLast: boolean }} props */
function Shown({ exchange: { path, end, status, ms, text, body }, isLast }) {
  const answered = status === undefined ? t("story.no_answer") : `HTTP ${status}`;
  const time = `${countText(Math.round(ms))} ms`;
  const lines = Object.keys(body).length === 0 ? text : JSON.stringify(body, undefined, 2);
  return html`
    <details open=${isLast}>
      <summary>
        <code>POST ${path}</code> → ${end === "answer" ? answered : t("story.no_answer")} · ${time}
      </summary>
      ${
        lines !== "" &&
        html`<pre tabindex="0" role="region" aria-label=${t("new.answer_to", { path })}>
${lines.split("\n").map((line) => `${shown(line)}\n`)}</pre>`
      }
    </details>
  `;
}
