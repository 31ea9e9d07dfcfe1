import { writeSync } from "node:fs";
import { pino, type DestinationStream, type LevelWithSilent } from "pino";
import { assert } from "../kernel/assert.ts";
import { formatTimestamp } from "../kernel/calendar.ts";
import type { Clock } from "../kernel/clock.ts";
import { atEndOfTurn } from "../kernel/end-of-turn.ts";
import { type FieldKind, type Log, type LogEvent, logEvents } from "./log-event.ts";

export const logFormats = ["json", "text"] as const;
export type LogFormat = (typeof logFormats)[number];

export interface LogDestination extends DestinationStream {
  flush?(): void;
}

export interface LogOptions {
  readonly level: LevelWithSilent;
  readonly format: LogFormat;
  readonly clock: Clock;
  /** Receives whole lines, and may buffer some until it is flushed. */
  readonly destination: LogDestination;
}

/**
 * A reader that stops reading costs lines, not memory: above this number of buffered bytes lines
 * are dropped.
 */
const longestBacklogBytes = 8 * 1_024 * 1_024;

/** Longest text field in UTF-16 units; our own texts are far shorter. */
const longestText = 300;

/**
 * Lines of requests are buffered up to this number of bytes or this long: a write for each took 4 %
 * of a charge's CPU time.
 */
const gatheredBytes = 4_096;
const gatheredMs = 100;

/**
 * Standard output: written in the background, and completely when the process exits or `flushSync`
 * is called. A killed process loses the lines of its last tenth of a second.
 */
export function standardOutput(): LogDestination & { flushSync(): void } {
  // Node makes a pipe non-blocking when it creates this stream. A write to a blocking pipe waits
  // for its reader without a limit: on the main thread when the process ends, and until then on one
  // of the four threads that also write files.
  process.stdout.on("error", () => undefined);
  // The reader is slow: the destination will retry its current write.
  let isBehind = false;
  const destination = pino.destination({
    dest: 1,
    sync: false,
    minLength: gatheredBytes,
    periodicFlush: gatheredMs,
    maxLength: longestBacklogBytes,
    retryEAGAIN: () => (isBehind = true),
  });
  // A closed pipe (`cofre | head`) is not a reason to stop taking payments.
  let works = true;
  destination.on("error", () => {
    works = false;
  });
  destination.on("write", () => {
    works = true;
    isBehind = false;
  });
  // The destination measures its buffered text at each write, and copies it for that.
  const write = destination.write.bind(destination);
  const flush = destination.flush.bind(destination);
  let gathered = "";
  const handOver = (): void => {
    const lines = gathered;
    gathered = "";
    if (lines !== "") write(lines);
  };
  destination.write = (line) => {
    if (gathered === "") atEndOfTurn(handOver);
    gathered += line;
    return true;
  };
  destination.flush = (whenDone) => {
    handOver();
    flush(whenDone);
  };
  // The destination's own flush retries indefinitely on any error: on a full disk the process would
  // never end. pino also calls this on exit.
  const flushSync = destination.flushSync.bind(destination);
  destination.flushSync = () => {
    handOver();
    if (works && writeWaiting(destination, isBehind)) flushSync();
  };
  return destination;
}

/** Longest wait for a slow reader when the process ends. */
const longestBehindMs = 2_000;
const behindStepMs = 10;

/**
 * Writes the destination's buffer as far as possible and drops the rest. Reads private fields,
 * because the class has no other access to its buffer. True when nothing was dropped, also if the
 * private fields are not as expected: its own flush does the rest then.
 */
function writeWaiting(destination: object, isBehind: boolean): boolean {
  const inside = destination as {
    _bufs?: unknown;
    _writingBuf?: unknown;
    _writing?: unknown;
    _len?: unknown;
  };
  const { _bufs: waiting } = inside;
  if (
    !Array.isArray(waiting) ||
    typeof inside._writing !== "boolean" ||
    typeof inside._len !== "number"
  )
    return true;
  let rest = Buffer.from(waiting.splice(0).join(""));
  // A write that failed or waits for the reader comes first.
  const writesBuffer = isBehind || !inside._writing;
  if (
    writesBuffer &&
    inside._writingBuf !== "" &&
    (typeof inside._writingBuf === "string" || Buffer.isBuffer(inside._writingBuf))
  ) {
    rest = Buffer.concat([Buffer.from(inside._writingBuf), rest]);
    inside._writingBuf = "";
  }
  inside._len = 0;
  for (let waitedMs = 0; rest.length > 0 && waitedMs < longestBehindMs;) {
    try {
      rest = rest.subarray(writeSync(1, rest));
    } catch (error) {
      if (!(error instanceof Error) || !("code" in error) || error.code !== "EAGAIN") return false;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, behindStepMs);
      waitedMs += behindStepMs;
    }
  }
  return rest.length === 0;
}

