import type { NotificationEndpoint } from "../notification/endpoint.ts";

/**
 * Why an address of a receiver is refused when it is given, in words that complete "the address
 * ..."; undefined when it may be called.
 */
export type AddressCheck = (url: string) => string | undefined;

/** What stands for a password. */
const hidden = "***";
/** The end of the user's name and password is the last at sign before the path (WHATWG URL). */
const credentials = /^([a-z]+:[\\/]*)([^\\/?#]*)@/i;

/** A receiver's address as it may be shown and kept beside others: without the password in it. */
export function shownAddress(url: string): string {
  if (!url.includes("@")) return url;
  return url.replace(credentials, (_, scheme: string, given: string) => {
    const colon = given.indexOf(":");
    return `${scheme}${colon < 0 ? hidden : `${given.slice(0, colon)}:${hidden}`}@`;
  });
}

/** Whether somebody gives an address back as it was shown. */
export function isHidden(url: string): boolean {
  const given = credentials.exec(url)?.[2];
  return given !== undefined && (given === hidden || given.endsWith(`:${hidden}`));
}

/** The address that is meant when one is given back as it was shown. */
export function meantAddress(url: string, current: string | undefined): string {
  return current !== undefined && url !== current && url === shownAddress(current) ? current : url;
}

/** Endpoints as they may be shown. */
export function shownEndpoints(
  endpoints: readonly NotificationEndpoint[],
): readonly NotificationEndpoint[] {
  return endpoints.map((each) => ({ ...each, url: shownAddress(each.url) }));
}
