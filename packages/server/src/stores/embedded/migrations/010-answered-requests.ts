/** Finds the Idempotency-Keys that may be deleted, those with an answer, by age. */
export const answeredRequests = `
CREATE INDEX named_request_answered ON named_request (claimed_at) WHERE status IS NOT NULL;
`;
