// Notifications, newest first, with their deliveries, above them the receivers; and one of them.
import { signal } from "@preact/signals";
import { call, subjectOfTab } from "./api.js";
import { problemText, say, shown } from "./shown.js";
import { momentText, timeOf, utcText } from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { liveData } from "./live-data.js";
import { comeBack, walk } from "./live-list.js";
import { sentAgain } from "./notifications.js";
import { Cells, Heads, opens, valuesOf } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { Receivers, receiversModel, takeReceivers } from "./receivers.js";
import { mayDo } from "./session.js";
import { clock } from "./state.js";
import { ownAddresses, receiverText, StateCell, webhookView } from "./webhook.js";
import { deliveryOptions, deliveryWords, outcomeWords, own } from "./words.js";

/** @import { ReadonlySignal } from "@preact/signals" */
/** @import { Delivery, ListedNotification } from "./api.js" */
/** @import { ReceiversModel, WithReceivers } from "./receivers.js" */

/** Most notifications of one call. */
const largestPage = 100;
const pageSize = 50;
/** Numbers as zero-padded text, so that they sort numerically. */
const digits = 15;

const types = ["update", "refund", "chargeback", "chargeback_credit"];
const filterNames = ["state", "type", "receiver", "search"];

/** @typedef {Readonly<Record<string, string>>} Filter */
/**
 * What the components show.
 * @typedef {object} Model
 * @property {ReadonlySignal<readonly ListedNotification[]>} notifications newest first
 * @property {ReadonlySignal<boolean>} isRead
 * @property {ReadonlySignal<boolean>} hasMore
 * @property {ReadonlySignal<string>} trouble
 * @property {ReceiversModel} receivers
 * @property {Filter} filter
 * @property {() => void} more
 * @property {() => void} resendFailed
 */

/** @type {import("./main.js").View} */
export async function webhooksView(main, words, query, abort) {
  const [number] = words;
  if (number !== undefined && /^[1-9]\d{0,14}$/.test(number))
    return webhookView(main, Number(number), newestNumber(), abort);
  const filter = filterOf(query);
  const notifications = signal(/** @type {readonly ListedNotification[]} */ ([]));
  const isRead = signal(false);
  const hasMore = signal(false);
  const trouble = signal("");
  const receivers = receiversModel();
  // Every page is read from the account for which the list was opened.
  const subject = subjectOfTab();
  const { state } = filter;
  const isFiltered = Object.keys(filter).length > 0;
  const data = liveData(
    {
      isFiltered,
      page: async (before) => {
        const answer =
          /** @type {{ notifications: ListedNotification[], next: number | null } & WithReceivers} */ (
            await call(
              "/__cofre/notifications",
              {
                order: "newest",
                limit: isFiltered ? largestPage : pageSize,
                ...(state === undefined ? {} : { state }),
                ...(before === undefined ? {} : { before: Number(before) }),
              },
              subject,
            )
          );
        if (!abort.aborted) takeReceivers(receivers, answer);
        return {
          items: answer.notifications.filter((each) => isWanted(each, filter)),
          next: answer.next === null ? null : keyOf(answer.next),
        };
      },
      keyOf: ({ number: each }) => keyOf(each),
    },
    abort,
    () => {
      notifications.value = [...data.rows.values()].toSorted(
        (left, right) => right.number - left.number,
      );
      isRead.value = true;
      hasMore.value = data.next() !== null;
      newest = { subject: JSON.stringify(subject), number: notifications.value[0]?.number ?? 0 };
    },
  );
  receivers.refresh = data.refresh;
  const more = async () => {
    try {
      await data.more();
      trouble.value = "";
    } catch (error) {
      if (!abort.aborted) trouble.value = problemText(error);
    }
  };
  const resendFailed = async () => {
    try {
      const count = await resend({ replay: "failed" }, abort);
      await data.refresh();
      say(count === 0 ? t("notifications.none_failed") : sentAgain(count));
    } catch (error) {
      say(problemText(error));
    }
  };
  const model = {
    notifications,
    isRead,
    hasMore,
    trouble,
    receivers,
    filter,
    more: () => void more(),
    resendFailed: () => void resendFailed(),
  };
  mountIn(main, html`<${Webhooks} model=${model} />`, abort);
  await comeBack(abort, data.rows, async () => {
    await data.more();
    return data.next() !== null && !abort.aborted;
  });
  void keepFresh(abort, data.refresh);
}

/** The newest number of the last list, and the account's. */
let newest = { subject: "", number: 0 };

/** 0: not known. */
function newestNumber() {
  return newest.subject === JSON.stringify(subjectOfTab()) ? newest.number : 0;
}

