// The page itself: who is using it, and which of its views the address names.
import { accountView, signOut } from "./account.js";
import {
  call,
  forgetKey,
  isAboutKey,
  keepKey,
  keyOfOtherTab,
  keyOfTab,
  nameOfWorld,
  nameWorld,
  offerKey,
  sessionOver,
} from "./api.js";
import { auditView } from "./audit.js";
import { ask, closeDialogs, field, foreign, h, problem, say, shown } from "./dom.js";
import { chartsView } from "./charts.js";
import { faultsView } from "./faults.js";
import { listView } from "./list.js";
import { notificationsView } from "./notification-list.js";
import { paymentView } from "./payment.js";
import { peopleView } from "./people.js";
import { begin, isLogin, mayDo, personBefore, personOfPage, roleChanged } from "./session.js";
import { settingsView } from "./settings.js";
import { acceptInvitation, askToSignIn, watchSession } from "./sign-in.js";
import { tokensView } from "./tokens.js";
import { tryView } from "./try.js";
import { putBack, typedIn } from "./typed.js";
import { own } from "./words.js";
import { worldsView } from "./worlds.js";

/**
 * A view fills `main` and keeps it fresh until the signal is aborted. It rejects when it could not
 * begin.
 * @typedef {(main: HTMLElement, words: readonly string[], query: URLSearchParams, signal:
 * AbortSignal) => Promise<void>} View
 */

/** @import { Person, Role, Session } from "./session.js" */
/** @import { Typed } from "./typed.js" */

/**
 * By the first word of the address. `of` is the view under which one stands that no link leads to;
 * `login`: only where people sign in.
 * @type {Readonly<Record<string, { title: string, view: View, of?: string, needs?: Role, login?:
 * true }>>}
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
  try: { title: "Try it", view: tryView, needs: "operator" },
  people: { title: "People", view: peopleView, needs: "admin", login: true },
  audit: { title: "Audit log", view: auditView, needs: "admin", login: true },
  account: { title: "Your password", view: accountView, of: "account", login: true },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const tag = /** @type {HTMLElement} */ (document.getElementById("tag"));
const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));
let shownNow = new AbortController();
/** The view that was shown before; empty: none. */
let shownBefore = "";

/** An invitation that a link brought. */
let invitation = "";

/**
 * A link may bring the key or an invitation along, behind the `#`, which browsers send nowhere. It
 * leaves the address at once.
 */
function takeFromAddress() {
  if (isLogin()) {
    const invited = location.hash.startsWith("#invite=")
      ? new URLSearchParams(location.hash.slice(1)).get("invite")
      : null;
    if (invited === null) return;
    invitation = invited;
    history.replaceState(null, "", "/#/payments");
    return;
  }
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given === null || !location.hash.startsWith("#key=")) return;
  history.replaceState(null, "", "/#/payments");
  const before = keyOfTab();
  if (before === undefined || before === given) return keepKey(given);
  ask(
    "The link opens another account than the one that this tab shows. Open it?",
    "Open the other account",
    () => {
      keepKey(given);
      void show();
    },
  );
}

async function show() {
  closeDialogs();
  takeFromAddress();
  // The skip link's own address is no view.
  if (location.hash === "#main") return;
  shownNow.abort();
  say("");
  shownNow = new AbortController();
  const { signal } = shownNow;
  showAccount();
  if (isLogin() ? personOfPage() === undefined || invitation !== "" : keyOfTab() === undefined)
    return letIn();
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const [asked = "", ...words] = path.split("/");
  const found = own(views, asked);
  const name = found !== undefined && (isLogin() || found.login === undefined) ? asked : "payments";
  const {
    title,
    view,
    needs = "viewer",
  } = own(views, name) ?? { title: "Payments", view: listView };
  document.title = `${title} · Cofre`;
  showNav(name);
  const heading = h("h1", { tabindex: "-1" }, title);
  const before = document.activeElement;
  main.replaceChildren(heading);
  if (!mayDo(needs)) {
    main.append(h("p", {}, "Your role does not allow this."));
    heading.focus();
    return;
  }
  try {
    const begun = view(main, words, new URLSearchParams(search), signal);
    // Whoever came by a link, a button or the browser's back hears which view it is now.
    if (before !== document.body || (shownBefore !== "" && shownBefore !== name))
      focusOn(before?.getAttribute("name") ?? "", heading);
    shownBefore = name;
    await begun;
  } catch (error) {
    if (signal.aborted) return;
    if (isAboutKey(error)) {
      if (!isLogin()) forgetKey();
      return letIn(error);
    }
    main.append(problem(error));
  }
}

/**
 * Names the account that is open. A key alone does not say whether it is a world's: the server
 * does.
 */
function showAccount() {
  const world = nameOfWorld();
  tag.textContent = world === undefined ? "sandbox" : `world: ${shown(world)}`;
  const key = keyOfTab();
  if (world !== undefined || isLogin() || key === undefined || key === lookedUp) return;
  lookedUp = key;
  void call("/__cofre/world", {}, { key }).then(
    (answer) => {
      const { world: open } = /** @type {{ world: { name: string } | null }} */ (answer);
      if (open === null || keyOfTab() !== key) return;
      nameWorld(open.name);
      showAccount();
    },
    () => undefined,
  );
}

