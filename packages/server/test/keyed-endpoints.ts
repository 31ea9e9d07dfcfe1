import { serverEndpoints, type EndpointsParts } from "../src/http/endpoints.ts";
import type { KeyedEndpoint, ServedEndpoint } from "../src/wire/endpoint.ts";
import type { EndpointDoc } from "../src/wire/endpoint-doc.ts";

/** Every endpoint of a sandbox, to read what it declares: none of them can run. */
export function sandboxEndpoints(): readonly ServedEndpoint[] {
  // Endpoints use what they are given only when they run.
  const parts: Record<keyof EndpointsParts, unknown> = {
    environment: "sandbox",
    console: "login",
    deps: {},
    paymentServices: {},
    clock: {},
    log: {},
    accountOf: undefined,
    publicKeyLimits: {},
    connectorNames: [],
    testCards: [],
    simulatorNames: [],
    instruct: undefined,
    notificationKeys: {},
    worldNotificationKeys: {},
    stats: undefined,
    recorder: {},
    consoleUsers: { endpoints: [] },
    ready: Promise.resolve(),
    keys: {},
    sandbox: {},
  };
  return serverEndpoints(parts as unknown as EndpointsParts);
}

/** Those that take a key. */
export function keyedEndpoints(): readonly KeyedEndpoint[] {
  return sandboxEndpoints().filter(
    (endpoint): endpoint is KeyedEndpoint => endpoint.key === "secret" || endpoint.key === "public",
  );
}

/** The documentation of an endpoint, and its path. */
export type DocumentedEndpoint = EndpointDoc & Pick<ServedEndpoint, "path">;

/** Those that /openapi.json and /docs describe, in their order. */
export function documentedEndpoints(): readonly DocumentedEndpoint[] {
  return sandboxEndpoints().flatMap(({ path, doc }) =>
    typeof doc === "string" ? [] : [{ ...doc, path }],
  );
}

/** The one with this path. */
export function keyedEndpoint(path: string): KeyedEndpoint {
  const endpoint = keyedEndpoints().find((each) => each.path === path);
  if (endpoint === undefined) throw new Error(`no endpoint that takes a key has the path ${path}`);
  return endpoint;
}
