// The account's settings in groups, to view and change.
import { signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { call, Refusal } from "./api.js";
import { countText } from "./format.js";
import { html, mountIn } from "./html.js";
import { t } from "./language.js";
import { Problem } from "./pieces.js";
import { keepFresh } from "./poll.js";
import { mayDo } from "./session.js";
import { listForms, settingGroups } from "./setting-words.js";
import { say, shown } from "./shown.js";
import { own } from "./words.js";

/** @import { Signal } from "@preact/signals" */

/**
 * `between`: the least and the greatest number, or number of characters.
 * @typedef {{ name: string, default: unknown, allowed: string, doc: string, values?: readonly
 * string[], unit?: string, between?: readonly [number, number], settings?: readonly Described[] }}
 * Described
 */
/** @typedef {Readonly<Record<string, unknown>>} Values */
/** @typedef {{ settings: Values, described: readonly Described[] }} Settings */
/** @typedef {Readonly<Record<string, string>>} Texts in the format of the controls, by name */

/**
 * A setting; its `name` has the name of the object around it before a dot.
 * @typedef {Omit<Described, "settings">} Setting
 */
/**
 * What the components show. `kept`: the server's values; `typed`: those that differ from them.
 * @typedef {object} Model
 * @property {readonly Setting[]} settings
 * @property {Signal<Values>} kept
 * @property {Signal<Texts>} typed
 * @property {Signal<ReadonlyMap<string, unknown>>} errors by the setting's name; "": of none of them
 * @property {() => Promise<void>} save
 */

/** The refusal of settings, with a sentence for each. */
const invalid = "COFRE-31";

/** @type {import("./main.js").View} */
export async function settingsView(main, _words, _query, abort) {
  const { settings: read, described } = /** @type {Settings} */ (
    await call("/__cofre/settings", { describe: true })
  );
  if (abort.aborted) return;
  const settings = described.flatMap(({ settings: inside, ...each }) =>
    inside === undefined
      ? [each]
      : inside.map((inner) => ({ ...inner, name: `${each.name}.${inner.name}` })),
  );
  const kept = signal(read);
  const typed = signal(/** @type {Texts} */ ({}));
  const errors = signal(/** @type {ReadonlyMap<string, unknown>} */ (new Map()));
  let isSaving = false;

  /** @param {Values} now */
  const take = (now) => {
    kept.value = now;
    // Unsaved changes stay.
    const others = Object.entries(typed.value).filter(([name, text]) => {
      const setting = settings.find((each) => each.name === name);
      return setting === undefined || text !== textIn(now, setting);
    });
    typed.value = Object.fromEntries(others);
  };

  const save = async () => {
    const sent = typed.value;
    const changed = settings.filter(({ name }) => own(sent, name) !== undefined);
    const { values, wrong } = asked(changed, sent);
    errors.value = wrong;
    if (wrong.size > 0) return;
    isSaving = true;
    try {
      const { settings: now } = /** @type {Settings} */ (
        await call("/__cofre/settings", { settings: values })
      );
      // A saved value is shown in the server's format, such as `30%` for `30 %`; what was typed
      // since then stays.
      typed.value = Object.fromEntries(
        Object.entries(typed.value).filter(([name, text]) => text !== own(sent, name)),
      );
      take(now);
      say(t("settings.saved"));
    } catch (error) {
      errors.value = refusedOf(error, changed);
    }
    isSaving = false;
  };

  mountIn(main, html`<${Form} model=${{ settings, kept, typed, errors, save }} />`, abort);
  void keepFresh(abort, async () => {
    const { settings: now } = /** @type {Settings} */ (await call("/__cofre/settings", {}));
    if (!abort.aborted && !isSaving) take(now);
  });
}

/** @param {{ model: Model }} props */
function Form({ model }) {
  const { settings, kept, typed, errors, save } = model;
  const [isBusy, setBusy] = useState(false);
  const [search, setSearch] = useState("");
  const [isOnlyChanged, setOnlyChanged] = useState(false);
  const refused = errors.value;
  useEffect(() => {
    const first = refused.size > 0 && document.querySelector('main [aria-invalid="true"]');
    if (first instanceof HTMLElement) first.focus();
  }, [refused]);
  const changed = settings.filter(
    (each) => valueOf(model, each) !== textOf(each.default, each),
  ).length;
  const count = Object.keys(typed.value).length;
  const known = new Set(settingGroups.flatMap((group) => Object.keys(group.settings)));
  const others = settings.filter(({ name }) => !known.has(name));
  const groups = [
    ...settingGroups,
    {
      title: t("settings.others"),
      settings: Object.fromEntries(others.map(({ name }) => [name, ""])),
    },
  ];
  /**
   * @param {Setting} setting
   * @param {string} words
   */
  const isShown = (setting, words) => {
    const isFound = `${words} ${setting.name}`.toLowerCase().includes(search.trim().toLowerCase());
    const isKept = textIn(kept.value, setting) === textOf(setting.default, setting);
    return isFound && !(isOnlyChanged && isKept && own(typed.value, setting.name) === undefined);
  };
  /** @param {Event} event */
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    await save();
    setBusy(false);
  };
  return html`
    <div>
      <p>${mayDo("admin") ? t("settings.explained") : t("settings.admins_only")}</p>
      <div class="above find-settings">
        <input
          type="search"
          aria-label=${t("settings.search")}
          placeholder=${t("settings.search")}
          autocomplete="off"
          spellcheck=${false}
          onInput=${(/** @type {Event} */ { target }) =>
            target instanceof HTMLInputElement && setSearch(target.value)}
        />
        <label class="check">
          <input
            type="checkbox"
            checked=${isOnlyChanged}
            onChange=${() => setOnlyChanged(!isOnlyChanged)}
          />
          ${t("settings.only_changed", { count: changed })}
        </label>
      </div>
      <form class="settings" onSubmit=${(/** @type {Event} */ event) => void send(event)}>
        ${groups.map(({ title, settings: names }) => {
          const rows = Object.entries(names).flatMap(([name, words]) => {
            const setting = settings.find((each) => each.name === name);
            return setting !== undefined && isShown(setting, words)
              ? [html`<${Row} key=${name} model=${model} setting=${setting} words=${words} />`]
              : [];
          });
          return (
            rows.length > 0 &&
            html`<section key=${title}>
              <h2>${title}</h2>
              ${rows}
            </section>`
          );
        })}
        ${
          mayDo("admin") &&
          html`<div class="save">
            <${Problem} error=${errors.value.get("")} />
            <button type="submit" name="save" disabled=${isBusy || count === 0}>
              ${t("save")}
            </button>
            <span class="soft" role="status">
              ${count === 0 ? t("settings.unchanged") : t("settings.changed", { count })}
            </span>
          </div>`
        }
      </form>
    </div>
  `;
}

