// The signed-in user, with sign-in. In this page's memory only: a reloaded page requests it again.

/** @typedef {"viewer" | "operator" | "admin"} Role */
/**
 * @typedef {object} Person
 * @property {string} id
 * @property {string} name
 * @property {Role} role
 * @property {"invited" | "active" | "disabled"} state
 * @property {string} created_at
 * @property {string | null} last_signed_in_at
 * @property {string | null} locked_until
 */
/** @typedef {{ user: Person, csrf: string }} Session */

/** @type {readonly Role[]} */
export const roles = ["viewer", "operator", "admin"];

/** The account that is open in this tab, a world's or another one. */
const placeOfAccount = "cofre.account";

/** @type {Session | undefined} */
let session;
/** The user whose session has ended. @type {string | undefined} */
let before;
/** When the session ends without a further request, by `performance.now()`. */
let endsAt = Number.POSITIVE_INFINITY;
/** Time of the last answer about the session, by `performance.now()`. */
let answeredAt = 0;
/** Whether there was user activity since the last request. */
let wasTouched = true;

/** Whether the console has sign-in; otherwise the page takes a key. */
export function isLogin() {
  return document.querySelector('meta[name="cofre-console"]')?.getAttribute("content") === "login";
}

/** Whether this server is a sandbox: payments from the page and test cards exist only there. */
export function isSandbox() {
  return (
    document.querySelector('meta[name="cofre-environment"]')?.getAttribute("content") === "sandbox"
  );
}

export function personOfPage() {
  return session?.user;
}

export function personBefore() {
  return before;
}

/**
 * Whether the user has the permissions of this role; a key has all.
 * @param {Role} role
 */
export function mayDo(role) {
  return (
    !isLogin() || (session !== undefined && roles.indexOf(session.user.role) >= roles.indexOf(role))
  );
}

/** @param {Session} begun */
export function begin(begun) {
  session = begun;
}

export function end() {
  before = session?.user.id;
  session = undefined;
  endsAt = Number.POSITIVE_INFINITY;
}

/** @returns {string | undefined} */
export function accountOfTab() {
  return sessionStorage.getItem(placeOfAccount) ?? undefined;
}

/** @param {string | undefined} id */
export function keepAccount(id) {
  if (id === undefined) sessionStorage.removeItem(placeOfAccount);
  else sessionStorage.setItem(placeOfAccount, id);
}

/**
 * Headers of every call, besides the session, which the browser sends by itself. Automatic
 * requests without user activity do not extend the session.
 * @param {string} [account] the account of the request
 * @returns {Readonly<Record<string, string>>}
 */
export function sessionHeaders(account = accountOfTab()) {
  const isOwn = wasTouched;
  wasTouched = false;
  return {
    "X-Cofre-CSRF": session?.csrf ?? "none",
    ...(account === undefined ? {} : { "X-Cofre-Account": account }),
    ...(isOwn ? {} : { "X-Cofre-Background": "yes" }),
  };
}

/** Dispatched to the window when an admin has changed the user's role. */
export const roleChanged = "cofre-role-changed";

/** @param {Response} response */
export function readSessionHeaders({ headers }) {
  const seconds = headers.get("X-Cofre-Session-Seconds");
  if (seconds !== null) {
    answeredAt = performance.now();
    endsAt = answeredAt + Number(seconds) * 1_000;
  }
  const role = roles.find((each) => each === headers.get("X-Cofre-Role"));
  if (session === undefined || role === undefined || role === session.user.role) return;
  session = { ...session, user: { ...session.user, role } };
  dispatchEvent(new Event(roleChanged));
}

/** Seconds since the server's last answer about the session. */
export function secondsSinceAnswer() {
  return (performance.now() - answeredAt) / 1_000;
}

export function secondsLeft() {
  return session === undefined ? Number.POSITIVE_INFINITY : (endsAt - performance.now()) / 1_000;
}

export function isTouched() {
  return wasTouched;
}

export function touch() {
  wasTouched = true;
}
