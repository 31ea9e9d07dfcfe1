import { serverEndpoints, type EndpointsParts } from "../src/http/endpoints.ts";
import type { KeyedEndpoint } from "../src/wire/endpoint.ts";

/** Every endpoint of a sandbox that takes a key, to read what it declares: none of them can run. */
export function keyedEndpoints(): readonly KeyedEndpoint[] {
  // Endpoints use what they are given only when they run.
  const parts: Record<keyof EndpointsParts, unknown> = {
    environment: "sandbox",
    console: "login",
    deps: {},
    installations: {},
    clock: {},
    connectorNames: [],
    simulatorNames: [],
    instruct: undefined,
    notificationKeys: {},
    worldNotificationKeys: {},
    stats: undefined,
    recorder: {},
    people: { endpoints: [] },
    ready: Promise.resolve(),
    sandbox: {},
  };
  return serverEndpoints(parts as unknown as EndpointsParts).filter(
    (endpoint): endpoint is KeyedEndpoint => endpoint.key === "secret" || endpoint.key === "public",
  );
}

/** The one with this path. */
export function keyedEndpoint(path: string): KeyedEndpoint {
  const endpoint = keyedEndpoints().find((each) => each.path === path);
  if (endpoint === undefined) throw new Error(`no endpoint that takes a key has the path ${path}`);
  return endpoint;
}
