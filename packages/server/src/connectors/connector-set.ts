import { assert } from "../kernel/assert.ts";
import { day } from "../kernel/instant.ts";
import type {
  Connector,
  ConnectorCapabilities,
  Connectors,
  NotSent,
  ReportDropped,
  Unknown,
} from "./connector.ts";
import { withStrictAnswers } from "./strict-answers.ts";

/**
 * The only way to a `Connectors`: whatever a connector's acquirer answers is read by
 * strict-answers.ts before anything else sees it.
 */
export function connectorsOf(
  connectors: readonly Connector[],
  reportDropped: ReportDropped = () => undefined,
): Connectors {
  const list = connectors.map((connector) => withStrictAnswers(connector, reportDropped));
  const byName = new Map(list.map((connector) => [connector.name, connector]));
  const [first] = list;
  assert(first !== undefined, "an installation has an acquirer");
  assert(byName.size === list.length, "connectors have different names");
  return {
    names: list.map(({ name }) => name),
    // By name, also where it is the only one: the list may have another first when the payment is
    // looked at again.
    standard: [first.name],
    of: (name) => (name === undefined ? first : (byName.get(name) ?? absent(name))),
  };
}

const notSent: NotSent = { kind: "not_sent" };
const nobodyThere: Unknown = { kind: "unknown", cause: "connection" };

/** Recovery asks, hears nothing and asks again later: that is what these promise. */
const absentCapabilities: ConnectorCapabilities = {
  dedupesByReference: false,
  answersInquiries: true,
  partialCapture: false,
  repeatsFollowUps: false,
  reverses: false,
  lateArrivalMs: 365 * day,
};

function absent(name: string): Connector {
  return {
    name,
    capabilities: absentCapabilities,
    authorize: async () => notSent,
    verify: async () => notSent,
    capture: async () => nobodyThere,
    void: async () => nobodyThere,
    refund: async () => nobodyThere,
    reverse: async () => nobodyThere,
    inquire: async () => nobodyThere,
  };
}
