// The receivers of the account's notifications, and the form that edits one.
import { signal } from "@preact/signals";
import { useState } from "preact/hooks";
import { call, Refusal } from "./api.js";
import { ask, openDialog } from "./dialog.js";
import { html } from "./html.js";
import { parts, t } from "./language.js";
import { Copy } from "./payment.js";
import { Problem, valuesOf, When } from "./pieces.js";
import { isLogin, mayDo } from "./session.js";
import { problemText, say, shown } from "./shown.js";
import { counters } from "./state.js";
import { own } from "./words.js";

/** @import { Signal } from "@preact/signals" */

/**
 * `disabled`: at `disabled_at` if known; `gone`: it has answered 410, at `gone_at`. `secret`: only
 * for those who may see it.
 * @typedef {{ id: string, url: string, state: "enabled" | "disabled" | "gone", disabled_at?: string,
 * gone_at?: string, secret?: string }} Receiver
 */
/** @typedef {{ endpoints: Receiver[], payment_url_secret?: string }} WithReceivers */
/**
 * An entry of the setting `notificationEndpoints`.
 * @typedef {{ id: string, url: string, signatures?: readonly string[], hashesPerCall?: number }}
 * Configured
 */
/**
 * What the components show. `secrets`: of receivers by id, and of payments' own addresses by an
 * empty id; undefined: not shown.
 * @typedef {object} ReceiversModel
 * @property {Signal<readonly Receiver[]>} receivers
 * @property {Signal<Readonly<Record<string, string>> | undefined>} secrets
 * @property {() => Promise<void>} refresh
 */

/** The receiver of the setting `notificationUrl`. */
const accountUrl = "account-url";
const signatureKinds = ["rsa", "hmac", "ed25519"];

/** @returns {ReceiversModel} whose `refresh` does nothing yet */
export function receiversModel() {
  return {
    receivers: signal(/** @type {readonly Receiver[]} */ ([])),
    secrets: signal(/** @type {Readonly<Record<string, string>> | undefined} */ (undefined)),
    refresh: async () => {},
  };
}

/**
 * Takes the receivers of an answer, and their secrets if it has them.
 * @param {ReceiversModel} model
 * @param {WithReceivers} answer
 */
export function takeReceivers(model, { endpoints, payment_url_secret: ofUrls }) {
  countReceivers(endpoints);
  if (JSON.stringify(endpoints) !== JSON.stringify(model.receivers.value))
    model.receivers.value = endpoints;
  if (ofUrls === undefined) return;
  const secrets = Object.fromEntries([
    ["", ofUrls],
    ...endpoints.flatMap(({ id, secret }) => (secret === undefined ? [] : [[id, secret]])),
  ]);
  if (JSON.stringify(secrets) !== JSON.stringify(model.secrets.value))
    model.secrets.value = secrets;
}

/**
 * Shows in the side bar how many receivers get nothing now.
 * @param {readonly { state: string }[]} receivers
 */
export function countReceivers(receivers) {
  const off = receivers.filter(({ state }) => state !== "enabled").length;
  const { webhooks: _, ...others } = counters.value;
  counters.value =
    off === 0
      ? others
      : { ...others, webhooks: { text: t("side.receivers_off", { count: off }), isBad: true } };
}

/**
 * Reads the secrets, which the audit log records of an administrator; others have them already, or
 * never.
 * @param {ReceiversModel} model
 */
export async function readSecrets(model) {
  if (model.secrets.value !== undefined) return;
  const asked = { order: "newest", limit: 1, ...(isLogin() ? { secrets: true } : {}) };
  takeReceivers(model, /** @type {WithReceivers} */ (await call("/__cofre/notifications", asked)));
}

/**
 * `last`: the number of the newest notification, which is sent as a test; 0: there is none.
 * @param {{ model: ReceiversModel, last: number }} props
 */
