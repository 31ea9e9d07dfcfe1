// The account's settings, with a description of each, to view and change.
import { call } from "./api.js";
import { h, problem, say, select, shown } from "./dom.js";
import { t } from "./language.js";
import { keepFresh } from "./poll.js";
import { mayDo } from "./session.js";
import { own } from "./words.js";

/**
 * @typedef {{ name: string, default: unknown, allowed: string, doc: string, values?: readonly
 * string[], unit?: string, settings?: readonly Described[] }} Described
 */
/**
 * @typedef {{ settings: Readonly<Record<string, unknown>>, described: readonly Described[] }}
 * Settings
 */
/** @typedef {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} Control */

/**
 * A setting on the page: `kept` is the server's value, in the control's format.
 * @typedef {{ path: readonly string[], control: Control, kept: string, isList: boolean, unit:
 * string | undefined }} Switch
 */

/** Titles of groups of settings. */
/** @type {Readonly<Record<string, string>>} */
const titles = {
  simulator: t("settings.simulator"),
  notificationChaos: t("settings.chaos"),
};

/** @type {import("./main.js").View} */
export async function settingsView(main, _words, _query, signal) {
  const { settings, described } = /** @type {Settings} */ (
    await call("/__cofre/settings", { describe: true })
  );
  if (signal.aborted) return;
  /** @type {Switch[]} */
  const switches = [];
  const trouble = h("div");
  const save = h("button", { type: "submit", name: "save", disabled: true }, t("save"));
  let isSaving = false;
  const count = h("span", { class: "soft", role: "status" });

  /** @param {readonly Switch[]} changed */
  const showChanges = (changed) => {
    save.disabled = changed.length === 0;
    const words =
      changed.length === 0
        ? t("settings.unchanged")
        : t("settings.changed", { count: changed.length });
    if (count.textContent !== words) count.textContent = words;
  };
  const changes = () => switches.filter(({ control, kept }) => control.value !== kept);

  /** @param {Readonly<Record<string, unknown>>} now */
  const take = (now) => {
    for (const each of switches) {
      const text = textOf(valueAt(now, each.path), each.unit);
      // Unsaved changes stay.
      if (each.control.value === each.kept && each.control.value !== text)
        each.control.value = text;
      each.kept = text;
    }
    showChanges(changes());
  };

  const send = async () => {
    isSaving = true;
    save.disabled = true;
    try {
      const sent = new Map(changes().map((each) => [each, each.control.value]));
      const { settings: now } = /** @type {Settings} */ (
        await call("/__cofre/settings", { settings: asked([...sent.keys()]) })
      );
      for (const each of switches) {
        each.kept = textOf(valueAt(now, each.path), each.unit);
        // A saved value is shown in the server's format, such as `30%` for `30 %`.
        if (sent.get(each) === each.control.value) each.control.value = each.kept;
      }
      trouble.replaceChildren();
      say(t("settings.saved"));
    } catch (error) {
      trouble.replaceChildren(problem(error));
    }
    isSaving = false;
    showChanges(changes());
  };

  /**
   * @param {readonly Described[]} of
   * @param {readonly string[]} path
   */
  const rowsOf = (of, path) =>
    of.map((each) => {
      const here = [...path, each.name];
      const value = valueAt(settings, here);
      const control = controlOf(here.join("."), each, value);
      switches.push({
        path: here,
        control,
        kept: control.value,
        isList: typeof value === "object",
        unit: each.unit,
      });
      return row(here.join("."), each, control, switches.length);
    });

  const groups = described.filter(({ settings: inside }) => inside !== undefined);
  const form = h(
    "form",
    {
      class: "settings",
      oninput: () => showChanges(changes()),
      onsubmit: (event) => {
        event.preventDefault();
        void send();
      },
    },
    ...rowsOf(
      described.filter(({ settings: inside }) => inside === undefined),
      [],
    ),
    ...groups.flatMap((group) => [
      h("h2", {}, own(titles, group.name) ?? shown(group.name)),
      h("p", { class: "soft", lang: "en" }, shown(group.doc)),
      ...rowsOf(group.settings ?? [], [group.name]),
    ]),
    mayDo("admin") && h("div", { class: "save" }, trouble, save, count),
  );
  showChanges([]);
  main.append(
    h("p", {}, mayDo("admin") ? t("settings.explained") : t("settings.admins_only")),
    form,
  );
  void keepFresh(signal, async () => {
    const { settings: now } = /** @type {Settings} */ (await call("/__cofre/settings", {}));
    if (!signal.aborted && !isSaving) take(now);
  });
}

