// Who is signed in, where people sign in. Known to this page's memory only: a page that is loaded
// anew asks for it.

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
/** @typedef {{ person: Person, csrf: string }} Session */

/** @type {readonly Role[]} */
export const roles = ["viewer", "operator", "admin"];

/** The world's or other account that is open, in this tab. */
const placeOfAccount = "cofre.account";

/** @type {Session | undefined} */
let session;
/** Whose session has ended. @type {string | undefined} */
let before;
/** When the session ends if nothing is asked for before, by `performance.now()`. */
let endsAt = Number.POSITIVE_INFINITY;
/** When the server said something last, by `performance.now()`. */
let heardAt = 0;
/** Whether somebody has used the page since it asked for something before. */
let wasTouched = true;

/** Whether people sign in, or the page takes a key. */
export function isLogin() {
  return document.querySelector('meta[name="cofre-console"]')?.getAttribute("content") === "login";
}

export function personOfPage() {
  return session?.person;
}

export function personBefore() {
  return before;
}

/**
 * Whether whoever uses the page may do what asks for this role; a key may do everything.
 * @param {Role} role
 */
export function mayDo(role) {
  return (
    !isLogin() ||
    (session !== undefined && roles.indexOf(session.person.role) >= roles.indexOf(role))
  );
}

/** @param {Session} begun */
export function begin(begun) {
  session = begun;
}

export function end() {
  before = session?.person.id;
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
 * What goes with every call, beside the session that the browser sends by itself. What the page
 * asks while nobody touches it does not keep the session.
 * @param {string} [account] the account that is asked about
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

/** Told to the window when an admin has changed the role of whoever uses the page. */
export const roleChanged = "cofre-role-changed";

/** @param {Response} response */
export function hear({ headers }) {
  const seconds = headers.get("X-Cofre-Session-Seconds");
  if (seconds !== null) {
    heardAt = performance.now();
    endsAt = heardAt + Number(seconds) * 1_000;
  }
  const role = roles.find((each) => each === headers.get("X-Cofre-Role"));
  if (session === undefined || role === undefined || role === session.person.role) return;
  session = { ...session, person: { ...session.person, role } };
  dispatchEvent(new Event(roleChanged));
}

/** For how long the server has said nothing of the session, in seconds. */
export function secondsSilent() {
  return (performance.now() - heardAt) / 1_000;
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