/**
 * A log that writes declared events with their declared fields and nothing else: fields that are
 * not in the event's row, or have another type, are omitted, even if the type checker was bypassed.
 */
export function createLog({ level, format, clock, destination }: LogOptions): Log {
  const minLevel = level === "silent" ? Number.POSITIVE_INFINITY : pino.levels.values[level];
  assert(minLevel !== undefined, "a log level has a value");
  const timestamp = timestampsFrom(clock);
  return {
    write: (event) => {
      const eventLevel = logEvents[event.event].level;
      if ((pino.levels.values[eventLevel] ?? 0) < minLevel) return;
      const line = `{"level":"${eventLevel}","time":"${timestamp()}"${declaredFields(event)}}`;
      destination.write(`${format === "json" ? line : textOf(line)}\n`);
      // Operators and scripts need every line at once, except those of requests.
      if (event.event !== "request") destination.flush?.();
    },
  };
}

/**
 * ISO 8601 in UTC with milliseconds. The text is formatted once a second: formatting it for each
 * line would take a third of the line's cost.
 */
function timestampsFrom(clock: Clock): () => string {
  let second = -1;
  let text = "";
  return () => {
    const now = clock.now();
    const nowSecond = Math.floor(now / 1_000);
    if (nowSecond !== second) {
      second = nowSecond;
      text = formatTimestamp(now).replace(" ", "T");
    }
    return `${text}.${String(now - nowSecond * 1_000).padStart(3, "0")}Z`;
  };
}

/**
 * Members of a JSON object, each preceded by a comma. Built as text: an intermediate object took a
 * fifth of a query's memory.
 */
function declaredFields(event: LogEvent): string {
  const values: Readonly<Record<string, unknown>> = event;
  let fields = `,"event":${JSON.stringify(event.event)}`;
  const kinds: Readonly<Record<string, FieldKind>> = logEvents[event.event].fields;
  for (const name in kinds) {
    const value = allowedValue(kinds[name], values[name]);
    if (value !== undefined)
      fields += `,"${name}":${typeof value === "string" ? JSON.stringify(value) : String(value)}`;
  }
  return fields;
}

function allowedValue(
  kind: FieldKind | undefined,
  value: unknown,
): string | number | boolean | undefined {
  switch (typeof value) {
    case "string":
      if (kind === "text" || kind === "text?") return harmless(value);
      return kind === "id" || kind === "id?" ? idOrHarmless(value) : undefined;
    case "number":
      return (kind === "number" || kind === "number?") && Math.abs(value) < 1e12
        ? value
        : undefined;
    case "boolean":
      return kind === "flag" ? value : undefined;
    default:
      return undefined;
  }
}

/**
 * Our identifiers of 8 (merchant), 48 (payment) or 64 (digest) hex characters. Any other value is
 * text.
 */
const identifier = /^(?:[0-9a-f]{8}|[0-9a-f]{48}|[0-9a-f]{64})$/;

function idOrHarmless(value: string): string {
  return identifier.test(value) ? value : harmless(value);
}

/**
 * 13 or more digits with at most two separators between them. Without a Luhn check: no intended
 * value is this long, and a card number with one wrong digit, or with adjacent digits, still
 * reveals most of it.
 */
const digitRun = /\d(?:[ ._/:-]{0,2}\d){12,}/g;

/**
 * Characters that JSON does not escape but a terminal or a line reader interprets: DEL, C1
 * controls, line separators, direction marks.
 */
const disturbing = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** The second line of defence after the declared fields. */
export function harmless(text: string): string {
  if (isPlain(text)) return text;
  const cut = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  return cut.toWellFormed().replace(digitRun, "[digits]").replace(disturbing, "\uFFFD");
}

/**
 * Detects ordinary text, which needs no replacement, in one pass: the patterns would cost ten times
 * as much.
 */
function isPlain(text: string): boolean {
  if (text.length > longestText) return false;
  let digits = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit >= 0x7f) return false;
    if (unit >= 0x30 && unit <= 0x39) digits += 1;
  }
  return digits < 13;
}

/**
 * A human-readable line: time of day, level, event, fields. JSON quotes every value that is more
 * than a plain word.
 */
function textOf(jsonLine: string): string {
  const { level, time, event, ...fields } = JSON.parse(jsonLine) as Record<string, unknown>;
  const shown = Object.entries(fields).map(([name, value]) => `${name}=${wordOf(value)}`);
  return [String(time).slice(11, 23), String(level).padEnd(5), String(event), ...shown].join(" ");
}

function wordOf(value: unknown): string {
  return typeof value === "string" && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}
