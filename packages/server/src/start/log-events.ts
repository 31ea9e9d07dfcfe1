import { formatInstant } from "../kernel/calendar.ts";
import { laterBy, second } from "../kernel/instant.ts";
import type { LogEvent } from "../logging/log-event.ts";
import type { SlotEvent } from "../recovery/slot-lease-keeper.ts";

export const noPayment = { merchantId: undefined, paymentId: undefined } as const;

export function slotEvent(event: SlotEvent): LogEvent {
  if (event.kind === "lost") return { event: "lease_lost" };
  if (event.kind === "changed")
    return { event: "slots_changed", nodes: event.nodes, slots: event.slots };
  if (!("aheadMs" in event)) return { event: event.kind };
  return {
    event: "alarm",
    kind: event.kind,
    what: clockText(event),
    where: undefined,
    ...noPayment,
  };
}

function clockText({ kind, aheadMs, at }: Extract<SlotEvent, { aheadMs: number }>): string {
  const differs = `${(Math.abs(aheadMs) / second).toFixed(1)} s ${aheadMs > 0 === (kind === "clock_off") ? "ahead" : "behind"}`;
  const readings = `this machine's shows ${formatInstant(at)}, the database server's ${formatInstant(laterBy(at, -aheadMs))}`;
  return kind === "clock_off"
    ? `this machine's clock is off: ${readings}, and this machine's is ${differs}; the node does no work until it is right`
    : `the database server's clock is off: ${readings}, and the database server's is ${differs}; the nodes use their own clocks`;
}

export function unreadableCards(cards: number): string {
  return `${cards} stored cards of an earlier version do not open with the keys of this installation, so the upgrade of rows is not complete and rows without a MAC are accepted: put the keys.*.json that belong to them back and start again, or see "Cards that do not open" in docs/operate/running.md`;
}
