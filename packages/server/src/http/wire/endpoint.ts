import type { Account } from "../../merchant/account.ts";
import type { KeyGrant } from "../../stores/change.ts";
import type { WireAnswer } from "./answer.ts";
import type { TreeObject } from "./tree.ts";

/** One row of routes.ts: an operation of the wire. */
export type Endpoint = KeyedEndpoint | OpenEndpoint;

interface EndpointRow {
  /** As documented, without the trailing slash; matched without regard to letter case. */
  readonly path: string;
  /** Which codes an absent or unknown key answers with (interface 7.1): operations with a JSON body, or with parameters. */
  readonly family: "json" | "parameters";
  /** true: called by browsers of other origins (interface 1.5). */
  readonly cors: boolean;
}

export interface KeyedEndpoint extends EndpointRow {
  /** Which key opens it. `public` endpoints take either key. */
  readonly key: KeyGrant;
  handle(request: WireRequest): Promise<WireAnswer>;
}

/** Looks at keys itself, if at all. */
export interface OpenEndpoint extends EndpointRow {
  readonly key: "none";
  handle(request: OpenRequest): Promise<WireAnswer>;
}

/** A decoded request. Its card digits are wiped when `handle` has settled. */
export interface OpenRequest {
  readonly method: "GET" | "POST";
  readonly params: TreeObject;
  readonly headers: WireHeaders;
}

/** A decoded request whose key has been checked. */
export interface WireRequest extends OpenRequest {
  readonly account: Account;
  /** Which of the keys came: with both, the secret one counts. */
  readonly grants: KeyGrant;
  /** Present when the request is named: by what, and whether it is taken up again after one without an answer. */
  readonly named?: { readonly digest: string; readonly resumed: boolean };
}

/** The few headers that have a meaning (interface 1.4). */
export interface WireHeaders {
  readonly simulateInternalError: string | undefined;
  readonly processingType: string | undefined;
  /** Names a request that moves money, so that it can be sent again (ours, see idempotency.ts). */
  readonly idempotencyKey: string | undefined;
  /** Another node has led the request to the node of this name (ours, see forwarding/): it is not led on. */
  readonly forNode?: string | undefined;
}
