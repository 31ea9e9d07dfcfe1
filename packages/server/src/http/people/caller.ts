/** Who sent a request, as far as its head and its socket say. */
export interface Caller {
  /** The socket's other end: behind a proxy the proxy's. */
  readonly address: string;
  /** It came by TLS, or from a page that did, through a proxy that ends it. */
  readonly isSecure: boolean;
  /** The cookie's value. */
  readonly session: string | undefined;
  readonly csrf: string | undefined;
  /** Which account is meant. */
  readonly account: string | undefined;
  /** The page asks by itself: nobody has touched it since it asked before. */
  readonly isBackground: boolean;
  /** Nothing in the head says that another site's page caused the request, and nothing in it is said twice. */
  readonly isSameOrigin: boolean;
}

const secureCookie = "__Host-cofre_session";
const plainCookie = "cofre_session";

const meant = ["cookie", "host", "origin", "sec-fetch-site", "x-cofre-account", "x-cofre-background", "x-cofre-csrf"] as const;
type Meant = (typeof meant)[number];

/** What is looked at of a socket; `encrypted` is TLS's. */
interface CallerSocket {
  readonly remoteAddress?: string | undefined;
  readonly encrypted?: boolean;
}

/** `rawHeaders`: names and values in turns. Read for requests without a key only. */
export function callerOf(rawHeaders: readonly string[], socket: CallerSocket): Caller {
  const headers = new Map<Meant, string>();
  let isClear = true;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const given = (rawHeaders[index] ?? "").toLowerCase();
    const name = meant.find((each) => each === given);
    if (name === undefined) continue;
    if (headers.has(name)) isClear = false;
    headers.set(name, rawHeaders[index + 1] ?? "");
  }
  const origin = headers.get("origin");
  const isTls = socket.encrypted === true;
  const isSecure = isTls || origin?.startsWith("https://") === true;
  const [session, ...others] = sessionsIn(headers.get("cookie") ?? "", isTls);
  return {
    address: socket.remoteAddress ?? "unknown",
    isSecure,
    session,
    csrf: headers.get("x-cofre-csrf"),
    account: headers.get("x-cofre-account"),
    isBackground: headers.has("x-cofre-background"),
    isSameOrigin: isClear && others.length === 0 && isOwnPage(headers.get("sec-fetch-site"), origin, headers.get("host")),
  };
}

/** Browsers say both, and scripts cannot; what other programs leave out is no page's. */
function isOwnPage(site: string | undefined, origin: string | undefined, host: string | undefined): boolean {
  if (site !== undefined && site !== "same-origin") return false;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}`;
}

/**
 * With TLS only the name that another host of the domain cannot set counts. Two of a name are none: one of them may be somebody else's.
 */
function sessionsIn(cookies: string, isTls: boolean): readonly string[] {
  for (const name of isTls ? [secureCookie] : [secureCookie, plainCookie]) {
    const values = cookies
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${name}=`))
      .map((pair) => pair.slice(name.length + 1))
      .filter((value) => /^[\x21-\x7e]{1,200}$/.test(value));
    if (values.length > 0) return values;
  }
  return [];
}

/** Gone with the browser's session; no script reads it, and no other site's request brings it along. */
export function cookieHeader({ isSecure }: Pick<Caller, "isSecure">, session: string): readonly [name: string, value: string] {
  return [
    "Set-Cookie",
    `${isSecure ? secureCookie : plainCookie}=${session}; Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`,
  ];
}

export function withoutCookieHeader(caller: Pick<Caller, "isSecure">): readonly [name: string, value: string] {
  const [name, value] = cookieHeader(caller, "");
  return [name, `${value}; Max-Age=0`];
}
