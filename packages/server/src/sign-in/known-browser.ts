import { createHmac, timingSafeEqual } from "node:crypto";
import { type Instant, laterBy } from "../kernel/instant.ts";
import { forgottenMs, type PersonId } from "../user/user.ts";

/**
 * A mark that a browser is given when a person signs in with it: `person.browser.issued.mac`. It
 * opens nothing. Whoever brings it along tries on an account of their own, which strangers who try
 * the same name cannot use up. Its key is the person's own secret, so it is good on every node,
 * kept nowhere, and gone when the person is invited again.
 */
export interface Mark {
  readonly person: PersonId;
  /** 24 hex characters, drawn when the browser was new. */
  readonly browser: string;
  readonly issuedAt: number;
}

const form = /^([0-9a-f]{16})\.([0-9a-f]{24})\.(\d{1,15})\.([\w-]{43})$/;

export function markText(secret: Uint8Array, { person, browser, issuedAt }: Mark): string {
  return `${person}.${browser}.${issuedAt}.${macOf(secret, { person, browser, issuedAt }).toString("base64url")}`;
}

/** Whose mark it says that it is; undefined when it is none. */
export function personOfMark(text: string): PersonId | undefined {
  return form.exec(text)?.[1] as PersonId | undefined;
}

/**
 * The browser's name; undefined when the mark is not this person's, is 90 days old, or was not
 * given here.
 */
export function browserOfMark(
  secret: Uint8Array,
  person: PersonId,
  text: string,
  at: Instant,
): string | undefined {
  const [, of, browser = "", issued, mac = ""] = form.exec(text) ?? [];
  if (of !== person) return undefined;
  const issuedAt = Number(issued);
  const right = timingSafeEqual(
    Buffer.from(mac),
    Buffer.from(macOf(secret, { person, browser, issuedAt }).toString("base64url")),
  );
  return right && issuedAt > laterBy(at, -forgottenMs) ? browser : undefined;
}

function macOf(secret: Uint8Array, { person, browser, issuedAt }: Mark): Buffer {
  return createHmac("sha256", secret)
    .update(`cofre browser 1 ${person} ${browser} ${issuedAt}`)
    .digest();
}
