import type { Instant } from "../kernel/instant.ts";
import { type NotificationEndpoint, withEndpointGone } from "../notification/endpoint.ts";
import type { EndpointId } from "../notification/events.ts";
import type { AccountSettings } from "./account.ts";

/** The id of the endpoint for `notificationUrl`, the account's only address in earlier versions. */
const accountUrl = "account-url";

/** All endpoints of an account. */
export function endpointsOf({
  notificationUrl: url,
  notificationEndpoints: endpoints,
}: AccountSettings): readonly NotificationEndpoint[] {
  if (url === "") return endpoints;
  const kept = endpoints.find(({ id }) => id === accountUrl);
  const others = endpoints.filter(({ id }) => id !== accountUrl);
  return [...others, { enabled: true, secretVersion: 1, ...kept, id: accountUrl, url }];
}

/**
 * The account's endpoints to store when this one is enabled or disabled; undefined if there is none
 * with this id. Enabling it clears an earlier 410.
 */
export function endpointsSwitched(
  settings: AccountSettings,
  id: string,
  on: boolean,
): readonly NotificationEndpoint[] | undefined {
  const found = endpointsOf(settings).find((each) => each.id === id);
  if (found === undefined) return undefined;
  const { goneAt, ...kept } = found;
  const next = { ...kept, enabled: on, ...(on || goneAt === undefined ? {} : { goneAt }) };
  const stored = settings.notificationEndpoints;
  return stored.some((each) => each.id === id)
    ? stored.map((each) => (each.id === id ? next : each))
    : [...stored, next];
}

/**
 * The wanted endpoints with the times when they were disabled: now for those that were enabled in
 * `before`.
 */
export function withOffTimes(
  wanted: readonly NotificationEndpoint[],
  before: readonly NotificationEndpoint[],
  now: Instant,
): readonly NotificationEndpoint[] {
  return wanted.map((endpoint) => {
    const { offAt: _, ...each } = endpoint;
    if (each.enabled) return each;
    const was = before.find(({ id }) => id === each.id);
    const offAt = was?.enabled === false ? was.offAt : now;
    return offAt === undefined ? each : { ...each, offAt };
  });
}

/** The account's endpoints to store when this one has answered 410. */
export function endpointsWithout(
  settings: AccountSettings,
  endpoint: EndpointId,
  at: Instant,
): readonly NotificationEndpoint[] {
  const after = withEndpointGone(endpointsOf(settings), endpoint, at);
  return after === undefined
    ? settings.notificationEndpoints
    : after.filter(
        (each) =>
          each.goneAt !== undefined ||
          settings.notificationEndpoints.some(({ id }) => id === each.id),
      );
}
