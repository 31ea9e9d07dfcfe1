// One payment: what it is now, what happened, and the possible actions.
import { render } from "preact";
import { useState } from "preact/hooks";
import { actions } from "./actions.js";
import { call } from "./api.js";
import { h, keepingFocus, say, shown, table } from "./dom.js";
import { amountText, momentText, timeOf, utcText } from "./format.js";
import { html } from "./html.js";
import { listAddress, neighboursOf, stateMark } from "./list.js";
import { moneyBar } from "./money.js";
import { notifications } from "./notifications.js";
import { keepFresh } from "./poll.js";
import { clock, shell } from "./state.js";
import { messagesOf, parties, sinceText, stepsOf } from "./story.js";
import { kindWords, outcomeWords, refundWords } from "./words.js";

/** @import { Entry, Listed, Page, Payment, Timeline, ListedNotification } from "./api.js" */
/** @import { Message, Step } from "./story.js" */

/** Whether the list is the previous entry of the browser's history. */
let isFromList = false;

/** @type {import("./main.js").View} */
export async function paymentView(main, [hash = ""], _query, signal) {
  const { previous } = shell.value;
  isFromList = previous === "payments" || (previous === "payment" && isFromList);
  const parts = {
    head: h("div"),
    actions: h("section", { class: "acts" }),
    diagram: h("section"),
    steps: h("section"),
    notifications: h("section"),
    ledger: h("section"),
    money: h("section", { class: "box" }),
    facts: h("div"),
  };
  const rendered = [parts.head, parts.diagram, parts.steps, parts.facts];
  signal.addEventListener("abort", () => {
    for (const part of rendered) render(null, part);
  });
  /** The data from which the parts were last made. */
  let made = "";
  let shownNotifications = "";
  let turns = 0;

  const refresh = async () => {
    const turn = (turns += 1);
    // The answers of an overtaken refresh are out of date.
    const isOver = () => signal.aborted || turn !== turns;
    const [page, { notifications: listed }] = await Promise.all([
      /** @type {Promise<Page>} */ (call("/__cofre/payments", { search: hash })),
      /** @type {Promise<{ notifications: ListedNotification[] }>} */ (
        call("/__cofre/notifications", { hash })
      ),
    ]);
    const [payment] = page.payments;
    if (payment === undefined || payment.hash !== hash) throw new Error("Payment not found.");
    if (isOver()) return;
    document.title = `${shown(payment.merchant_payment_code)} · Cofre`;
    if (JSON.stringify(listed) !== shownNotifications) {
      shownNotifications = JSON.stringify(listed);
      keepingFocus(parts.notifications, () => notifications(hash, listed, refresh));
    }
    const timeline = /** @type {Timeline} */ (await call("/__cofre/timeline", { hash }));
    const { payment: wire } = timeline;
    const now = JSON.stringify([payment, timeline]);
    if (isOver() || now === made) return;
    made = now;
    render(html`<${Head} payment=${payment} />`, parts.head);
    render(html`<${Diagram} messages=${messagesOf(timeline.entries)} />`, parts.diagram);
    render(html`<${Steps} timeline=${timeline} />`, parts.steps);
    render(html`<${Facts} payment=${payment} wire=${wire} />`, parts.facts);
    parts.money.replaceChildren(
      h("h2", {}, "Money"),
      moneyBar(payment),
      ...refundsOf(wire, payment.currency_ext),
    );
    keepingFocus(parts.actions, () => actions(payment, refresh));
    keepingFocus(parts.ledger, () => ledgerOf(timeline));
  };

  await refresh();
  if (signal.aborted) return;
  main.append(
    parts.head,
    parts.actions,
    h(
      "div",
      { class: "payment" },
      h("div", {}, parts.diagram, parts.steps, parts.notifications, parts.ledger),
      h("div", { class: "side" }, parts.money, parts.facts),
    ),
  );
  void keepFresh(signal, refresh);
}

