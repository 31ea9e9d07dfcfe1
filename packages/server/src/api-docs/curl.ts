import type { Endpoint } from "../wire/endpoint.ts";
import type { EndpointDoc } from "../wire/endpoint-doc.ts";

/**
 * The shell command that sends the example. It takes the server's address and the keys from
 * variables ($COFRE, $KEY, $PUBLIC_KEY, $ORDER, $TOKEN): a server does not know the address by
 * which it is reached.
 */
export function curlOf(
  { family, path }: Pick<Endpoint, "family" | "path">,
  { example }: Pick<EndpointDoc, "example">,
): string {
  const entries = Object.entries(example);
  // Nested values need JSON, whatever the family is.
  if (family === "json" || entries.some(([, value]) => typeof value === "object")) {
    return `curl -s "$COFRE${path}" -H 'Content-Type: application/json' -d '${withVariables(JSON.stringify(example, undefined, 2))}'`;
  }
  const parameters = entries.map(([name, value]) => `--data-urlencode "${name}=${String(value)}"`);
  return [`curl -s "$COFRE${path}"`, ...parameters].join(" \\\n  ");
}

/** Makes variables expand inside a text in single quotes. */
function withVariables(text: string): string {
  return text.replaceAll(/\$[A-Z_]+/g, (variable) => `'"${variable}"'`);
}
