import { everySlot } from "./slot.ts";

/**
 * Port: the slots that are assigned to this process, its part of the work for all merchants
 * (recovery, notifications, deletion of expired data). It prevents several processes from doing
 * the same work. Correctness does not depend on it: duplicate work fails on the versions of the
 * records that it writes.
 */
export interface SlotAssignment {
  /**
   * The slots in which work may begin now, with their leases. Must be called before the work is
   * read from the store.
   */
  leases(): ReadonlyMap<number, SlotLease>;
  /**
   * true: there was no other process at the last request to the store, so everything under way
   * belongs to this process or to one that has ended.
   */
  readonly isAlone: boolean;
}

/**
 * A continuous time in which a slot is held: work that was read during it has not been done by
 * another process.
 */
export interface SlotLease {
  /**
   * Begins work; the caller must call the returned function when the work has ended. undefined: the
   * lease has ended, and no work may begin.
   */
  begin(): (() => void) | undefined;
}

const always: SlotLease = { begin: () => () => undefined };
const all: ReadonlyMap<number, SlotLease> = new Map(
  Array.from(everySlot, (slot) => [slot, always]),
);

/** All slots, permanently. */
export const allSlots: SlotAssignment = { leases: () => all, isAlone: true };
