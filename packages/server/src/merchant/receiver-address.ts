import type { NotificationEndpoint } from "../notification/endpoint.ts";

/**
 * Why a configured receiver address is refused, as a completion of "the address ..."; undefined if
 * it is allowed.
 */
export type AddressCheck = (url: string) => string | undefined;

/** Shown instead of a password. */
const hidden = "***";
/** The last at sign before the path ends the user name and password (WHATWG URL). */
const credentials = /^([a-z]+:[\\/]*)([^\\/?#]*)@/i;

/** A receiver's address for display and for records: without its password. */
export function shownAddress(url: string): string {
  if (!url.includes("@")) return url;
  return url.replace(credentials, (_, scheme: string, userInfo: string) => {
    const colon = userInfo.indexOf(":");
    return `${scheme}${colon < 0 ? hidden : `${userInfo.slice(0, colon)}:${hidden}`}@`;
  });
}

/** Whether an address has a hidden password, as `shownAddress` returns it. */
export function isHidden(url: string): boolean {
  const given = credentials.exec(url)?.[2];
  return given !== undefined && (given === hidden || given.endsWith(`:${hidden}`));
}

/** The current address if `url` is its shown form, otherwise `url`. */
export function effectiveAddress(url: string, current: string | undefined): string {
  return current !== undefined && url !== current && url === shownAddress(current) ? current : url;
}

/** Endpoints for display. */
export function shownEndpoints(
  endpoints: readonly NotificationEndpoint[],
): readonly NotificationEndpoint[] {
  return endpoints.map((each) => ({ ...each, url: shownAddress(each.url) }));
}
