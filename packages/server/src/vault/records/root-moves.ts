import type { Clock } from "../../kernel/clock.ts";
import { day } from "../../kernel/instant.ts";
import { KeyringError } from "../key-provider.ts";
import type { RecordKeyring } from "./record-keyring.ts";
import { type RootSet, rootSetFingerprint } from "./root-set.ts";

/**
 * How long the wraps by other root keys are kept after a root key was added: a node that is put back
 * to its earlier configuration still starts.
 */
const keptMs = 7 * day;

interface RootMovesOptions {
  readonly keyring: RecordKeyring;
  readonly clock: Clock;
  /** Live nodes that have not opened the epoch keys with a root key. Rejects with StoreError. */
  readonly nodesWithout: (root: string) => Promise<number>;
  /** The fingerprints that the configuration allows; without any, every set is allowed. */
  readonly pinned: readonly string[];
}

/** The state after an act upon root keys, or what it waits for. */
export interface RootMoveReport {
  /** `waiting`: the act has to be repeated when what `waits` names has happened. */
  readonly state: "changed" | "unchanged" | "waiting" | "refused";
  /** Key ids of the root keys, separated by commas. */
  readonly roots: string;
  readonly version: number;
  readonly fingerprint: string;
  /** Fingerprint of the recovery key, or `none`. */
  readonly recovery: string;
  /** What the act waits for, or why it was refused; a sentence without its full stop. */
  readonly waits?: string;
}

/**
 * Adds a root key to the set of an installation, and makes one the only one. Each change is one
 * commit, so a process may end at any point: the keys are wrapped by the root keys of the set before
 * it or of the set after it.
 */
export class RootMoves {
  readonly #options: RootMovesOptions;

  constructor(options: RootMovesOptions) {
    this.#options = options;
  }

  /** Wraps every epoch key by this root key too, which the configuration has to name. */
  async add(root: string): Promise<RootMoveReport> {
    return await this.#reported(() => this.#add(root));
  }

  /**
   * Makes this root key the only one: adds it, and drops the others when every live node has opened
   * the epoch keys with it, and it was added seven days ago; `isNow` does not wait for the seven days.
   */
  async move(root: string, isNow: boolean): Promise<RootMoveReport> {
    return await this.#reported(async () => {
      const added = await this.#add(root);
      const { keyring, clock, pinned } = this.#options;
      const { roots, recovery } = this.#set();
      const others = roots.filter((each) => each !== root);
      if (others.length === 0) return added;
      const without = await this.#options.nodesWithout(root);
      if (without > 0)
        return this.#report(
          "waiting",
          `${without} live nodes have not opened the keys with ${root}: name it in the configuration of each node, start it again, and repeat this`,
        );
      const leftMs = keyring.rootSetChangedAt + keptMs - clock.now();
      if (!isNow && leftMs > 0)
        return this.#report(
          "waiting",
          `keys stay wrapped by ${others.join(", ")} for ${Math.ceil(leftMs / day)} more days: repeat it then, or with now`,
        );
      await keyring.changeRoots({ roots: [root], recovery }, pinned);
      return this.#report("changed");
    });
  }

  async #add(root: string): Promise<RootMoveReport> {
    const { keyring, pinned } = this.#options;
    await keyring.refresh();
    const { roots, recovery } = this.#set();
    if (roots.includes(root) && keyring.isWrappedBy(root)) return this.#report("unchanged");
    const next = roots.includes(root) ? roots : [...roots, root];
    await keyring.changeRoots({ roots: next, recovery }, pinned);
    return this.#report("changed");
  }

  /** The order is stored already, so what refuses it is a part of the answer. */
  async #reported(work: () => Promise<RootMoveReport>): Promise<RootMoveReport> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof KeyringError) return this.#report("refused", error.message);
      throw error;
    }
  }

  #set(): RootSet {
    const { rootSet } = this.#options.keyring;
    if (rootSet === undefined) throw new KeyringError("the database has no set of root keys");
    return rootSet;
  }

  #report(state: RootMoveReport["state"], waits?: string): RootMoveReport {
    const set = this.#set();
    return {
      state,
      roots: set.roots.join(", "),
      version: set.version,
      recovery: set.recovery ?? "none",
      fingerprint: rootSetFingerprint(this.#options.keyring.installation, set),
      ...(waits === undefined ? {} : { waits }),
    };
  }
}