export function Receivers({ model, last }) {
  const receivers = model.receivers.value;
  const mayEdit = mayDo("admin");
  return html`
    <section class="box receivers">
      <div class="above">
        <h2>${t("receivers.title")}</h2>
        ${
          mayEdit &&
          html`<button type="button" class="small" name="add" onClick=${() => edit(model)}>
            ${t("receivers.add")}
          </button>`
        }
      </div>
      ${
        receivers.length === 0
          ? html`<p class="soft">
              ${parts("receivers.none", { command: html`<code>cofre listen</code>` })}
            </p>`
          : html`<ul class="rows">
              ${receivers.map(
                (receiver) =>
                  html`<${Row}
                    key=${receiver.id}
                    model=${model}
                    receiver=${receiver}
                    last=${last}
                  />`,
              )}
            </ul>`
      }
    </section>
  `;
}

/** @param {{ model: ReceiversModel, receiver: Receiver, last: number }} props */
function Row({ model, receiver, last }) {
  const { id, url, state } = receiver;
  const isOn = state === "enabled";
  const turn = () =>
    act(model, async () => {
      await call("/__cofre/notifications", {
        [isOn ? "disable" : "enable"]: id,
        order: "newest",
        limit: 1,
      });
      return isOn ? t("receivers.now_disabled", { id }) : t("receivers.now_enabled", { id });
    });
  const test = () =>
    act(model, async () => {
      const { deliveries } = /** @type {{ deliveries: number }} */ (
        await call("/__cofre/notifications", {
          replay: "range",
          from: last,
          to: last,
          endpoint: id,
        })
      );
      return deliveries === 0
        ? t("receivers.not_tested")
        : t("receivers.tested", { number: String(last), id });
    });
  return html`
    <li>
      <span class="state">
        <span class=${`dot ${isOn ? "good" : "bad"}`}></span
        ><span class=${`word ${isOn ? "" : "bad"}`}>${stateText(state)}</span>
      </span>
      <span class="address">
        <b><bdi>${shown(id)}</bdi></b
        >${" "}<bdi class="code">${shown(url)}</bdi>
        ${!isOn && html`${" "}<small class="soft">${sinceText(receiver)}</small>`}
      </span>
      <span class="buttons">
        ${
          mayDo("operator") &&
          isOn &&
          last > 0 &&
          html`<${Button}
            name=${`test-${id}`}
            text=${t("receivers.test")}
            of=${id}
            onClick=${test}
          />`
        }
        ${
          mayDo("admin") &&
          html`<${Button}
            name=${`switch-${id}`}
            text=${isOn ? t("receivers.disable") : t("receivers.enable")}
            of=${id}
            onClick=${turn}
          />`
        }
        ${
          mayDo("admin") &&
          html`<${Button}
            name=${`edit-${id}`}
            text=${t("receivers.edit")}
            of=${id}
            onClick=${() => edit(model, receiver)}
          />`
        }
      </span>
    </li>
  `;
}

/** @param {{ name: string, text: string, of: string, onClick: () => void }} props */
function Button({ name, text, of, onClick }) {
  return html`<button
    type="button"
    class="small"
    name=${name}
    aria-label=${`${text} ${shown(of)}`}
    onClick=${onClick}
  >
    ${text}
  </button>`;
}

/** @param {Receiver["state"]} state */
function stateText(state) {
  if (state === "enabled") return t("receivers.enabled");
  return state === "disabled" ? t("receivers.disabled") : t("receivers.gone");
}

/** @param {Receiver} receiver */
function sinceText({ state, disabled_at: disabledAt, gone_at: goneAt }) {
  const isDisabled = state === "disabled";
  const since = isDisabled ? disabledAt : goneAt;
  if (since === undefined)
    return isDisabled ? t("receivers.was_disabled") : t("receivers.answered_410");
  return parts(isDisabled ? "receivers.was_disabled_at" : "receivers.answered_410_at", {
    at: html`<${When} at=${since} />`,
  });
}

/**
 * Reports the text that the work returns, or its error, and refreshes.
 * @param {ReceiversModel} model
 * @param {() => Promise<string>} work
 */
async function act(model, work) {
  try {
    const words = await work();
    await model.refresh();
    say(words);
  } catch (error) {
    say(problemText(error));
  }
}

