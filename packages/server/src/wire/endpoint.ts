import type { Account } from "../merchant/account.ts";
import type { PersonView } from "../user/user.ts";
import type { KeyGrant } from "../stores/change.ts";
import type { WireAnswer } from "./answers/answer.ts";
import type { Permission } from "./permission.ts";
import type { Charset } from "./decode/text.ts";
import type { TreeObject } from "./decode/tree.ts";

/** One row of routes.ts: an operation of the wire. */
export type Endpoint = KeyedEndpoint | OpenEndpoint;

/**
 * What a server answers to: operations, and what the console's people ask about themselves and each
 * other.
 */
export type ServedEndpoint = Endpoint | PeopleEndpoint;

interface EndpointRow {
  /** As documented, without the trailing slash; matched without regard to letter case. */
  readonly path: string;
  /**
   * Which codes an absent or unknown key answers with (interface 7.1): operations with a JSON body,
   * or with parameters.
   */
  readonly family: "json" | "parameters";
  /** true: called by browsers of other origins (interface 1.5). */
  readonly cors: boolean;
  /**
   * true: sends something to an acquirer whose deadline other nodes judge by their clocks; refused
   * while this node's clock is off.
   */
  readonly movesMoney?: true;
}

export interface KeyedEndpoint extends EndpointRow {
  /** Which key opens it. `public` endpoints take either key. */
  readonly key: KeyGrant;
  /** What a console user needs, who sends a session instead of a key. */
  readonly permission: Permission;
  /** Whether the sandbox's request log has its requests: what the console reads every few seconds is left out. */
  readonly recorded: boolean;
  /** true: belongs to the server, not to an account; X-Cofre-Account is ignored. */
  readonly ofServer?: true;
  handle(request: WireRequest): Promise<WireAnswer>;
}

/** Looks at keys itself, if at all. */
export interface OpenEndpoint extends EndpointRow {
  readonly key: "none";
  /** true: a page or a file, which GET only reads. HEAD is answered with the same head. */
  readonly isPage?: true;
  handle(request: OpenRequest): Promise<WireAnswer>;
}

/** Takes no key, but looks itself at whose session comes with a request. */
export interface PeopleEndpoint extends EndpointRow {
  readonly key: "session";
  handle(request: PeopleRequest): Promise<WireAnswer>;
}

/** A decoded request. Its card digits are wiped when `handle` has settled. */
export interface OpenRequest {
  readonly method: "GET" | "POST";
  readonly params: TreeObject;
  readonly headers: WireHeaders;
}

/** What the head of a request and its socket say about its sender. */
export interface Caller {
  /**
   * The socket's other end: behind a proxy the proxy's, unless a header of the proxy is believed
   * (COFRE_CLIENT_IP_HEADER).
   */
  readonly address: string;
  /** It came by TLS, or from a page that did, through a proxy that ends it. */
  readonly isSecure: boolean;
  /** The cookie's value. */
  readonly session: string | undefined;
  /** What the browser was given when people signed in with it: the last one first, four at most. */
  readonly marks: readonly string[];
  readonly csrf: string | undefined;
  /** Which account is meant. */
  readonly account: string | undefined;
  /** The page asks by itself: nobody has touched it since it asked before. */
  readonly isBackground: boolean;
  /**
   * Nothing in the head says that another site's page caused the request, and nothing in it is said
   * twice.
   */
  readonly isSameOrigin: boolean;
}

export interface PeopleRequest extends OpenRequest {
  readonly caller: Caller;
}

/**
 * A decoded request whose key has been checked, or whose person has been let in without one
 * (http/sign-in/gate.ts).
 */
export interface WireRequest extends OpenRequest {
  readonly account: Account;
  /**
   * Which of the keys came: with both, the secret one counts. A person is granted what the secret
   * one grants.
   */
  readonly grants: KeyGrant;
  /** Who is signed in and asks: no secret of the account's is shown then. */
  readonly person?: PersonView | undefined;
  /**
   * Present when the request came with an Idempotency-Key: the digest of the key and of the
   * request.
   */
  readonly named?: { readonly digest: string };
}

/** The few headers that have a meaning (interface 1.4). */
export interface WireHeaders {
  readonly simulateInternalError: string | undefined;
  readonly processingType: string | undefined;
  /** Names a request that moves money, so that it can be sent again (ours, see idempotency.ts). */
  readonly idempotencyKey: string | undefined;
  /** Of text that is not UTF-8. */
  readonly charset?: Charset | undefined;
  /**
   * Whether it may be another site's page that asks (http/foreign.ts). `ownNames`: what this server
   * is called, in small letters.
   */
  isForeign(ownNames: ReadonlySet<string>): boolean;
}
