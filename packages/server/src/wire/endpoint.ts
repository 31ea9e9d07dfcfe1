import type { AuthenticationFault } from "../authentication/test-cards.ts";
import type { Account } from "../merchant/account.ts";
import type { UserView } from "../user/user.ts";
import type { KeyGrant } from "../stores/change.ts";
import type { Pan } from "../vault/pan.ts";
import type { WireResponse } from "./answers/answer.ts";
import type { EndpointDoc, Undocumented } from "./endpoint-doc.ts";
import type { PermissionRule } from "./permission.ts";
import type { Charset } from "./decode/text.ts";
import type { Tree, TreeObject } from "./decode/tree.ts";

/** Kinds of the sandbox's faults that are injected into a call to the acquirer. */
export type AcquirerFaultKind =
  | "decline"
  | "acquirer_unknown_then_yes"
  | "acquirer_unknown_then_no";

/** An operation of the wire, or a page. */
export type Endpoint = KeyedEndpoint | OpenEndpoint;

/**
 * Everything that a server offers: operations and pages, and the console's calls about users and
 * sessions.
 */
export type ServedEndpoint = Endpoint | UserEndpoint;

interface EndpointRow {
  /** As documented, without the trailing slash; letter case is ignored. */
  readonly path: string;
  /**
   * Selects the codes for an absent or unknown key (interface 7.1): operations with a JSON body, or
   * with parameters.
   */
  readonly family: "json" | "parameters";
  /** true: browsers of other origins call it (interface 1.5). */
  readonly cors: boolean;
  /**
   * true: sends a message to an acquirer with a deadline that other nodes check by their clocks;
   * refused while this node's clock is off.
   */
  readonly movesMoney?: true;
  /** What /openapi.json and /docs say about it, or why they have no description of it. */
  readonly doc: EndpointDoc | Undocumented;
}

export interface KeyedEndpoint extends EndpointRow {
  /** The required key. `public` endpoints accept either key. */
  readonly key: KeyGrant;
  /**
   * Finds the public key where the endpoint's clients send it under another name than
   * `public_integration_key`.
   */
  readonly publicKeyIn?: (params: TreeObject) => Tree | undefined;
  /** What a console user needs, who sends a session instead of a key. */
  readonly permission: PermissionRule;
  /**
   * Whether the sandbox's request log has its requests: what the console reads every few seconds is
   * left out. `actions`: only those that `permission` takes for an action.
   */
  readonly recorded: boolean | "actions";
  /** The acquirer faults that apply to its requests. Default: none. */
  readonly acquirerFaults?: readonly AcquirerFaultKind[];
  /** true: the faults of 3-D Secure apply to its requests. */
  readonly authenticates?: true;
  /** true: belongs to the server, not to an account; X-Cofre-Account is ignored. */
  readonly ofServer?: true;
  /**
   * The merchant_payment_code that a request gives to a new payment. Undefined where the code only
   * identifies an existing payment.
   */
  readonly newPaymentCode?: (params: TreeObject) => string | undefined;
  handle(request: WireRequest): Promise<WireResponse>;
}

/** Checks keys itself, if at all. */
export interface OpenEndpoint extends EndpointRow {
  readonly key: "none";
  /** true: a page or a file, which GET only reads. HEAD is answered with the same head. */
  readonly isPage?: true;
  handle(request: OpenRequest): Promise<WireResponse>;
}

/** Takes no key, but checks the session of a request itself. */
export interface UserEndpoint extends EndpointRow {
  readonly key: "session";
  handle(request: UserRequest): Promise<WireResponse>;
}

/** The sender of a request with a public key, whose requests, cards and failures are limited. */
export interface Visitor {
  /** Counts a card number. Throws the refusal if the visitor has used too many different ones. */
  card(pan: Pan): void;
  /** The request was refused. */
  failed(): void;
}

/** A decoded request. Its card digits are wiped when `handle` has settled. */
export interface OpenRequest {
  readonly method: "GET" | "POST";
  readonly params: TreeObject;
  readonly headers: WireHeaders;
}

/** The sender of a request, according to its head and its socket. */
export interface Caller {
  /**
   * The socket's other end: behind a proxy the proxy's, unless a header of the proxy is believed
   * (COFRE_CLIENT_IP_HEADER).
   */
  readonly address: string;
  /** The request came over TLS, or from a page that did, through a proxy that terminates TLS. */
  readonly isSecure: boolean;
  /** Value of the session cookie. */
  readonly session: string | undefined;
  /**
   * Values of the device cookie from earlier sign-ins with this browser: the latest first, four at
   * most.
   */
  readonly deviceCookies: readonly string[];
  readonly csrf: string | undefined;
  /** Id of the account that the request is for. */
  readonly account: string | undefined;
  /** The page sent the request by itself, without user input since its previous one. */
  readonly isBackground: boolean;
  /**
   * Nothing in the head indicates that a page of another site caused the request, and no relevant
   * header is repeated.
   */
  readonly isSameOrigin: boolean;
}

export interface UserRequest extends OpenRequest {
  readonly caller: Caller;
}

/**
 * A decoded request whose key has been checked, or whose user was admitted without one
 * (http/sign-in/console-authorizer.ts).
 */
export interface WireRequest extends OpenRequest {
  readonly account: Account;
  /**
   * What the given key grants; with both keys, the secret one counts. A user is granted the same as
   * the secret key.
   */
  readonly grants: KeyGrant;
  /** The signed-in user who sent the request: no secret of the account is shown then. */
  readonly user?: UserView | undefined;
  /** Present if the request came with a public key only. */
  readonly visitor?: Visitor | undefined;
  /** The fault that this authentication meets, in the sandbox. */
  readonly authenticationFault?: AuthenticationFault;
  /** Present if the request has an Idempotency-Key: the digest of the key and of the request. */
  readonly named?: { readonly digest: string };
}

/** The few headers that have a meaning (interface 1.4). */
export interface WireHeaders {
  readonly simulateInternalError: string | undefined;
  readonly processingType: string | undefined;
  /**
   * Names a request that moves money, so that it can be repeated (a Cofre extension, see
   * idempotency.ts).
   */
  readonly idempotencyKey: string | undefined;
  /** Charset of text that is not UTF-8. */
  readonly charset?: Charset | undefined;
  /**
   * Whether a page of another site may have sent the request (http/cross-site.ts). `ownNames`: names
   * of this server, in lower case.
   */
  isCrossSite(ownNames: ReadonlySet<string>): boolean;
}
