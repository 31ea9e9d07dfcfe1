import type { KeyDigest, MerchantId } from "../kernel/ids.ts";

/** A node that others may lead requests to. */
export interface ReachableNode {
  /** As in `holdSlots` (store.ts): 16 hex characters. */
  readonly node: string;
  /** `http://HOST:PORT` or `https://HOST:PORT`. */
  readonly url: string;
}

/** Where a world lives. */
export interface WorldPlace extends ReachableNode {
  readonly world: MerchantId;
}

/** What became of placing a world. `not_living`: the node's own lease has run out, so that nothing that it says counts. */
export type Placing = "placed" | "taken" | "not_living";

/**
 * Port: on which node each world of the sandbox lives, for nodes that share a store and are to lead requests to each other. Whatever is said
 * by a node counts while it lives (`holdSlots`, store.ts), by the store's clock. Kept less surely than changes: after a crash of the store it may be as it
 * was a moment before. All methods reject with StoreError and nothing else.
 */
export interface WorldPlaces {
  /**
   * Says where this node is reached, and forgets what nodes said that live no longer. Answers how many keys of worlds are placed on it. To be
   * repeated: a node that was taken for dead is told here that nothing of it is left.
   */
  keep(node: string, url: string): Promise<number>;
  /**
   * Places a world that its keys open on this node, with all of them or not at all. A key opens one world: of two nodes that place one at the same
   * moment one is told `taken`. What is placed already may be placed again.
   */
  place(node: string, world: MerchantId, keys: readonly KeyDigest[]): Promise<Placing>;
  /** The world lives on this node no longer. */
  remove(node: string, world: MerchantId): Promise<void>;
  /** No world lives on this node any longer, nor is it reached. */
  leave(node: string): Promise<void>;
  /** Worlds that are placed on this node, in the order of their ids. */
  worldsOf(node: string): Promise<readonly MerchantId[]>;
  /** Where the world lives that this key opens; undefined when no living node has said so. */
  placeOf(key: KeyDigest): Promise<WorldPlace | undefined>;
  /** Where the world with this id lives; undefined when no living node that can be reached has said so. Of several the first by their names. */
  placeOfWorld(world: MerchantId): Promise<WorldPlace | undefined>;
  /** Living nodes that said where they are reached, in the order of their names. */
  nodes(): Promise<readonly ReachableNode[]>;
}
