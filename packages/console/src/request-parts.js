// What the list of requests and the page of a request have in common.
import { shown } from "./shown.js";
import { html } from "./html.js";
import { locale, t } from "./language.js";
import { faultWords, own } from "./words.js";

/**
 * A recorded request. Without `http_status` it is in flight.
 * @typedef {object} ListedRequest
 * @property {number} number
 * @property {string} at
 * @property {string} method
 * @property {string} path
 * @property {string} key
 * @property {string | null} hash
 * @property {string | null} merchant_payment_code
 * @property {string} outcome
 * @property {number} [http_status]
 * @property {string | null} [status_code]
 * @property {string | null} [field]
 * @property {string | null} [message]
 * @property {number} [duration_ms]
 * @property {boolean} [replayed]
 * @property {string | null} [fault]
 */
/**
 * @typedef {ListedRequest & { parameters: Readonly<Record<string, unknown>>, parameters_omitted:
 * number, response: unknown, response_prefix?: string }} WholeRequest
 */
/**
 * @typedef {{ requests: ListedRequest[], next: number | null, counts: Readonly<Record<string,
 * number>>, paths: readonly string[], recording: { since: string | null, capacity: number } }}
 * RequestPage
 */

/** @type {Readonly<Record<string, readonly [text: string, colour: string]>>} */
const outcomes = {
  succeeded: [t("requests.succeeded"), "good"],
  declined: [t("requests.declined"), "waiting"],
  refused: [t("requests.refused"), "bad"],
  failed: [t("requests.failed"), "bad"],
  in_flight: [t("requests.in_flight"), "over"],
};

/** The status with which the log has a connection that a fault has cut: it was not sent. */
const cut = 444;

/**
 * HTTP status and outcome as a dot and words; of a refusal the code, with its explanation, and the
 * refused field.
 * @param {{ request: ListedRequest }} props
 */
export function Outcome({ request }) {
  const { outcome, http_status: status, status_code: code, field, replayed, fault } = request;
  const [text, colour] = own(outcomes, outcome) ?? [outcome, "over"];
  const isRefused = typeof code === "string" || typeof field === "string";
  const details = [
    ...(isRefused
      ? [
          html`<span class=${`word ${colour}`}
            >${typeof code === "string" && html`<${Explanation} code=${code} />`}${
              typeof field === "string" && html` <code>${shown(field)}</code>`
            }</span
          >`,
        ]
      : []),
    ...(replayed === true ? [html`<span class="soft">${t("requests.replayed")}</span>`] : []),
    ...(typeof fault === "string"
      ? [html`<span class="soft">${t("requests.fault", { name: faultWords(fault).name })}</span>`]
      : []),
  ];
  return html`
    <span class="state">
      <span class=${`dot ${colour}`}></span>
      <span class=${`word ${colour}`}>
        ${status !== undefined && status !== cut && `${status} `}${shown(text)}
      </span>
      ${
        details.length > 0 &&
        html` <span class="detail"
          >${details.map(
            (detail, place) =>
              html`<span class=${place === 0 ? "between" : ""}>${place === 0 ? "" : " "}· </span
                >${detail}`,
          )}</span
        >`
      }
    </span>
  `;
}

/**
 * The code as a link to its cause and remedy.
 * @param {{ code: string }} props
 */
function Explanation({ code }) {
  return html`<a
    href=${`/docs/errors#${encodeURIComponent(code)}`}
    title=${t("requests.explanation", { code })}
    >${shown(code)}</a
  >`;
}

/**
 * The payment that the request was about: a link to it, or to a search for its code.
 * @param {{ request: Pick<ListedRequest, "hash" | "merchant_payment_code"> }} props
 */
export function PaymentLink({ request: { hash, merchant_payment_code: code } }) {
  if (hash !== null)
    return html`<a href=${`#/payment/${encodeURIComponent(hash)}`} class="code"
      ><bdi>${shown(code ?? `${hash.slice(0, 8)}…`)}</bdi></a
    >`;
  if (code === null || code === "") return html`<span class="soft">–</span>`;
  return html`<a
    href=${`#/payments?${new URLSearchParams({ search: code }).toString()}`}
    class="code"
    ><bdi>${shown(code)}</bdi></a
  >`;
}

const durations = {
  ms: new Intl.NumberFormat(locale, {
    style: "unit",
    unit: "millisecond",
    maximumSignificantDigits: 3,
  }),
  s: new Intl.NumberFormat(locale, {
    style: "unit",
    unit: "second",
    maximumSignificantDigits: 3,
  }),
};

/** @param {number | undefined} ms undefined: not answered yet */
export function durationText(ms) {
  if (ms === undefined) return "–";
  return ms < 1_000 ? durations.ms.format(ms) : durations.s.format(ms / 1_000);
}