/** @param {number} number */
function keyOf(number) {
  return String(number).padStart(digits, "0");
}

/**
 * With as many calls as needed; the server resends a batch per call.
 * @param {Readonly<Record<string, string | number>>} selection
 * @param {AbortSignal} abort
 */
async function resend(selection, abort) {
  let count = 0;
  /** @type {number | null} */
  let from = null;
  do {
    const asked = from === null ? selection : { ...selection, from };
    const answer = /** @type {{ deliveries: number, next: number | null }} */ (
      await call("/__cofre/notifications", asked)
    );
    count += answer.deliveries;
    from = answer.next;
  } while (from !== null && !abort.aborted);
  return count;
}

/**
 * @param {URLSearchParams} query
 * @returns {Filter}
 */
function filterOf(query) {
  const given = filterNames.map((name) => [name, query.get(name) ?? ""]);
  return Object.fromEntries(
    given.filter(
      ([name, value = ""]) =>
        value !== "" && (name !== "state" || deliveryOptions.some(([each]) => each === value)),
    ),
  );
}

/** @param {Filter} filter */
function addressOf(filter) {
  const chosen = filterNames.flatMap((name) => {
    const value = own(filter, name) ?? "";
    return value === "" ? [] : [[name, value]];
  });
  const text = new URLSearchParams(chosen).toString();
  return text === "" ? "#/webhooks" : `#/webhooks?${text}`;
}

/**
 * The part of the filter that the server does not know.
 * @param {ListedNotification} notification
 * @param {Filter} filter
 */
function isWanted(notification, { type = "", receiver = "", search = "" }) {
  const { number, notification_type: kind, hash, deliveries } = notification;
  const { merchant_payment_code: code = "" } = notification;
  const words = search.toLowerCase();
  return (
    (type === "" || kind === type) &&
    (receiver === "" ||
      deliveries.some(({ endpoint }) =>
        receiver === ownAddresses ? endpoint.startsWith(ownAddresses) : endpoint === receiver,
      )) &&
    (words === "" ||
      `#${number}` === words ||
      hash.startsWith(words) ||
      (code ?? "").toLowerCase().includes(words))
  );
}

/** @param {{ model: Model }} props */
function Webhooks({ model }) {
  const { notifications, isRead, hasMore, trouble, receivers, filter } = model;
  const found = notifications.value;
  const counted = t("notifications.count", { count: found.length });
  const isEmpty = isRead.value && found.length === 0 && !hasMore.value;
  return html`
    <div class="payments webhooks">
      ${isRead.value && html`<${Receivers} model=${receivers} last=${newestNumber()} />`}
      <${Tabs} filter=${filter} />
      <${SearchBar} filter=${filter} receivers=${receivers} />
      <div class="above">
        <p class=${isRead.value ? "soft" : "soft looking"} role="status">
          ${isRead.value ? (hasMore.value ? t("so_far", { found: counted }) : counted) : t("loading")}
        </p>
        ${
          mayDo("operator") &&
          html`<button type="button" class="small" name="failed" onClick=${model.resendFailed}>
            ${t("notifications.resend_failed")}
          </button>`
        }
      </div>
      ${
        isEmpty &&
        (Object.keys(filter).length > 0
          ? html`<p class="nothing">${t("no_match")} <a href="#/webhooks">${t("show_all")}</a></p>`
          : html`<p class="nothing">${t("notifications.none_explained")}</p>`)
      }
      ${found.length > 0 && html`<${Rows} notifications=${found} />`}
      ${
        hasMore.value &&
        html`<button type="button" class="second" onClick=${model.more}>${t("show_more")}</button>`
      }
      ${trouble.value !== "" && html`<p class="problem" role="alert">${trouble.value}</p>`}
    </div>
  `;
}

/** @param {{ filter: Filter }} props */
function Tabs({ filter }) {
  const { state = "" } = filter;
  return html`
    <nav class="tabs" aria-label=${t("notifications.state")}>
      ${[["", t("tab.all")], ...deliveryOptions].map(
        ([value = "", text]) => html`
          <a
            key=${value}
            name=${`tab-${value}`}
            href=${addressOf({ ...filter, state: value })}
            aria-current=${state === value ? "page" : undefined}
            >${text}</a
          >
        `,
      )}
    </nav>
  `;
}

