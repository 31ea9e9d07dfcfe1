import type { ServerResponse } from "node:http";
import type { WireResponse } from "../wire/answers/answer.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";
import { clientGone } from "./static-responses.ts";
import { commonHeaders, corsHeaders, helpLinkOf, jsonType, retryAfterSeconds } from "./headers.ts";

/** Writes an answer. `cors`: browsers of other origins may read it. */
export function writeAnswer(response: ServerResponse, answer: WireResponse, cors: boolean): void {
  const { body } = answer;
  if (answer === clientGone) return;
  const length = Buffer.byteLength(body);
  // Head and body are sent in one write, and an ASCII body needs no conversion.
  response
    .writeHead(answer.status, headOf(answer, length, cors))
    .end(body, length === body.length ? "latin1" : "utf8");
}

/** Writes the head, which declares the whole body, and half of the body. */
export function writeHalf(response: ServerResponse, answer: WireResponse, cors: boolean): void {
  if (answer === clientGone) return;
  const body = Buffer.from(answer.body);
  response
    .writeHead(answer.status, headOf(answer, body.length, cors))
    .write(body.subarray(0, body.length >> 1));
}

function headOf(
  { status, code, type = jsonType, headers }: WireResponse,
  length: number,
  cors: boolean,
): string[] {
  const head = [
    "Content-Type",
    type,
    ...(cors ? corsHeaders : commonHeaders),
    "Content-Length",
    String(length),
  ];
  if (code !== undefined) head.push("Link", helpLinkOf(code));
  if (headers !== undefined) head.push(...headers.flat());
  if (status === 503 || code === requestErrors.account_overloaded)
    head.push("Retry-After", retryAfterSeconds);
  return head;
}