/**
 * Opens the form for a new receiver, or for this one.
 * @param {ReceiversModel} model
 * @param {Receiver} [receiver]
 */
async function edit(model, receiver) {
  const { hash } = location;
  try {
    const before = receiver === undefined ? undefined : await configured(receiver.id);
    // Another view has opened.
    if (location.hash !== hash) return;
    openDialog(
      "receiver-title",
      (close) =>
        html`<${Form} model=${model} receiver=${receiver} before=${before} onClose=${close} />`,
    );
  } catch (error) {
    say(problemText(error));
  }
}

/**
 * @typedef {{ notificationUrl: string, notificationEndpoints: readonly Configured[] }}
 * ReceiverSettings
 */

/** @returns {Promise<ReceiverSettings>} */
async function readSettings() {
  const { settings } = /** @type {{ settings: ReceiverSettings }} */ (
    await call("/__cofre/settings", {})
  );
  return settings;
}

/**
 * The receiver's entry in the settings.
 * @param {string} id
 * @returns {Promise<Configured | undefined>}
 */
async function configured(id) {
  return entryOf(await readSettings(), id);
}

/**
 * @param {ReceiverSettings} settings
 * @param {string} id
 * @returns {Configured | undefined}
 */
function entryOf({ notificationUrl: url, notificationEndpoints: endpoints }, id) {
  const entry = endpoints.find((each) => each.id === id);
  if (id !== accountUrl) return entry;
  return url === "" ? undefined : { id, url };
}

/**
 * Writes one receiver: `after` in place of `before`; undefined: none. Throws when its entry was
 * changed in the meantime.
 * @param {string} id
 * @param {Configured | undefined} before
 * @param {Configured | undefined} after
 */
async function write(id, before, after) {
  const now = await readSettings();
  if (JSON.stringify(entryOf(now, id)) !== JSON.stringify(before))
    throw new Error(before === undefined ? t("receivers.taken") : t("receivers.changed_elsewhere"));
  const all = now.notificationEndpoints;
  const others = all.filter((each) => each.id !== id);
  const changed =
    after === undefined
      ? others
      : before === undefined
        ? [...all, after]
        : all.map((each) => (each.id === id ? after : each));
  const settings =
    id === accountUrl
      ? {
          notificationUrl: after?.url ?? "",
          ...(after === undefined ? { notificationEndpoints: others } : {}),
        }
      : { notificationEndpoints: changed };
  await call("/__cofre/settings", { settings });
}

/**
 * The refusal of the list of receivers in the words of the form: the server's names the fields of the
 * setting.
 * @param {unknown} error
 */
function wordsOf(error) {
  if (!(error instanceof Refusal)) return error;
  const most = /^notificationEndpoints must be a list of at most (\d+) /.exec(error.original)?.[1];
  return most === undefined ? error : new Error(t("receivers.not_allowed", { most }));
}

/**
 * @param {{ model: ReceiversModel, receiver: Receiver | undefined, before: Configured | undefined,
 * onClose: () => void }} props
 */
