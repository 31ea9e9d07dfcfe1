import type { SimulatedAuthentication } from "../../authentication/simulated-authenticator.ts";
import { formatInstant } from "../../kernel/calendar.ts";
import type { Instant } from "../../kernel/instant.ts";
import type { ExplainedPayment } from "../../operations/explain-payment.ts";
import { type Delivery, openMessage } from "../../notification/events.ts";
import type { Payment } from "../../payment/payment.ts";
import type { HistoryRow } from "../../stores/change.ts";
import type { OutboxRow } from "../../stores/store.ts";
import type { Recording, RecordedRequest } from "../../sandbox/recording/recorder.ts";
import { maskedText } from "../../wire/decode/card-like.ts";
import { attemptView, callView, concernedBy, requestView } from "../recording/recorded-view.ts";
import {
  attemptText,
  authenticationText,
  callText,
  factText,
  notificationText,
  requestText,
} from "./timeline-text.ts";

export const timelineKinds = [
  "authentication",
  "request",
  "fact",
  "call",
  "notification",
  "attempt",
] as const;

export interface TimelineEntry {
  readonly at: string;
  readonly kind: (typeof timelineKinds)[number];
  /** One sentence. */
  readonly text: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Timeline {
  readonly entries: readonly TimelineEntry[];
  /**
   * Number of older requests, calls and attempts of the payment that are recorded but not shown.
   */
  readonly leftOut: number;
}

/** Maximum number of requests, of calls and of attempts in one timeline: the newest are shown. */
export const maxPerKind = 100;

const longestCode = 128;

export interface TimelineSources extends ExplainedPayment {
  readonly recording: Recording;
  readonly notifications: readonly OutboxRow[];
  readonly deliveries: readonly Delivery[];
  /** The simulated authentication whose values the payment has. */
  readonly authentication: SimulatedAuthentication | undefined;
}

/** An entry and its position: by time, then in the order in which the events were recorded. */
interface Placed {
  readonly at: Instant;
  /** An event that was not recorded when it happened comes before those that were. */
  readonly sequence: number;
  /** Order within one commit. */
  readonly rank: number;
  readonly entry: TimelineEntry;
}

export function timelineOf(sources: TimelineSources): Timeline {
  const { payment, recording } = sources;
  const commits = recording.commitsOf(payment.id);
  const sequenceOf = (version: number): number => commits.get(version) ?? -1;
  const requests = recording.requests.filter((request) => isAbout(request, payment));
  const calls = recording.calls.filter(({ paymentId }) => paymentId === payment.id);
  const attempts = recording.attempts.filter(({ paymentId }) => paymentId === payment.id);
  const placed: Placed[] = [
    ...authenticationsOf(sources.authentication),
    ...sources.history.flatMap((row) => factsOf(row, sequenceOf(row.version), sources)),
    ...sources.notifications.map((row) =>
      notificationOf(row, sequenceOf(row.version), sources.deliveries),
    ),
    ...newest(requests).map((each) =>
      placedAs("request", each, requestText(each), requestView(each)),
    ),
    ...newest(calls).map((each) => placedAs("call", each, callText(each), callView(each))),
    ...newest(attempts).map((each) =>
      placedAs("attempt", each, attemptText(each), attemptView(each)),
    ),
  ];
  const entries = placed.toSorted(inOrder);
  const leftOut = [requests, calls, attempts].reduce(
    (sum, { length }) => sum + Math.max(0, length - maxPerKind),
    0,
  );
  return { entries: entries.map(({ entry }) => entry), leftOut };
}

function inOrder(one: Placed, other: Placed): number {
  if (one.at !== other.at) return one.at - other.at;
  return one.sequence === other.sequence ? one.rank - other.rank : one.sequence - other.sequence;
}

function newest<Item>(items: readonly Item[]): readonly Item[] {
  return items.slice(-maxPerKind);
}

/**
 * By the payment's hash; by its code, if the request named nothing else; or by the stored card that
 * the payment uses.
 */
function isAbout(request: RecordedRequest, { id, order, createdAt }: Payment): boolean {
  const { answer, at } = request;
  const { hash, code } = concernedBy(request);
  if (hash !== undefined) return hash === id;
  if (answer?.tokenDigest !== undefined)
    return answer.tokenDigest === order.card?.tokenDigest && at <= createdAt;
  return code !== undefined && code === maskedText(order.code, longestCode);
}

function placedAs(
  kind: TimelineEntry["kind"],
  { at, sequence }: { readonly at: Instant; readonly sequence: number },
  text: string,
  data: TimelineEntry["data"],
): Placed {
  return { at, sequence, rank: 0, entry: { at: formatInstant(at), kind, text, data } };
}

/** Its messages, which were sent before the payment was made. */
function authenticationsOf(found: SimulatedAuthentication | undefined): readonly Placed[] {
  if (found === undefined) return [];
  return found.messages.map(({ at, name, status }, rank) => {
    const entry: TimelineEntry = {
      at: formatInstant(at),
      kind: "authentication",
      text: authenticationText(name, status),
      data: { message: name, status, id: found.id, transaction_id: found.directoryServerId },
    };
    // Before the payment's own first version.
    return { at, sequence: -1, rank: rank - found.messages.length, entry };
  });
}

function factsOf(
  { version, at, facts, entries }: HistoryRow,
  sequence: number,
  { payment, explanation }: TimelineSources,
): readonly Placed[] {
  return facts.map((record, index) => {
    // The postings of a commit are shown with the last of its facts.
    const isLast = index === facts.length - 1;
    const { fact, attempt, by, detail } = record;
    const connector = fact === "authorization_sent" ? { connector: payment.order.connector } : {};
    const postings = isLast ? explanation.lines.filter((line) => line.version === version) : [];
    const data = {
      version,
      fact,
      attempt,
      by,
      ...connector,
      ...detail,
      postings: postings.map(({ kind, account, currency, amount, balance }) => ({
        kind,
        account,
        currency,
        amount,
        balance,
      })),
    };
    const entry: TimelineEntry = {
      at: formatInstant(at),
      kind: "fact",
      text: factText(record, isLast ? entries : []),
      data,
    };
    return { at, sequence, rank: rankOf(version, index), entry };
  });
}

/**
 * Commits that were not recorded are in the order of their versions. Within a version the facts
 * come first, then its notifications.
 */
function rankOf(version: number, index: number): number {
  return version * 1_000 + index;
}

function notificationOf(
  { number, kind, version, at }: OutboxRow,
  sequence: number,
  deliveries: readonly Delivery[],
): Placed {
  const own = deliveries.filter((delivery) => delivery.number === number);
  const shown = own.map(({ endpoint, state, attempts, outcome, dueAt, message = openMessage }) => ({
    endpoint,
    state,
    attempts,
    outcome,
    ...(state === "waiting" ? { due_at: formatInstant(dueAt) } : {}),
    ...(message === openMessage ? {} : { message }),
  }));
  const text = notificationText(
    number,
    kind,
    own.map(({ endpoint }) => endpoint),
  );
  const entry: TimelineEntry = {
    at: formatInstant(at),
    kind: "notification",
    text,
    data: { number, notification_type: kind, deliveries: shown },
  };
  return { at, sequence, rank: rankOf(version, 999), entry };
}
