import { formatTimestamp } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";

/**
 * The printed data of one message. Contains only values whose format was verified, because any
 * client that reaches the port can send anything.
 */
export interface Heard {
  readonly at: Instant;
  readonly sequence: number | undefined;
  readonly attempt: number | undefined;
  readonly id: string | undefined;
  readonly kind: string | undefined;
  readonly payments: readonly { readonly hash: string; readonly status: string | undefined }[];
  readonly problems: readonly string[];
  readonly repeat: boolean;
  readonly late: boolean;
  readonly gap: readonly [number, number] | undefined;
  readonly answered: number;
  /** Result of forwarding; undefined when there is no forward address. */
  readonly forwarded: Forwarded | undefined;
}

export type Forwarded = "answered" | "refused" | "timeout" | "cut";

export function heardAsJson(heard: Heard): string {
  return JSON.stringify({
    time: formatTimestamp(heard.at),
    sequence: heard.sequence ?? null,
    attempt: heard.attempt ?? null,
    webhook_id: heard.id ?? null,
    notification_type: heard.kind ?? null,
    payments: heard.payments.map(({ hash, status = null }) => ({ hash, status })),
    verified: heard.problems.length === 0,
    problems: heard.problems,
    repeat: heard.repeat,
    late: heard.late,
    gap: heard.gap ?? null,
    answered: heard.answered,
    forwarded: heard.forwarded ?? null,
  });
}

const forwardedWords = {
  answered: "by the program",
  refused: "the program does not listen",
  timeout: "the program has not answered in time",
  cut: "the program has cut the connection",
} as const satisfies Record<Forwarded, string>;

export function heardAsText(heard: Heard): string {
  const payments = heard.payments.map(({ hash, status }) => `${hash} ${status ?? "??"}`);
  const notes = [
    ...(heard.repeat ? ["repeat"] : []),
    ...(heard.late ? ["fills a gap"] : []),
    ...(heard.gap === undefined ? [] : [`not received yet: ${rangeText(heard.gap)}`]),
  ];
  return [
    formatTimestamp(heard.at),
    `#${heard.sequence ?? "?"}`,
    (heard.kind ?? "(no notification)").padEnd(10),
    ...(payments.length === 0 ? ["(no hash)"] : payments),
    `attempt ${heard.attempt ?? "?"}`,
    heard.problems.length === 0 ? "verified" : `NOT VERIFIED (${heard.problems.join("; ")})`,
    `answered ${heard.answered}${heard.forwarded === undefined ? "" : ` (${forwardedWords[heard.forwarded]})`}`,
    ...notes.map((note) => `[${note}]`),
  ].join("  ");
}

function rangeText([first, last]: readonly [number, number]): string {
  return first === last ? String(first) : `${first} to ${last}`;
}