/**
 * @param {string} name
 * @param {Described} setting
 * @param {Control} control
 * @param {number} number
 */
function row(name, { default: initially, allowed, doc, unit, settings }, control, number) {
  const [label, description] = [`setting-${number}`, `doc-${number}`];
  control.id = label;
  control.disabled = !mayDo("admin");
  control.setAttribute("aria-describedby", description);
  const text = initially === "" ? t("settings.empty") : shown(textOf(initially, unit));
  const range = unit === "thousandths" ? t("settings.percent_range") : shown(allowed);
  const usual =
    settings === undefined && typeof initially !== "object"
      ? `; ${t("settings.default", { value: text })}`
      : "";
  return h(
    "div",
    { class: "setting" },
    h("label", { for: label, class: "code" }, shown(name)),
    control,
    h(
      "p",
      { id: description, class: "soft" },
      h("span", { lang: "en" }, shown(doc)),
      ` (${range}${usual})`,
    ),
  );
}

/**
 * @param {string} name
 * @param {Described} setting
 * @param {unknown} value
 * @returns {Control}
 */
function controlOf(name, { values, unit }, value) {
  const text = textOf(value, unit);
  if (typeof value === "boolean") return select(name, ["true", "false"].map(asOption), text);
  if (values !== undefined)
    return select(name, [...new Set([...values, text])].map(asOption), text);
  const common = { name, autocomplete: "off", spellcheck: "false" };
  if (typeof value === "object") {
    const area = h("textarea", { ...common, rows: "3" });
    area.value = text;
    return area;
  }
  return h("input", {
    ...common,
    value: text,
    inputmode: typeof value === "number" && unit === undefined ? "numeric" : undefined,
  });
}

/**
 * @param {string} value
 * @returns {readonly [value: string, text: string]}
 */
function asOption(value) {
  return [value, shown(value)];
}

/**
 * In the control's format: lists as JSON, thousandths as percent.
 * @param {unknown} value
 * @param {string | undefined} unit
 */
function textOf(value, unit) {
  if (value === undefined) return "";
  if (unit === "thousandths") return `${Number(value) / 10}%`;
  return typeof value === "string" ? value : JSON.stringify(value, undefined, 1);
}

/**
 * @param {Readonly<Record<string, unknown>>} settings
 * @param {readonly string[]} path
 * @returns {unknown}
 */
function valueAt(settings, [name = "", ...rest]) {
  const value = own(settings, name);
  if (rest.length === 0) return value;
  return typeof value === "object" && value !== null
    ? valueAt(/** @type {Record<string, unknown>} */ (value), rest)
    : undefined;
}

/**
 * The changed settings by name. Throws when a list is not JSON, or a rate is not a percentage.
 * @param {readonly Switch[]} changed
 */
function asked(changed) {
  /** @type {Map<string, unknown>} */
  const settings = new Map();
  for (const { path, control, isList, unit } of changed) {
    const [name = "", inside] = path;
    const value = isList
      ? parsed(name, control.value)
      : unit === "thousandths"
        ? thousandths(path, control.value)
        : control.value;
    if (inside === undefined) settings.set(name, value);
    else settings.set(name, Object.assign(settings.get(name) ?? {}, { [inside]: value }));
  }
  return Object.fromEntries(settings);
}

/**
 * @param {readonly string[]} path
 * @param {string} text
 */
function thousandths(path, text) {
  const percent = /^\s*(\d{1,3}(?:[.,]\d)?)\s*%\s*$/.exec(text)?.[1]?.replace(",", ".");
  const value = Math.round(Number(percent) * 10);
  if (percent === undefined || value > 1000)
    throw new Error(t("settings.not_percent", { name: path.join(".") }));
  return value;
}

/**
 * @param {string} name
 * @param {string} text
 * @returns {unknown}
 */
function parsed(name, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(t("settings.not_json", { name }));
  }
}
