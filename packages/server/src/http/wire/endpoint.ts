import type { KeyGrant } from "../../stores/change.ts";
import type { Account } from "../../merchant/account.ts";
import type { TreeObject } from "./tree.ts";
import type { WireAnswer } from "./answer.ts";

/** One row of routes.ts: an operation of the wire. */
export interface Endpoint {
  /** As documented, without the trailing slash; matched without regard to letter case. */
  readonly path: string;
  /** Which key opens it. `public` endpoints take either key; `none` endpoints look at keys themselves. */
  readonly key: KeyGrant | "none";
  /** Which codes an absent or unknown key answers with (interface 7.1): operations with a JSON body, or with parameters. */
  readonly family: "json" | "parameters";
  /** true: called by browsers of other origins (interface 1.5). */
  readonly cors: boolean;
  handle(request: WireRequest): Promise<WireAnswer>;
}

/** A decoded request whose key has been checked. Its card digits are wiped when `handle` has settled. */
export interface WireRequest {
  readonly params: TreeObject;
  readonly account: Account;
  readonly grants: KeyGrant;
  /** Lower-case names of the few headers that have a meaning. */
  readonly headers: { readonly simulateInternalError: string | undefined; readonly processingType: string | undefined };
}
