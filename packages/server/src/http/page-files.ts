import { readFile } from "node:fs/promises";
import { brotliCompress, constants } from "node:zlib";
import type { WireResponse } from "../wire/answers/answer.ts";
import type { OpenEndpoint } from "../wire/endpoint.ts";

export const javascript = "text/javascript; charset=utf-8";
export const stylesheet = "text/css; charset=utf-8";
export const htmlPage = "text/html; charset=utf-8";

/** The text of a file that belongs to the program. */
export function textOfFile(file: URL): Promise<string> {
  return readFile(file, "utf8");
}

/**
 * The answer, which gets its brotli form when that is made. The best compression would take a core
 * for a second, in which the first reader's page is shown.
 */
export function compressedLater(
  answer: WireResponse & { brotli?: Buffer | undefined },
): WireResponse {
  // Without memory for it, the answer stays as it is.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 6 };
  brotliCompress(answer.body, { params }, (error, bytes) => {
    if (error === null) answer.brotli = bytes;
  });
  return answer;
}

/** Reads on the first call, and again after a failure. */
export function readOnce<T>(read: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return async () => {
    result ??= read();
    try {
      return await result;
    } catch (error) {
      result = undefined;
      throw error;
    }
  };
}

/** The endpoint of a file that is read on the first request. */
export function servedOnce(path: string, read: () => Promise<WireResponse>): OpenEndpoint {
  return pageEndpoint(path, readOnce(read));
}

/** The endpoint of a page or a file. */
export function pageEndpoint(path: string, handle: OpenEndpoint["handle"]): OpenEndpoint {
  return {
    path,
    doc: "page",
    key: "none",
    isPage: true,
    family: "parameters",
    cors: false,
    handle,
  };
}
