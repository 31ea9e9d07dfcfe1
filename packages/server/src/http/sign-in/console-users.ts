import type { Secret } from "../../kernel/secret.ts";
import type { Users } from "../../sign-in/users.ts";
import type { UserEndpoint } from "../../wire/endpoint.ts";
import { ConsoleAuthorizer, type ConsoleAuthorizerParts } from "./console-authorizer.ts";
import { userEndpoints } from "./user-endpoints.ts";

/** The parts of a server whose console has logins. */
export interface ConsoleUsers {
  readonly authorizer: ConsoleAuthorizer;
  readonly endpoints: readonly UserEndpoint[];
  /** See People. */
  inviteFirstAdmin(force: boolean): Promise<Secret<string> | undefined>;
}

export function consoleUsers(
  parts: Omit<ConsoleAuthorizerParts, "users"> & { readonly users: Users },
): ConsoleUsers {
  const { users, clock } = parts;
  const authorizer = new ConsoleAuthorizer(parts);
  return {
    authorizer,
    endpoints: userEndpoints({ users, authorizer, clock }),
    inviteFirstAdmin: (force) => users.inviteFirstAdmin(force),
  };
}
