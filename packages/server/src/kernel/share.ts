import { everySlot } from "./slot.ts";

/**
 * Port: this process's share of the work that goes on for all merchants (recovery, notifications,
 * the forgetting of cards). It keeps several processes from doing the same work for nothing.
 * Nothing rests on it: what is done twice is stopped by the versions of what it writes.
 */
export interface Share {
  /**
   * The slots whose work may begin now, with their tenures. To be asked before the work is read
   * from the store.
   */
  held(): ReadonlyMap<number, Tenure>;
  /**
   * true: no other process was there when the store was last asked, so what is under way without
   * this one's doing is nobody's.
   */
  readonly isAlone: boolean;
}

/**
 * A time without a break in which a slot is held: what was read in it has not been done by another
 * process meanwhile.
 */
export interface Tenure {
  /**
   * Work begins, and whoever began it calls what this returns when it has ended. undefined: it is
   * over, nothing may begin.
   */
  begin(): (() => void) | undefined;
}

const always: Tenure = { begin: () => () => undefined };
const all: ReadonlyMap<number, Tenure> = new Map(Array.from(everySlot, (slot) => [slot, always]));

/** All of it, for ever. */
export const wholeShare: Share = { held: () => all, isAlone: true };