/** @param {{ payment: Listed }} props */
function Head({ payment }) {
  const { hash, merchant_payment_code: code, amount_ext: amount, currency_ext: currency } = payment;
  const { name, brand, masked_card_number: mask, open_date: opened } = payment;
  const { before, after, place, count } = neighboursOf(hash);
  /** @param {MouseEvent} event */
  const back = (event) => {
    if (!isFromList) return;
    event.preventDefault();
    history.back();
  };
  return html`
    <div class="headline">
      <p class="steps-between">
        <a href=${listAddress()} rel="up" onClick=${back}>← Payments</a>
        <kbd aria-hidden="true">Esc</kbd>
        ${count > 0 && html`<span class="soft">${place} of ${count}</span>`}
        ${after !== undefined && html`<${Neighbour} rel="prev" hash=${after} text="Newer" letter="k" />`}
        ${before !== undefined && html`<${Neighbour} rel="next" hash=${before} text="Older" letter="j" />`}
      </p>
      <p class="sum">
        <strong>${amountText(amount, currency)} ${shown(currency)}</strong>${" "}
        <${Mark} payment=${payment} />
      </p>
      <p class="under">
        <bdi class="code">${shown(code)}</bdi>${" "}<${Copy} text=${code} what="code" /> ·${" "}
        <bdi>${shown(name)}</bdi> · ${shown(brand)} ${shown(mask)} ·${" "}
        <time datetime=${`${opened.replace(" ", "T")}Z`} title=${utcText(opened)}>
          ${momentText(opened, timeOf(clock.value?.now ?? ""))} (${shown(opened.slice(11, 16))} UTC)
        </time>
      </p>
      <p class="copies">
        <${Copy} text=${location.href} what="link" isShown />
        <${Copy} text=${curlOf(hash)} what="as curl" isShown />
      </p>
    </div>
  `;
}

/** @param {{ payment: Listed }} props */
function Mark({ payment }) {
  return html`<span
    ref=${(/** @type {HTMLElement | null} */ place) => place?.replaceChildren(stateMark(payment.state, payment))}
  ></span>`;
}

/**
 * A link that replaces the present entry of the history, so that Back still leads to the list.
 * @param {{ rel: string, hash: string, text: string, letter: string }} props
 */
function Neighbour({ rel, hash, text, letter }) {
  const address = `#/payment/${hash}`;
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

/** @param {{ text: string, what: string, isShown?: boolean }} props */
function Copy({ text, what, isShown = false }) {
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => say("Copied."),
      () => say("The browser did not allow copying."),
    );
  return html`<button type="button" class="small" aria-label=${`Copy ${what}`} onClick=${copy}>
    ${isShown ? `Copy ${what}` : "Copy"}
  </button>`;
}

/**
 * A command that queries the payment; the key comes from the shell.
 * @param {string} hash
 */
function curlOf(hash) {
  return `curl -s ${location.origin}/ws/query -d "integration_key=$KEY" -d hash=${hash}`;
}

const left = 70;
const lanes = [left + 40, left + 230, left + 430, left + 600];
const rowHeight = 24;
const top = 40;
/** Most messages in the diagram; the list below has all. */
const mostMessages = 40;

/** @param {{ messages: readonly Message[] }} props */
function Diagram({ messages }) {
  const rows = messages.slice(0, mostMessages);
  const [first] = rows;
  if (first === undefined) return null;
  const height = top + rows.length * rowHeight + 6;
  const shownParties = parties.slice(
    0,
    1 + Math.max(...rows.flatMap(({ from, to }) => [from, to])),
  );
  const width = (lanes[shownParties.length - 1] ?? 0) + 60;
  const begun = Date.parse(first.at);
  return html`
    <div class="box">
      <h2>What happened</h2>
      <div class="wide" tabindex="0" role="region" aria-label="Diagram">
        <svg
          class="sequence"
          viewBox=${`0 0 ${width} ${height}`}
          role="img"
          aria-label="Messages between shop, Cofre, acquirer and receivers; the timeline below has them as text"
        >
          ${shownParties.map(
            (name, place) => html`
              <g key=${name}>
                <text class="party" x=${lanes[place]} y="14" text-anchor="middle">${name}</text>
                <path class="lane" d=${`M${lanes[place]} 22V${height}`} />
              </g>
            `,
          )}
          ${rows.map(
            (message, place) =>
              html`<${Arrow}
                key=${place}
                message=${message}
                y=${top + place * rowHeight}
                time=${rows[place - 1]?.at === message.at ? "" : place === 0 ? "0 ms" : sinceText(Date.parse(message.at) - begun)}
              />`,
          )}
        </svg>
      </div>
      ${messages.length > rows.length && html`<p class="soft">The first ${rows.length} of ${messages.length} messages.</p>`}
    </div>
  `;
}

