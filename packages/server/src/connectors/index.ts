import { assert } from "../kernel/assert.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Connector } from "./connector.ts";
import { connectSimulator } from "./simulator/link-http.ts";
import { createSimulator } from "./simulator/simulator-connector.ts";
import { connectUpstream, type UpstreamOptions } from "./upstream/upstream-connector.ts";

export interface ConnectorSetup {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
  /** URL of the acquirer, for connectors that reach it over a network. */
  readonly address?: string;
}

/** Every supported acquirer, by its name in the configuration. */
export const connectors = {
  simulator: ({ clock, scheduler }: ConnectorSetup) => createSimulator({ clock, scheduler }),
  remote_simulator: ({ clock, scheduler, address }: ConnectorSetup) => {
    assert(address !== undefined, "a remote acquirer has an address");
    return connectSimulator({ clock, scheduler, address });
  },
  upstream: (setup: UpstreamOptions) => connectUpstream(setup),
} as const satisfies Record<string, (setup: never) => Connector | Promise<Connector>>;
