import { reading } from "../../wire/permission.ts";
import type { Account } from "../../merchant/account.ts";
import type { Endpoint } from "../../wire/endpoint.ts";
import type { EndpointDoc } from "../../wire/endpoint-doc.ts";
import { json, NamedSchema } from "../../wire/schema.ts";
import { exampleKey, secretKey } from "../../wire/endpoints/shared-docs.ts";

/** Statistics of a store since the process started. */
export interface StatsOfStore {
  readonly commits: number;
  readonly changes: number;
  readonly largestBatch: number;
  readonly queued: number;
}

/** The store of a world commits one change at a time, and no change is queued. */
export function statsOfWorld({ changes }: { readonly changes: number }): StatsOfStore {
  return { commits: changes, changes, largestBatch: Math.min(changes, 1), queued: 0 };
}

const answerSchema = new NamedSchema(
  "StatsAnswer",
  json.object({ store: json.anyObject, status: json.success }),
);

const doc: EndpointDoc = {
  id: "stats",
  tag: "Sandbox",
  summary: "Get the store's statistics",
  description:
    "Counts since the start. All accounts of the server share them; each world has its own.",
  fields: [secretKey],
  answer: answerSchema,
  example: exampleKey,
};

/**
 * `/__cofre/stats`, in the sandbox only: the number of durable commits (one fsync each) and of the
 * changes in them, for all the server's own accounts together, which share a store; for a world,
 * its own. The benchmark reads it.
 */
export function statsEndpoint(statsOf: (account: Account) => StatsOfStore): Endpoint {
  return {
    path: "/__cofre/stats",
    doc,
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