/**
 * @param {{ model: Model, setting: Setting, words: string }} props `words`: empty when the page has
 * no name for it
 */
function Row({ model, setting, words }) {
  const { name, doc } = setting;
  const { typed, kept, errors } = model;
  const value = valueOf(model, setting);
  const initially = textOf(setting.default, setting);
  const error = errors.value.get(name);
  const { between, unit } = setting;
  const range =
    between !== undefined && unit === undefined && typeof setting.default === "number"
      ? between.map(countText).join("–")
      : allowedText(setting);
  /** @param {string} text */
  const put = (text) => {
    const { [name]: _, ...others } = typed.value;
    typed.value = text === textIn(kept.value, setting) ? others : { ...others, [name]: text };
  };
  const usual = t("settings.default", { value: optionText(initially) });
  const [control, named, about] = [`setting-${name}`, `named-${name}`, `about-${name}`];
  return html`
    <div class=${value === initially ? "setting" : "setting changed"}>
      <label id=${named} for=${control}>
        ${words === "" ? html`<span lang="en">${shown(doc)}</span>` : words}${" "}
        <code>${shown(name)}</code>
      </label>
      <${Control}
        id=${control}
        setting=${setting}
        value=${value}
        put=${put}
        disabled=${!mayDo("admin")}
        aria-describedby=${about}
        aria-invalid=${error === undefined ? undefined : "true"}
      />
      <div id=${about} class="soft">
        ${range ?? html`<span lang="en">${shown(setting.allowed)}</span>`}${" "}
        ${
          value !== initially &&
          (mayDo("admin")
            ? html`<button
                type="button"
                class="small"
                aria-describedby=${named}
                onClick=${() => put(initially)}
              >
                ${usual}
              </button>`
            : html`<span class="mark held">${usual}</span>`)
        }
        ${error !== undefined && html`<${Problem} error=${error} />`}
      </div>
    </div>
  `;
}

/**
 * @param {{ setting: Setting, value: string, put: (text: string) => void }} props other properties
 * are those of the control
 */