/** @param {{ message: Message, y: number, time: string }} props */
function Arrow({ message: { from, to, text, colour, isLost }, y, time }) {
  const [start = 0, goal = 0] = [lanes[from], lanes[to]];
  const ahead = goal > start ? 1 : -1;
  // A lost message ends half way, at a cross.
  const end = isLost ? start + (goal - start) / 2 : goal;
  const head = isLost
    ? `M${end - 4} ${y - 4}l8 8m0 -8l-8 8`
    : `M${end - ahead * 6} ${y - 3.5}L${end} ${y}L${end - ahead * 6} ${y + 3.5}`;
  return html`
    <g class=${`message ${colour}`}>
      ${time !== "" && html`<text class="since" x=${left - 16} y=${y + 3} text-anchor="end">${time}</text>`}
      <path class=${isLost ? "lost" : ""} d=${`M${start} ${y}H${end}`} />
      <path d=${head} />
      <text x=${(start + goal) / 2} y=${y - 5} text-anchor="middle">${shown(text)}</text>
    </g>
  `;
}

/** The label of an entry's raw message, for entries that have one. */
const messages = new Map([
  ["request", "Request and response"],
  ["call", "Message and response"],
]);

/** @param {{ timeline: Timeline }} props */
function Steps({ timeline: { entries, recording } }) {
  const { since, complete } = recording;
  const missing =
    since === null ? "none are available." : `none before ${moment(since)} are available.`;
  const begun = Date.parse(entries[0]?.at ?? "");
  return html`
    <div>
      <h2>Timeline</h2>
      ${
        !complete &&
        html`<p class="soft">
          Requests, acquirer calls and deliveries are kept in memory only: ${missing}
        </p>`
      }
      <ol class="timeline">
        ${stepsOf(entries).map((step) => html`<${StepRow} key=${step.key} step=${step} begun=${begun} />`)}
      </ol>
    </div>
  `;
}

/** @param {{ step: Step, begun: number }} props */
function StepRow({ step: { entry, attempts }, begun }) {
  const { at, kind, text, data } = entry;
  const label = messages.get(kind);
  const { postings = [] } = data;
  return html`
    <li>
      <time datetime=${at} class="soft" title=${utcText(at)}>
        ${sinceText(Date.parse(at) - begun)}<span class="unseen"> ${moment(at)}</span>
      </time>
      <div class="step">
        <span class=${`dot ${colourOf(entry)}`}></span>
        <strong>${shown(kindWords(kind))}</strong> <bdi>${shown(text)}</bdi>
        ${label !== undefined && html`<${Raw} label=${label} data=${data} />`}
        ${postings.length > 0 && html`<${Raw} label="Ledger entries" data=${postings} />`}
        ${receiversOf(attempts).map(
          ([receiver, tries]) =>
            html`<${Attempts} key=${receiver} receiver=${receiver} tries=${tries} />`,
        )}
      </div>
    </li>
  `;
}

/**
 * Shown only when it is opened.
 * @param {{ label: string, data: unknown }} props
 */
function Raw({ label, data }) {
  const [isOpen, setOpen] = useState(false);
  const turn = (/** @type {Event} */ { currentTarget }) =>
    setOpen(currentTarget instanceof HTMLDetailsElement && currentTarget.open);
  return html`
    <details onToggle=${turn}>
      <summary>${label}</summary>
      ${isOpen && html`<pre>${linesOf(data)}</pre>`}
    </details>
  `;
}

/**
 * All attempts of one receiver in a line; each of them below.
 * @param {{ receiver: string, tries: readonly Entry[] }} props
 */
function Attempts({ receiver, tries }) {
  const last = tries.at(-1);
  const outcome = last?.data["outcome"];
  const words = typeof outcome === "string" ? outcomeWords(outcome) : "";
  const line = `${tries.length} ${tries.length === 1 ? "attempt" : "attempts"}, the last: ${words}`;
  return html`
    <details>
      <summary><bdi>${shown(receiver)}</bdi>: ${shown(line)}</summary>
      <ul class="tries">
        ${tries.map(({ at, text }) => html`<li key=${at}><time title=${utcText(at)}>${moment(at)}</time> <bdi>${shown(text)}</bdi></li>`)}
      </ul>
    </details>
  `;
}

/** @param {readonly Entry[]} attempts */
function receiversOf(attempts) {
  /** @type {Map<string, Entry[]>} */
  const receivers = new Map();
  for (const attempt of attempts) {
    const name = String(attempt.data["endpoint"]);
    receivers.set(name, [...(receivers.get(name) ?? []), attempt]);
  }
  return [...receivers];
}

