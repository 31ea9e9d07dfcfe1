// One payment: what it is now, what happened, and the possible actions.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Actions } from "./actions.js";
import { call } from "./api.js";
import { curlOf, ShellVariable } from "./curl.js";
import {
  amountText,
  countryText,
  countText,
  decimalText,
  exactText,
  momentText,
  timeOf,
  utcText,
} from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { listAddress, neighboursOf, reasonOf } from "./list.js";
import { minorOf, MoneyBar } from "./money.js";
import { Notifications } from "./notifications.js";
import { Foreign, Pairs, Table, When, Wide } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { priceSentence, problemWords, sentenceOf } from "./sentences.js";
import { isSandbox, mayDo } from "./session.js";
import { say, shown } from "./shown.js";
import { clock, shell } from "./state.js";
import { messagesOf, partiesOf, sinceText, stepsOf } from "./story.js";
import {
  isHash,
  accountWords,
  entryWords,
  kindWords,
  moneyWords,
  outcomeWords,
  refundWords,
  stateWords,
} from "./words.js";

/** @import { Entry, Listed, Page, Payment, Timeline, ListedNotification } from "./api.js" */
/** @import { Message, Step } from "./story.js" */

/** Whether the list is the previous entry of the browser's history. */
let isFromList = false;

/**
 * What the page shows of the payment.
 * @typedef {{ payment: Listed, timeline: Timeline }} Read
 */

/** @type {import("./main.js").View} */
export async function paymentView(main, [hash = ""], _query, abort) {
  if (!isHash(hash)) throw new Error(t("payment.not_found"));
  const { previous } = shell.value;
  isFromList = previous === "payments" || (previous === "payment" && isFromList);
  const read = signal(/** @type {Read | undefined} */ (undefined));
  const listed = signal(/** @type {readonly ListedNotification[]} */ ([]));
  let turns = 0;

  const refresh = async () => {
    const turn = (turns += 1);
    // The answers of an overtaken refresh are out of date.
    const isOver = () => abort.aborted || turn !== turns;
    const [page, { notifications }] = await Promise.all([
      /** @type {Promise<Page>} */ (call("/__cofre/payments", { search: hash })),
      /** @type {Promise<{ notifications: ListedNotification[] }>} */ (
        call("/__cofre/notifications", { hash })
      ),
    ]);
    const [payment] = page.payments;
    if (payment === undefined || payment.hash !== hash) throw new Error(t("payment.not_found"));
    if (isOver()) return;
    document.title = `${shown(payment.merchant_payment_code)} · Cofre`;
    if (JSON.stringify(notifications) !== JSON.stringify(listed.value))
      listed.value = notifications;
    const timeline = /** @type {Timeline} */ (await call("/__cofre/timeline", { hash }));
    const now = { payment, timeline };
    if (!isOver() && JSON.stringify(now) !== JSON.stringify(read.value)) read.value = now;
  };

  await refresh();
  if (abort.aborted) return;
  mountIn(
    main,
    html`<${Whole} hash=${hash} read=${read} listed=${listed} refresh=${refresh} />`,
    abort,
  );
  void keepFresh(abort, refresh);
}

/**
 * @param {{ hash: string, read: import("@preact/signals").ReadonlySignal<Read | undefined>, listed:
 * import("@preact/signals").ReadonlySignal<readonly ListedNotification[]>, refresh: () =>
 * Promise<void> }} props
 */
function Whole({ hash, read, listed, refresh }) {
  if (read.value === undefined) return null;
  const { payment, timeline } = read.value;
  const { entries, payment: wire } = timeline;
  return html`
    <div>
      <${Head} payment=${payment} />
      <${Actions} payment=${payment} refresh=${refresh} />
      <div class="payment">
        <div>
          <section><${Diagram} messages=${messagesOf(entries)} /></section>
          <section><${Steps} timeline=${timeline} /></section>
          <${Notifications} hash=${hash} listed=${listed.value} refresh=${refresh} />
          <${Ledger} timeline=${timeline} />
        </div>
        <div class="side">
          <section class="box">
            <h2>${t("payment.money")}</h2>
            <${MoneyBar} payment=${payment} />
            <${Refunds} wire=${wire} currency=${payment.currency_ext} />
          </section>
          <${Facts} payment=${payment} wire=${wire} route=${routeOf(entries)} />
        </div>
      </div>
    </div>
  `;
}

