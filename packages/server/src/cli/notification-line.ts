import { formatTimestamp } from "../kernel/calendar.ts";
import type { Instant } from "../kernel/instant.ts";
import type { Styled } from "./styled.ts";

/**
 * The printed data of one message. Contains only values whose format was verified, because any
 * client that reaches the port can send anything.
 */
export interface NotificationLine {
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

export function lineAsJson(line: NotificationLine): string {
  return JSON.stringify({
    time: formatTimestamp(line.at),
    sequence: line.sequence ?? null,
    attempt: line.attempt ?? null,
    webhook_id: line.id ?? null,
    notification_type: line.kind ?? null,
    payments: line.payments.map(({ hash, status = null }) => ({ hash, status })),
    verified: line.problems.length === 0,
    problems: line.problems,
    repeat: line.repeat,
    late: line.late,
    gap: line.gap ?? null,
    answered: line.answered,
    forwarded: line.forwarded ?? null,
  });
}

const forwardedWords = {
  answered: "by the program",
  refused: "the program does not listen",
  timeout: "the program has not answered in time",
  cut: "the program has cut the connection",
} as const satisfies Record<Forwarded, string>;

/** Red if the signature does not verify. */
export function lineAsText(line: NotificationLine, styled: Styled): string {
  const payments = line.payments.map(({ hash, status }) => `${hash} ${status ?? "??"}`);
  const notes = [
    ...(line.repeat ? ["repeat"] : []),
    ...(line.late ? ["fills a gap"] : []),
    ...(line.gap === undefined ? [] : [`not received yet: ${rangeText(line.gap)}`]),
  ];
  const text = [
    formatTimestamp(line.at),
    `#${line.sequence ?? "?"}`,
    (line.kind ?? "(no notification)").padEnd(10),
    ...(payments.length === 0 ? ["(no hash)"] : payments),
    `attempt ${line.attempt ?? "?"}`,
    line.problems.length === 0 ? "verified" : `NOT VERIFIED (${line.problems.join("; ")})`,
    `answered ${line.answered}${line.forwarded === undefined ? "" : ` (${forwardedWords[line.forwarded]})`}`,
    ...notes.map((note) => `[${note}]`),
  ].join("  ");
  return line.problems.length === 0 ? text : styled("failure", text);
}

function rangeText([first, last]: readonly [number, number]): string {
  return first === last ? String(first) : `${first} to ${last}`;
}
