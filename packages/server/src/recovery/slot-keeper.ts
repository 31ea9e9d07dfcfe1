import type { ElapsedMs } from "../kernel/elapsed.ts";
import { second } from "../kernel/instant.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Share, Tenure } from "../kernel/share.ts";
import { slotCount } from "../kernel/slot.ts";
import type { HeldSlots, Store } from "../stores/store.ts";

export interface SlotKeeperParts {
  readonly store: Pick<Store, "holdSlots" | "leaveSlots">;
  /** Names this process among all that share the store: 16 hex characters, drawn anew at each start. */
  readonly node: string;
  readonly scheduler: Scheduler;
  readonly elapsedMs: ElapsedMs;
  /** Told when there are other nodes than before or other slots here, and when the lease ran out. Never throws. */
  readonly report: (event: ShareEvent) => void;
}

export type ShareEvent = { readonly kind: "changed"; readonly nodes: number; readonly slots: number } | { readonly kind: "lost" };

/** A node that has said nothing for so long is taken for dead, and others take its slots. */
const leaseMs = 10 * second;
/** Three may fail before the lease runs out. */
const renewMs = 3 * second;
/** While slots change hands, and after a failure. */
const hurryMs = second;

/** A slot in this node's hands. */
class OwnTenure implements Tenure {
  readonly #runs: () => boolean;
  /** It is to go to another node: nothing begins, and when what is under way has ended it is given back. */
  leaving = false;
  over = false;
  underWay = 0;

  constructor(runs: () => boolean) {
    this.#runs = runs;
  }

  begin(): (() => void) | undefined {
    if (this.over || this.leaving || !this.#runs()) return undefined;
    this.underWay += 1;
    return () => {
      this.underWay -= 1;
    };
  }
}

/**
 * Keeps this node's share of the slots: tells the store that the node lives, takes what is free up to its share, and gives back what is
 * more when what was begun there has ended, so that nothing is done twice while nodes come and go. Counts the lease from before it
 * asked: when the store has not answered in time nothing begins any more, while others may still wait for it to run out.
 *
 * Owns one timer and the tenures. Work that a stalled node does beyond its lease is work for nothing and never harm (decisions/0009).
 */
export class SlotKeeper implements Share {
  readonly #parts: SlotKeeperParts;
  readonly #tenures = new Map<number, OwnTenure>();
  /** The tenures in which work may begin. */
  #open: ReadonlyMap<number, Tenure> = new Map();
  /** When the lease runs out, by this node's own count. */
  #until = 0;
  #nodes = 0;
  /** What was reported last; at first what a process that is the only one has. */
  #reported = `1 ${slotCount}`;
  #cancelTimer: (() => void) | undefined;
  #round: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: SlotKeeperParts) {
    this.#parts = parts;
  }

  /** Resolves when the store has been asked for the first time; a store that did not answer is asked again, like later. */
  async start(): Promise<void> {
    this.#schedule(await this.#renew());
  }

  /** Gives everything back. To be called when nothing is under way any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancelTimer?.();
    await this.#round;
    this.#forgetAll();
    // A store that is down lets the lease run out.
    await this.#parts.store.leaveSlots(this.#parts.node).catch(() => undefined);
  }

  held(): ReadonlyMap<number, Tenure> {
    return this.#runs() ? this.#open : nothing;
  }

  get isAlone(): boolean {
    // Who has not heard of the others for a lease does not know.
    return this.#runs() && this.#nodes === 1;
  }

  #runs(): boolean {
    return this.#parts.elapsedMs() < this.#until;
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancelTimer = this.#parts.scheduler.after(ms, () => {
      this.#round = this.#renew().then((nextMs) => this.#schedule(nextMs));
    });
  }

  /** Resolves with the time after which it is to be done again. */
  async #renew(): Promise<number> {
    const asked = this.#parts.elapsedMs();
    const answer = await this.#ask();
    if (answer === undefined) {
      if (!this.#runs() && this.#tenures.size > 0) this.#lose();
      return hurryMs;
    }
    // What ran out may have been somebody else's in between.
    if (!this.#runs()) this.#forgetAll();
    this.#until = asked + leaseMs;
    this.#nodes = answer.nodes;
    this.#adopt(answer);
    this.#reportChange();
    return answer.slots.length === answer.share ? renewMs : hurryMs;
  }

  /** undefined when the store failed, or took so long that the answer is worth nothing. */
  async #ask(): Promise<HeldSlots | undefined> {
    const { store, scheduler, node } = this.#parts;
    const idle = Array.from(this.#tenures).filter(([, { leaving, underWay }]) => leaving && underWay === 0);
    const late = Promise.withResolvers<undefined>();
    const cancel = scheduler.after(leaseMs, () => late.resolve(undefined));
    const giveBack = idle.map(([slot]) => slot);
    const answer = await Promise.race([store.holdSlots(node, leaseMs, giveBack).catch(() => undefined), late.promise]);
    cancel();
    return answer;
  }

  #adopt({ slots, share }: HeldSlots): void {
    for (const [slot, tenure] of this.#tenures) {
      if (slots.includes(slot)) continue;
      tenure.over = true;
      this.#tenures.delete(slot);
    }
    const open = new Map<number, Tenure>();
    for (const [index, slot] of slots.entries()) {
      const tenure = this.#tenures.get(slot) ?? new OwnTenure(() => this.#runs());
      this.#tenures.set(slot, tenure);
      tenure.leaving = index >= share;
      if (!tenure.leaving) open.set(slot, tenure);
    }
    this.#open = open;
  }

  #lose(): void {
    this.#forgetAll();
    this.#reported = "";
    this.#parts.report({ kind: "lost" });
  }

  #reportChange(): void {
    const [nodes, slots] = [this.#nodes, this.#open.size];
    if (this.#reported === `${nodes} ${slots}`) return;
    this.#reported = `${nodes} ${slots}`;
    this.#parts.report({ kind: "changed", nodes, slots });
  }

  #forgetAll(): void {
    for (const tenure of this.#tenures.values()) tenure.over = true;
    this.#tenures.clear();
    this.#open = nothing;
  }
}

const nothing: ReadonlyMap<number, Tenure> = new Map();
