// The page itself: the user, and the view that the URL names.
import { render } from "preact";
import { useState } from "preact/hooks";
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
  subjectOfTab,
} from "./api.js";
import { auditView } from "./audit.js";
import { cardsView } from "./cards.js";
import { compareView } from "./compare.js";
import { ask, closeDialogs } from "./dialog.js";
import { faultsView } from "./faults.js";
import { html, mountIn } from "./html.js";
import { insightsView } from "./insights.js";
import { showKeys, viewShown, watchKeys } from "./keys.js";
import { language, t } from "./language.js";
import { forgetList, listView } from "./list.js";
import { watchMenus } from "./menus.js";
import { newPaymentView } from "./new-payment.js";
import { paymentView } from "./payment.js";
import { peopleView } from "./people.js";
import { Problem, TextField, valuesOf } from "./pieces.js";
import { requestView } from "./request.js";
import { requestsView } from "./requests.js";
import {
  begin,
  isLogin,
  isSandbox,
  mayDo,
  personBefore,
  personOfPage,
  roleChanged,
} from "./session.js";
import { settingsView } from "./settings.js";
import { clearStatus, say } from "./shown.js";
import { accountChanged, SideBar, watchAccount } from "./side-bar.js";
import { acceptInvitation, askToSignIn, watchSession } from "./sign-in.js";
import { shell } from "./state.js";
import { tokensView } from "./tokens.js";
import { putBack, typedIn } from "./typed.js";
import { own, roleWords } from "./words.js";
import { webhooksView } from "./webhooks.js";
import { worldsView } from "./worlds.js";

/**
 * A view fills `main` and refreshes it until the signal is aborted. It rejects when it could not be
 * loaded.
 * @typedef {(main: HTMLElement, words: readonly string[], query: URLSearchParams, signal:
 * AbortSignal) => Promise<void>} View
 */

/** @import { Role, Session } from "./session.js" */
/** @import { Typed } from "./typed.js" */

/** @type {{ title: string, view: View, key: string, needs?: Role }} */
const payments = { title: t("view.payments"), view: listView, key: "g p" };
const [sandbox, ofAccount] = [t("group.sandbox"), t("group.account")];

/**
 * By the first word of the URL's fragment. `group` and `key`: the heading above its link in the
 * side bar, and its keyboard shortcut; `of`: the parent view of one without such a link; `login`:
 * only with sign-in; `isOfSandbox`: not in production.
 * @type {Readonly<Record<string, { title: string, view: View, group?: string, key?: string, of?:
 * string, needs?: Role, login?: true, isOfSandbox?: true }>>}
 */
const views = {
  new: {
    title: t("view.new"),
    view: newPaymentView,
    needs: "operator",
    key: "n",
    isOfSandbox: true,
  },
  payments,
  payment: { title: t("view.payment"), view: paymentView, of: "payments" },
  compare: { title: t("view.compare"), view: compareView, of: "payments" },
  webhooks: { title: t("view.webhooks"), view: webhooksView, key: "g h" },
  requests: { title: t("view.requests"), view: requestsView, key: "g r", isOfSandbox: true },
  request: {
    title: t("view.request"),
    view: requestView,
    of: "requests",
    isOfSandbox: true,
  },
  tokens: { title: t("view.tokens"), view: tokensView, key: "g t" },
  insights: { title: t("view.insights"), view: insightsView, key: "g i" },
  worlds: { title: t("view.worlds"), view: worldsView, group: sandbox, key: "g w" },
  faults: { title: t("view.faults"), view: faultsView, group: sandbox, key: "g f" },
  cards: { title: t("view.cards"), view: cardsView, group: sandbox, key: "g d", isOfSandbox: true },
  settings: { title: t("view.settings"), view: settingsView, group: ofAccount, key: "g s" },
  people: {
    title: t("view.users"),
    view: peopleView,
    needs: "admin",
    login: true,
    group: ofAccount,
    key: "g u",
  },
  audit: {
    title: t("view.audit"),
    view: auditView,
    needs: "admin",
    login: true,
    group: ofAccount,
    key: "g a",
  },
  account: { title: t("view.account"), view: accountView, of: "account", login: true },
};

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
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
  ask(t("key.other_account"), t("key.open_other"), () => {
    keepKey(given);
    void show();
  });
}

async function show() {
  // Before the previous view is taken away, with what has the focus.
  const before = document.activeElement;
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
  const name = found !== undefined && isHere(found) ? asked : "payments";
  const { title, view, needs = "viewer" } = own(views, name) ?? payments;
  document.title = `${title} · Cofre`;
  showLinks(name);
  const heading = document.createElement("h1");
  heading.tabIndex = -1;
  heading.textContent = title;
  main.replaceChildren(heading);
  if (!mayDo(needs)) {
    mountIn(main, html`<p>${t("role.not_allowed")}</p>`, signal);
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
    if (!signal.aborted) dispatchEvent(new Event(viewShown));
  } catch (error) {
    if (signal.aborted) return;
    if (isAboutKey(error)) {
      if (!isLogin()) forgetKey();
      return letIn(error);
    }
    mountIn(main, html`<${Problem} error=${error} />`, signal);
  }
}

/**
 * Whether a view exists on this server.
 * @param {{ login?: true, isOfSandbox?: true }} view
 */
function isHere({ login, isOfSandbox }) {
  return (login === undefined || isLogin()) && (isOfSandbox === undefined || isSandbox());
}

