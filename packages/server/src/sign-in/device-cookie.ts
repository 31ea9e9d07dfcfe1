import { createHmac, timingSafeEqual } from "node:crypto";
import { type Instant, laterBy } from "../kernel/instant.ts";
import { inactiveMs, type UserId } from "../user/user.ts";

/**
 * A device cookie, set when a user signs in: `person.browser.issued.mac`. It grants no access.
 * Sign-in attempts with it have their own limit, which strangers who try the same name cannot
 * exhaust. Its key is the user's own secret, so it is valid on every node, stored nowhere, and
 * invalid when the user is invited again.
 */
export interface DeviceCookie {
  readonly user: UserId;
  /** 24 hex characters, random per browser. */
  readonly browser: string;
  readonly issuedAt: number;
}

const form = /^([0-9a-f]{16})\.([0-9a-f]{24})\.(\d{1,15})\.([\w-]{43})$/;

export function deviceCookieText(
  secret: Uint8Array,
  { user, browser, issuedAt }: DeviceCookie,
): string {
  return `${user}.${browser}.${issuedAt}.${macOf(secret, { user, browser, issuedAt }).toString("base64url")}`;
}

/** The user named in a device cookie; undefined when it is not one. */
export function userOfDeviceCookie(text: string): UserId | undefined {
  return form.exec(text)?.[1] as UserId | undefined;
}

/**
 * The browser's id; undefined when the device cookie is not this user's, is 90 days old, or was not
 * issued here.
 */
export function browserOfDeviceCookie(
  secret: Uint8Array,
  user: UserId,
  text: string,
  at: Instant,
): string | undefined {
  const [, of, browser = "", issued, mac = ""] = form.exec(text) ?? [];
  if (of !== user) return undefined;
  const issuedAt = Number(issued);
  const right = timingSafeEqual(
    Buffer.from(mac),
    Buffer.from(macOf(secret, { user, browser, issuedAt }).toString("base64url")),
  );
  return right && issuedAt > laterBy(at, -inactiveMs) ? browser : undefined;
}

function macOf(secret: Uint8Array, { user, browser, issuedAt }: DeviceCookie): Buffer {
  return createHmac("sha256", secret)
    .update(`cofre browser 1 ${user} ${browser} ${issuedAt}`)
    .digest();
}
