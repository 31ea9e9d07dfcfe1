import type { Secret } from "../../kernel/secret.ts";
import type { People } from "../../sign-in/users.ts";
import type { PeopleEndpoint } from "../../wire/endpoint.ts";
import { PeopleGate, type PeopleGateParts } from "./gate.ts";
import { peopleEndpoints } from "./people-endpoints.ts";

/** The parts of a server whose console has logins. */
export interface ConsolePeople {
  readonly gate: PeopleGate;
  readonly endpoints: readonly PeopleEndpoint[];
  /** See People. */
  inviteFirstAdmin(force: boolean): Promise<Secret<string> | undefined>;
}

export function consolePeople(
  parts: Omit<PeopleGateParts, "people"> & { readonly people: People },
): ConsolePeople {
  const { people, clock } = parts;
  const gate = new PeopleGate(parts);
  return {
    gate,
    endpoints: peopleEndpoints({ people, gate, clock }),
    inviteFirstAdmin: (force) => people.inviteFirstAdmin(force),
  };
}
