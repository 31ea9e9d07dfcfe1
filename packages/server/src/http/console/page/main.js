// The page itself: who is using it, and which of its views the address names.
import { call, forgetKey, isAboutKey, keepKey, keyOfTab } from "./api.js";
import { field, h, problem, say } from "./dom.js";
import { listView } from "./list.js";
import { paymentView } from "./payment.js";
import { tryView } from "./try.js";

/**
 * A view fills `main` and keeps it fresh until the signal is aborted. It rejects when it could not begin.
 * @typedef {(main: HTMLElement, words: readonly string[], query: URLSearchParams, signal: AbortSignal) => Promise<void>} View
 */

/** @type {Readonly<Record<string, { title: string, view: View }>>} */
const views = {
  payments: { title: "Payments", view: listView },
  payment: { title: "Payment", view: paymentView },
  try: { title: "Try it", view: tryView },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));
let shownNow = new AbortController();

/** A link may bring the key along, behind the `#`, which browsers send nowhere. It leaves the address at once. */
function takeKeyFromAddress() {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given === null || !location.hash.startsWith("#key=")) return;
  keepKey(given);
  history.replaceState(null, "", "/#/payments");
}

async function show() {
  takeKeyFromAddress();
  // The skip link's own address is no view.
  if (location.hash === "#main") return;
  shownNow.abort();
  say("");
  shownNow = new AbortController();
  const { signal } = shownNow;
  if (keyOfTab() === undefined) return askForKey();
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [name = "", ...words] = path.split("/");
  const { title, view } = views[name] ?? { title: "Payments", view: listView };
  document.title = `${title} · Cofre`;
  showNav(title);
  const heading = h("h1", { tabindex: "-1" }, title);
  const before = document.activeElement;
  main.replaceChildren(heading);
  try {
    const begun = view(main, words, new URLSearchParams(search), signal);
    if (before !== document.body) focusOn(before?.getAttribute("name") ?? "", heading);
    await begun;
  } catch (error) {
    if (signal.aborted) return;
    if (isAboutKey(error)) {
      forgetKey();
      return askForKey(error);
    }
    main.append(problem(error));
  }
}

/**
 * Whoever was at a field stays at the field of that name; whoever followed a link begins at the top.
 * @param {string} name
 * @param {HTMLElement} heading
 */
function focusOn(name, heading) {
  const same = name === "" ? null : main.querySelector(`[name="${CSS.escape(name)}"]`);
  if (same instanceof HTMLElement) same.focus();
  else heading.focus();
}

/** @param {string} title */
function showNav(title) {
  nav.hidden = false;
  const link = (/** @type {string} */ address, /** @type {string} */ text) =>
    h("a", { href: address, "aria-current": text === title ? "page" : undefined }, text);
  nav.replaceChildren(
    link("#/payments", "Payments"),
    link("#/try", "Try it"),
    h("a", { href: "/docs" }, "Docs"),
    h("button", { type: "button", class: "plain", onclick: leave }, "Forget the key"),
  );
}

function leave() {
  forgetKey();
  void show().then(() => say("The key is forgotten."));
}

/** @param {unknown} [why] */
function askForKey(why) {
  document.title = "Cofre";
  nav.hidden = true;
  const input = h("input", { type: "password", name: "key", autocomplete: "off", spellcheck: "false", required: true, maxlength: "100" });
  const said = h("div", {}, why === undefined ? "" : problem(why));
  const form = h(
    "form",
    {
      class: "key",
      onsubmit: (event) => {
        event.preventDefault();
        void enter(input.value.trim(), said);
      },
    },
    field("Secret integration key", input),
    h("button", { type: "submit" }, "Open"),
  );
  main.replaceChildren(
    h("h1", { tabindex: "-1" }, "Cofre"),
    h(
      "p",
      {},
      "The first start of the server has shown two keys. The secret one opens this page: it stays in this tab and goes to this server only.",
    ),
    form,
    said,
  );
  input.focus();
}

/**
 * @param {string} key
 * @param {HTMLElement} said
 */
async function enter(key, said) {
  try {
    await call("/__cofre/payments", { limit: 1 }, { key });
    keepKey(key);
    await show();
  } catch (error) {
    said.replaceChildren(problem(error));
  }
}

addEventListener("hashchange", () => void show());
void show();
