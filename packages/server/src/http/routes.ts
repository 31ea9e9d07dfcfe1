import { assert } from "../kernel/assert.ts";
import type { ServedEndpoint } from "../wire/endpoint.ts";

/**
 * Finds the endpoint of a path. Clients write paths in any letter case, with and without a slash at
 * the end (interface E10, E11), with two slashes after a base address that ends in one, and through
 * a proxy with a whole address in front.
 */
export class Routes {
  readonly #byPath = new Map<string, ServedEndpoint>();

  constructor(endpoints: readonly ServedEndpoint[]) {
    for (const endpoint of endpoints) {
      const path = normalized(endpoint.path);
      assert(!this.#byPath.has(path), "no two endpoints have the same path");
      // The spelling of the documentation is looked up unchanged; all others are converted to lower
      // case first.
      this.#byPath.set(path, endpoint);
      this.#byPath.set(endpoint.path, endpoint);
    }
  }

  /** `path` has no query. */
  match(path: string): ServedEndpoint | undefined {
    return this.#byPath.get(path) ?? this.#byPath.get(normalized(path));
  }
}

/**
 * true: inside the interface, where an unknown path gets the error envelope with status 200, as
 * every error does.
 */
export function isInterfacePath(path: string): boolean {
  return /^\/ws(?:\/|$)/i.test(path);
}

/**
 * The path of a request target, which is a path or a whole address, with or without a query.
 * Several slashes in a row count as one.
 */
export function pathOf(target: string): string {
  const mark = target.indexOf("?");
  const whole = mark < 0 ? target : target.slice(0, mark);
  if (whole.startsWith("/")) return withoutEmptySegments(whole);
  const authority = whole.indexOf("://");
  const slash = authority < 0 ? -1 : whole.indexOf("/", authority + 3);
  return slash < 0 ? "/" : withoutEmptySegments(whole.slice(slash));
}

/** The query of a target, with its question mark; empty without one. */
export function queryOf(target: string): string {
  const mark = target.indexOf("?");
  return mark < 0 ? "" : target.slice(mark);
}

function withoutEmptySegments(path: string): string {
  return path.includes("//") ? path.replace(/\/{2,}/g, "/") : path;
}

function normalized(path: string): string {
  const bare = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  return bare.toLowerCase();
}