/** Shows the open account, which may be another one than before. */
function showAccount() {
  const account = JSON.stringify(subjectOfTab());
  if (account !== shownAccount) forgetAccount();
  shownAccount = account;
  shell.value = { ...shell.value, world: nameOfWorld() };
}

/** The account for which the side bar was last cleared. */
let shownAccount = "";

/** Drops what was read of the account, of which the next user may not be one. */
function forgetAccount() {
  shownAccount = "";
  forgetList();
  accountChanged();
}

/**
 * A key does not show whether it is a world's: the server does.
 * @param {string} name
 */
function foundWorld(name) {
  if (nameOfWorld() === undefined) nameWorld(name);
  shell.value = { ...shell.value, world: nameOfWorld() };
}

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

/**
 * Shows the links that the user may open.
 * @param {string} name of the current view
 */
function showLinks(name) {
  const links = Object.entries(views).flatMap(
    ([view, { title, group = "", key, of, needs = "viewer", ...where }]) =>
      of === undefined && mayDo(needs) && isHere(where)
        ? [{ view, title, group, ...(key === undefined ? {} : { key }) }]
        : [],
  );
  const parent = own(views, name)?.of;
  shell.value = {
    ...shell.value,
    links,
    current: name,
    previous: shell.value.current,
    parent,
    person: personOfPage(),
  };
}

function hideLinks() {
  shell.value = { ...shell.value, links: [], current: "", parent: undefined, person: undefined };
}

/**
 * Asks the user to sign in, or for the key. The URL stays, and its view is shown afterwards.
 * @param {unknown} [why]
 * @param {boolean} [mayBe] the browser may have a session that this page does not know: the page
 * was reloaded, or another tab has signed in
 */
async function letIn(why, mayBe = !wasAsked) {
  shownNow.abort();
  shownNow = new AbortController();
  const { signal } = shownNow;
  if (!isLogin()) return askForKey(why, signal);
  closeDialogs();
  say("");
  document.title = "Cofre";
  hideLinks();
  forgetAccount();
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
    return acceptInvitation(
      main,
      invitation,
      entered,
      () => ((invitation = ""), void show()),
      signal,
    );
  main.replaceChildren();
  wasAsked = true;
  const session = mayBe ? await whoWasIt() : undefined;
  if (session !== undefined) return entered(session);
  if (signal.aborted) return;
  askToSignIn(main, why, entered, signal);
  // Meanwhile the user may sign in in another tab.
  const look = async () => {
    const found = document.hidden ? undefined : await whoWasIt();
    if (found !== undefined && !signal.aborted) entered(found);
  };
  document.addEventListener("visibilitychange", () => void look(), { signal });
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
  await show();
  if (location.hash === hash) putBack(main, typed);
  say(t("role.now", { role: roleWords(person.role) }));
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
  // A tab that was opened by a link has not asked the others yet, and would get the key back.
  hasAskedTabs = true;
  void show().then(() => say(t("key.removed")));
}

/**
 * @param {unknown} why
 * @param {AbortSignal} signal
 */
function askForKey(why, signal) {
  document.title = "Cofre";
  hideLinks();
  shownBefore = "";
  main.replaceChildren();
  mountIn(main, html`<${KeyForm} why=${why} />`, signal);
  const input = main.querySelector("input");
  input?.focus();
  // Once: a key that was removed here is not restored by another tab.
  if (why !== undefined || hasAskedTabs) return;
  hasAskedTabs = true;
  void keyOfOtherTab().then((key) => {
    if (key === undefined || keyOfTab() !== undefined || input?.value !== "") return;
    keepKey(key);
    void show();
  });
}

/** Whether this page has requested the key from other tabs since it was loaded. */
let hasAskedTabs = false;

/** @param {{ why: unknown }} props */
function KeyForm({ why }) {
  const [error, setError] = useState(why);
  /** @param {SubmitEvent} event */
  const enter = async (event) => {
    event.preventDefault();
    const { key = "" } = valuesOf(event.target);
    try {
      await call("/__cofre/payments", { limit: 1 }, { key });
      keepKey(key);
      await show();
    } catch (failure) {
      setError(failure);
    }
  };
  return html`
    <div>
      <h1 tabindex="-1">Cofre</h1>
      <p>${t("key.explained")}</p>
      <form class="key" onSubmit=${(/** @type {SubmitEvent} */ event) => void enter(event)}>
        <${TextField}
          label=${t("key.field")}
          name="key"
          type="password"
          spellcheck=${false}
          maxlength="100"
          required
        />
        <button type="submit">${t("key.open")}</button>
      </form>
      <${Problem} error=${error} />
    </div>
  `;
}

document.documentElement.lang = language;
document.querySelector("a.skip")?.replaceChildren(t("page.skip"));
render(
  html`<${SideBar}
    onLeave=${leave}
    onSignOut=${() => void signOut().then(() => letIn())}
    onHelp=${showKeys}
  />`,
  /** @type {HTMLElement} */ (document.getElementById("side")),
);
watchKeys();
watchMenus();
clearStatus();
void watchAccount(foundWorld);
// Lists restore their scroll position themselves, after their rows are loaded.
history.scrollRestoration = "manual";
addEventListener("hashchange", () => void show());
if (!isLogin()) offerKey();
if (isLogin()) {
  addEventListener(sessionOver, () => {
    left = { person: personBefore(), address: location.hash, typed: typedIn(main, false) };
    void letIn(new Error(t("session.ended")), true);
  });
  addEventListener(roleChanged, () => void showRole());
  watchSession();
}
void show();
