import { sha256Hex } from "../kernel/digest.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, instant } from "../kernel/instant.ts";
import type { EndpointId, Notification, QueueId } from "./events.ts";

/**
 * What a message can be signed with (signature.ts): `rsa` is the interface's own signature, `hmac`
 * and `ed25519` are those of Standard Webhooks.
 */
export const signatureKinds = ["rsa", "hmac", "ed25519"] as const;
export type SignatureKind = (typeof signatureKinds)[number];

/** One of an account's own receivers: plain data, kept with the account. */
export interface NotificationEndpoint {
  /**
   * 1 to 32 characters of a-z, 0-9 and dashes, beginning with a letter; never `url-`. Deliveries
   * and its secret go by it.
   */
  readonly id: string;
  readonly url: string;
  /**
   * false: the merchant has switched it off. What is to be delivered is kept until it is on again.
   */
  readonly enabled: boolean;
  /**
   * When somebody switched it off; not there while it is on, nor where that was before this was
   * kept.
   */
  readonly offAt?: Instant;
  /**
   * When it answered 410 and was switched off for that; it stays off until somebody takes this
   * away.
   */
  readonly goneAt?: Instant;
  /** Which of its secrets signs; counts up from 1. */
  readonly secretVersion: number;
  /** Until then the secret before signs as well. */
  readonly previousSecretUntil?: Instant;
  /**
   * Those that the receiver looks at; each costs more than the message itself. All of them unless
   * given.
   */
  readonly signatures?: readonly SignatureKind[];
  /** How many payments one message may tell of, 1 to 100; 1 unless given. */
  readonly hashesPerCall?: number;
}

/**
 * What the sandbox does to an account's deliveries so that its receiver can be tested. Chances are
 * in 1/1000.
 */
export interface NotificationChaos {
  readonly seed: string;
  /** Nothing is sent, and the delivery counts as made. */
  readonly drop: number;
  /** It is sent `delayMs` later; later ones of the payment wait for it. */
  readonly delay: number;
  /** It is sent `delayMs` later; later ones of the payment overtake it. */
  readonly reorder: number;
  readonly delayMs: number;
  /** It is sent twice, with the same id. */
  readonly double: number;
  /** All signatures are wrong. */
  readonly breakSignature: number;
  /** The request that caused it is answered after the first attempt at it (first-attempts.ts). */
  readonly beforeAnswer: number;
}

export const noChaos: NotificationChaos = {
  seed: "cofre",
  drop: 0,
  delay: 0,
  reorder: 0,
  delayMs: 10_000,
  double: 0,
  breakSignature: 0,
  beforeAnswer: 0,
};

/** What an account says about its notifications. */
export interface NotificationSettings {
  readonly endpoints: readonly NotificationEndpoint[];
  readonly chaos: NotificationChaos;
}

export const maximumEndpoints = 8;
/** As many hashes are a body of 5 KB, and as many queries of the receiver. */
export const maximumHashesPerCall = 100;

/** A receiver, whoever named it. */
export interface Target {
  readonly endpoint: EndpointId;
  readonly url: string;
  /** Names of the secrets that sign, the newest first. */
  readonly secrets: readonly string[];
  readonly signatures: readonly SignatureKind[];
  readonly hashesPerCall: number;
}

const urlPrefix = "url-";

/**
 * A payment's own address takes the place of the account's endpoints (interface 6). Endpoints that
 * are off are told later.
 */
export function targetsOf(
  endpoints: readonly NotificationEndpoint[],
  notificationUrl: string | undefined,
): readonly EndpointId[] {
  return notificationUrl === undefined ? endpoints.map(endpointId) : [urlEndpoint(notificationUrl)];
}

/** Those of them that take several payments in one message. */
export function gatheringOf(
  endpoints: readonly NotificationEndpoint[],
  targets: readonly EndpointId[],
): readonly EndpointId[] {
  return endpoints
    .filter(({ hashesPerCall = 1 }) => hashesPerCall > 1)
    .map(endpointId)
    .filter((each) => targets.includes(each));
}

