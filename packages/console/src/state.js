// What the side bar shows; the view and the calls write it.
import { signal } from "@preact/signals";

/** @import { Role } from "./session.js" */

/**
 * A link of the side bar. `key`: the letter that opens it after `g`, or alone.
 * @typedef {{ view: string, title: string, group: string, key?: string }} Link
 */
/**
 * The user and the open account. `current`: the name of the view; `parent`: that of its list.
 * @typedef {object} Shell
 * @property {readonly Link[]} links empty: the page asks for a key or a sign-in
 * @property {string} current
 * @property {string} previous the name of the view before it; empty: none
 * @property {string | undefined} parent
 * @property {string | undefined} world
 * @property {{ name: string, role: Role } | undefined} person
 */
/** @typedef {{ now: string, running: boolean, next_due?: string | null }} Clock */

/** @type {import("@preact/signals").Signal<Shell>} */
export const shell = signal({
  links: [],
  current: "",
  previous: "",
  parent: undefined,
  world: undefined,
  person: undefined,
});

/**
 * The clock of the open account; undefined: not read yet.
 * @type {import("@preact/signals").Signal<(Clock & { isWorld: boolean }) | undefined>}
 */
export const clock = signal(undefined);

/** Whether card operations are stopped on this server. */
export const cardsStopped = signal(false);

/**
 * Numbers beside the links, by view: a text, and whether it asks for attention.
 * @type {import("@preact/signals").Signal<Readonly<Record<string, { text: string, isBad?: boolean
 * }>>>}
 */
export const counters = signal({});

/**
 * The numbers of the account's payments by state and outcome, and of all that were counted;
 * `isAll`: there are no more.
 * @type {import("@preact/signals").Signal<{ counts: Readonly<Record<string, number>>, all: number,
 * isAll: boolean } | undefined>}
 */
export const stateCounts = signal(undefined);