/** @param {{ payment: Listed }} props */
function Head({ payment }) {
  const { hash, merchant_payment_code: code, amount_ext: amount, currency_ext: currency } = payment;
  const { name, brand, masked_card_number: mask, open_date: opened } = payment;
  const { before, after, place, count, hasMore } = neighboursOf(hash);
  const now = timeOf(clock.value?.now ?? "");
  // A won dispute has a mark of its own.
  const why = payment.disputed ? "" : reasonOf(payment, now);
  /** @param {MouseEvent} event */
  const back = (event) => {
    if (!isFromList) return;
    event.preventDefault();
    history.back();
  };
  return html`
    <div class="headline">
      <p class="steps-between">
        <a href=${listAddress()} rel="up" onClick=${back}>← ${t("view.payments")}</a>
        <kbd aria-hidden="true">Esc</kbd>
        ${count > 0 && html`<span class="soft">${t("payment.place", { place, all: `${countText(count)}${hasMore ? "+" : ""}` })}</span>`}
        ${after !== undefined && html`<${Neighbour} rel="prev" address=${`#/payment/${after}`} />`}
        ${before !== undefined && html`<${Neighbour} rel="next" address=${`#/payment/${before}`} />`}
      </p>
      <p class="sum">
        <strong>${amountText(amount, currency)} ${shown(currency)}</strong>${" "}
        <${Mark} payment=${payment} />
        ${why !== "" && html`<span class="soft why">${why}</span>`}
      </p>
      <p class="under">
        <bdi class="code">${shown(code)}</bdi>${" "}<${Copy} text=${code} label=${t("copy.code")} />
        ·${" "} <bdi>${shown(name)}</bdi> · ${shown(brand)} ${shown(mask)} ·${" "}
        <time datetime=${`${opened.replace(" ", "T")}Z`} title=${utcText(opened)}>
          ${momentText(opened, now)}
        </time>
      </p>
      <p class="copies">
        <${Copy} text=${location.href} label=${t("copy.link")} isShown />
        <${Copy} text=${curlOf("/ws/query", { hash })} label=${t("copy.curl")} isShown />
        <a href=${`#/compare/${hash}`}>${t("compare.link")}</a>
        ${mayDo("operator") && isSandbox() && html`<a href=${`#/new?from=${hash}`}>${t("payment.again")}</a>`}
      </p>
    </div>
  `;
}

/**
 * The state of the payment and of its money.
 * @param {{ payment: Listed }} props
 */
function Mark({ payment }) {
  const { state, captured, refunded, disputed } = payment;
  const { charged_back: isChargedBack, needs_review: needsReview } = payment;
  const { text, colour } =
    state === "captured"
      ? moneyWords(minorOf(captured), minorOf(refunded), isChargedBack)
      : stateWords(state);
  return html`
    <span class="marks">
      <span class=${`mark ${colour}`}>${shown(text)}</span>
      ${disputed && !isChargedBack && html`<span class="mark good">${t("state.dispute_won.mark")}</span>`}
      ${needsReview && html`<span class="mark bad">${t("state.needs_review")}</span>`}
    </span>
  `;
}

/**
 * A link that replaces the present entry of the history, so that Back still leads to the list.
 * @param {{ rel: "prev" | "next", address: string }} props
 */
export function Neighbour({ rel, address }) {
  const isNewer = rel === "prev";
  /** @param {MouseEvent} event */
  const go = (event) => {
    event.preventDefault();
    location.replace(address);
  };
  return html`<span class="neighbour"
    ><a href=${address} rel=${rel} onClick=${go}
      >${isNewer ? t("payment.newer") : t("payment.older")}</a
    >
    <kbd aria-hidden="true">${isNewer ? "k" : "j"}</kbd></span
  >`;
}

/** @param {{ text: string, label: string, isShown?: boolean }} props */
export function Copy({ text, label, isShown = false }) {
  const copy = () =>
    void navigator.clipboard.writeText(text).then(
      () => say(t("copied")),
      () => say(t("copy.refused")),
    );
  return html`<button type="button" class="small" aria-label=${label} onClick=${copy}>
    ${isShown ? label : t("copy")}
  </button>`;
}

/**
 * Places in the diagram, in its units: the end of the times, the lines of the parties, and the room
 * beside the last one.
 * @typedef {{ left: number, lanes: readonly number[], right: number }} Places
 */
/** @type {Places} */
const widePlaces = { left: 54, lanes: [110, 300, 500, 670], right: 60 };
/** @type {Places} */
const narrowPlaces = { left: 40, lanes: [58, 184, 310, 408], right: 34 };
const narrow = "(max-width: 78rem)";
const rowHeight = 24;
const top = 40;
/** Pixels of a unit of the diagram, at most. */
const largestScale = 1.15;
/** Most messages in the diagram; the list below has all. */
const mostMessages = 40;

/** @param {{ messages: readonly Message[] }} props */
function Diagram({ messages }) {
  const places = usePlaces();
  const rows = messages.slice(0, mostMessages);
  const [first] = rows;
  if (first === undefined) return null;
  const height = top + rows.length * rowHeight + 6;
  const shownParties = partiesOf(rows).slice(
    0,
    1 + Math.max(...rows.flatMap(({ from, to }) => [from, to])),
  );
  const { lanes, right } = places;
  const width = (lanes[shownParties.length - 1] ?? 0) + right;
  const begun = Date.parse(first.at);
  return html`
    <div class="box">
      <h2>${t("payment.happened")}</h2>
      <div class="wide" tabindex="0" role="region" aria-label=${t("payment.diagram")}>
        <svg
          class="sequence"
          viewBox=${`0 0 ${width} ${height}`}
          style=${{ maxWidth: `${width * largestScale}px` }}
          role="img"
          aria-label=${t("payment.diagram_explained")}
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
                places=${places}
                y=${top + place * rowHeight}
                time=${rows[place - 1]?.at === message.at ? "" : place === 0 ? "0 ms" : sinceText(Date.parse(message.at) - begun)}
              />`,
          )}
        </svg>
      </div>
      ${
        messages.length > rows.length &&
        html`<p class="soft">
          ${t("payment.first_messages", { shown: rows.length, all: messages.length })}
        </p>`
      }
    </div>
  `;
}

/** The places for the width of the window. */
function usePlaces() {
  const [isNarrow, setNarrow] = useState(() => matchMedia(narrow).matches);
  useEffect(() => {
    const query = matchMedia(narrow);
    const look = () => setNarrow(query.matches);
    query.addEventListener("change", look);
    return () => query.removeEventListener("change", look);
  }, []);
  return isNarrow ? narrowPlaces : widePlaces;
}

/** @param {{ message: Message, places: Places, y: number, time: string }} props */
function Arrow({ message: { from, to, text, colour, isLost }, places: { left, lanes }, y, time }) {
  const [start = 0, goal = 0] = [lanes[from], lanes[to]];
  const ahead = goal > start ? 1 : -1;
  // A lost message ends half way, at a cross.
  const end = isLost ? start + (goal - start) / 2 : goal;
  const head = isLost
    ? `M${end - 4} ${y - 4}l8 8m0 -8l-8 8`
    : `M${end - ahead * 6} ${y - 3.5}L${end} ${y}L${end - ahead * 6} ${y + 3.5}`;
  return html`
    <g class=${`message ${colour}`}>
      ${time !== "" && html`<text class="since" x=${left} y=${y + 3} text-anchor="end">${time}</text>`}
      <path class=${isLost ? "lost" : ""} d=${`M${start} ${y}H${end}`} />
      <path d=${head} />
      <text x=${(start + goal) / 2} y=${y - 5} text-anchor="middle">${shown(text)}</text>
    </g>
  `;
}

/** The label of an entry's raw message, for entries that have one. */
const messages = new Map([
  ["request", t("payment.request_data")],
  ["call", t("payment.call_data")],
]);

/** @param {{ timeline: Timeline }} props */
function Steps({ timeline: { entries, recording } }) {
  const { since, complete } = recording;
  const missing =
    since === null
      ? t("payment.not_recorded")
      : t("payment.recorded_since", { at: exactText(since) });
  const begun = Date.parse(entries[0]?.at ?? "");
  return html`
    <div>
      <h2>${t("payment.timeline")}</h2>
      ${!complete && html`<p class="soft">${missing}</p>`}
      <ol class="timeline">
        ${stepsOf(entries).map((step) => html`<${StepRow} key=${step.key} step=${step} begun=${begun} />`)}
      </ol>
    </div>
  `;
}

/** @param {{ step: Step, begun: number }} props */
function StepRow({ step: { entry, attempts, calls }, begun }) {
  const [first = entry] = calls;
  const last = calls.at(-1) ?? entry;
  const label = messages.get(last.kind);
  const { postings = [] } = entry.data;
  return html`
    <li>
      <time datetime=${first.at} class="soft" title=${utcText(first.at)}>
        ${sinceText(Date.parse(first.at) - begun)}<span class="unseen">
          ${exactText(first.at)}</span
        >
      </time>
      <div class="step">
        <span class=${`dot ${colourOf(entry)}`}></span>
        <strong>${shown(kindWords(last.kind))}</strong> <bdi>${shown(sentenceOf(last))}</bdi>
        ${last !== entry && html` <bdi>${shown(sentenceOf(entry))}</bdi>`}
        ${calls.length > 1 && html`<${Repeated} calls=${calls} />`}
        ${label !== undefined && html`<${Raw} label=${label} data=${last.data} />`}
        ${postings.length > 0 && html`<${Raw} label=${t("payment.ledger_entries")} data=${postings} />`}
        ${receiversOf(attempts).map(
          ([receiver, tries]) =>
            html`<${Attempts} key=${receiver} receiver=${receiver} tries=${tries} />`,
        )}
      </div>
    </li>
  `;
}

/**
 * Calls with one outcome, in a line; each of them below.
 * @param {{ calls: readonly Entry[] }} props
 */
function Repeated({ calls }) {
  return html`
    <details>
      <summary>
        ${t("payment.times", { count: calls.length, at: exactText(calls.at(-1)?.at ?? "") })}
      </summary>
      <ul class="tries">
        ${calls.map(
          (entry) =>
            html`<li key=${entry.at}>
              <time title=${utcText(entry.at)}>${exactText(entry.at)}</time>${" "}
              <bdi>${shown(sentenceOf(entry))}</bdi>
            </li>`,
        )}
      </ul>
    </details>
  `;
}

/**
 * Shown only when it is opened.
 * @param {{ label: string, data: unknown }} props
 */
function Raw({ label, data }) {
  const command = commandOf(data);
  const [isOpen, setOpen] = useState(false);
  const turn = (/** @type {Event} */ { currentTarget }) =>
    setOpen(currentTarget instanceof HTMLDetailsElement && currentTarget.open);
  return html`
    <details onToggle=${turn}>
      <summary>${label}</summary>
      ${isOpen && html`<pre>${linesOf(data)}</pre>`}
      ${isOpen && command !== undefined && html`<${Copy} text=${command} label=${t("copy.request")} isShown />`}
    </details>
  `;
}

/**
 * The request of an entry as a command; undefined: the entry has none. Card data, which is not
 * recorded, is a token from the variable `TOKEN`.
 * @param {unknown} data
 */
function commandOf(data) {
  const { path, parameters } = /** @type {Readonly<Record<string, unknown>>} */ (data);
  if (typeof path !== "string" || typeof parameters !== "object" || parameters === null)
    return undefined;
  return curlOf(path, /** @type {Readonly<Record<string, unknown>>} */ (withoutCards(parameters)));
}

const token = new ShellVariable("TOKEN");
const cardMembers = new Set(["card", "creditcard", "debitcard"]);

/**
 * @param {unknown} value
 * @returns {unknown}
 */
function withoutCards(value) {
  if (Array.isArray(value)) return value.map(withoutCards);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== "integration_key")
      .map(([name, member]) => {
        if (name === "token") return [name, token];
        return [name, cardMembers.has(name) ? { token } : withoutCards(member)];
      }),
  );
}

