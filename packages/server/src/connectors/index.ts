import type { Clock } from "../kernel/clock.ts";
import type { Scheduler } from "../kernel/scheduler.ts";
import type { Connector } from "./connector.ts";
import { createSimulator } from "./simulator/simulator-connector.ts";

export interface ConnectorPorts {
  readonly clock: Clock;
  readonly scheduler: Scheduler;
}

/** Every acquirer that Cofre can speak to, by the name that the configuration uses. */
export const connectors = {
  simulator: (ports) => createSimulator(ports),
} as const satisfies Record<string, (ports: ConnectorPorts) => Connector>;
