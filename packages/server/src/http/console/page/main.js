// The page itself: who is using it, and which of its views the address names.
import { call, forgetKey, isAboutKey, keepKey, keyOfTab, nameOfWorld } from "./api.js";
import { field, h, problem, say, shown } from "./dom.js";
import { chartsView } from "./charts.js";
import { faultsView } from "./faults.js";
import { listView } from "./list.js";
import { notificationsView } from "./notification-list.js";
import { paymentView } from "./payment.js";
import { settingsView } from "./settings.js";
import { tokensView } from "./tokens.js";
import { tryView } from "./try.js";
import { worldsView } from "./worlds.js";

/**
 * A view fills `main` and keeps it fresh until the signal is aborted. It rejects when it could not begin.
 * @typedef {(main: HTMLElement, words: readonly string[], query: URLSearchParams, signal: AbortSignal) => Promise<void>} View
 */

/**
 * By the first word of the address. `of` is the view under which one stands that no link leads to.
 * @type {Readonly<Record<string, { title: string, view: View, of?: string }>>}
 */
const views = {
  payments: { title: "Payments", view: listView },
  payment: { title: "Payment", view: paymentView, of: "payments" },
  notifications: { title: "Notifications", view: notificationsView },
  tokens: { title: "Tokens", view: tokensView },
  charts: { title: "Charts", view: chartsView },
  worlds: { title: "Worlds", view: worldsView },
  faults: { title: "Faults", view: faultsView },
  settings: { title: "Settings", view: settingsView },
  try: { title: "Try it", view: tryView },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const tag = /** @type {HTMLElement} */ (document.getElementById("tag"));
const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));
let shownNow = new AbortController();
/** The view that was shown before; empty: none. */
let shownBefore = "";

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
  const world = nameOfWorld();
  tag.textContent = world === undefined ? "sandbox" : `world: ${shown(world)}`;
  if (keyOfTab() === undefined) return askForKey();
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [asked = "", ...words] = path.split("/");
  const name = Object.hasOwn(views, asked) ? asked : "payments";
  const { title, view } = views[name] ?? { title: "Payments", view: listView };
  document.title = `${title} · Cofre`;
  showNav(name);
  const heading = h("h1", { tabindex: "-1" }, title);
  const before = document.activeElement;
  main.replaceChildren(heading);
  try {
    const begun = view(main, words, new URLSearchParams(search), signal);
    // Whoever came by a link, a button or the browser's back hears which view it is now.
    if (before !== document.body || (shownBefore !== "" && shownBefore !== name)) focusOn(before?.getAttribute("name") ?? "", heading);
    shownBefore = name;
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

/** @param {string} name */
function showNav(name) {
  nav.hidden = false;
  if (nav.firstChild === null) {
    const links = Object.entries(views).filter(([, { of }]) => of === undefined);
    nav.append(
      ...links.map(([view, { title }]) => h("a", { href: `#/${view}` }, title)),
      h("a", { href: "/docs" }, "Docs"),
      h("button", { type: "button", class: "plain", onclick: leave }, "Forget the key"),
    );
  }
  for (const link of nav.querySelectorAll("a")) {
    const address = link.getAttribute("href");
    if (address === `#/${name}`) link.setAttribute("aria-current", "page");
    else if (address === `#/${views[name]?.of}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function leave() {
  forgetKey();
  void show().then(() => say("The key is forgotten."));
}

/** @param {unknown} [why] */
function askForKey(why) {
  document.title = "Cofre";
  nav.hidden = true;
  shownBefore = "";
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
