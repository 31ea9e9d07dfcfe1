import { readSync, writeSync } from "node:fs";
import {
  answers,
  bodyLength,
  decodeBody,
  encodeFrame,
  type Frame,
  headerLength,
  memory,
  openFields,
  requests,
} from "./pkcs11-frames.ts";
import { loadModule, ReturnedError, UnusableError } from "./pkcs11-module.ts";
import { type Pkcs11Opening, Pkcs11Token } from "./pkcs11-token.ts";

/**
 * The program that loads a PKCS#11 module: a fault in the module ends this process and not the
 * server. Its argument is the path of the module. It reads requests from descriptor 3 and writes
 * answers to descriptor 4, one at a time, and ends when the server closes its side. Standard output
 * is left to the module, which may print there.
 */

const [input, output] = [3, 4];
const [, , modulePath = ""] = process.argv;

let token: Pkcs11Token | undefined;

function serve(): void {
  write(encodeFrame(answers.ready, []));
  for (let body = readBody(); body !== undefined; body = readBody()) {
    const frame = decodeBody(body);
    if (frame === undefined) break;
    write(answerTo(frame));
    body.fill(0);
  }
  try {
    token?.finalize();
  } catch {
    // The process ends.
  }
}

function answerTo(frame: Frame): Buffer {
  try {
    const result = run(frame);
    const answer = encodeFrame(answers.done, [result]);
    result.fill(0);
    return answer;
  } catch (error) {
    return refusal(error);
  }
}

function run({ kind, fields }: Frame): Buffer {
  if (kind === requests.open) return open(fields);
  if (kind === requests.facts && token !== undefined) return token.makerAndModel();
  const [label, bytes, nonce] = fields;
  if (token === undefined || label === undefined || bytes === undefined)
    throw new UnusableError("protocol");
  if (kind === requests.unwrap) return token.unwrap(label, bytes);
  if (kind === requests.wrap && nonce !== undefined) return token.wrap(label, bytes, nonce);
  throw new UnusableError("protocol");
}

function open(fields: readonly Buffer[]): Buffer {
  if (fields.length !== openFields.length) throw new UnusableError("protocol");
  // The request is wiped after the answer.
  const opening = Object.fromEntries(
    openFields.map((name, index) => [
      name,
      name === "pin" ? fields[index] : Buffer.from(fields[index] ?? []),
    ]),
  ) as Pkcs11Opening;
  token = new Pkcs11Token(loadModule(modulePath), opening);
  return Buffer.alloc(0);
}

function refusal(error: unknown): Buffer {
  const [name, detail, rv] =
    error instanceof ReturnedError
      ? ["returned", error.function, String(error.rv)]
      : error instanceof UnusableError
        ? [error.reason, error.detail, ""]
        : ["internal", "", ""];
  return encodeFrame(answers.refused, [Buffer.from(name), Buffer.from(detail), Buffer.from(rv)]);
}

/** Undefined when the server has closed its side, or sends something else than frames. */
function readBody(): Buffer | undefined {
  const header = readExactly(headerLength);
  const length = header === undefined ? undefined : bodyLength(header);
  return length === undefined ? undefined : readExactly(length);
}

function readExactly(length: number): Buffer | undefined {
  const bytes = memory(length);
  let at = 0;
  while (at < length) {
    const count = readSync(input, bytes, at, length - at, null);
    if (count === 0) return undefined;
    at += count;
  }
  return bytes;
}

function write(frame: Buffer): void {
  let at = 0;
  while (at < frame.length) at += writeSync(output, frame, at);
  frame.fill(0);
}

if (import.meta.main) serve();
