// The page itself: the user, and the view that the URL names.
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
 * A view fills `main` and refreshes it until the signal is aborted. It rejects when it could not be
 * loaded.
 * @typedef {(main: HTMLElement, words: readonly string[], query: URLSearchParams, signal:
 * AbortSignal) => Promise<void>} View
 */

/** @import { Person, Role, Session } from "./session.js" */
/** @import { Typed } from "./typed.js" */

/**
 * By the first word of the URL's fragment. `of`: the parent view of one without a navigation link;
 * `login`: only with sign-in.
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
  people: { title: "Users", view: peopleView, needs: "admin", login: true },
  audit: { title: "Audit log", view: auditView, needs: "admin", login: true },
  account: { title: "Your password", view: accountView, of: "account", login: true },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const tag = /** @type {HTMLElement} */ (document.getElementById("tag"));
const nav = /** @type {HTMLElement} */ (document.getElementById("nav"));
let shownNow = new AbortController();
/** The previous view; empty: none. */
let shownBefore = "";

/** The invitation from a link. */
let invitation = "";

/**
 * A link may contain the key or an invitation after the `#`, which browsers do not send. It is
 * removed from the URL at once.
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
    "This link opens a different account from the one in this tab. Open it?",
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
  // The skip link's own fragment is not a view.
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
    // After a link, a button or the browser's Back, screen readers announce the view.
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
 * Shows the name of the open account. The key does not show whether it is a world's: the server
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

/** The key whose account was requested, so that it is requested once. */
let lookedUp = "";

/**
 * Keeps the focus on the field of that name; after a link, the focus is on the heading.
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
        ? [h("button", { type: "button", class: "plain", onclick: leave }, "Remove key")]
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
 * The signed-in user, and the button to sign out.
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
 * Asks the user to sign in, or for the key. The URL stays, and its view is shown afterwards.
 * @param {unknown} [why]
 * @param {boolean} [mayBe] the browser may have a session that this page does not know: the page
 * was reloaded, or another tab has signed in
 */
async function letIn(why, mayBe = !wasAsked) {
  if (!isLogin()) return askForKey(why);
  shownNow.abort();
  closeDialogs();
  document.title = "Cofre";
  nav.hidden = true;
  // Another user may see other views.
  nav.replaceChildren();
  shownBefore = "";
  const entered = (/** @type {Session} */ session) => {
    begin(session);
    invitation = "";
    const typed =
      left?.person === session.user.id && left.address === location.hash ? left.typed : undefined;
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
 * Unsent input at the end of the session: restored if the same user signs in again at the same URL.
 * @type {{ person: string | undefined, address: string, typed: Typed } | undefined}
 */
let left;

/** Rebuilds the view for the user's present role; keeps unsent input where it is still allowed. */
async function showRole() {
  const person = personOfPage();
  if (person === undefined) return;
  // The action of an open dialog may not be allowed any more.
  closeDialogs();
  const typed = typedIn(main);
  const { hash } = location;
  nav.replaceChildren();
  await show();
  if (location.hash === hash) putBack(main, typed);
  say(`Your role is ${person.role} now.`);
}

/** Whether the page has requested the session since it was loaded. */
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
  void show().then(() => say("Key removed."));
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
      "The server printed two keys at its first start. Enter the secret key: it is stored in the tabs of this page only and sent to this server only.",
    ),
    form,
    said,
  );
  input.focus();
  // Once: a key that was removed here is not restored by another tab.
  if (why !== undefined || hasAskedTabs) return;
  hasAskedTabs = true;
  void keyOfOtherTab().then((key) => {
    if (key === undefined || keyOfTab() !== undefined || input.value !== "") return;
    keepKey(key);
    void show();
  });
}

/** Whether this page has requested the key from other tabs since it was loaded. */
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

// Lists restore their scroll position themselves, after their rows are loaded.
history.scrollRestoration = "manual";
addEventListener("hashchange", () => void show());
if (!isLogin()) offerKey();
if (isLogin()) {
  addEventListener(sessionOver, () => {
    left = { person: personBefore(), address: location.hash, typed: typedIn(main, false) };
    void letIn(new Error("The session has ended. Sign in again."), true);
  });
  addEventListener(roleChanged, () => void showRole());
  watchSession();
}
void show();