/**
 * All attempts of one receiver in a line; each of them below.
 * @param {{ receiver: string, tries: readonly Entry[] }} props
 */
function Attempts({ receiver, tries }) {
  const last = tries.at(-1);
  const outcome = last?.data["outcome"];
  const words = typeof outcome === "string" ? outcomeWords(outcome) : "";
  const line = t("payment.attempts", { count: tries.length, outcome: words });
  return html`
    <details>
      <summary><bdi>${shown(receiver)}</bdi>: ${shown(line)}</summary>
      <ul class="tries">
        ${tries.map((entry) => html`<li key=${entry.at}><time title=${utcText(entry.at)}>${exactText(entry.at)}</time> <bdi>${shown(sentenceOf(entry))}</bdi></li>`)}
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

/**
 * The acquirers that were called, in their order.
 * @param {readonly Entry[]} entries
 */
function routeOf(entries) {
  const names = entries.flatMap(({ data: { connector } }) =>
    typeof connector === "string" ? [connector] : [],
  );
  return [...new Set(names)].join(" → ");
}

/** @param {Listed} payment */
function liabilityOf({ expected_liability: party, eci }) {
  const name = party === "issuer" ? t("liability.issuer") : t("liability.merchant");
  return eci === undefined ? name : t("liability.by_indicator", { party: name, eci: shown(eci) });
}

/** @param {{ payment: Listed, wire: Payment, route: string }} props */
function Facts({ payment, wire, route }) {
  const { transaction_status: said } = wire;
  const { email } = payment;
  /** @type {readonly (readonly [name: string, value: unknown])[]} */
  const rows = [
    [
      t("head.hash"),
      html`<span
        ><code>${payment.hash}</code> <${Copy} text=${payment.hash} label=${t("copy.hash")}
      /></span>`,
    ],
    [
      t("facts.wire_status"),
      html`<span lang="en">${shown(`${wire.status}, ${said.code}: ${said.description}`)}</span>`,
    ],
    [t("facts.auth_code"), shown(said.authcode ?? t("none"))],
    [t("head.card"), shown(`${payment.brand} ${payment.masked_card_number}`)],
    [t("head.instalments"), shown(payment.instalments)],
    ...(route === "" ? [] : [/** @type {const} */ ([t("facts.route"), shown(route)])]),
    [t("facts.liability"), liabilityOf(payment)],
    [t("facts.country"), countryText(payment.country)],
    [
      t("head.local"),
      `${amountText(payment.amount_br, payment.currency_br)} ${shown(payment.currency_br)}`,
    ],
    [
      t("facts.rate"),
      payment.currency_ext === payment.currency_br ? t("none") : decimalText(wire.currency_rate),
    ],
    [
      t("head.opened"),
      html`<time title=${utcText(payment.open_date)}>${exactText(payment.open_date)}</time>`,
    ],
  ];
  return html`
    <div>
      <section class="box">
        <h2>${t("facts.title")}</h2>
        <${Pairs} rows=${rows} />
      </section>
      <section class="box">
        <h2>${t("head.customer")}</h2>
        <dl class="pairs">
          <div>
            <dt>${t("facts.name")}</dt>
            <dd><bdi>${shown(payment.name)}</bdi></dd>
          </div>
          <div>
            <dt>${t("head.email")}</dt>
            <dd><bdi>${shown(email)}</bdi></dd>
          </div>
          <div>
            <dt>${t("facts.others")}</dt>
            <dd>
              <a href=${`#/payments?${new URLSearchParams({ search: email }).toString()}`}
                >${t("facts.same_email")}</a
              >
            </dd>
          </div>
        </dl>
      </section>
    </div>
  `;
}

const refundHeads = [t("head.amount"), t("head.state"), t("head.reason")];

/** @param {{ wire: Payment, currency: string }} props */
function Refunds({ wire: { refunds = [] }, currency }) {
  if (refunds.length === 0) return null;
  const rows = refunds.map(({ id, amount_ext: amount, status, request_date: at, description }) => ({
    key: id,
    cells: [
      `${amountText(amount, currency)} ${shown(currency)}`,
      shown(refundWords(status)),
      html`<span title=${t("refunds.requested_at", { at: exactText(at) })}>
        <${Foreign} text=${description} />
      </span>`,
    ],
  }));
  return html`
    <div>
      <h3>${t("refunds.title")}</h3>
      <${Wide} label=${t("refunds.title")}>
        <${Table}
          caption=${t("refunds.title")}
          kind=""
          heads=${refundHeads}
          numbers=${[t("head.amount")]}
          rows=${rows}
        />
      <//>
    </div>
  `;
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

const ledgerHeads = [
  t("head.when"),
  t("ledger.entry"),
  t("ledger.account"),
  t("head.amount"),
  t("head.balance"),
];

/** @param {{ timeline: Timeline }} props */
function Ledger({ timeline: { entries, price, problems, violations } }) {
  const rows = entries.flatMap(({ at, data: { postings = [] } }) =>
    postings.map(({ kind, account, amount, balance, currency }) => [
      html`<${When} at=${at} />`,
      shown(entryWords(kind)),
      shown(accountWords(account)),
      `${amountText(amount, currency)} ${shown(currency)}`,
      amountText(balance, currency),
    ]),
  );
  return html`
    <section>
      <h2>${t("ledger.title")}</h2>
      ${problems.map((text, place) => {
        const words = problemWords(violations[place]);
        const lang = words === undefined ? "en" : undefined;
        return html`<p key=${text} class="problem" lang=${lang}>${words ?? shown(text)}</p>`;
      })}
      <ul>
        ${[...new Set(price.map(priceSentence))].map((text) => html`<li key=${text}>${text}</li>`)}
      </ul>
      <details>
        <summary>${t("ledger.count", { count: rows.length })}</summary>
        <div class="wide" tabindex="0" role="region" aria-label=${t("ledger.postings")}>
          <${Table}
            caption=${t("ledger.postings")}
            kind=""
            heads=${ledgerHeads}
            numbers=${[t("head.amount"), t("head.balance")]}
            rows=${rows.map((cells, place) => ({ key: String(place), cells }))}
          />
        </div>
      </details>
    </section>
  `;
}