function Form({ model, receiver, before, onClose }) {
  const [trouble, setTrouble] = useState(/** @type {unknown} */ (undefined));
  const [isBusy, setBusy] = useState(false);
  const isNew = receiver === undefined;
  const hasOptions = receiver?.id !== accountUrl;
  /**
   * @param {() => Promise<void>} work
   * @param {string} words
   */
  const run = async (work, words) => {
    setBusy(true);
    try {
      await work();
      onClose();
      await model.refresh();
      say(words);
    } catch (error) {
      setTrouble(wordsOf(error));
      setBusy(false);
    }
  };
  /** @param {Event} event */
  const save = (event) => {
    event.preventDefault();
    const typed = valuesOf(event.currentTarget);
    const id = receiver?.id ?? typed["id"] ?? "";
    const chosen = signatureKinds.filter((kind) => Object.hasOwn(typed, `signature-${kind}`));
    const { signatures: _, hashesPerCall: __, ...kept } = before ?? {};
    const hashes = Number(typed["hashesPerCall"]);
    const after = {
      ...kept,
      id,
      url: typed["url"] ?? "",
      ...(hasOptions && chosen.length < signatureKinds.length ? { signatures: chosen } : {}),
      ...(hasOptions && hashes > 1 ? { hashesPerCall: hashes } : {}),
    };
    void run(
      () => write(id, before, after),
      isNew ? t("receivers.added", { id }) : t("receivers.saved", { id }),
    );
  };
  const removeIt = () => {
    const id = receiver?.id ?? "";
    onClose();
    ask(t("receivers.remove_question", { id: shown(id) }), t("remove"), () =>
      act(model, async () => {
        await write(id, before, undefined);
        return t("receivers.removed", { id });
      }),
    );
  };
  return html`
    <div>
      <h2 id="receiver-title">
        ${isNew ? t("receivers.add_title") : t("receivers.edit_title", { id: shown(receiver.id) })}
      </h2>
      <form class="receiver" onSubmit=${save}>
        ${
          isNew &&
          html`<label class="field">
            <span>${t("receivers.name")}</span>
            <input
              name="id"
              required
              maxlength="32"
              pattern="[a-z][a-z0-9\\-]*"
              autocomplete="off"
              spellcheck=${false}
              aria-describedby="receiver-name"
            />
            <small id="receiver-name">${t("receivers.name_rule")}</small>
          </label>`
        }
        <label class="field">
          <span>${t("head.address")}</span>
          <input
            name="url"
            type="url"
            required
            maxlength="2048"
            autocomplete="off"
            spellcheck=${false}
            value=${before?.url ?? ""}
          />
        </label>
        ${hasOptions && html`<${Options} before=${before} />`}
        ${receiver !== undefined && html`<${Secret} model=${model} id=${receiver.id} />`}
        <${Problem} error=${trouble} />
        <p class="actions">
          <button type="submit" disabled=${isBusy}>${t("save")}</button>
          <button type="button" class="plain" onClick=${onClose}>${t("cancel")}</button>
          ${
            !isNew &&
            html`<button type="button" class="plain" name="remove" onClick=${removeIt}>
              ${t("receivers.remove")}
            </button>`
          }
        </p>
      </form>
    </div>
  `;
}

/** @param {{ before: Configured | undefined }} props */
function Options({ before }) {
  const chosen = before?.signatures ?? signatureKinds;
  return html`
    <fieldset>
      <legend>${t("receivers.signatures")}</legend>
      ${signatureKinds.map(
        (kind) => html`
          <label key=${kind} class="check">
            <input
              type="checkbox"
              name=${`signature-${kind}`}
              checked=${chosen.includes(kind)}
            />${" "}<code>${kind}</code>
          </label>
        `,
      )}
    </fieldset>
    <label class="field">
      <span>${t("receivers.hashes")}</span>
      <input
        name="hashesPerCall"
        type="number"
        min="1"
        max="100"
        value=${String(before?.hashesPerCall ?? 1)}
      />
    </label>
  `;
}

/**
 * A secret, hidden until it is asked for.
 * @param {{ model: ReceiversModel, id: string }} props
 */
export function Secret({ model, id }) {
  const [isShown, setShown] = useState(false);
  if (!mayDo("admin")) return null;
  const secret = isShown ? own(model.secrets.value ?? {}, id) : undefined;
  const turn = async () => {
    try {
      await readSecrets(model);
      setShown(!isShown);
    } catch (error) {
      say(problemText(error));
    }
  };
  return html`
    <div class="field">
      <span>${t("receivers.secret")}</span>
      <span class="buttons">
        <code class="secret">${secret === undefined ? "whsec_••••••••••••" : shown(secret)}</code>
        <button type="button" class="small" name="show-secret" onClick=${() => void turn()}>
          ${isShown ? t("receivers.hide") : t("receivers.show")}
        </button>
        ${secret !== undefined && html`<${Copy} text=${secret} label=${t("copy")} />`}
      </span>
    </div>
  `;
}
