import type { Instant } from "../kernel/instant.ts";
import type { KeyState } from "../vault/records/key-record.ts";
import type { UserId } from "./user.ts";

/** The author of an event: a user, a program with a key, or the server itself at startup. */
export type Actor =
  | { readonly kind: "user"; readonly id: UserId; readonly name: string }
  /** A program with an integration key of the account that `detail` names. */
  | { readonly kind: "key" }
  | { readonly kind: "server" }
  | { readonly kind: "anonymous" };

/** The recorded actions of users and their sessions. Those of endpoints are in wire/permission.ts. */
export const userActions = [
  "sign_in",
  "sign_out",
  "enrol",
  "change_password",
  "invite",
  "reinvite",
  "set_role",
  "disable",
  "lock",
  "unlock",
  "viewed",
  "request",
] as const;
export type UserAction = (typeof userActions)[number];

/** The recorded changes of keys, by the state that a key has reached. */
export const keyActions = [
  "key_made",
  "key_current",
  "key_retired",
  "key_compromised",
  "key_destroyed",
  "key_rewrapped",
] as const satisfies readonly (`key_${KeyState}` | "key_rewrapped")[];
export type KeyAction = (typeof keyActions)[number];

/** The recorded acts upon keys that admins order, request and approve, and the reports of nodes. */
export const keyActActions = [
  "key_act",
  "key_act_requested",
  "key_act_approved",
  "root_key_reported",
] as const;
export type KeyActAction = (typeof keyActActions)[number];

/**
 * The recorded data of an event, before it is in the chain. Never contains a card number, a key, a
 * password or a code.
 */
export interface AuditEvent {
  readonly actor: Actor;
  /** Client address of the request, from the socket; undefined for the server itself. */
  readonly origin: string | undefined;
  /** A `UserAction`, `KeyAction`, `KeyActAction` or an action of an endpoint; of an entry, also one of another version. */
  readonly action: string;
  /**
   * The object of the action: a payment's hash, a user's id, a world's id, a key's name, a path;
   * undefined when there is none.
   */
  readonly target: string | undefined;
  /**
   * `started` is committed durably before the action begins; `done`, `refused` or `unknown` when it has
   * ended.
   */
  readonly result: "started" | "done" | "refused" | "unknown";
  /** The number of the `started` entry that this entry completes; undefined for others. */
  readonly completes: number | undefined;
  /**
   * Fixed words and codes (a status code, a role, the names of settings), and the reason that an
   * admin gave for an act upon keys; at most 500 characters; undefined when there are none.
   */
  readonly detail: string | undefined;
}

export interface AuditEntry extends AuditEvent {
  /** Counts up from 1 without a gap. */
  readonly number: number;
  readonly at: Instant;
  /**
   * SHA-256 in hex over the previous entry's digest and this entry: a change or deletion breaks all
   * later entries.
   */
  readonly digest: string;
}
