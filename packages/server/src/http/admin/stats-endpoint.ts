import type { Endpoint } from "../wire/endpoint.ts";

/** What the store has done since the process started, of all accounts together. */
export interface StatsOfStore {
  readonly commits: number;
  readonly changes: number;
  readonly largestBatch: number;
  readonly queued: number;
}

/** `/__cofre/stats`, in the sandbox only: how many durable commits (one fsync each) how many changes took. The bench reads it. */
export function statsEndpoint(stats: () => StatsOfStore): Endpoint {
  return {
    path: "/__cofre/stats",
    key: "secret",
    family: "parameters",
    cors: false,
    async handle() {
      const { commits, changes, largestBatch, queued } = stats();
      return { status: 200, body: JSON.stringify({ store: { commits, changes, largestBatch, queued }, status: "SUCCESS" }) };
    },
  };
}
