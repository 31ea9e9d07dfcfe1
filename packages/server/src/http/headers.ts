import { helpAddressOf } from "../wire/errors/help-address.ts";
import { mayBeCrossSite } from "./cross-site.ts";
import type { WireHeaders } from "../wire/endpoint.ts";
import { type Charset, charsetOf } from "../wire/decode/text.ts";

/**
 * The parts of a request's head that the server needs, read once: Node builds its own table of
 * headers only on first access.
 */
export class RequestHeaders implements WireHeaders {
  readonly #raw: readonly string[];
  readonly hasBody: boolean;
  /** The body is compressed or otherwise encoded, which this server does not decode. */
  readonly isEncoded: boolean;
  /** Charset of text that is not UTF-8; undefined if no header declares one. */
  readonly charset: Charset | undefined;
  /**
   * A relevant header that was given twice with different values: another server may have used the
   * other one.
   */
  readonly repeated: string | undefined;
  readonly simulateInternalError: string | undefined;
  readonly processingType: string | undefined;
  readonly idempotencyKey: string | undefined;

  /** `rawHeaders`: names and values alternate. */
  constructor(rawHeaders: readonly string[]) {
    this.#raw = rawHeaders;
    let hasBody = false;
    let isEncoded = false;
    let charset: Charset | undefined;
    let repeated: string | undefined;
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const name = rawHeaders[index] ?? "";
      // The length distinguishes most names without another string.
      if (
        name.length !== 12 &&
        name.length !== 14 &&
        name.length !== 15 &&
        name.length !== 16 &&
        name.length !== 17 &&
        name.length !== 31 &&
        name.length !== 27
      )
        continue;
      const value = rawHeaders[index + 1] ?? "";
      switch (name.toLowerCase()) {
        case "content-type": {
          const said = charsetOf(value);
          if ((charset ??= said) !== said) repeated ??= "Content-Type";
          break;
        }
        case "content-length":
          hasBody ||= value !== "0";
          break;
        case "transfer-encoding":
          hasBody = true;
          break;
        case "content-encoding":
          isEncoded ||= !/^[ \t]*(?:identity)?[ \t]*$/i.test(value);
          break;
        case "x-ebanx-simulate-internal-error":
          if ((this.simulateInternalError ??= value) !== value)
            repeated ??= "X-EBANX-Simulate-Internal-Error";
          break;
        case "x-ebanx-api-processing-type":
          if ((this.processingType ??= value) !== value) repeated ??= "X-EBANX-API-Processing-Type";
          break;
        case "idempotency-key":
          if ((this.idempotencyKey ??= value) !== value) repeated ??= "Idempotency-Key";
          break;
        default:
      }
    }
    this.hasBody = hasBody;
    this.isEncoded = isEncoded;
    this.charset = charset;
    this.repeated = repeated;
  }

  isCrossSite(ownNames: ReadonlySet<string>): boolean {
    return mayBeCrossSite(this.#raw, ownNames);
  }
}

export const retryAfterSeconds = "1";
export const jsonType = "application/json; charset=utf-8";
export const commonHeaders = [
  // Keys travel in addresses (interface 1.4): no cache may store an answer, and no page may send
  // its address as a referrer.
  "Cache-Control",
  "no-store",
  "Referrer-Policy",
  "no-referrer",
  "X-Content-Type-Options",
  "nosniff",
];
export const corsHeaders = [...commonHeaders, "Access-Control-Allow-Origin", "*"];
export const allowHeaders = ["Allow", "GET, POST"];
export const pageAllowHeaders = ["Allow", "GET, HEAD, POST"];
export const preflightHeaders = [
  "Access-Control-Allow-Origin",
  "*",
  "Access-Control-Allow-Methods",
  "GET, POST",
  "Access-Control-Allow-Headers",
  "Content-Type, X-Ebanx-Client-User-Agent",
  "Access-Control-Max-Age",
  "86400",
];

/** The Link header of an error answer: where the documentation explains the code. */
export function helpLinkOf(code: string): string {
  return `<${helpAddressOf(code)}>; rel="help"`;
}
