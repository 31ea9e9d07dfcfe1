/** Finds the Idempotency-Keys that may be deleted: those that have an answer, by their age. */
export const answeredRequests = `
CREATE INDEX named_request_answered ON named_request (claimed_at) WHERE status IS NOT NULL;
`;
