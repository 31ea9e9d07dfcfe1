import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { KnownNumbers } from "../../server/src/scan/known-numbers.ts";
import { fuzzPan, secretDigits } from "./corpus.ts";

/*
 * Inputs that once found something, or that represent a class of inputs that break servers: files
 * in packages/proof/fuzz/corpus, run first by the lanes `sockets` and `fuzz` and by `npm test`. What a lane
 * finds is added there. Their texts have one byte for each character, and placeholders: {key} is
 * the integration key, {pan} a card number of which no answer may show the middle digits, {grouped
 * X} the same in groups with X between them, {repeat N TEXT}, and in a head {length}, of all that
 * follows in the entry.
 */

/**
 * What is written to a socket, and the statuses of the answers that come back, before the server
 * closes the connection.
 */
interface KeptFraming {
  readonly why: string;
  readonly send: readonly string[];
  readonly answers: readonly string[];
  /**
   * The connection may end before some of them: a request that breaks the framing takes those
   * before it along.
   */
  readonly orFewer?: true;
}

/** A body that is sent whole to a path, and the status_code of the answer, or SUCCESS. */
interface KeptBody {
  readonly why: string;
  readonly path: string;
  readonly body: string;
  readonly answer: string;
}

export interface FramingInput {
  readonly why: string;
  readonly bytes: Buffer;
  readonly answers: readonly string[];
  readonly orFewer: boolean;
}

export interface BodyInput {
  readonly why: string;
  readonly path: string;
  readonly body: Buffer;
  readonly answer: string;
}

export function keptFramings(integrationKey: string): readonly FramingInput[] {
  return (read("framing.json") as readonly KeptFraming[]).map(
    ({ why, send, answers, orFewer = false }) => {
      const parts = send.map((part) => filled(part, integrationKey));
      const text = parts
        .map((part, at) => part.replace("{length}", String(parts[at + 1]?.length ?? 0)))
        .join("");
      return { why, answers, orFewer, bytes: Buffer.from(text, "latin1") };
    },
  );
}

export function keptBodies(integrationKey: string): readonly BodyInput[] {
  return (read("bodies.json") as readonly KeptBody[]).map((entry) => ({
    ...entry,
    body: Buffer.from(filled(entry.body, integrationKey), "latin1"),
  }));
}

function read(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`corpus/${name}`, import.meta.url), "utf8"));
}

function filled(text: string, integrationKey: string): string {
  return text
    .replaceAll("{key}", integrationKey)
    .replaceAll("{pan}", fuzzPan)
    .replaceAll(/\{grouped (.)\}/g, (_, between: string) =>
      fuzzPan.replaceAll(/(.{4})(?=.)/g, `$1${between}`),
    )
    .replaceAll(/\{repeat (\d+) ([^}]+)\}/g, (_, times: string, what: string) =>
      what.repeat(Number(times)),
    );
}

export interface Exchange {
  readonly response: string;
  readonly statuses: readonly string[];
}

/** Longer than the server lets anybody take for a request. */
const longestMs = 60_000;

/**
 * Writes the pieces, each by itself, then the end, and resolves with everything that was answered
 * once the server has closed the connection; rejects when it does not.
 */
export function exchange(port: number, pieces: readonly Buffer[]): Promise<Exchange> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    let response = "";
    socket.setTimeout(longestMs, () => {
      socket.destroy();
      reject(new Error("the connection hangs"));
    });
    socket.on("data", (data) => (response += data.toString("latin1")));
    // A reset is an end, too: the server need not read what it has refused.
    socket.on("error", () => undefined);
    socket.on("close", () =>
      resolve({
        response,
        statuses: Array.from(
          response.matchAll(/(?:^|\})HTTP\/1\.1 (\d{3}) /g),
          ([, status = ""]) => status,
        ),
      }),
    );
    for (const piece of pieces) socket.write(piece);
    socket.end();
  });
}

/**
 * What the server draws for a payment, as it is written: six given digits occur in some of
 * thousands by chance.
 */
const drawn = /"(?:hash|token)":"(?:[0-9a-f]{48}|[0-9a-f]{128})"|"pin":"\d{9}"|"authcode":"\d{6}"/g;

/**
 * Asserts that no answer has six of the hidden digits of the corpus' card in a row, except in
 * what is drawn.
 */
export function assertNoDigits(response: string, which: string): void {
  const rest = response.replaceAll(drawn, "");
  for (let at = 0; at + 6 <= secretDigits.length; at += 1) {
    assert.ok(
      !rest.includes(secretDigits.slice(at, at + 6)),
      `no card digits in an answer: ${which}`,
    );
  }
}

const wholeNumber = new KnownNumbers([fuzzPan]);

/**
 * Asserts that the corpus' card number is not in a list of earlier requests, in any
 * encoding. Pieces of it may be: a few digits that a client sends in another field are shown.
 */
export function assertNoNumber(response: string, which: string): void {
  assert.deepEqual(
    wholeNumber.search(Buffer.from(response)),
    [],
    `no card number in an answer: ${which}`,
  );
}

/** The request of a body, after which the server closes the connection. */
export function requestOf({ path, body }: Pick<BodyInput, "path" | "body">): Buffer {
  return Buffer.concat([
    Buffer.from(
      `POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n`,
    ),
    body,
  ]);
}

/** `status_code` of an answer, or its `status`. */
export function answerOf(response: string): string {
  const answer = JSON.parse(response.slice(response.indexOf("\r\n\r\n") + 4)) as {
    readonly status?: string;
    readonly status_code?: string;
  };
  return answer.status_code ?? answer.status ?? "none";
}