/** @param {{ filter: Filter, receivers: ReceiversModel }} props */
function SearchBar({ filter, receivers }) {
  const { state = "", type = "", receiver = "", search = "" } = filter;
  /** @param {Event} event */
  const apply = (event) => {
    event.preventDefault();
    location.hash = addressOf({ ...valuesOf(event.currentTarget), state }).slice(1);
  };
  const ids = [...new Set([...receivers.receivers.value.map(({ id }) => id), receiver])].filter(
    (id) => id !== "" && id !== ownAddresses,
  );
  return html`
    <form role="search" class="search" onSubmit=${apply}>
      <input
        type="search"
        name="search"
        aria-label=${t("webhooks.search_by")}
        placeholder=${t("webhooks.search_by")}
        maxlength="160"
        autocomplete="off"
        spellcheck=${false}
        value=${search}
      />
      <select name="type" aria-label=${t("head.type")} onChange=${apply}>
        <option value="" selected=${type === ""}>${t("webhooks.any_type")}</option>
        ${types.map(
          (each) =>
            html`<option key=${each} value=${each} selected=${each === type}>${each}</option>`,
        )}
      </select>
      <select name="receiver" aria-label=${t("head.receiver")} onChange=${apply}>
        <option value="" selected=${receiver === ""}>${t("webhooks.any_receiver")}</option>
        ${ids.map(
          (id) =>
            html`<option key=${id} value=${id} selected=${id === receiver}>${shown(id)}</option>`,
        )}
        <option value=${ownAddresses} selected=${receiver === ownAddresses}>
          ${t("webhooks.own_address")}
        </option>
      </select>
      <button type="submit">${t("search")}</button>
    </form>
  `;
}

/** @type {readonly { id: string, head: string, isNumber?: boolean }[]} */
const columns = [
  { id: "state", head: t("head.state") },
  { id: "code", head: t("webhooks.notification") },
  { id: "type", head: t("head.type") },
  { id: "receivers", head: t("receivers.title") },
  { id: "amount", head: t("webhooks.response") },
  { id: "attempts", head: t("webhooks.attempts"), isNumber: true },
  { id: "opened", head: t("head.when"), isNumber: true },
];

/** @param {{ notifications: readonly ListedNotification[] }} props */
function Rows({ notifications }) {
  return html`
    <div class="wide" onKeyDown=${walk}>
      <table role="table" class="one-line-rows">
        <caption class="unseen">
          ${t("notifications.caption")}
        </caption>
        <${Heads} columns=${columns} />
        <tbody role="rowgroup">
          ${notifications.map((each) => html`<${Row} key=${each.number} notification=${each} />`)}
        </tbody>
      </table>
    </div>
  `;
}

/** @param {{ notification: ListedNotification }} props */
function Row({ notification }) {
  const { number, deliveries } = notification;
  const attempts = deliveries.reduce((sum, each) => sum + each.attempts, 0);
  /** @type {readonly unknown[]} */
  const cells = [
    html`<${StateCell} deliveries=${deliveries} />`,
    html`<a href=${`#/webhooks/${number}`}
      >#${number}${" "}<bdi class="code">${shown(notification.merchant_payment_code ?? "")}</bdi></a
    >`,
    html`<bdi>${shown(notification.notification_type)}</bdi>`,
    deliveries.map(
      (each) => html`
        <span key=${each.endpoint} class="to">
          <span class=${`dot ${deliveryWords(each.state).colour}`}></span>
          <bdi title=${shown(each.endpoint)}>${receiverText(each.endpoint)}</bdi>
          <span class="unseen">${shown(deliveryWords(each.state).text)}</span>
        </span>
      `,
    ),
    html`<${Responses} deliveries=${deliveries} />`,
    attempts,
    html`<${Time} at=${notification.at} />`,
  ];
  return html`
    <tr role="row" data-row onClick=${opens(`#/webhooks/${number}`)}>
      <${Cells} columns=${columns} cells=${cells} />
    </tr>
  `;
}

/** @param {{ at: string }} props */
function Time({ at }) {
  const now = timeOf(clock.value?.now ?? "");
  return html`<time datetime=${`${at.replace(" ", "T")}Z`} title=${utcText(at)}
    >${momentText(at, now)}</time
  >`;
}

/**
 * The results of the last attempts, each once.
 * @param {{ deliveries: readonly Delivery[] }} props
 */
function Responses({ deliveries }) {
  const outcomes = [...new Set(deliveries.flatMap(({ outcome }) => outcome ?? []))];
  return html`<span class="responses">
    ${outcomes.map(
      (outcome) =>
        html`<bdi key=${outcome} class=${/^2\d\d$/.test(outcome) ? "word" : "word bad"}
          >${shown(outcomeWords(outcome))}</bdi
        > `,
    )}
  </span>`;
}
