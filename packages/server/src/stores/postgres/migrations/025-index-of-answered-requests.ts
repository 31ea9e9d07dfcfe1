/** Finds the keys that may be deleted by their age, beside those that have no answer and stay. */
export const indexOfAnsweredRequests = `CREATE INDEX CONCURRENTLY named_request_answered ON named_request (claimed_at) WHERE status IS NOT NULL`;
