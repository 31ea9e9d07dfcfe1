import type { ServerResponse } from "node:http";
import type { WireResponse } from "../wire/answers/answer.ts";
import { requestErrors } from "../wire/decode/request-errors.ts";
import { clientGone } from "./static-responses.ts";
import { commonHeaders, corsHeaders, helpLinkOf, jsonType, retryAfterSeconds } from "./headers.ts";

/** Writes an answer. `cors`: browsers of other origins may read it. */
export function writeAnswer(response: ServerResponse, answer: WireResponse, cors: boolean): void {
  const { body } = answer;
  if (answer === clientGone) return;
  if (answer.brotli !== undefined && acceptsBrotli(response.req.headers["accept-encoding"])) {
    const { brotli } = answer;
    const head = headOf(answer, brotli.length, cors);
    response.writeHead(answer.status, [...head, "Content-Encoding", "br"]).end(brotli);
    return;
  }
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

/** Whether an Accept-Encoding header names brotli with a weight above zero. */
export function acceptsBrotli(header: string | undefined): boolean {
  if (header === undefined) return false;
  return header.split(",").some((coding) => {
    const [name = "", weight = "q=1"] = coding.split(";").map((part) => part.trim().toLowerCase());
    return name === "br" && /^q=(?:1|0\.\d*[1-9])/.test(weight);
  });
}

function headOf(
  { status, code, brotli, type = jsonType, headers }: WireResponse,
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
  if (brotli !== undefined) head.push("Vary", "Accept-Encoding");
  if (headers !== undefined) head.push(...headers.flat());
  if (status === 503 || code === requestErrors.account_overloaded)
    head.push("Retry-After", retryAfterSeconds);
  return head;
}
