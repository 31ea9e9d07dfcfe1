// One recorded request: what was sent, what was answered, and what a refusal means.
import { render } from "preact";
import { call, offers, subjectOfTab } from "./api.js";
import { escapeUnseen } from "./curl.js";
import { shown } from "./shown.js";
import { exactText, timeOf, utcText } from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { Copy } from "./payment.js";
import { Pairs } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { notKept, recordedCurl } from "./recorded-curl.js";
import { refusalWords } from "./refusals.js";
import { durationText, Outcome, PaymentLink } from "./request-parts.js";
import { addressOf, requestFilterOf } from "./requests.js";
import { clock, shell } from "./state.js";
import { own } from "./words.js";

/** @import { TestCard } from "./payment-form.js" */
/** @import { WholeRequest } from "./request-parts.js" */
/** @import { Filter } from "./requests.js" */

/**
 * A request with the numbers of its neighbours in the list.
 * @typedef {{ requests: WholeRequest[], older: number | null, newer: number | null }} Read
 */

/** Whether the list is the previous entry of the browser's history. */
let isFromList = false;

/** @type {import("./main.js").View} */
export async function requestView(main, [number = ""], query, signal) {
  const { previous } = shell.value;
  isFromList = previous === "requests" || (previous === "request" && isFromList);
  if (!(await offers("/__cofre/requests"))) {
    mountIn(main, html`<p>${t("requests.not_recorded")}</p>`, signal);
    return;
  }
  if (signal.aborted) return;
  const filter = requestFilterOf(query);
  const subject = subjectOfTab();
  const place = document.createElement("div");
  signal.addEventListener("abort", () => render(null, place));
  main.append(place);
  const { cards } = /** @type {{ cards: TestCard[] }} */ (
    await call("/__cofre/test-cards", {}, subject)
  );
  if (signal.aborted) return;
  let made = "";
  const refresh = async () => {
    const read = /** @type {Read} */ (
      await call("/__cofre/requests", { ...filter, number }, subject)
    );
    const [request] = read.requests;
    if (request === undefined) {
      // What is shown stays.
      if (made !== "") return;
      throw new Error(t("requests.gone", { number }));
    }
    const now = JSON.stringify(read);
    if (signal.aborted || now === made) return;
    made = now;
    render(
      html`<${Request} request=${request} read=${read} filter=${filter} cards=${cards} />`,
      place,
    );
  };
  await refresh();
  if (!signal.aborted) void keepFresh(signal, refresh);
}

/**
 * @typedef {{ request: WholeRequest, read: Read, filter: Filter, cards: readonly TestCard[] }} Props
 */

/** @param {Props} props */
function Request({ request, read, filter, cards }) {
  return html`
    <div>
      <${Head} request=${request} read=${read} filter=${filter} cards=${cards} />
      <div class="payment request">
        <div>
          <${RefusalBox} request=${request} />
          <${Parameters} request=${request} />
          <${Response} request=${request} />
        </div>
        <div class="side"><${Facts} request=${request} /></div>
      </div>
    </div>
  `;
}

/** @param {Props} props */
function Head({ request, read: { older, newer }, filter, cards }) {
  const { method, path, parameters, at } = request;
  const now = timeOf(clock.value?.now ?? at);
  const year = new Date(Number.isNaN(now) ? timeOf(at) : now).getUTCFullYear();
  /** @param {MouseEvent} event */
  const back = (event) => {
    if (!isFromList) return;
    event.preventDefault();
    history.back();
  };
  return html`
    <div class="headline">
      <p class="steps-between">
        <a href=${addressOf(filter)} rel="up" onClick=${back}>← ${t("view.requests")}</a>
        <kbd aria-hidden="true">Esc</kbd>
        ${newer !== null && html`<${Neighbour} rel="prev" address=${addressOf(filter, newer)} text=${t("payment.newer")} letter="k" />`}
        ${older !== null && html`<${Neighbour} rel="next" address=${addressOf(filter, older)} text=${t("payment.older")} letter="j" />`}
      </p>
      <p class="sum">
        <strong>${shown(method)} ${shown(path)}</strong>${" "}<${Outcome} request=${request} />
      </p>
      <p class="copies">
        <${Copy} text=${location.href} label=${t("copy.link")} isShown />
        <${Copy}
          text=${recordedCurl(path, parameters, { year, cards })}
          label=${t("copy.curl")}
          isShown
        />
      </p>
    </div>
  `;
}

/**
 * A link that replaces the present entry of the history, so that Back still leads to the list.
 * @param {{ rel: string, address: string, text: string, letter: string }} props
 */
function Neighbour({ rel, address, text, letter }) {
  /** @param {MouseEvent} event */
  const go = (event) => {
    event.preventDefault();
    location.replace(address);
  };
  return html`<span class="neighbour"
    ><a href=${address} rel=${rel} onClick=${go}>${text}</a>
    <kbd aria-hidden="true">${letter}</kbd></span
  >`;
}