/** The key whose account was asked for, so that it is asked for once. */
let lookedUp = "";

/**
 * Whoever was at a field stays at the field of that name; whoever followed a link begins at the
 * top.
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
    const links = Object.entries(views).filter(
      ([, { of, needs = "viewer", login }]) =>
        of === undefined && mayDo(needs) && (!login || isLogin()),
    );
    const person = personOfPage();
    nav.append(
      ...links.map(([view, { title }]) => h("a", { href: `#/${view}` }, title)),
      h("a", { href: "/docs", class: "apart" }, "Docs"),
      ...(person === undefined
        ? [h("button", { type: "button", class: "plain", onclick: leave }, "Forget the key")]
        : whoIsIt(person)),
    );
  }
  for (const link of nav.querySelectorAll("a")) {
    const address = link.getAttribute("href");
    if (address === `#/${name}`) link.setAttribute("aria-current", "page");
    else if (address === `#/${own(views, name)?.of}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/**
 * Who is signed in, and the way out.
 * @param {Person} person
 */
function whoIsIt({ name, role }) {
  return [
    h("span", { class: "who" }, foreign(name), `, ${role}`),
    h("a", { href: "#/account" }, "Password"),
    h(
      "button",
      { type: "button", class: "plain", onclick: () => void signOut().then(() => letIn()) },
      "Sign out",
    ),
  ];
}

/**
 * Whoever is to use the page says who it is, or gives the key. The address stays: it leads there
 * afterwards.
 * @param {unknown} [why]
 * @param {boolean} [mayBe] the browser may have a session that this page does not know: it was
 * loaded anew, or another tab has signed in
 */
async function letIn(why, mayBe = !wasAsked) {
  if (!isLogin()) return askForKey(why);
  shownNow.abort();
  closeDialogs();
  document.title = "Cofre";
  nav.hidden = true;
  // Another person may see other views.
  nav.replaceChildren();
  shownBefore = "";
  const entered = (/** @type {Session} */ session) => {
    begin(session);
    invitation = "";
    const typed =
      left?.person === session.person.id && left.address === location.hash ? left.typed : undefined;
    left = undefined;
    void show().then(() => typed !== undefined && putBack(main, typed));
  };
  if (invitation !== "")
    return acceptInvitation(main, invitation, entered, () => ((invitation = ""), void show()));
  main.replaceChildren();
  wasAsked = true;
  const session = mayBe ? await whoWasIt() : undefined;
  if (session !== undefined) return entered(session);
  askToSignIn(main, why, entered);
}

/**
 * What stood there, and is not sent, when the session ended: for the same person at the same
 * address, should they come back.
 * @type {{ person: string | undefined, address: string, typed: Typed } | undefined}
 */
let left;

/**
 * The view is made anew, as the role that somebody has now is shown it; what they were typing
 * stays, where it still may be typed.
 */
async function showRole() {
  const person = personOfPage();
  if (person === undefined) return;
  // What a question would lead to may not be allowed any more.
  closeDialogs();
  const typed = typedIn(main);
  const { hash } = location;
  nav.replaceChildren();
  await show();
  if (location.hash === hash) putBack(main, typed);
  say(`Your role is ${person.role} now.`);
}

/** Whether the page has asked since it was loaded who is signed in. */
let wasAsked = false;

/** @returns {Promise<Session | undefined>} */
async function whoWasIt() {
  try {
    return /** @type {Session} */ (await call("/__cofre/session", {}));
  } catch {
    return undefined;
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
  const input = h("input", {
    type: "password",
    name: "key",
    autocomplete: "off",
    spellcheck: "false",
    required: true,
    maxlength: "100",
  });
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
      "The first start of the server has shown two keys. The secret one opens this page: it stays in the tabs of this page and goes to this server only.",
    ),
    form,
    said,
  );
  input.focus();
  // Once: a key that was forgotten here is not brought back by another tab.
  if (why !== undefined || hasAskedTabs) return;
  hasAskedTabs = true;
  void keyOfOtherTab().then((key) => {
    if (key === undefined || keyOfTab() !== undefined || input.value !== "") return;
    keepKey(key);
    void show();
  });
}

/** Whether this page has asked the other tabs for their key since it was loaded. */
let hasAskedTabs = false;

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

// Lists restore their place themselves, when their rows are there.
history.scrollRestoration = "manual";
addEventListener("hashchange", () => void show());
if (!isLogin()) offerKey();
if (isLogin()) {
  addEventListener(sessionOver, () => {
    left = { person: personBefore(), address: location.hash, typed: typedIn(main, false) };
    void letIn(new Error("The session has ended: sign in again."), true);
  });
  addEventListener(roleChanged, () => void showRole());
  watchSession();
}
void show();
