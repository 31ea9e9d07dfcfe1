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
 * The only way to construct a `Connectors`: every outcome passes strict-answers.ts before any other
 * code reads it.
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
    // By name even if it is the only one: the list may start with another acquirer when recovery
    // reads the payment later.
    standard: [first.name],
    of: (name) => (name === undefined ? first : (byName.get(name) ?? absent(name))),
  };
}

const notSent: NotSent = { kind: "not_sent" };
const unreachable: Unknown = { kind: "unknown", cause: "connection" };

/** With these capabilities recovery inquires, gets no answer and inquires again later. */
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
    capture: async () => unreachable,
    void: async () => unreachable,
    refund: async () => unreachable,
    reverse: async () => unreachable,
    inquire: async () => unreachable,
  };
}