/** @param {{ request: WholeRequest }} props */
function RefusalBox({ request: { status_code: code, message, field } }) {
  if (typeof code !== "string") return null;
  const { text, lang } = refusalWords(code, message ?? "");
  return html`
    <section class="box refusal">
      <h2>${t("requests.refusal")}</h2>
      <p lang=${lang}><bdi>${shown(text)}</bdi></p>
      <dl class="pairs">
        <div>
          <dt>${t("requests.code")}</dt>
          <dd><code>${shown(code)}</code></dd>
        </div>
        <div>
          <dt>${t("requests.field")}</dt>
          <dd>
            ${typeof field === "string" ? html`<code>${shown(field)}</code>` : t("requests.no_field")}
          </dd>
        </div>
      </dl>
      <p>
        <a href=${`/docs/errors#${encodeURIComponent(code)}`}
          >${t("requests.explanation", { code })}</a
        >
      </p>
    </section>
  `;
}

/** @param {{ request: WholeRequest }} props */
function Parameters({ request: { parameters, parameters_omitted: omitted, field } }) {
  const rows = rowsOf(parameters);
  const isMissing = typeof field === "string" && !rows.some(([name]) => isOf(name, field));
  return html`
    <section class="box">
      <h2>${t("requests.parameters")}</h2>
      ${rows.length === 0 && html`<p class="soft">${t("requests.no_parameters")}</p>`}
      <dl class="pairs wide-names">
        ${rows.map(
          ([name, value]) => html`
            <div key=${name} class=${isOf(name, field ?? "") ? "bad" : undefined}>
              <dt><code>${shown(name)}</code></dt>
              <dd>
                ${value === notKept ? html`<span class="soft">${t("requests.not_kept")}</span>` : html`<bdi>${shown(value)}</bdi>`}
              </dd>
            </div>
          `,
        )}
        ${
          isMissing &&
          html`<div key="missing" class="bad">
            <dt><code>${shown(field)}</code></dt>
            <dd>${t("requests.field_not_recorded")}</dd>
          </div>`
        }
      </dl>
      <p class="soft">
        ${t("requests.masked")}${omitted > 0 && ` ${t("requests.omitted", { count: omitted })}`}
      </p>
    </section>
  `;
}

/**
 * Nested names joined with dots.
 * @param {Readonly<Record<string, unknown>>} fields
 * @param {string} [before]
 * @returns {(readonly [name: string, value: string])[]}
 */
function rowsOf(fields, before = "") {
  return Object.entries(fields).flatMap(([name, value]) =>
    typeof value === "object" && value !== null
      ? rowsOf(/** @type {Readonly<Record<string, unknown>>} */ (value), `${before}${name}.`)
      : [/** @type {const} */ ([before + name, String(value)])],
  );
}

/**
 * Whether a refusal of the field is about this parameter: some operations take the members of
 * `payment` without it, and `card` for `creditcard`.
 * @param {string} name
 * @param {string} field
 */
function isOf(name, field) {
  const plain = (/** @type {string} */ text) =>
    text.replace(/^payment\./, "").replace(/^card\./, "creditcard.");
  return field !== "" && plain(name) === plain(field);
}

/** @param {{ request: WholeRequest }} props */
function Response({ request: { http_status: status, response, response_prefix: prefix } }) {
  const text =
    response === null ? (prefix ?? "") : escapeUnseen(JSON.stringify(response, undefined, 2));
  const why = status === undefined ? t("requests.in_flight") : t("requests.no_answer");
  return html`
    <section class="box">
      <h2>
        ${t("requests.response")}
        ${text !== "" && html` <${Copy} text=${text} label=${t("requests.copy_response")} />`}
      </h2>
      ${
        text === ""
          ? html`<p class="soft">${why}</p>`
          : html`<pre
              tabindex="0"
              role="region"
              aria-label=${t("requests.response")}
            ><code>${response === null ? shown(text) : text}</code></pre>`
      }
      ${prefix !== undefined && prefix !== "" && html`<p class="soft">${t("requests.cut")}</p>`}
    </section>
  `;
}

/** @type {Readonly<Record<string, string>>} */
const keys = {
  secret: t("requests.key_secret"),
  public: t("requests.key_public"),
  session: t("requests.key_session"),
};

/** @param {{ request: WholeRequest }} props */
function Facts({ request }) {
  const { number, at, key, http_status: status, duration_ms: duration, hash } = request;
  const { merchant_payment_code: code } = request;
  /** @type {readonly (readonly [name: string, value: unknown])[]} */
  const rows = [
    [t("head.number"), String(number)],
    [
      t("head.when"),
      html`<span
        ><time datetime=${at} title=${utcText(at)}>${exactText(at)}</time>${" "}
        <span class="soft">${utcText(at)}</span></span
      >`,
    ],
    [t("requests.http_status"), status === undefined ? t("requests.in_flight") : String(status)],
    [t("requests.duration"), durationText(duration)],
    [t("requests.key"), own(keys, key) ?? shown(key)],
    ...(hash === null && (code === null || code === "")
      ? []
      : [/** @type {const} */ ([t("view.payment"), html`<${PaymentLink} request=${request} />`])]),
  ];
  return html`
    <section class="box">
      <h2>${t("facts.title")}</h2>
      <${Pairs} rows=${rows} />
      <p class="soft">${t("requests.command_explained")}</p>
    </section>
  `;
}
