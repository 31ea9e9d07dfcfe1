import type { Credential } from "../operations/account-directory.ts";
import type { KeyedEndpoint } from "./endpoint.ts";
import { refusal } from "./errors/refusal.ts";
import type { Tree, TreeObject } from "./decode/tree.ts";

/** Interface 1.6. */
const maximumKeyLength = 100;

/** Interface 7.1: the errors of a missing and a wrong key depend on the kind of operation. */
const errors = {
  json: { missing: "Field integration_key is required", wrong: "DA-1" },
  parameters: { missing: "Parameter integration_key not informed", wrong: "BP-SA-2" },
} as const;

/**
 * Resolves the account of a request by its key, synchronously if `resolveKey` does, or throws. A
 * public key where a secret one is required is refused like a wrong one, as is a value that cannot
 * be a key. With both keys (some clients always send both) the secret one counts.
 */
export function resolveHolder(
  endpoint: KeyedEndpoint,
  params: TreeObject,
  resolveKey: (key: string) => Credential | undefined | Promise<Credential | undefined>,
): Credential | Promise<Credential> {
  const { missing, wrong } = errors[endpoint.family];
  const given = keyGiven(endpoint, params);
  if (given === undefined) throw refusal("BP-SA-1", { text: missing });
  // A key that was read from a file may end with a line break.
  const text = typeof given === "string" ? given.trim() : "";
  const granted = (holder: Credential | undefined): Credential => {
    if (holder === undefined || (endpoint.key === "secret" && holder.grants !== "secret"))
      throw refusal(wrong);
    return holder;
  };
  if (text === "" || text.length > maximumKeyLength) return granted(undefined);
  const found = resolveKey(text);
  return found instanceof Promise ? found.then(granted) : granted(found);
}

/** The key that was given for the endpoint; undefined if there is none. */
export function keyGiven(endpoint: KeyedEndpoint, params: TreeObject): Tree | undefined {
  const secret = params["integration_key"];
  return secret === undefined && endpoint.key === "public"
    ? (params["public_integration_key"] ?? endpoint.publicKeyIn?.(params))
    : secret;
}
