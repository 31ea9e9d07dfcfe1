import { isConnectorName } from "../payment/connector-name.ts";
import type { Secret } from "../kernel/secret.ts";
import {
  type Reading,
  readCertificates,
  readKey,
  readLoopbackUrl,
  readUpstreamUrl,
} from "./readers.ts";

/** One acquirer of the configuration. */
export type ConnectorConfig =
  | { readonly name: string; readonly kind: "simulator" }
  | { readonly name: string; readonly kind: "remote_simulator"; readonly url: URL }
  | {
      readonly name: string;
      readonly kind: "upstream";
      readonly url: URL;
      readonly integrationKey: Secret<string>;
      readonly ca: Secret<string> | undefined;
    };

const maxConnectors = 16;

/**
 * Reads COFRE_CONNECTORS: a JSON list of objects with a name and a kind. Never quotes its input,
 * which contains keys.
 */
export function readConnectors(text: string): Reading<readonly ConnectorConfig[]> {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return { problem: "is not JSON" };
  }
  if (!Array.isArray(list) || list.length === 0 || list.length > maxConnectors) {
    return { problem: `must be a JSON list of 1 to ${maxConnectors} objects` };
  }
  const connectors: ConnectorConfig[] = [];
  for (const [index, each] of list.entries()) {
    const read = readConnector(each);
    if ("problem" in read)
      return { problem: `has a connector (number ${index + 1}) that ${read.problem}` };
    if (connectors.some(({ name }) => name === read.value.name))
      return { problem: "gives two connectors the same name" };
    connectors.push(read.value);
  }
  return { value: connectors };
}

function readConnector(value: unknown): Reading<ConnectorConfig> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return { problem: "is not an object" };
  const { name, kind, url, integrationKey, ca, ...unknown } = value as Readonly<
    Record<string, unknown>
  >;
  if (Object.keys(unknown).length > 0)
    return { problem: "has a member other than name, kind, url, integrationKey and ca" };
  if (typeof name !== "string" || !isConnectorName(name)) {
    return {
      problem: "has no valid name: 1 to 32 characters of a-z, 0-9, - and _, the first one a letter",
    };
  }
  if (kind !== "upstream" && (integrationKey ?? ca) !== undefined)
    return { problem: "has an integrationKey or ca, which only the kind upstream takes" };
  if (kind === "simulator")
    return url === undefined
      ? { value: { name, kind } }
      : { problem: "has a url, which the kind simulator does not take" };
  if (kind !== "remote_simulator" && kind !== "upstream") {
    return { problem: "has a kind other than simulator, remote_simulator and upstream" };
  }
  if (typeof url !== "string") return { problem: "has no url" };
  const address = kind === "upstream" ? readUpstreamUrl(url) : readLoopbackUrl(url);
  if ("problem" in address) return { problem: `has a url that ${address.problem}` };
  if (kind === "remote_simulator") return { value: { name, kind, url: address.value } };
  if (typeof integrationKey !== "string" || integrationKey === "")
    return { problem: "has no integrationKey" };
  const key = readKey(integrationKey);
  if ("problem" in key) return { problem: `has an integrationKey that ${key.problem}` };
  if (ca === undefined)
    return { value: { name, kind, url: address.value, integrationKey: key.value, ca: undefined } };
  const certificates = readCertificates(typeof ca === "string" ? ca : "");
  if ("problem" in certificates) return { problem: `has a ca that ${certificates.problem}` };
  return {
    value: { name, kind, url: address.value, integrationKey: key.value, ca: certificates.value },
  };
}
