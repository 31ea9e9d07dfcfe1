import type { Instant } from "../kernel/instant.ts";
import type { PersonId } from "./user.ts";

/** Who did something: a person, or the program itself at a start. */
export type Actor =
  | { readonly kind: "person"; readonly id: PersonId; readonly name: string }
  /** A program with an integration key of the account that `detail` names. */
  | { readonly kind: "key" }
  | { readonly kind: "server" }
  | { readonly kind: "nobody" };

/**
 * What is written down of an act before it is in the chain. Nothing of it is a card number, a key,
 * a password or a code.
 */
export interface Act {
  readonly actor: Actor;
  /** Address that the request came from, as the socket says; undefined for the program itself. */
  readonly origin: string | undefined;
  /** A fixed word: "sign_in", "sign_out", "invite", "capture", "refund", "settings_changed", ... */
  readonly act: string;
  /**
   * What it was done to: a payment's hash, a person's id, a world's id, a path; undefined when
   * there is no such thing.
   */
  readonly target: string | undefined;
  /**
   * `asked` is written durably before the act begins; `done`, `refused` or `unknown` when it has
   * ended.
   */
  readonly result: "asked" | "done" | "refused" | "unknown";
  /** The number of the `asked` entry that this one ends; undefined for others. */
  readonly of: number | undefined;
  /**
   * Fixed words and codes about it (a status code, a role, the names of settings), at most 500
   * characters; undefined when there are none.
   */
  readonly detail: string | undefined;
}

export interface AuditEntry extends Act {
  /** Counts up from 1 without a gap. */
  readonly number: number;
  readonly at: Instant;
  /**
   * SHA-256 in hex over the entry before's digest and this entry: whoever changes or drops one
   * breaks all after it.
   */
  readonly digest: string;
}
