import type { ConnectorConfig } from "../config/connector-list.ts";
import type { Config } from "../config/settings.ts";
import { withCircuitBreaker } from "../connectors/circuit-breaker.ts";
import { connectorsOf } from "../connectors/connector-set.ts";
import type { Connector, Connectors, ReportDropped } from "../connectors/connector.ts";
import { connectors as connectorKinds } from "../connectors/index.ts";
import type { RemoteSimulator } from "../connectors/simulator/link-http.ts";
import type { Simulator } from "../connectors/simulator/simulator-connector.ts";
import type { Upstream } from "../connectors/upstream/upstream-connector.ts";
import type { Clock } from "../kernel/clock.ts";
import { type Instant, minute } from "../kernel/instant.ts";
import type { Log } from "../logging/log-event.ts";
import type { Ports } from "./ports.ts";

export interface OpenConnectors {
  readonly connectors: Connectors;
  /** The simulated acquirers that accept instructions, by name. */
  readonly simulators: ReadonlyMap<string, Simulated>;
}

type Simulated = Pick<RemoteSimulator | Simulator, "instruct">;

/** Logs dropped values of acquirers' answers: at most once a minute for each field of each call. */
export function droppedValues(log: Log, clock: Clock): ReportDropped {
  const reported = new Map<string, { at: Instant; dropped: number }>();
  return (value) => {
    const key = Object.values(value).join(" ");
    const last = reported.get(key);
    const now = clock.now();
    if (last !== undefined && now >= last.at && now - last.at < minute) {
      last.dropped += 1;
      return;
    }
    log.write({ event: "acquirer_value_dropped", ...value, dropped: (last?.dropped ?? 0) + 1 });
    reported.set(key, { at: now, dropped: 0 });
  };
}

export async function openConnectors(
  config: Config,
  { clock, scheduler }: Ports,
  log: Log,
  reportDropped: ReportDropped,
  parts: AsyncDisposableStack,
): Promise<OpenConnectors> {
  const list = config.connectors ?? [onlyConnector(config)];
  // With a single acquirer there is no other traffic to protect.
  const maxInFlight =
    list.length === 1
      ? Number.POSITIVE_INFINITY
      : Math.max(1, Math.floor(config.maxInFlight / list.length));
  const report = ({
    kind,
    connector,
  }: {
    readonly kind: "open" | "closed";
    readonly connector: string;
  }) =>
    log.write({
      event: kind === "open" ? "acquirer_circuit_opened" : "acquirer_circuit_closed",
      connector,
    });
  const simulators = new Map<string, Simulated>();
  const opened: Connector[] = [];
  for (const each of list) {
    const { name } = each;
    if (each.kind === "simulator") {
      const simulator = connectorKinds.simulator({ clock, scheduler });
      simulators.set(name, simulator);
      opened.push({ ...simulator, name });
      continue;
    }
    const remote = await openRemote(each, { clock, scheduler }, simulators);
    parts.defer(() => remote.close());
    opened.push(withCircuitBreaker(remote, { name, clock, maxInFlight, report }));
  }
  return { connectors: connectorsOf(opened, reportDropped), simulators };
}

async function openRemote(
  config: Exclude<ConnectorConfig, { readonly kind: "simulator" }>,
  ports: Pick<Ports, "clock" | "scheduler">,
  simulators: Map<string, Simulated>,
): Promise<RemoteSimulator | Upstream> {
  if (config.kind === "upstream") {
    return connectorKinds.upstream({
      ...ports,
      address: config.url,
      integrationKey: config.integrationKey,
      ca: config.ca?.reveal(),
    });
  }
  const simulator = await connectorKinds.remote_simulator({ ...ports, address: config.url.origin });
  simulators.set(config.name, simulator);
  return simulator;
}

/** The connector of the settings for a single acquirer. */
function onlyConnector({
  acquirerUrl,
  upstreamUrl,
  upstreamIntegrationKey,
  upstreamCa,
}: Config): ConnectorConfig {
  if (upstreamUrl !== undefined && upstreamIntegrationKey !== undefined) {
    return {
      name: "upstream",
      kind: "upstream",
      url: upstreamUrl,
      integrationKey: upstreamIntegrationKey,
      ca: upstreamCa,
    };
  }
  if (acquirerUrl !== undefined)
    return { name: "remote_simulator", kind: "remote_simulator", url: acquirerUrl };
  return { name: "simulator", kind: "simulator" };
}