function Control({ setting, value, put, ...others }) {
  const { name, values, unit, default: initially } = setting;
  const options =
    typeof initially === "boolean"
      ? ["true", "false"]
      : values !== undefined && [...new Set([...values, value])];
  const read = (/** @type {Event} */ { target }) => {
    if (
      target instanceof HTMLInputElement ||
      target instanceof HTMLTextAreaElement ||
      target instanceof HTMLSelectElement
    )
      put(target.value);
  };
  if (options !== false)
    return html`<select name=${name} onChange=${read} ...${others}>
      ${options.map(
        (each) =>
          html`<option key=${each} value=${each} selected=${each === value}>
            ${optionText(each)}
          </option>`,
      )}
    </select>`;
  const common = { name, value, autocomplete: "off", spellcheck: false, onInput: read, ...others };
  if (typeof initially === "object") return html`<textarea rows="3" ...${common}></textarea>`;
  const mode = typeof initially === "number" && unit === undefined ? "numeric" : undefined;
  return html`<input inputmode=${mode} ...${common} />`;
}

/** @param {string} value in the control's format */
function optionText(value) {
  if (value === "" || value === "[]") return t("settings.empty");
  if (value === "true") return t("settings.on");
  return value === "false" ? t("settings.off") : shown(value);
}

/**
 * The allowed values in words; empty for those that a choice shows, undefined where the page has no
 * words for them.
 * @param {Setting} setting
 * @returns {string | undefined}
 */
function allowedText({ name, default: initially, values, unit, between }) {
  if (values !== undefined || typeof initially === "boolean") return "";
  if (unit === "thousandths") return "0%–100%";
  if (between !== undefined) {
    const [from, to] = between;
    return typeof initially === "number"
      ? t("settings.whole", { from, to })
      : t("settings.characters", { from, to });
  }
  return typeof initially === "string" ? t("settings.address") : own(listForms, name);
}

/**
 * The text in the setting's control.
 * @param {Model} model
 * @param {Setting} setting
 */
function valueOf({ kept, typed }, setting) {
  return own(typed.value, setting.name) ?? textIn(kept.value, setting);
}

/**
 * @param {Values} values
 * @param {Setting} setting
 */
function textIn(values, setting) {
  const [name = "", inside] = setting.name.split(".");
  const value = own(values, name);
  return textOf(
    inside === undefined
      ? value
      : own(/** @type {Values} */ (typeof value === "object" ? value : {}), inside),
    setting,
  );
}

/**
 * In the control's format: lists as JSON, thousandths as percent.
 * @param {unknown} value
 * @param {Setting} setting
 */
function textOf(value, { unit }) {
  if (value === undefined) return "";
  if (unit === "thousandths") return `${Number(value) / 10}%`;
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}

/**
 * The changed settings as the server expects them, and the errors of those that are not JSON or no
 * percentage.
 * @param {readonly Setting[]} changed
 * @param {Texts} texts
 */
function asked(changed, texts) {
  /** @type {Map<string, unknown>} */
  const values = new Map();
  /** @type {Map<string, unknown>} */
  const wrong = new Map();
  for (const setting of changed) {
    const [name = "", inside] = setting.name.split(".");
    try {
      const value = valueFrom(own(texts, setting.name) ?? "", setting);
      values.set(
        name,
        inside === undefined ? value : { ...Object(values.get(name)), [inside]: value },
      );
    } catch (error) {
      wrong.set(setting.name, error);
    }
  }
  return { values: Object.fromEntries(values), wrong };
}

/**
 * @param {string} text
 * @param {Setting} setting
 * @returns {unknown}
 */
function valueFrom(text, { name, default: initially, unit }) {
  if (unit === "thousandths") {
    const percent = /^\s*(\d{1,3}(?:[.,]\d)?)\s*%\s*$/.exec(text)?.[1]?.replace(",", ".");
    const value = Math.round(Number(percent) * 10);
    if (percent === undefined || value > 1000) throw new Error(t("settings.not_percent", { name }));
    return value;
  }
  if (typeof initially !== "object") return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(t("settings.not_json", { name }));
  }
}

/**
 * The errors of a refusal by setting. Its message has a sentence for each setting that is not
 * allowed, which begins with the name; others are about the setting that the message begins with.
 * @param {unknown} error
 * @param {readonly Setting[]} changed
 * @returns {ReadonlyMap<string, unknown>}
 */
function refusedOf(error, changed) {
  const message = error instanceof Refusal && error.code === invalid ? ` ${error.original}` : "";
  const found = changed.filter(({ name, allowed }) =>
    message.includes(` ${name} must be ${allowed}`),
  );
  if (found.length === 0) {
    const first = changed.find(({ name }) => message.startsWith(` ${name} `));
    return new Map([[first?.name ?? "", error]]);
  }
  return new Map(
    found.map((setting) => {
      const words = allowedText(setting) ?? "";
      const allowed = words === "" ? setting.allowed : words;
      return [setting.name, new Error(t("settings.not_allowed", { allowed }))];
    }),
  );
}
