import { isAddress } from "../../kernel/network-address.ts";
import type { Caller } from "../../wire/endpoint.ts";

const sessionCookie = "cofre_session";
const browserCookie = "cofre_browser";
const securePrefix = "__Host-";
/** Maximum number of users who share a browser. */
const maxDeviceCookies = 4;
const deviceCookieSeparator = "~";
/** A device cookie value is valid for 90 days (device-cookie.ts). */
const deviceCookieSeconds = 90 * 24 * 60 * 60;

const headerNames = [
  "cookie",
  "host",
  "origin",
  "sec-fetch-site",
  "x-cofre-account",
  "x-cofre-background",
  "x-cofre-csrf",
] as const;
type HeaderName = (typeof headerNames)[number];

/** The properties of a socket that are read; `encrypted` is set by TLS. */
interface CallerSocket {
  readonly remoteAddress?: string | undefined;
  readonly encrypted?: boolean;
}

/**
 * The caller of a request without a key. `rawHeaders`: names and values alternate. `addressHeader`,
 * in lower case: the header in which the proxy in front reports the client's address. A client's
 * own header of that name comes before what the proxy appends, so the last address counts.
 */
export function callerOf(
  rawHeaders: readonly string[],
  socket: CallerSocket,
  addressHeader?: string,
): Caller {
  const headers = new Map<HeaderName, string>();
  let isClear = true;
  let forwardedFor = "";
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const given = (rawHeaders[index] ?? "").toLowerCase();
    if (given === addressHeader) forwardedFor = rawHeaders[index + 1] ?? "";
    const name = headerNames.find((each) => each === given);
    if (name === undefined) continue;
    if (headers.has(name)) isClear = false;
    headers.set(name, rawHeaders[index + 1] ?? "");
  }
  const origin = headers.get("origin");
  const isTls = socket.encrypted === true;
  const isSecure = isTls || origin?.startsWith("https://") === true;
  const cookies = headers.get("cookie") ?? "";
  const [session, ...others] = valuesOf(sessionCookie, cookies, isTls);
  const address = forwardedFor.slice(forwardedFor.lastIndexOf(",") + 1).trim();
  return {
    address: isAddress(address) ? address : (socket.remoteAddress ?? "unknown"),
    isSecure,
    session,
    deviceCookies: valuesOf(browserCookie, cookies, isTls)
      .flatMap((value) => value.split(deviceCookieSeparator))
      .slice(0, maxDeviceCookies),
    csrf: headers.get("x-cofre-csrf"),
    account: headers.get("x-cofre-account"),
    isBackground: headers.has("x-cofre-background"),
    isSameOrigin:
      isClear &&
      others.length === 0 &&
      isOwnPage(headers.get("sec-fetch-site"), origin, headers.get("host")),
  };
}

/**
 * Browsers send both headers, and scripts cannot set them; a request without them does not come
 * from a page.
 */
function isOwnPage(
  site: string | undefined,
  origin: string | undefined,
  host: string | undefined,
): boolean {
  if (site !== undefined && site !== "same-origin") return false;
  return origin === undefined || origin === `http://${host}` || origin === `https://${host}`;
}

/**
 * Over TLS only the name that another host of the domain cannot set counts. With two sessions in a
 * request none is used: one of them may belong to another user.
 */
function valuesOf(name: string, cookies: string, isTls: boolean): readonly string[] {
  for (const each of isTls ? [`${securePrefix}${name}`] : [`${securePrefix}${name}`, name]) {
    const values = cookies
      .split(";")
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${each}=`))
      .map((pair) => pair.slice(each.length + 1))
      .filter((value) => /^[\x21-\x7e]{1,500}$/.test(value));
    if (values.length > 0) return values;
  }
  return [];
}

type Header = readonly [name: string, value: string];

/**
 * Ends with the browser session; scripts cannot read it, and requests from other sites do not carry
 * it.
 */
export function cookieHeader(caller: Pick<Caller, "isSecure">, session: string): Header {
  return cookie(caller, sessionCookie, session);
}

export function withoutCookieHeader(caller: Pick<Caller, "isSecure">): Header {
  return cookie(caller, sessionCookie, "", 0);
}

/** Protected like the session cookie, but kept when the browser is closed. */
export function browserCookieHeader(
  caller: Pick<Caller, "isSecure" | "deviceCookies">,
  deviceCookie: string,
): Header {
  const whose = deviceCookie.slice(0, deviceCookie.indexOf("."));
  const others = caller.deviceCookies.filter((each) => !each.startsWith(`${whose}.`));
  return cookie(
    caller,
    browserCookie,
    [deviceCookie, ...others].slice(0, maxDeviceCookies).join(deviceCookieSeparator),
    deviceCookieSeconds,
  );
}

function cookie(
  { isSecure }: Pick<Caller, "isSecure">,
  name: string,
  value: string,
  seconds?: number,
): Header {
  const lasts = seconds === undefined ? "" : `; Max-Age=${seconds}`;
  return [
    "Set-Cookie",
    `${isSecure ? securePrefix : ""}${name}=${value}; Path=/; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}${lasts}`,
  ];
}