export function endpointId({ id }: Pick<NotificationEndpoint, "id">): EndpointId {
  return id as EndpointId;
}

/** `url-` and a digest of the origin. */
const urlQueueLength = urlPrefix.length + 16;

/**
 * The name of a payment's own address: `url-`, 16 hex characters of its origin's digest, a dash,
 * and 32 of the whole address's. Before origins were queues it was `url-` and the 32; what was made
 * then keeps its name.
 */
export function urlEndpoint(url: string): EndpointId {
  return `${originQueue(url)}-${sha256Hex(url).slice(0, 32)}` as EndpointId;
}

/** The queue of payments' own addresses at the origin of this one, which also names the origin. */
export function originQueue(url: string): QueueId {
  return (urlPrefix + sha256Hex(originOf(url)).slice(0, 16)) as QueueId;
}

/**
 * The queue that deliveries to an endpoint wait in. Payments' own addresses at one origin share
 * one: an order number in the query makes no queue of its own. The stores' migrations say the same
 * in SQL.
 */
export function queueOf(endpoint: EndpointId): QueueId {
  const isOfOrigin = isUrlEndpoint(endpoint) && endpoint[urlQueueLength] === "-";
  return (isOfOrigin ? endpoint.slice(0, urlQueueLength) : endpoint) as QueueId;
}

export function isUrlEndpoint(endpoint: EndpointId | QueueId): boolean {
  return endpoint.startsWith(urlPrefix);
}

/** How an endpoint of the account is reached at `now`; undefined while it is off. */
export function targetOf(endpoint: NotificationEndpoint, now: Instant): Target | undefined {
  if (!endpoint.enabled || endpoint.goneAt !== undefined) return undefined;
  const {
    secretVersion,
    previousSecretUntil,
    signatures = signatureKinds,
    hashesPerCall = 1,
  } = endpoint;
  const rotating =
    secretVersion > 1 && previousSecretUntil !== undefined && now < previousSecretUntil;
  const versions = rotating ? [secretVersion, secretVersion - 1] : [secretVersion];
  const secrets = versions.map((version) => secretName(endpoint, version));
  const { url } = endpoint;
  return { endpoint: endpointId(endpoint), url, secrets, signatures, hashesPerCall };
}

/**
 * How a payment's own address is reached: all of an account's are signed with one secret, in every
 * way, and tell of one payment.
 */
export function urlTarget(url: string): Target {
  const [secrets, signatures] = [[urlSecretName], signatureKinds];
  return { endpoint: urlEndpoint(url), url, secrets, signatures, hashesPerCall: 1 };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? "";
}

/** What a secret is derived under (notification-keys.ts). */
export function secretName({ id }: Pick<NotificationEndpoint, "id">, version: number): string {
  return `${id}/${version}`;
}

export const urlSecretName = "url/1";

/**
 * The same endpoints, with this one switched off because it answered 410; undefined when it is off
 * already or not there.
 */
export function switchedOff(
  endpoints: readonly NotificationEndpoint[],
  endpoint: EndpointId,
  at: Instant,
): readonly NotificationEndpoint[] | undefined {
  const found = endpoints.find(({ id }) => id === endpoint);
  if (found === undefined || found.goneAt !== undefined) return undefined;
  return endpoints.map((each) => (each === found ? { ...each, goneAt: at } : each));
}

/**
 * The same endpoints, with the next secret for this one; the one it had signs along until `until`.
 */
export function withNextSecret(
  endpoints: readonly NotificationEndpoint[],
  endpoint: EndpointId,
  until: Instant,
): readonly NotificationEndpoint[] {
  return endpoints.map((each) =>
    each.id === endpoint
      ? { ...each, secretVersion: each.secretVersion + 1, previousSecretUntil: until }
      : each,
  );
}

