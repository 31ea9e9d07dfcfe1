import { assert } from "../kernel/assert.ts";
import { day } from "../kernel/instant.ts";
import type { Connector, ConnectorCapabilities, Connectors, NotSent, Unknown } from "./connector.ts";

export function connectorsOf(list: readonly Connector[]): Connectors {
  const byName = new Map(list.map((connector) => [connector.name, connector]));
  const [first] = list;
  assert(first !== undefined, "an installation has an acquirer");
  assert(byName.size === list.length, "connectors have different names");
  return {
    names: list.map(({ name }) => name),
    // By name, also where it is the only one: the list may have another first when the payment is looked at again.
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
