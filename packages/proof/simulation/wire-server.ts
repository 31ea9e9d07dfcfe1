import { RequestHeaders } from "../../server/src/http/headers.ts";
import { pathOf, Routes } from "../../server/src/http/routes.ts";
import { errorAnswer, type WireResponse } from "../../server/src/wire/answers/answer.ts";
import { decodeRequest } from "../../server/src/wire/decode/decode.ts";
import type { EndpointDeps } from "../../server/src/wire/endpoints/deps.ts";
import { wireEndpoints } from "../../server/src/wire/endpoints/index.ts";
import { readErrors, wireErrorOf } from "../../server/src/wire/answers/errors.ts";
import { resolveHolder } from "../../server/src/wire/key-check.ts";
import { WireError } from "../../server/src/wire/decode/wire-error.ts";
import { ServiceError } from "../../server/src/payment/service-error.ts";
import type { Credential } from "../../server/src/operations/account-directory.ts";
import type { WireRequest } from "./wire-request.ts";

/**
 * Answers bytes as a server's interface does; rejects if the result is not an answer of the
 * interface.
 */
export type WireServer = (request: WireRequest) => Promise<WireResponse>;

/**
 * The product's own decoder, routes, key check, endpoints and renderer, in the order of
 * http/request-pipeline.ts and without its sockets. Effects of sockets (framing, limits, slowness)
 * have their own lanes.
 */
export function createWireServer(deps: EndpointDeps): WireServer {
  const routes = new Routes(wireEndpoints(deps));
  return async ({ method, target, headers: raw, body }) => {
    const endpoint = routes.match(pathOf(target));
    if (endpoint === undefined || endpoint.key === "none" || endpoint.key === "session")
      throw new Error("an operation of the interface has its path");
    try {
      const headers = new RequestHeaders(raw);
      // Decoding overwrites the body, and the client may send it again.
      const decoded = decodeRequest(target, body === undefined ? undefined : Buffer.from(body));
      try {
        const holder = await resolveHolder(endpoint, decoded.params, (key) => holderOf(deps, key));
        if (!("account" in holder)) throw new Error("no key opens anything elsewhere");
        const { account, grants } = holder;
        return await endpoint.handle({ method, params: decoded.params, account, grants, headers });
      } finally {
        decoded.wipe();
      }
    } catch (error) {
      if (error instanceof WireError)
        return errorAnswer(error.statusCode, error.message, error.httpStatus);
      throw error;
    }
  };
}

async function holderOf(
  { holderOf: find }: EndpointDeps,
  key: string,
): Promise<Credential | undefined> {
  try {
    return await find(key);
  } catch (error) {
    throw error instanceof ServiceError ? wireErrorOf(error, readErrors) : error;
  }
}
