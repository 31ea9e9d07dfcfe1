import { reading } from "../../wire/permission.ts";
import type { Account } from "../../merchant/account.ts";
import type { Endpoint } from "../../wire/endpoint.ts";

/** What a store has done since the process started. */
export interface StatsOfStore {
  readonly commits: number;
  readonly changes: number;
  readonly largestBatch: number;
  readonly queued: number;
}

/** The store of a world takes one change at a time, and none waits. */
export function statsOfWorld({ changes }: { readonly changes: number }): StatsOfStore {
  return { commits: changes, changes, largestBatch: Math.min(changes, 1), queued: 0 };
}

/**
 * `/__cofre/stats`, in the sandbox only: how many durable commits (one fsync each) how many changes
 * took, of all the server's own accounts together, which share a store; of a world, its own. The
 * bench reads it.
 */
export function statsEndpoint(statsOf: (account: Account) => StatsOfStore): Endpoint {
  return {
    path: "/__cofre/stats",
    permission: reading,
    recorded: false,
    key: "secret",
    family: "parameters",
    cors: false,
    async handle({ account }) {
      const { commits, changes, largestBatch, queued } = statsOf(account);
      return {
        status: 200,
        body: JSON.stringify({
          store: { commits, changes, largestBatch, queued },
          status: "SUCCESS",
        }),
      };
    },
  };
}
