// One notification: for each receiver its attempts, with the message, the response and a check of
// the signature.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { call } from "./api.js";
import { curlOfMessage } from "./curl.js";
import { problemText, say, shown } from "./shown.js";
import { countText } from "./format.js";
import { html, mountIn } from "./html.js";
import { parts, t } from "./language.js";
import { sentAgain } from "./notifications.js";
import { Copy, Neighbour } from "./payment.js";
import { When } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { readSecrets, receiversModel, Secret, takeReceivers } from "./receivers.js";
import { mayDo } from "./session.js";
import { shell } from "./state.js";
import { deliveryWords, outcomeWords, own, shortHash } from "./words.js";

/** @import { Delivery, ListedNotification } from "./api.js" */
/** @import { ReceiversModel, WithReceivers } from "./receivers.js" */

/** Beginning of the names of payments' own addresses, which are digests. */
export const ownAddresses = "url-";

/** @typedef {Readonly<Record<string, string>>} Headers */
/** @typedef {{ headers: Headers, body: string }} Message */
/**
 * @typedef {{ at: string, url: string, attempt: number, outcome: string, verdict: string, due_at:
 * string | null, duration_ms: number | null, request: Message | null, response: { status: number,
 * headers: Headers, body: string, truncated: boolean } | null }} Attempt
 */
/** @typedef {{ endpoint: string, url: string | null, body: string, attempts: Attempt[] }} Detailed */
/**
 * @typedef {{ number: number, merchant_payment_code: string | null, receivers: Detailed[], sample:
 * Message | null, recorded_since: string | null }} Detail
 */
/** @typedef {{ notifications: [ListedNotification], detail: Detail } & WithReceivers} Answer */
/** @typedef {(endpoint?: string) => void} Resend */

/**
 * `newest`: the greatest known number of a notification.
 * @param {HTMLElement} main
 * @param {number} number
 * @param {number} newest
 * @param {AbortSignal} abort
 */
export async function webhookView(main, number, newest, abort) {
  shell.value = { ...shell.value, current: "webhook", parent: "webhooks" };
  document.title = `${t("webhooks.number", { number: String(number) })} · Cofre`;
  const answer = signal(/** @type {Answer | undefined} */ (undefined));
  const receivers = receiversModel();
  const refresh = async () => {
    const now = /** @type {Answer} */ (await call("/__cofre/notifications", { number }));
    if (abort.aborted) return;
    takeReceivers(receivers, now);
    if (JSON.stringify(now) !== JSON.stringify(answer.value)) answer.value = now;
  };
  /** @type {Resend} */
  const resend = (endpoint) =>
    void call("/__cofre/notifications", {
      replay: "range",
      from: number,
      to: number,
      ...(endpoint === undefined ? {} : { endpoint }),
    }).then(
      async (replayed) => {
        await refresh();
        say(sentAgain(/** @type {{ deliveries: number }} */ (replayed).deliveries));
      },
      (error) => say(problemText(error)),
    );
  await refresh();
  if (abort.aborted) return;
  mountIn(
    main,
    html`<${Webhook} answer=${answer} receivers=${receivers} newest=${newest} resend=${resend} />`,
    abort,
  );
  void keepFresh(abort, refresh);
}

/**
 * @param {{ answer: import("@preact/signals").Signal<Answer | undefined>, receivers:
 * ReceiversModel, newest: number, resend: Resend }} props
 */
function Webhook({ answer, receivers, newest, resend }) {
  if (answer.value === undefined) return null;
  const {
    notifications: [notification],
    detail,
  } = answer.value;
  const { deliveries } = notification;
  return html`
    <div>
      <${Head} notification=${notification} detail=${detail} newest=${newest} />
      ${
        mayDo("operator") &&
        (deliveries.length > 0 || receivers.receivers.value.length > 0) &&
        html`<p class="actions">
          <button type="button" name="resend" onClick=${() => resend()}>
            ${deliveries.length > 1 ? t("webhooks.resend_all") : t("resend")}
          </button>
        </p>`
      }
      <div class="payment">
        <div>
          ${detail.receivers.map(
            (each) =>
              html`<${ReceiverBox}
                key=${each.endpoint}
                of=${each}
                delivery=${deliveries.find(({ endpoint }) => endpoint === each.endpoint)}
                receivers=${receivers}
                resend=${detail.receivers.length > 1 ? resend : undefined}
              />`,
          )}
          ${
            detail.sample !== null &&
            html`<${Sample} message=${detail.sample} receivers=${receivers} />`
          }
        </div>
        <div class="side"><${Facts} notification=${notification} detail=${detail} /></div>
      </div>
    </div>
  `;
}