/** @type {readonly (readonly [end: string, colour: string])[]} */
const factColours = [
  ["refund_approved", "back"],
  ["refund_requested", "back"],
  ["_approved", "good"],
  ["_declined", "bad"],
  ["_unanswered", "bad"],
];

/** @param {Entry} entry */
function colourOf({ kind, data }) {
  if (kind === "call") {
    const outcome = /** @type {{ kind?: unknown } | undefined} */ (data["outcome"]);
    return outcome?.kind === "unknown" ? "bad" : "held";
  }
  const { fact } = data;
  if (typeof fact !== "string") return "over";
  return factColours.find(([end]) => fact.endsWith(end))?.[1] ?? "over";
}

/** @param {{ payment: Listed, wire: Payment }} props */
function Facts({ payment, wire }) {
  const { transaction_status: said } = wire;
  const { email } = payment;
  /** @type {readonly (readonly [name: string, value: unknown])[]} */
  const rows = [
    [
      "Hash",
      html`<span><code>${payment.hash}</code> <${Copy} text=${payment.hash} what="hash" /></span>`,
    ],
    ["Wire status", shown(`${wire.status}, ${said.code}: ${said.description}`)],
    ["Auth code", shown(said.authcode ?? "none")],
    ["Card", shown(`${payment.brand} ${payment.masked_card_number}`)],
    ["Instalments", shown(payment.instalments)],
    ["Country", shown(payment.country)],
    ["Local amount", shown(`${payment.amount_br} ${payment.currency_br}`)],
    ["Rate", payment.currency_ext === payment.currency_br ? "none" : shown(wire.currency_rate)],
    ["Opened (UTC)", shown(payment.open_date)],
  ];
  return html`
    <div>
      <section class="box">
        <h2>Facts</h2>
        <dl class="pairs">
          ${rows.map(
            ([name, value]) =>
              html`<div key=${name}>
                <dt>${name}</dt>
                <dd>${value}</dd>
              </div>`,
          )}
        </dl>
      </section>
      <section class="box">
        <h2>Customer</h2>
        <dl class="pairs">
          <div>
            <dt>Name</dt>
            <dd><bdi>${shown(payment.name)}</bdi></dd>
          </div>
          <div>
            <dt>E-mail</dt>
            <dd><bdi>${shown(email)}</bdi></dd>
          </div>
          <div>
            <dt>Others</dt>
            <dd>
              <a href=${`#/payments?${new URLSearchParams({ search: email }).toString()}`}
                >Payments with this e-mail</a
              >
            </dd>
          </div>
        </dl>
      </section>
    </div>
  `;
}

/**
 * @param {Payment} wire
 * @param {string} currency
 */
function refundsOf({ refunds = [] }, currency) {
  if (refunds.length === 0) return [];
  const rows = refunds.map(({ amount_ext: amount, status, request_date: asked, description }) => [
    `${amount} ${currency}`,
    refundWords(status),
    h("span", { title: `Requested ${asked} UTC` }, shown(description)),
  ]);
  return [
    h("h3", {}, "Refunds"),
    h("div", { class: "wide" }, table("Refunds", ["Amount", "State", "Reason"], rows)),
  ];
}

/**
 * As JSON, with its line breaks.
 * @param {unknown} data
 */
function linesOf(data) {
  return JSON.stringify(data, undefined, 2)
    .split("\n")
    .map((line) => `${shown(line)}\n`);
}

/** @param {string} at */
function moment(at) {
  return shown(at.replace("T", " ").replace("Z", ""));
}

/** @param {Timeline} timeline */
function ledgerOf({ entries, price, problems }) {
  const heads = ["When (UTC)", "Entry", "Account", "Amount", "Balance"];
  const rows = entries.flatMap(({ at, data: { postings = [] } }) =>
    postings.map(({ kind, account, amount, balance, currency }) => [
      moment(at),
      kind,
      account,
      `${amount} ${currency}`,
      balance,
    ]),
  );
  return [
    h("h2", {}, "Ledger"),
    ...problems.map((text) => h("p", { class: "problem" }, text)),
    h("ul", {}, ...price.map(({ text }) => h("li", {}, text))),
    h(
      "details",
      {},
      h("summary", { "data-name": "postings" }, `${rows.length} postings`),
      h(
        "div",
        { class: "wide", tabindex: "0", role: "region", "aria-label": "Postings" },
        table("Postings", heads, rows),
      ),
    ),
  ];
}
