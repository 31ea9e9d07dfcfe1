/** Finds the keys that may be deleted by age, without those that have no answer. */
export const indexOfAnsweredRequests = `CREATE INDEX CONCURRENTLY named_request_answered ON named_request (claimed_at) WHERE status IS NOT NULL`;