/** @param {{ notification: ListedNotification, detail: Detail, newest: number }} props */
function Head({ notification, detail, newest }) {
  const { number, notification_type: kind, hash, at, deliveries } = notification;
  return html`
    <div class="headline">
      <p class="steps-between">
        <a href="#/webhooks" rel="up">← ${t("view.webhooks")}</a>
        <kbd aria-hidden="true">Esc</kbd>
        ${number < newest && html`<${Neighbour} rel="prev" address=${`#/webhooks/${number + 1}`} />`}
        ${number > 1 && html`<${Neighbour} rel="next" address=${`#/webhooks/${number - 1}`} />`}
      </p>
      <p class="sum">
        <strong><bdi>${shown(kind)}</bdi> #${number}</strong>${" "}
        <${StateCell} deliveries=${deliveries} />
      </p>
      <p class="under">
        <a href=${`#/payment/${hash}`} class="code"
          ><bdi>${shown(detail.merchant_payment_code ?? shortHash(hash))}</bdi></a
        >${" "}· <${When} at=${at} />
      </p>
    </div>
  `;
}

/**
 * @param {{ of: Detailed, delivery: Delivery | undefined, receivers: ReceiversModel, resend: Resend
 * | undefined }} props
 */
function ReceiverBox({ of, delivery, receivers, resend }) {
  const { endpoint, url, attempts } = of;
  const { text, colour } = deliveryWords(delivery?.state ?? "");
  const count = delivery?.attempts ?? 0;
  const name = receiverText(endpoint);
  const last = attempts.at(-1);
  return html`
    <section class="box receiver-box" aria-label=${name}>
      <div class="above">
        <h2><bdi>${name}</bdi></h2>
        <span class="state"
          ><span class=${`dot ${colour}`}></span
          ><span class=${`word ${colour}`}>${shown(text)}</span></span
        >
        <p class="soft">
          ${t("notifications.attempts", { count })}${delivery?.due_at !== undefined && count > 0 && html`, ${parts("notifications.next_attempt", { at: html`<${When} at=${delivery.due_at} />` })}`}
        </p>
        ${
          resend !== undefined &&
          mayDo("operator") &&
          html`<button
            type="button"
            class="small"
            name=${`resend-${endpoint}`}
            aria-label=${`${t("resend")} ${name}`}
            onClick=${() => resend(endpoint)}
          >
            ${t("resend")}
          </button>`
        }
      </div>
      <p class="code">${shown(url ?? t("outcome.endpoint_removed"))}</p>
      ${attempts
        .toReversed()
        .map(
          (each, place) =>
            html`<${AttemptRow}
              key=${`${each.at} ${each.attempt}`}
              attempt=${each}
              endpoint=${endpoint}
              receivers=${receivers}
              isOpen=${place === 0}
            />`,
        )}
      ${
        last === undefined &&
        html`<div>
          <p class="soft">${count === 0 ? t("webhooks.not_sent") : t("webhooks.not_kept")}</p>
          <${Text} title=${t("webhooks.body")} text=${of.body} />
        </div>`
      }
    </section>
  `;
}

/** @type {Readonly<Record<string, string>>} */
const colours = { delivered: "good", retry: "bad", failed: "bad", gone: "bad" };

/**
 * One line; what was sent and answered below it, shown only when it is opened.
 * @param {{ attempt: Attempt, endpoint: string, receivers: ReceiversModel, isOpen: boolean }} props
 */
function AttemptRow({ attempt, endpoint, receivers, isOpen: isOpenFirst }) {
  const [isOpen, setOpen] = useState(isOpenFirst);
  const turn = (/** @type {Event} */ { currentTarget }) =>
    setOpen(currentTarget instanceof HTMLDetailsElement && currentTarget.open);
  const { at, attempt: number, outcome, verdict, duration_ms: duration } = attempt;
  return html`
    <details class="attempt" open=${isOpen} onToggle=${turn}>
      <summary>
        <span class=${`dot ${own(colours, verdict) ?? "over"}`}></span
        ><b><bdi>${shown(outcomeText(outcome))}</bdi></b>
        ${duration !== null && html`<span>${t("webhooks.duration", { ms: countText(duration) })}</span>`}
        <span>${t("webhooks.attempt", { number: String(number) })}</span>
        <${When} at=${at} />
      </summary>
      ${isOpen && html`<${AttemptBody} attempt=${attempt} endpoint=${endpoint} receivers=${receivers} />`}
    </details>
  `;
}

/**
 * An HTTP status with its protocol, which a bare number does not explain.
 * @param {string} outcome
 */
function outcomeText(outcome) {
  return /^\d{3}$/.test(outcome) ? `HTTP ${outcome}` : outcomeWords(outcome);
}

/** @param {{ attempt: Attempt, endpoint: string, receivers: ReceiversModel }} props */
function AttemptBody({ attempt, endpoint, receivers }) {
  const { url, request, response } = attempt;
  if (request === null) return html`<p class="soft">${t("webhooks.not_sent")}</p>`;
  return html`
    <div>
      ${
        response === null
          ? html`<p class="soft">${t("webhooks.no_response")}</p>`
          : html`<div>
              <${Text}
                title=${t("webhooks.response_body")}
                text=${prettyText(response.body) + (response.truncated ? "…" : "")}
              />
              <${HeaderList} title=${t("webhooks.response_headers")} headers=${response.headers} />
            </div>`
      }
      <${MessageParts} message=${request} secretOf=${endpoint} receivers=${receivers} url=${url} />
    </div>
  `;
}

/**
 * The message's body and headers, the check of its signature, and a command that sends it.
 * @param {{ message: Message, secretOf: string, receivers: ReceiversModel, url: string | undefined
 * }} props
 */
function MessageParts({ message, secretOf, receivers, url }) {
  const { headers, body } = message;
  return html`
    <div>
      <${Text} title=${t("webhooks.body")} text=${body}>
        <${Copy} text=${curlOfMessage(headers, body, url)} label=${t("copy.curl")} isShown />
      <//>
      <${HeaderList} title=${t("webhooks.request_headers")} headers=${headers} />
      <${SignatureCheck}
        message=${message}
        secretOf=${secretOf.startsWith(ownAddresses) ? "" : secretOf}
        receivers=${receivers}
      />
    </div>
  `;
}

/** @param {{ message: Message, receivers: ReceiversModel }} props */
function Sample({ message, receivers }) {
  return html`
    <section class="box receiver-box">
      <h2>${t("webhooks.inbox")}</h2>
      <p class="soft">${t("webhooks.inbox_explained")}</p>
      <${MessageParts} message=${message} secretOf="" receivers=${receivers} url=${undefined} />
    </section>
  `;
}

/**
 * @param {{ message: Message, secretOf: string, receivers: ReceiversModel }} props `secretOf`: a
 * receiver's id; empty: payments' own addresses
 */
function SignatureCheck({ message, secretOf, receivers }) {
  const { headers, body } = message;
  const secret = own(receivers.secrets.value ?? {}, secretOf);
  const [check, setCheck] = useState(/** @type {Check | undefined} */ (undefined));
  const signed = headers["webhook-signature"];
  useEffect(() => {
    let isOver = false;
    void checkSignature(headers, body, secret).then((made) => {
      if (!isOver) setCheck(made);
    });
    return () => (isOver = true);
  }, [signed, body, secret]);
  if (check === undefined)
    return signed === undefined ? html`<p class="soft">${t("webhooks.no_signature")}</p>` : null;
  const read = () => void readSecrets(receivers).catch((error) => say(problemText(error)));
  return html`
    <div class="check-box">
      <h3>${t("webhooks.signature")}</h3>
      ${
        check.expected === undefined
          ? html`<p class="soft">
              ${secret !== undefined ? t("webhooks.no_crypto") : mayDo("admin") ? html`<button type="button" class="small" name="check" onClick=${read}>${t("webhooks.check")}</button>` : t("webhooks.secret_needed")}
            </p>`
          : html`<p>
              <span class=${`mark ${check.isValid ? "good" : "bad"}`}
                >${check.isValid ? t("webhooks.valid") : t("webhooks.invalid")}</span
              >${" "}
              <span class="soft"
                >${check.isValid ? t("webhooks.valid_explained") : t("webhooks.invalid_explained")}</span
              >
            </p>`
      }
      <${Secret} model=${receivers} id=${secretOf} />
      <${Text} title=${t("webhooks.signed_text")} text=${check.signed} />
      <${Text} title=${t("webhooks.signature_sent")} text=${check.given.join("\n")} />
      ${
        check.expected !== undefined &&
        !check.isValid &&
        html`<${Text} title=${t("webhooks.signature_expected")} text=${check.expected} />`
      }
    </div>
  `;
}

/**
 * A text as it is, with a button that copies it.
 * @param {{ title: string, text: string, children?: unknown }} props
 */
function Text({ title, text, children }) {
  return html`
    <div class="text">
      <div class="above">
        <h3>${title}</h3>
        ${children}
        ${text !== "" && html`<${Copy} text=${text} label=${`${t("copy")}: ${title}`} />`}
      </div>
      <pre tabindex="0" role="group" aria-label=${title}>${shownLines(text)}</pre>
    </div>
  `;
}

/**
 * Line breaks stay; other invisible characters are shown by their code points.
 * @param {string} text
 */
function shownLines(text) {
  return text
    .split("\n")
    .map((line) => shown(line.replaceAll("\t", "  ").replace(/\r$/, "")))
    .join("\n");
}

/**
 * JSON with one member per line; other text unchanged.
 * @param {string} text
 */
function prettyText(text) {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2);
  } catch {
    return text;
  }
}

/** @param {{ title: string, headers: Headers }} props */
function HeaderList({ title, headers }) {
  const rows = Object.entries(headers);
  return html`
    <details>
      <summary>${title} (${countText(rows.length)})</summary>
      <dl class="headers">
        ${rows.map(
          ([name, value]) => html`
            <div key=${name}>
              <dt class="code">${shown(name)}</dt>
              <dd class="code">${shown(value)}</dd>
            </div>
          `,
        )}
      </dl>
    </details>
  `;
}

/** @param {{ notification: ListedNotification, detail: Detail }} props */
function Facts({ notification, detail }) {
  const { hash } = notification;
  const since = detail.recorded_since;
  const ids = new Set(
    detail.receivers.flatMap(({ attempts }) =>
      attempts.flatMap(({ request }) => request?.headers["webhook-id"] ?? []),
    ),
  );
  return html`
    <div>
      <section class="box">
        <h2>${t("facts.title")}</h2>
        <dl class="pairs">
          <div>
            <dt>${t("head.hash")}</dt>
            <dd><a href=${`#/payment/${hash}`} class="code">${shown(hash)}</a></dd>
          </div>
          ${[...ids].map(
            (id) => html`
              <div key=${id}>
                <dt class="code">webhook-id</dt>
                <dd class="code">${shown(id)}</dd>
              </div>
            `,
          )}
        </dl>
      </section>
      <p class="soft">
        ${since === null ? t("webhooks.not_recorded") : parts("webhooks.recorded_since", { at: html`<${When} at=${since} />` })}
      </p>
    </div>
  `;
}

/**
 * The name of a receiver for display.
 * @param {string} endpoint
 */
export function receiverText(endpoint) {
  return endpoint.startsWith(ownAddresses) ? t("webhooks.own_address") : shown(endpoint);
}

/** The state of all deliveries together: the worst one. */
const worstFirst = ["failed", "waiting", "delivered"];

/**
 * The state of all deliveries together, as a dot and words.
 * @param {{ deliveries: readonly Delivery[] }} props
 */
export function StateCell({ deliveries }) {
  const states = new Set(deliveries.map(({ state }) => state));
  const worst = worstFirst.find((state) => states.has(state)) ?? deliveries[0]?.state;
  const { text, colour } =
    worst === undefined
      ? { text: t("notifications.no_receiver"), colour: "over" }
      : deliveryWords(worst);
  const part = deliveries.filter(({ state }) => state === worst).length;
  const isPart = deliveries.length > 1 && part < deliveries.length;
  return html`
    <span class="state">
      <span class=${`dot ${colour}`}></span><span class=${`word ${colour}`}>${shown(text)}</span>
      ${
        isPart &&
        html` <span class="soft"
          >· ${t("webhooks.part", { part: String(part), all: String(deliveries.length) })}</span
        >`
      }
    </span>
  `;
}

/**
 * `signed`: the exact text under the signature. `expected`: its signature under the secret;
 * undefined without the secret, or where the browser has no Web Crypto (an http page of another
 * machine).
 * @typedef {{ signed: string, given: readonly string[], expected: string | undefined, isValid:
 * boolean }} Check
 */

/**
 * Undefined: the message has no HMAC signature.
 * @param {Readonly<Record<string, string>>} headers
 * @param {string} body
 * @param {string | undefined} secret `whsec_` and base64
 * @returns {Promise<Check | undefined>}
 */
export async function checkSignature(headers, body, secret) {
  const given = (headers["webhook-signature"] ?? "")
    .split(" ")
    .filter((each) => each.startsWith("v1,"));
  if (given.length === 0) return undefined;
  const signed = `${headers["webhook-id"] ?? ""}.${headers["webhook-timestamp"] ?? ""}.${body}`;
  const expected = secret === undefined ? undefined : await signatureOf(signed, secret);
  return { signed, given, expected, isValid: expected !== undefined && given.includes(expected) };
}

/**
 * @param {string} text
 * @param {string} secret
 */
async function signatureOf(text, secret) {
  const { subtle } = /** @type {{ subtle?: SubtleCrypto }} */ (crypto);
  if (subtle === undefined) return undefined;
  const bytes = bytesOf(secret);
  if (bytes === undefined) return undefined;
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
  const digest = new Uint8Array(await subtle.sign("HMAC", key, new TextEncoder().encode(text)));
  return `v1,${btoa(String.fromCharCode(...digest))}`;
}

/** @param {string} secret */
function bytesOf(secret) {
  try {
    return Uint8Array.from(atob(secret.replace(/^whsec_/, "")), (each) => each.charCodeAt(0));
  } catch {
    return undefined;
  }
}