/**
 * Reads an account's endpoints from plain JSON, as settings are changed: a list of objects with
 * `id` and `url`, and the other members if need be. Undefined when it is anything else. Whether an
 * address may be reached is looked at when it is given (settings.ts) and decided when it is dialled
 * (egress.ts).
 */
export function readEndpoints(value: unknown): readonly NotificationEndpoint[] | undefined {
  if (!Array.isArray(value) || value.length > maximumEndpoints) return undefined;
  const endpoints = value.map((each: unknown) => readEndpoint(each));
  if (!endpoints.every((each) => each !== undefined)) return undefined;
  return new Set(endpoints.map(({ id }) => id)).size === endpoints.length ? endpoints : undefined;
}

function readEndpoint(value: unknown): NotificationEndpoint | undefined {
  if (!isRecord(value)) return undefined;
  const {
    id,
    url,
    enabled = true,
    offAt,
    goneAt,
    secretVersion = 1,
    previousSecretUntil,
    signatures,
    hashesPerCall,
    ...unknown
  } = value;
  if (Object.keys(unknown).length > 0 || typeof enabled !== "boolean" || !isVersion(secretVersion))
    return undefined;
  if (typeof id !== "string" || !isEndpointName(id)) return undefined;
  if (
    typeof url !== "string" ||
    url.length > 2_048 ||
    !/^https?:\/\//i.test(url) ||
    !URL.canParse(url)
  )
    return undefined;
  if (signatures !== undefined && !areSignatures(signatures)) return undefined;
  if (
    hashesPerCall !== undefined &&
    !(isVersion(hashesPerCall) && hashesPerCall <= maximumHashesPerCall)
  )
    return undefined;
  if (
    !isMomentOrNothing(offAt) ||
    !isMomentOrNothing(goneAt) ||
    !isMomentOrNothing(previousSecretUntil)
  )
    return undefined;
  return {
    id,
    url,
    enabled,
    ...(offAt === undefined ? {} : { offAt: instant(offAt) }),
    ...(goneAt === undefined ? {} : { goneAt: instant(goneAt) }),
    secretVersion,
    ...(previousSecretUntil === undefined
      ? {}
      : { previousSecretUntil: instant(previousSecretUntil) }),
    ...(signatures === undefined ? {} : { signatures }),
    ...(hashesPerCall === undefined ? {} : { hashesPerCall }),
  };
}

/** At least one of the known ones, none twice. */
function areSignatures(value: unknown): value is readonly SignatureKind[] {
  if (!Array.isArray(value) || value.length === 0 || new Set(value).size !== value.length)
    return false;
  return value.every((each) => signatureKinds.some((kind) => kind === each));
}

/** Whether an endpoint of an account may have this id. */
export function isEndpointName(id: string): boolean {
  return /^[a-z][a-z0-9-]{0,31}$/.test(id) && !id.startsWith(urlPrefix);
}

function isVersion(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}

function isMomentOrNothing(value: unknown): value is number | undefined {
  return (
    value === undefined || (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * The id of a message, the same in each of its repetitions, different for each endpoint and for all
 * other numbers, which are those of the notifications in it, ascending.
 */
export function messageId(
  installation: string,
  {
    merchantId,
    endpoint,
    numbers,
  }: {
    readonly merchantId: MerchantId;
    readonly endpoint: EndpointId;
    readonly numbers: readonly number[];
  },
): string {
  return `msg_${sha256Hex(`cofre message 1\0${installation}\0${merchantId}\0${numbers.join(",")}\0${endpoint}`).slice(0, 32)}`;
}

/**
 * What is posted: one hash unless the endpoint takes more, because a widespread receiver reads one
 * only (interface 6).
 */
export function messageBody([first, ...others]: readonly [
  Notification,
  ...Notification[],
]): string {
  const hashes = [first, ...others].map(({ paymentId }) => paymentId).join(",");
  return `operation=payment_status_change&notification_type=${first.kind}&hash_codes=${hashes}`;
}
