import type { Config } from "../config/settings.ts";
import type { KeysEndpointParts } from "../http/admin/keys-endpoint.ts";
import { sessionHeaders } from "../http/sign-in/console-authorizer.ts";
import type { ConsoleUsers } from "../http/sign-in/console-users.ts";
import { userError } from "../http/sign-in/user-errors.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Credential } from "../operations/account-directory.ts";
import { textOf } from "../wire/decode/tree.ts";
import { refusal } from "../wire/errors/refusal.ts";

interface SenderDependencies {
  readonly consoleUsers: Pick<ConsoleUsers, "authorizer"> | undefined;
  readonly clock: Clock;
  /** Resolves a key of the server's own accounts. */
  readonly byOwnKey: (key: string) => Promise<Credential | undefined>;
}

/**
 * Where users sign in, only a signed-in admin may order acts upon keys: a merchant's key may not. A
 * sandbox without sign-in knows no persons, so the secret key of the server's own account
 * suffices there.
 */
export function senderOf(
  { environment }: Config,
  { consoleUsers, clock, byOwnKey }: SenderDependencies,
): KeysEndpointParts["senderOf"] {
  return async ({ method, params, caller }) => {
    if (method !== "POST") throw userError("not_from_page");
    const { address: origin } = caller;
    if (consoleUsers !== undefined) {
      const signedIn = await consoleUsers.authorizer.admin("/__cofre/keys", caller);
      const { id, name } = signedIn.user;
      return { by: { kind: "user", id, name }, origin, headers: sessionHeaders(signedIn, clock) };
    }
    const key = textOf(params, "integration_key")?.trim() ?? "";
    const holder = environment === "sandbox" && key !== "" ? await byOwnKey(key) : undefined;
    if (holder?.grants !== "secret") throw refusal("BP-SA-2");
    return { by: { kind: "key" }, origin, headers: [] };
  };
}
