import { sha256Hex } from "../kernel/digest.ts";
import type { MerchantId } from "../kernel/ids.ts";
import { type Instant, instant } from "../kernel/instant.ts";
import type { EndpointId, Notification, QueueId } from "./events.ts";

/**
 * Kinds of signatures (signature.ts): `rsa` is the interface's own signature, `hmac` and `ed25519`
 * are those of Standard Webhooks.
 */
export const signatureKinds = ["rsa", "hmac", "ed25519"] as const;
export type SignatureKind = (typeof signatureKinds)[number];

/** A receiver configured in an account: plain data, stored with the account. */
export interface NotificationEndpoint {
  /**
   * 1 to 32 characters of a-z, 0-9 and dashes, beginning with a letter; never `url-`. Identifies
   * its deliveries and its secret.
   */
  readonly id: string;
  readonly url: string;
  /** false: the merchant has disabled it. Its deliveries are kept until it is enabled again. */
  readonly enabled: boolean;
  /**
   * When it was disabled; absent while it is enabled, or if it was disabled before this time was
   * recorded.
   */
  readonly offAt?: Instant;
  /** When it answered 410 and was disabled for that; it stays disabled until this is removed. */
  readonly goneAt?: Instant;
  /** Version of the signing secret; counts up from 1. */
  readonly secretVersion: number;
  /** Until then the previous secret signs as well. */
  readonly previousSecretUntil?: Instant;
  /**
   * The signatures that the receiver checks; each costs more than the message itself. Default: all.
   */
  readonly signatures?: readonly SignatureKind[];
  /** Maximum number of payments per message, 1 to 100. Default: 1. */
  readonly hashesPerCall?: number;
}

/**
 * The faults that the sandbox injects into an account's deliveries to test its receiver.
 * Probabilities are in 1/1000.
 */
export interface NotificationChaos {
  readonly seed: string;
  /** Nothing is sent, and the delivery counts as successful. */
  readonly drop: number;
  /** Sent `delayMs` later; later deliveries of the payment wait for it. */
  readonly delay: number;
  /** Sent `delayMs` later; later deliveries of the payment overtake it. */
  readonly reorder: number;
  readonly delayMs: number;
  /** Sent twice, with the same id. */
  readonly double: number;
  /** All signatures are invalid. */
  readonly breakSignature: number;
  /** The request that caused it is answered after its first attempt (first-attempt-waits.ts). */
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

/** An account's notification settings. */
export interface NotificationSettings {
  readonly endpoints: readonly NotificationEndpoint[];
  readonly chaos: NotificationChaos;
}

export const maximumEndpoints = 8;
/** 100 hashes are a body of 5 KB, and the receiver sends 100 queries. */
export const maximumHashesPerCall = 100;

/** A receiver of the account or of a payment. */
export interface Target {
  readonly endpoint: EndpointId;
  readonly url: string;
  /** Names of the signing secrets, newest first. */
  readonly secrets: readonly string[];
  readonly signatures: readonly SignatureKind[];
  readonly hashesPerCall: number;
}

const urlPrefix = "url-";

/**
 * A payment's own address replaces the account's endpoints (interface 6). Disabled endpoints are
 * included and get the notification later.
 */
export function targetsOf(
  endpoints: readonly NotificationEndpoint[],
  notificationUrl: string | undefined,
): readonly EndpointId[] {
  return notificationUrl === undefined ? endpoints.map(endpointId) : [urlEndpoint(notificationUrl)];
}

/** Those targets that take several payments in one message. */
export function batchingTargets(
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

/** `url-` and 16 hex characters of the origin's digest. */
const urlQueueLength = urlPrefix.length + 16;

/**
 * The name of a payment's own address: `url-`, 16 hex characters of its origin's digest, a dash,
 * and 32 of the digest of the whole address. An earlier version used `url-` and the 32; its
 * deliveries keep that name.
 */
export function urlEndpoint(url: string): EndpointId {
  return `${originQueue(url)}-${sha256Hex(url).slice(0, 32)}` as EndpointId;
}

/**
 * The queue of payments' own addresses at the origin of this one; it also identifies the origin.
 */
export function originQueue(url: string): QueueId {
  return (urlPrefix + sha256Hex(originOf(url)).slice(0, 16)) as QueueId;
}

/**
 * The queue of an endpoint's deliveries. Payments' own addresses at one origin share a queue, so an
 * order number in the query does not create another. The stores' migrations have the same rule in
 * SQL.
 */
export function queueOf(endpoint: EndpointId): QueueId {
  const isOfOrigin = isUrlEndpoint(endpoint) && endpoint[urlQueueLength] === "-";
  return (isOfOrigin ? endpoint.slice(0, urlQueueLength) : endpoint) as QueueId;
}

export function isUrlEndpoint(endpoint: EndpointId | QueueId): boolean {
  return endpoint.startsWith(urlPrefix);
}

/** The address and secrets of an account's endpoint at `now`; undefined while it is disabled. */
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
 * The address and secret of a payment's own address: all of an account's are signed with one
 * secret, with every kind of signature, and have one payment per message.
 */
export function urlTarget(url: string): Target {
  const [secrets, signatures] = [[urlSecretName], signatureKinds];
  return { endpoint: urlEndpoint(url), url, secrets, signatures, hashesPerCall: 1 };
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? "";
}

/** The name that a secret is derived from (notification-keys.ts). */
export function secretName({ id }: Pick<NotificationEndpoint, "id">, version: number): string {
  return `${id}/${version}`;
}

export const urlSecretName = "url/1";

/**
 * The endpoints with this one disabled because it answered 410; undefined if it is already disabled
 * or missing.
 */
export function withEndpointGone(
  endpoints: readonly NotificationEndpoint[],
  endpoint: EndpointId,
  at: Instant,
): readonly NotificationEndpoint[] | undefined {
  const found = endpoints.find(({ id }) => id === endpoint);
  if (found === undefined || found.goneAt !== undefined) return undefined;
  return endpoints.map((each) => (each === found ? { ...each, goneAt: at } : each));
}

/** The endpoints with the next secret for this one; the present secret also signs until `until`. */
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
 * Parses an account's endpoints from plain JSON, as in a settings change: a list of objects with
 * `id` and `url`, and optionally the other members. Undefined for anything else. Whether an address
 * is allowed is checked when it is configured (settings.ts) and decided when it is connected to
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

/** At least one known kind, without duplicates. */
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
 * The id of a message: the same for each attempt, different for each endpoint and for other
 * numbers. `numbers` are those of its notifications, ascending.
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
 * The body of the request: one hash unless the endpoint takes more, because a common receiver
 * implementation reads only one (interface 6).
 */
export function messageBody([first, ...others]: readonly [
  Notification,
  ...Notification[],
]): string {
  const hashes = [first, ...others].map(({ paymentId }) => paymentId).join(",");
  return `operation=payment_status_change&notification_type=${first.kind}&hash_codes=${hashes}`;
}
